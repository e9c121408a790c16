"""Trees of DIEs written twice: once as compilers write them, and once so that no DIE has a layout.

In the second, every DIE has one more unwanted attribute, in a form that no compiler uses: so its abbreviation has no
layout and no passage (core/dwarf/abbrev_layout.py). Both must give the same bytes or the same message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pybtf
from pybtf.errors import PybtfError
from tests.builders.dwarfwriter import Die, Raw, die, dwarf
from tests.builders.kernelish import FLAVOURS, Flavour, kernel, unit

X86 = FLAVOURS["x86_64"]
PLAIN = ("decl_line", "block2", b"x")


def ordinary(entry: Die | bytes) -> Die | bytes:
    """The same DIE and children, to be read attribute by attribute."""
    if isinstance(entry, bytes):
        return entry
    return entry._replace(
        attributes=(*entry.attributes, PLAIN), children=[ordinary(child) for child in entry.children]
    )


class Outcome(NamedTuple):
    #: The BTF, or the message instead, without the numbers of places.
    result: bytes | str
    #: What became of functions and variables, as counts.
    counts: str


def outcome(path: Path, dies: Sequence[Die | bytes], flavour: Flavour, cut: int, **options: Any) -> Outcome:
    """The outcome of encoding a unit with these DIEs."""
    fields: dict[str, Any] = {"address_size": flavour.address_size}
    fields |= {name: options.pop(name) for name in ("version", "offset_size", "producer") if name in options}
    features = options.pop("features", "default,decl_tag_kfuncs")
    written = dwarf([unit(dies, **fields)], little=flavour.little, **options)
    if cut:
        info = bytearray(written.sections[".debug_info"][:-cut])
        info[0:4] = (len(info) - 4).to_bytes(4, "little")
        written = written._replace(sections={**written.sections, ".debug_info": bytes(info)})
    path.write_bytes(kernel(written, flavour).data)
    try:
        encoded = pybtf.encode(path, features=features, jobs=1)
        report = encoded.report.to_dict()
        return Outcome(bytes(encoded.data), f"{report['functions']} {report['variables']}")
    except PybtfError as error:
        said = str(error).replace(str(path), "").replace(path.name, "")
        return Outcome(re.sub(r"0x[0-9a-f]+|\d+", "N", said), "")


# A DIE is not read at a glance if it begins so near the end that one of another layout might not fit.
BEHIND: list[Die | bytes] = [die("label", ("name", "strp", "passed_over"))] * 60


def check(
    folder: Path, dies: list[Die | bytes], flavour: Flavour = X86, cut: int = 0, **options: Any
) -> bytes | str:
    """The result of these DIEs, which must be the same both ways, also with others after them unless the end is cut."""
    for tail in [BEHIND, []][1 if cut else 0 :]:
        first = outcome(folder / "shaped", [*dies, *tail], flavour, cut, **options)
        second = outcome(folder / "ordinary", [ordinary(each) for each in [*dies, *tail]], flavour, cut, **options)
        assert first == second
    return first.result


def member(name: Any, type_: Any, at: Any, form: Any = "data1", *more: Any) -> Die:
    attributes = [("name", "strp", name), ("decl_file", "data1", 1), ("type", "ref4", type_)]
    if at is not None:
        attributes.append(("data_member_location", form, at))
    return die("member", *attributes, *more)


#: A reference or an offset that leads nowhere.
FAR = Raw(0x7FFFFFF0)
