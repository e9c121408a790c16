"""Shapes for programs of odd_dies.py: object files, compressed sections, repeated units, bases and more.

A seed decides the shapes of a program, unless they are given. It never chooses shapes of odd_apart.py and
odd_alternate.py, which put DWARF into type units and several files. `copies` repeats units with slight differences,
like headers that change between two units: de-duplication must see which of the types are the same.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from typing import Any

from tests.builders.dwarfwriter import Die, Fixup, Unit, die, dwarf
from tests.builders.elfwriter import Reloc, Section, Symbol, elf
from tests.builders.kernelish import FLAVOURS, Flavour, kernel, sections
from tools.generate.odd_alternate import dwz, with_alternate, with_supplement
from tools.generate.odd_apart import Parts, with_split_units, with_type_units
from tools.generate.odd_dies import Maker, Program
from tools.generate.odd_mending import Mending
from tools.generate.odd_values import FUNCTIONS, NAMES, Attribute

SHAPES = ("object", "compressed", "copies", "merged", "languages", "names", "dwarf64", "machines", "partial", "base")
APART = {
    "signatures": with_type_units,
    "split": with_split_units,
    "alternate": with_alternate,
    "supplement": with_supplement,
}
"""Shapes that put DWARF into several places. A program has one of these at most."""
WRITTEN = ("dwz", "multifile")
"""What the program `dwz` does, to a file or to two."""
ALL = (*SHAPES, *APART, *WRITTEN)
LANGUAGES = ("c11", "rust", "c++,c99", "c99", "asm", "c11,rust", "c++,rust,c89")
VARIABLES = {"v": "f", "w": "g", "counter": "h", "x": "k"}
STRUCTS = ("structure_type", "union_type", "class_type")
NUMBERS = ("byte_size", "const_value", "upper_bound", "count", "encoding")
FORMS = ("data1", "data2", "data4", "data8", "udata", "sdata")


@dataclass
class Shaped:
    """A file, how it is encoded, and the file whose BTF is the base."""

    data: bytes
    shapes: frozenset[str]
    base: bytes | None = None
    features: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, bytes] = field(default_factory=dict)  # files in the same folder, by name
    twin: bytes | None = None  # what the reference gets instead, with `force_cu_merging` if `merged_twin`
    merged_twin: bool = False


def shaped(seed: int, given: Sequence[str] | None = None) -> Shaped:
    """The program of a seed in the given shapes; `random`, or no shape, means some of SHAPES, as the seed decides."""
    rng = Random(f"odd shapes {seed}")
    drawn = rng.sample(SHAPES, rng.choice((1, 2, 3, 4)))
    wanted = ("random",) if given is None else given
    shapes = frozenset(wanted) - {"random"} | frozenset(drawn if "random" in wanted else ())
    if "split" in shapes:
        shapes -= {"object"}  # the addresses in its `.debug_addr` would need relocations
    if "supplement" in shapes:
        shapes -= {"object"}  # variables may be in the section of the link, which has another name in the twin
    maker = Maker(seed)
    maker.on |= {{"merged": "across"}.get(each, each) for each in shapes & {"languages", "partial", "merged"}}
    if "machines" in shapes:
        maker.flavour = FLAVOURS[rng.choice(("s390x", "arm", "ppc"))]
    made = maker.make()
    if "names" in shapes:
        made = _same_names(made)
    if "dwarf64" in shapes:
        made = made._replace(units=[each._replace(offset_size=8 if each.version > 2 else 4) for each in made.units])
    below = None
    if "base" in shapes:
        changed = Copies(rng).of(made.units, "b") if rng.random() < 0.7 else None
        whole = made if changed is None else made._replace(units=Mending(changed).units)
        below = _file(whole, frozenset(), rng)
    if "copies" in shapes:
        units = list(made.units)
        for number in range(rng.choice((1, 1, 2, 4))):
            units += Copies(rng).of(made.units, f"c{number}")
        made = made._replace(units=Mending(units).units)
    options = {}
    if "languages" in shapes and rng.random() < 0.8:
        options = {rng.choice(("lang_exclude", "lang_exclude", "lang")): rng.choice(LANGUAGES)}
    merged = "force_cu_merging" if "merged" in shapes else ""
    apart = [APART[each] for each in APART if each in shapes]
    parts = apart[0](made, rng) if apart else Parts(made.units)
    data = _file(_with(made, parts.units, parts.sections), shapes, rng, parts.debug)
    beside, twin = parts.beside, None
    if parts.twin is not None:
        twin = _file(_with(made, parts.twin, parts.twin_sections), shapes, rng)
    if not shapes.isdisjoint(WRITTEN):
        other = None
        if "multifile" in shapes:
            other = _file(made._replace(units=Mending(Copies(rng).of(made.units, "o")).units), shapes, rng)
        data, beside = dwz(data, other)
    return Shaped(data, shapes, below, merged, options, beside, twin, "signatures" in shapes)


def _with(made: Program, units: list[Unit], sections: Sequence[Section]) -> Program:
    return made._replace(units=units, sections=[*made.sections, *sections])


def _file(
    made: Program, shapes: frozenset[str], rng: Random, debug: Mapping[str, bytes] = MappingProxyType({})
) -> bytes:
    level = rng.choice((0, 9)) if "compressed" in shapes else None
    if "object" in shapes:
        return _object(made, level)
    written = dwarf(made.units, little=made.flavour.little)
    written = written._replace(sections={**written.sections, **debug})
    if level == 0 and rng.random() < 0.5:
        contents = {
            name.replace(".debug", ".zdebug"): b"ZLIB" + len(data).to_bytes(8, "big") + zlib.compress(data, 0)
            for name, data in written.sections.items()
        }
        written, level = written._replace(sections=contents), None
    return kernel(
        written,
        made.flavour,
        extra_sections=made.sections,
        symbols=made.symbols,
        compress=level,
        loaded=not shapes.isdisjoint(WRITTEN),  # `dwz` needs a program header
    ).data


def _object(made: Program, level: int | None) -> bytes:
    """An object file: addresses in a section, and offsets into others, are relocations."""
    flavour = made.flavour
    written = dwarf(made.units, little=flavour.little)
    data = {name: bytearray(content) for name, content in written.sections.items()}
    own = [*sections(flavour), *made.sections]
    at = {each.name: each.address for each in own}
    in_field = flavour.machine == "EM_ARM"
    relocations: dict[str, list[Reloc]] = {}
    for fixup in written.fixups:
        target, addend = _target(fixup, own)
        if not target or fixup.size not in flavour.absolute:
            continue
        value = (addend if in_field else 0) & ((1 << 8 * fixup.size) - 1)
        data[fixup.section][fixup.offset : fixup.offset + fixup.size] = value.to_bytes(
            fixup.size, "little" if flavour.little else "big"
        )
        entry = Reloc(fixup.offset, f".L{target}", flavour.absolute[fixup.size], 0 if in_field else addend)
        relocations.setdefault(fixup.section, []).append(entry)
    anchors = [Symbol(f".L{name}", 0, 0, "NOTYPE", name, "LOCAL") for name in [*at, *data]]
    symbols = [
        each._replace(value=(each.value - at[each.section]) & _mask(flavour)) if isinstance(each.section, str) else each
        for each in made.symbols
    ]
    return elf(
        [
            *(each._replace(address=0) for each in own),
            *(Section(name, bytes(content), compress=level) for name, content in data.items()),
        ],
        [*anchors, *symbols],
        relocations,
        bits=flavour.bits,
        little=flavour.little,
        machine=flavour.machine,
        type="ET_REL",
        rela=not in_field,
    ).data


def _mask(flavour: Flavour) -> int:
    return (1 << flavour.bits) - 1


def _target(fixup: Fixup, own: Sequence[Section]) -> tuple[str, int]:
    """The section of a fixup, and the offset in it; no section for an address in none."""
    if fixup.target:
        return fixup.target, fixup.value
    for each in own:
        if each.flags and each.address <= fixup.value < each.address + 0x1000:
            return each.name, fixup.value - each.address
    return "", 0


def _same_names(made: Program) -> Program:
    """Gives variables the names of functions."""

    def of(it: Die) -> Die:
        names = VARIABLES if it.tag == "variable" else {}
        attributes = [
            (name, form, names.get(value, value) if name == "name" else value) for name, form, value in it.attributes
        ]
        children = [of(child) if isinstance(child, Die) else child for child in it.children]
        return it._replace(attributes=tuple(attributes), children=children)

    units = [unit._replace(root=of(unit.root)) for unit in made.units if unit.root]
    symbols = [each._replace(name=VARIABLES.get(each.name, each.name)) for each in made.symbols]
    return made._replace(units=units, symbols=symbols)


def _labels(it: Die) -> Iterator[str]:
    if it.label:
        yield it.label
    for child in it.children:
        if isinstance(child, Die):
            yield from _labels(child)


class Copies:
    """Copies of units, with differences here and there."""

    def __init__(self, rng: Random) -> None:
        self.random = rng
        self.rate = rng.choice((0.0, 0.01, 0.03, 0.1, 0.3))
        self.mark = ""
        self.own: set[str] = set()
        self.before: list[str] = []  # labels of types that come before the DIE that is copied

    def of(self, units: Sequence[Unit], mark: str) -> list[Unit]:
        """Copies of some of these units. Labels in them begin with `mark`."""
        picked = [unit for unit in units if unit.root]
        self.mark = mark
        self.own = {label for unit in picked if unit.root for label in _labels(unit.root)}
        made = []
        for unit in picked:
            assert unit.root is not None
            self.before = []
            made.append(unit._replace(root=self.copy(unit.root, True), abbrevs=unit.abbrevs and mark + unit.abbrevs))
        there = {label for unit in made if unit.root for label in _labels(unit.root)}
        return [unit._replace(root=self.without_lost(unit.root, there)) for unit in made if unit.root]

    def without_lost(self, it: Die, there: set[str]) -> Die:
        """The units without references to DIEs that are gone."""
        attributes = [each for each in it.attributes if not self.is_lost(each, there)]
        children = [self.without_lost(each, there) if isinstance(each, Die) else each for each in it.children]
        return it._replace(attributes=tuple(attributes), children=children)

    def is_lost(self, attribute: Attribute, there: set[str]) -> bool:
        _, form, value = attribute
        return self.is_reference(form) and str(value).startswith(self.mark) and value not in there

    def label(self, label: Any) -> Any:
        return self.mark + label if isinstance(label, str) and label in self.own else label

    def is_reference(self, form: Any) -> bool:
        inner = form[1] if isinstance(form, tuple) else form
        return str(inner).startswith("ref")

    def copy(self, it: Die, top: bool = False) -> Die:
        attributes: list[Attribute] = []
        for name, form, value in it.attributes:
            if self.is_reference(form):
                value = self.label(value)
            attributes.append((name, form, value))
        children: list[Any] = [self.copy(child) if isinstance(child, Die) else child for child in it.children]
        tag = it.tag
        if not top and self.random.random() < self.rate:
            tag, attributes, children = self.changed(tag, attributes, children)
        if it.label and str(tag).endswith(("_type", "typedef")):
            self.before.append(self.label(it.label))
        return it._replace(tag=tag, attributes=tuple(attributes), children=children, label=self.label(it.label))

    def changed(self, tag: Any, attributes: list[Attribute], children: list[Any]) -> Any:
        """A change of the tag, of an attribute or of a child."""
        rng = self.random
        what = rng.choice(("name", "number", "type", "drop", "swap", "declare", "tag", "add"))
        if tag in STRUCTS and what == "declare":
            gone = ("byte_size", "declaration")
            kept = [each for each in attributes if each[0] not in gone]
            return tag, [*kept, ("declaration", "flag", 1)], []
        if tag == "enumeration_type" and what == "declare":
            kept = [each for each in attributes if each[0] != "declaration"]
            return tag, [*kept, ("declaration", "flag", 1)], [] if rng.random() < 0.7 else children
        if what == "tag" and tag in STRUCTS:
            return rng.choice(STRUCTS[:2]), attributes, children
        if what == "tag" and tag in ("const_type", "volatile_type", "restrict_type"):
            return rng.choice(("const_type", "volatile_type", "restrict_type")), attributes, children
        changed: list[Attribute] = []
        for name, form, value in attributes:
            if name == what == "name" and isinstance(value, str):
                value = rng.choice(FUNCTIONS if tag == "subprogram" else NAMES)
            elif what == name == "type" and self.before:
                value = rng.choice(self.before)
                form = "ref4"
            elif what == "number" and name in NUMBERS and isinstance(value, int) and form in FORMS:
                value = value + rng.choice((0, 1, -1)) if value else 1
            changed.append((name, form, value))
        if children and what == "drop":
            children.pop(rng.randrange(len(children)))
        if len(children) > 1 and what == "swap":
            rng.shuffle(children)
        if tag == "enumeration_type" and what == "add":
            value = rng.choice((0, 1, 7, 100))
            children.append(die("enumerator", ("name", "string", rng.choice(NAMES)), ("const_value", "data1", value)))
        return tag, changed, children
