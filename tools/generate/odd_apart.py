"""Programs of odd_dies.py whose DWARF is in several places: type units, and split units in `.dwo` files.

The reference reads neither as it should. So each has a *twin* that it does read: the same DIEs in the same order, in
units of the usual kind, with references that are offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.builders.dwarfwriter import Die, LocList, RangeList, Raw, Unit, die, dwarf
from tests.builders.elfwriter import Section, elf
from tools.generate.odd_dies import Program
from tools.generate.odd_mending import AGGREGATES, Mending
from tools.generate.odd_values import Attribute

TYPES = (*AGGREGATES, "typedef", "pointer_type", "const_type", "volatile_type", "array_type", "subroutine_type")
Change = Callable[[Attribute], Attribute | None]


class Unchanged(ValueError):
    """The program cannot have the shape."""


@dataclass
class Parts:
    """The units of a file; what the reference gets instead; sections and files that go with them."""

    units: list[Unit]
    twin: list[Unit] | None = None
    sections: list[Section] = field(default_factory=list)
    twin_sections: list[Section] = field(default_factory=list)
    beside: dict[str, bytes] = field(default_factory=dict)
    debug: dict[str, bytes] = field(default_factory=dict)  # further sections of DWARF


def inner(form: Any) -> Any:
    """The form that DW_FORM_indirect names, or this one."""
    return form[1] if isinstance(form, tuple) else form


def is_reference(form: Any) -> bool:
    return str(inner(form)).startswith("ref")


def like(form: Any, other: Any) -> Any:
    """Another form, indirect if this one is."""
    return ("indirect", other) if isinstance(form, tuple) else other


def dies(it: Die) -> Iterator[Die]:
    """A DIE and all DIEs below it."""
    yield it
    for child in it.children:
        if isinstance(child, Die):
            yield from dies(child)


def references(it: Die) -> Iterator[str]:
    """The labels that a DIE and all DIEs below it refer to."""
    for each in dies(it):
        yield from (value for _, form, value in each.attributes if is_reference(form) and isinstance(value, str))


def changed(it: Die, change: Change) -> Die:
    """The tree with other attributes, all the way down; None removes one."""
    attributes = [made for each in it.attributes if (made := change(each)) is not None]
    children = [changed(child, change) if isinstance(child, Die) else child for child in it.children]
    return it._replace(attributes=tuple(attributes), children=children)


def _with(unit: Unit, change: Change) -> Unit:
    assert unit.root is not None
    return unit._replace(root=changed(unit.root, change))


def homes(units: Sequence[Unit]) -> dict[str, int]:
    """The number of the unit that each label is in."""
    return {each.label: n for n, unit in enumerate(units) if unit.root for each in dies(unit.root) if each.label}


def without_chance(made: Program) -> Program:
    """Without empty locations of members: the reference reads these from following bytes, which differ in a twin."""

    def kept(each: Attribute) -> Attribute | None:
        return None if each[0] == "data_member_location" and each[2] == b"" else each

    return made._replace(units=[_with(unit, kept) for unit in made.units])


# -- type units --------------------------------------------------------------------------------------


class TypeUnits:
    """Types of a program in units of their own; others refer to them by signature."""

    def __init__(self, made: Program, rng: Random) -> None:
        self.random = rng
        self.rate = rng.choice((0.2, 0.6, 1.0))
        self.shells = rng.choice((0.0, 0.0, 0.3))
        self.signatures: dict[str, int] = {}  # by label of the type
        self.twice = rng.random() < 0.2
        self.units: list[Unit] = []
        last: list[Unit] = []  # those of DWARF 4, and sometimes the others
        at_end = rng.random() < 0.3
        roots = [unit.root for unit in made.units if unit.root]
        producer = next(each for each in roots[0].attributes if each[0] == "producer")
        for unit in made.units:
            assert unit.root is not None
            rest, own = self.parted(unit)
            (last if at_end or unit.version < 5 else self.units).extend(own)
            self.units.append(unit._replace(root=unit.root._replace(children=rest)))
        self.units += sorted(last, key=lambda unit: unit.version < 5)  # those in .debug_info come first
        if not self.signatures:
            raise Unchanged("no type has a unit")
        self.at = homes(self.units)
        self.twins: list[Unit] = []
        shaped = []
        for number, unit in enumerate(self.units):
            assert unit.root is not None
            self.number = number
            self.made: list[Die] = []
            self.aliases: dict[str, str] = {}
            root, twin = self.both(unit.root)
            if self.made:
                root = root._replace(children=[*self.made, *root.children])
            if unit.signature:
                twin = twin._replace(tag="compile_unit", attributes=(*twin.attributes, producer))
            shaped.append(unit._replace(root=root))
            self.twins.append(unit._replace(root=twin, section=".debug_info", signature=0))
        main = next(n for n, unit in enumerate(shaped) if not unit.signature)  # which is read first
        self.twins.insert(0, self.twins.pop(main))
        self.units = shaped

    def parted(self, unit: Unit) -> tuple[list[Die | bytes], list[Unit]]:
        """The children that stay in a unit, and units of the others."""
        assert unit.root is not None
        rest: list[Die | bytes] = []
        own: list[Unit] = []
        old = unit.version < 5
        language = [each for each in unit.root.attributes if each[0] == "language"]
        used = {label for child in unit.root.children if isinstance(child, Die) for label in references(child)}
        for child in unit.root.children:
            if not isinstance(child, Die) or not self.is_moved(child, old, used):
                rest.append(child)
                continue
            assert child.label
            self.signatures[child.label] = self.random.getrandbits(64) or 1
            root = die("type_unit", *language, children=[child], label=f"{unit.root.label}_of_{child.label}")
            made = Unit(
                root,
                max(unit.version, 4),
                unit.offset_size,
                unit.address_size,
                abbrevs=unit.abbrevs,
                section=".debug_types" if old else ".debug_info",
                signature=self.signatures[child.label],
                type_label=child.label,
            )
            own.append(made)
            closed = not {each.label for each in dies(child) if each is not child} & {*references(child)}
            if self.twice and closed and self.random.random() < 0.3:
                again = self.copied(root, child.label)
                own.append(made._replace(root=again, type_label=f"{child.label}_again"))
        return rest, own

    def copied(self, it: Die, label: str) -> Die:
        """The same tree; only the type has a label, which is new."""
        children = [self.copied(child, label) if isinstance(child, Die) else child for child in it.children]
        return it._replace(label=f"{label}_again" if it.label == label else None, children=children)

    def is_moved(self, it: Die, old: bool, used: set[str]) -> bool:
        """Whether a type gets a unit. In DWARF 4, other units cannot refer to anything inside it."""
        if it.tag not in TYPES or not it.label or self.random.random() > self.rate:
            return False
        if it.tag not in AGGREGATES and self.random.random() < 0.7:
            return False
        return not old or all(each is it or each.label not in used for each in dies(it))

    def both(self, root: Die) -> tuple[Die, Die]:
        """The tree with signatures, and that of the twin. Only a shell's DW_AT_signature leads to another unit."""

        def kept(each: Attribute) -> Attribute | None:
            name, form, label = each
            gone = name == "signature" and is_reference(form) and self.at[label] != self.number
            return None if gone else each

        def of_twin(each: Attribute) -> Attribute:
            name, form, label = each
            if is_reference(form) and isinstance(label, str) and self.at[label] != self.number:
                return name, like(form, "ref_addr"), label
            return each

        root = changed(root, kept)
        return changed(root, self.far), changed(root, of_twin)

    def far(self, each: Attribute) -> Attribute:
        """A reference to another unit, in a form that allows this."""
        name, form, label = each
        if not is_reference(form) or not isinstance(label, str) or self.at[label] == self.number:
            return each
        signature = self.signatures.get(label)
        in_types = self.units[self.at[label]].section == ".debug_types"
        if signature is None or (not in_types and self.random.random() < 0.1):
            return name, like(form, "ref_addr"), label
        if self.random.random() < self.shells and not self.units[self.number].signature and name == "type":
            return name, form, self.shell(label)
        return name, like(form, "ref_sig8"), signature

    def shell(self, label: str) -> str:
        """A DIE that says which type it represents."""
        name = f"u{self.number}_shell_{label}"
        if label not in self.aliases:
            self.aliases[label] = name
            signature = ("signature", "ref_sig8", self.signatures[label])
            self.made.append(die("structure_type", ("declaration", "flag", 1), signature, label=name))
        return name


