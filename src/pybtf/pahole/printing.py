"""Types as pahole prints them, for the command lines that ask for that: `-F btf -C NAME FILE` and its options.

The texts are those of `pybtf show`. What is pahole's alone is here: of several types of one name the first is printed,
a list of names is separated by commas, and an empty line follows only what has been named.
"""

from __future__ import annotations

import os
from collections import Counter

from pybtf.btf.kind_numbers import ENUM, ENUM64, FWD, STRUCT, TYPEDEF, UNION
from pybtf.errors import InputError, UsageError, printable, quoted
from pybtf.pahole.alike import different, firsts, in_order
from pybtf.pahole.request import DEFINITIONS, LARGE_HOLES, NAMES, is_elf
from pybtf.support import TYPE_CHECKING
from pybtf.support.process import printing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pybtf.core.btf.type_view import View
    from pybtf.core.show.show_types import Shower
    from pybtf.pahole.request import Request

NAMED = (STRUCT, UNION, ENUM, ENUM64, TYPEDEF)
LARGEST = 0x7FFFFFFFFFFFFFFF

METHODS = "nr_methods"
"""The option for how many parameters of functions point to a struct."""

COUNTED = {METHODS: "-m", DEFINITIONS: "-T"}
"""Of these the last one counts."""

NAMELESS = "anon_include"
"""The option for structs and unions without a name. Without lines, those that a typedef names are printed,"""

NESTED = "nested_anon_include"
"""and with this one all others too."""

PLACE = "defined_in"
"""The option for which file has types, not what they are."""


def print_types(request: Request) -> int:
    """Print what the command line asks for; the exit status. Raises `PybtfError`."""
    from pybtf.btf.opening import open_view
    from pybtf.core.show.show_types import Shower

    _check(request)
    asked = request.printing
    view = open_view(request.file, request.base)
    shower = Shower(
        view, "hex" in asked, "expand_types" in asked, "expand_pointers" in asked, request.quiet,
        "rel_offset" in asked, remember=True, line_size=_line_size(request), no_packed="suppress_packed" in asked,
        no_aligned="suppress_aligned_attribute" in asked, flat="flat_arrays" in asked,
        biggest="show_first_biggest_size_base_type_member" in asked
    )  # fmt: skip
    with printing() as put:
        for text in _texts(request, view, shower):
            put(text)
    return 0


def _check(request: Request) -> None:
    """pahole looks for DWARF first, unless it is told not to or there cannot be any."""
    formats = request.formats
    if formats is None and is_elf(request.file):
        raise UsageError(
            "types are printed from BTF only, and an ELF file may have DWARF as well: add -F btf. "
            "If it has no BTF, `pybtf show` makes that of its DWARF"
        )
    if formats is not None and "btf" not in formats.split(","):
        raise UsageError(f"-F {formats}: types are printed from BTF only")
    counted = _last(request, COUNTED)
    if counted and not request.by_word and _last(request, NAMES):
        where = COUNTED[counted]
        raise InputError(where, "it counts for all structs, and some types are named", "neither -C, -i nor -f")


def _last(request: Request, options: Iterable[str]) -> str:
    """Of these options the last one that is given, or none."""
    return next((option for option in reversed(request.printing) if option in options), "")


def _texts(request: Request, view: View, shower: Shower) -> Iterator[bytes]:
    from pybtf.cli.show import packable_lines

    asked = request.printing
    if "contains_enumerator" in asked:
        yield from _enumeration(view, shower, asked["contains_enumerator"])
        return
    if PLACE not in asked and _last(request, ("contains", "find_pointers_to")):
        yield from _users(request, view, shower)
    elif _last(request, NAMES):
        yield from _named(request, view, shower)
    else:
        ids = _selected(request, view, shower)
        counted = _last(request, COUNTED)
        if counted == METHODS:
            yield from _methods(request, view, shower, ids)
            return
        groups = firsts(view, shower, ids) if "sort" not in asked else {id: id for id in ids}
        ids = [id for id, first in groups.items() if id == first]
        if "sort" in asked and not request.line and not counted:
            ids = in_order(view, shower, [id for id in ids if view.name_of(id)])
        if "packable" in asked and request.verbose:
            ids = [id for id in ids if _packable(view, shower, id)]
        if "packable" in asked and not request.verbose:
            yield from packable_lines(view, shower, ids, _separator(request))
        elif request.line:
            yield from (_line(request, view, shower, id) for id in ids)
        elif not counted:
            yield from _all(request, view, shower, ids)
        if counted:
            yield from _definitions(request, view, shower, groups)


def _names(request: Request) -> list[str]:
    """The names in the list of `-C`, `-i` or `-f`. One that begins with `file://` stands for the lines of that file.
    Raises `InputError` if it cannot be read.
    """
    names: list[str] = []
    for name in request.printing[_last(request, NAMES)].split(","):
        path = name.removeprefix("file://")
        if path == name:
            names.append(name)
            continue
        from pybtf.inputs import read_bounded

        try:
            with open(path, "rb") as stream:
                lines = read_bounded(stream).split(b"\n")
        except (OSError, ValueError) as error:
            from pybtf.unreadable import unreadable

            raise unreadable(path, error, "a list of names, one in each line") from error
        names += [os.fsdecode(line) for line in lines if line]
    return names


def _named(request: Request, view: View, shower: Shower) -> Iterator[bytes]:
    """The types that are named; with `PLACE`, only the file they are in."""
    from pybtf.cli.show import reorganized

    asked = request.printing
    placed = False
    missing: list[InputError] = []
    for name in _names(request):
        try:
            id = _first(view, name, request.by_word)
        except InputError as error:  # those that are there come first
            missing.append(error)
            continue
        if PLACE in asked:
            if not placed:
                yield os.fsencode(request.file) + b"\n"
            placed = True
        elif "reorganize" in asked:
            if view.kind(id) == STRUCT:  # pahole passes over all else
                steps = "show_reorg_steps" in asked
                yield reorganized(view, shower, id, steps, _line_size(request), request.verbose)
        elif request.line:
            yield _line(request, view, shower, id) + b"\n"
        else:
            yield shower.text(id) + b"\n"
    last = missing.pop() if missing and not request.skips_missing else None
    for other in missing:
        _say(str(other))
    if last is not None:
        raise last


def _all(request: Request, view: View, shower: Shower, ids: list[int]) -> Iterator[bytes]:
    """The texts of structs and unions."""
    asked = request.printing
    typedefs = shower.typedefs() if NAMELESS in asked else {}
    for id in ids:
        if view.name_of(id):
            yield shower.text(id)
        elif id in typedefs:
            yield shower.text(id, view.name_of(typedefs[id]))
        elif NESTED in asked:
            yield shower.text(id)


def _definitions(request: Request, view: View, shower: Shower, groups: dict[int, int]) -> Iterator[bytes]:
    """How many are like each struct and union that has a name, with itself. `groups`: which of these one is like."""
    if "packable" in request.printing:
        groups = {id: first for id, first in groups.items() if _packable(view, shower, first)}
    counts: dict[int, int] = {}
    for first in groups.values():
        counts[first] = counts.get(first, 0) + 1
    return _counts(request, view, {id: count for id, count in counts.items() if view.name_of(id)})


def _counts(request: Request, view: View, counts: dict[int, int]) -> Iterator[bytes]:
    return (_separator(request).join((_name(view, id), b"%d" % count)) + b"\n" for id, count in counts.items())


def _packable(view: View, shower: Shower, id: int) -> bool:
    """Whether a struct, or union, gets smaller by `-R`."""
    from pybtf.cli.show import packable_lines

    return bool(list(packable_lines(view, shower, [id])))


def _methods(request: Request, view: View, shower: Shower, ids: list[int]) -> Iterator[bytes]:
    """How many parameters of functions point to each of these structs, without those that none does. What is like one
    before counts as that.
    """
    shown = {id for id in ids if view.kind(id) == STRUCT}
    if "packable" in request.printing:
        shown = {id for id in shown if _packable(view, shower, id)}
    counts = {id: count for id, count in shower.methods().items() if id in shown}
    sums: dict[int, int] = {}
    for id, first in firsts(view, shower, list(counts)).items():
        sums[first] = sums.get(first, 0) + counts[id]
    return _counts(request, view, sums)


def _users(request: Request, view: View, shower: Shower) -> Iterator[bytes]:
    """The structs with members of a type, or which of their members point to one; each struct once, and none without
    a name.
    """
    asked = request.printing
    pointers = "contains" not in asked
    kinds = (*NAMED, FWD) if pointers else NAMED
    ids = [id for id in _selected(request, view, shower) if view.name_of(id)]
    for name in _names(request):
        same = view.find(os.fsencode(name))
        wanted = next((id for id in same if view.kind(id) in kinds), 0)
        if not same:  # as pahole, with status 0
            _say(f"{view.name}: no type is called {quoted(name)}")
        found = shower.users_of(wanted, ids, pointers) if wanted else []
        shown = set(different(view, shower, list(dict.fromkeys(id for id, _ in found))))
        found = [(id, member) for id, member in found if id in shown]
        ids = [id for id in ids if id not in shown]
        if pointers:
            yield from (b"%s: %s\n" % (view.name_of(id), member) for id, member in found)
        else:
            members = Counter(id for id, _ in found)
            for id, count in members.items():
                yield view.name_of(id) + (b": %d\n" % count if request.verbose else b"\n")