def with_type_units(made: Program, rng: Random) -> Parts:
    done = TypeUnits(without_chance(made), rng)
    return Parts(done.units, done.twins)


# -- split units -------------------------------------------------------------------------------------


def with_split_units(made: Program, rng: Random) -> Parts:
    """DWARF 5 units in `.dwo` files; some stay as they are. The twin has all of them unchanged."""
    made = without_chance(made)
    at = homes(made.units)
    flavour = made.flavour

    def own(number: int) -> Change:
        """Units with references to other units cannot be split."""

        def change(each: Attribute) -> Attribute | None:
            name, form, label = each
            if not is_reference(form) or not isinstance(label, str):
                return each
            if at[label] != number:
                return None
            return name, like(form, "ref4") if inner(form) == "ref_addr" else form, label

        return change

    twin = Mending([_with(unit, own(number)) for number, unit in enumerate(made.units)]).units
    shaped = list(twin)
    beside: dict[str, bytes] = {}
    addresses = b""
    for number, unit in enumerate(twin):
        assert unit.root is not None
        if unit.version < 5 or (beside and rng.random() < 0.2 and "addrx" not in repr(unit.root)):
            continue
        name, identity = f"odd{number}.dwo", rng.getrandbits(64)
        start = [each for each in unit.root.attributes if each[0] == "low_pc"]
        rest = tuple(each for each in unit.root.attributes if each[0] != "low_pc")
        root = changed(unit.root._replace(attributes=rest), _split_form)
        whole = unit._replace(root=root, unit_type="split_compile", signature=identity, bases=False)
        contents = dict(dwarf([whole], little=flavour.little).sections)
        pool = contents.pop(".debug_addr", b"")
        sections = [Section(f"{each}.dwo", data) for each, data in contents.items()]
        beside[name] = elf(sections, [], bits=flavour.bits, little=flavour.little, machine=flavour.machine).data
        at_pool = Raw(len(addresses) + (16 if unit.offset_size == 8 else 8))
        base = [("addr_base", "sec_offset", at_pool)] if pool else []
        addresses += pool
        skeleton = die("skeleton_unit", ("dwo_name", "string", name), ("comp_dir", "string", "."), *start, *base)
        shaped[number] = unit._replace(root=skeleton, signature=identity)
    if not beside:
        raise Unchanged("no unit of DWARF 5")
    return Parts(shaped, twin, beside=beside, debug={".debug_addr": addresses} if addresses else {})


def _split_form(each: Attribute) -> Attribute:
    """An attribute in a form for split units: no offset into another section."""
    name, form, content = each
    plain = inner(form)
    if isinstance(content, LocList | RangeList):
        return name, like(form, "loclistx" if isinstance(content, LocList) else "rnglistx"), content
    if plain in ("strp", "line_strp"):
        return name, like(form, "strx"), content
    if plain == "addr":
        return name, like(form, "addrx"), content
    if isinstance(content, list):
        return name, form, [("addrx", *rest) if first == "addr" else (first, *rest) for first, *rest in content]
    return each