def _enumeration(view: View, shower: Shower, enumerator: str) -> Iterator[bytes]:
    """The first with this enumerator, without the semicolon after it."""
    for id in shower.enumerations_with(os.fsencode(enumerator)):
        yield shower.text(id).replace(b";\n", b"\n")
        return
    _say(f"{view.name}: no enumerator is called {quoted(enumerator)}")  # as pahole, with status 0


def _say(text: str) -> None:
    from pybtf.cli import console
    from pybtf.pahole.main import PROGRAM

    console.say(printable(f"{PROGRAM}: {text}"))


def _first(view: View, name: str, by_word: bool) -> int:
    """The type of this name; of several, the first, whatever its kind."""
    ids = [id for id in view.find(name.encode("utf-8", "surrogateescape")) if view.kind(id) in NAMED]
    if not ids:
        from pybtf.cli.choice import nearest

        near = nearest(view, name, NAMED)
        nor = ", and no file" if by_word else ""
        raise InputError(view.name, f"no type is called {quoted(name)}{nor}", "the name of a type", near)
    return min(ids)


def _selected(request: Request, view: View, shower: Shower) -> list[int]:
    """Structs and unions."""
    from pybtf.cli.show import Selection

    asked = request.printing
    prefix, excluded = (os.fsencode(asked.get(name, "")) for name in ("prefix_filter", "exclude"))
    selection = Selection(
        _number(request, "holes"), _number(request, "bit_holes"), _number(request, "padding_ge"), "packed" in asked,
        "with_flexible_array" in asked, "with_embedded_flexible_array" in asked
    )  # fmt: skip
    ids: list[int] = []
    if "structs" in asked and "unions" in asked:  # each leaves out the other
        return ids
    typedefs = shower.typedefs() if NAMELESS in asked else {}
    for id in shower.composites(NAMELESS not in asked):
        name, kind = view.name_of(typedefs.get(id, id) if not view.name_of(id) else id), view.kind(id)
        if name and (not name.startswith(prefix) or ("exclude" in asked and name.startswith(excluded))):
            continue
        if kind == (UNION if "structs" in asked else STRUCT if "unions" in asked else None):
            continue
        if (selection or "packable" in asked) and not (kind == STRUCT and selection.takes(shower.sums(id))):
            continue
        ids.append(id)
    least = _number(request, LARGE_HOLES)
    if least:
        ids = [id for id in ids if any(hole >= least for *_, hole, _ in shower.members(id))]
    return ids


def _line_size(request: Request) -> int:
    """Bytes of a cache line, 64 also where 0 is asked for."""
    from pybtf.cli.show import CACHELINE

    return _number(request, "cacheline_size") or CACHELINE


def _number(request: Request, name: str) -> int:
    """As C's atoi reads it; pahole takes it for an unsigned number."""
    text = request.printing.get(name, "0").lstrip(" \t\n\v\f\r")
    sign = text[:1] if text[:1] in ("+", "-") else ""
    rest = text[len(sign) :]
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))].lstrip("0")[:20] or "0"
    return max(-LARGEST - 1, min(int(sign + digits), LARGEST)) & 0xFFFFFFFF


def _separator(request: Request) -> bytes:
    return os.fsencode(request.printing.get("separator", "\t"))[:1] or b"\0"


def _name(view: View, id: int) -> bytes:
    return view.name_of(id) or b"(null)"


def _line(request: Request, view: View, shower: Shower, id: int) -> bytes:
    """Name and numbers of a struct or union."""
    separator = _separator(request)
    name = _name(view, id)
    if view.kind(id) not in (STRUCT, UNION):
        return shower.text(id)
    sums = shower.sums(id)
    what = request.line
    if what == LARGE_HOLES:
        return name + b"\n"
    if what == "sizes":
        return separator.join((name, b"%d" % sums["size"], b"%d" % sums["holes"])) + b"\n"
    return separator.join((name, b"%d" % (sums["members"] if what == "nr_members" else len(view.name_of(id))))) + b"\n"
