"""Removes from odd DWARF what docs/differences.md lists: pahole's result depends on chance, or pybtf leaves it out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tests.builders.dwarfwriter import Die, Unit
from tools.generate.odd_values import Attribute

INNER = ("subprogram", "lexical_block", "inlined_subroutine", "with_stmt", "catch_block", "try_block")
QUALIFIERS = ("typedef", "const_type", "volatile_type", "restrict_type", "atomic_type", "immutable_type", "shared_type",
              "packed_type", "template_alias")  # fmt: skip
STRUCTS = ("structure_type", "union_type", "class_type", "interface_type")
AGGREGATES = (*STRUCTS, "enumeration_type")
TO_ANOTHER = ("specification", "abstract_origin", "signature")


def walk(it: Die, inner: bool = False) -> Iterator[tuple[Die, bool]]:
    """A DIE and all DIEs below it, and whether each belongs to a function."""
    yield it, inner
    for child in it.children:
        if isinstance(child, Die):
            yield from walk(child, inner or it.tag in INNER)


def value(it: Die, name: str) -> Any:
    """The value of the attribute, or None."""
    return next((value for other, _, value in it.attributes if other == name), None)


class Mending:
    """The units without these:

    * a variable that specifies a variable of a function;
    * a struct or enumeration without a name that specifies a DIE of another kind;
    * an array of void: it becomes one of `int`;
    * a variable of `const void` and the like: it becomes an `int`;
    * a bit-field of void, or of a struct without a size, or of one byte: it becomes an `int`;
    * an empty name of a variable.
    """

    def __init__(self, units: Sequence[Unit]) -> None:
        found = [pair for unit in units if unit.root for pair in walk(unit.root)]
        self.dies = {it.label: it for it, _ in found if it.label}
        self.inner = {it.label for it, inner in found if inner and it.label}
        self.units = [
            unit._replace(root=self.mended(unit.root, f"{str(unit.root.label).partition('_')[0]}_int"))
            for unit in units
            if unit.root
        ]

    def end(self, label: str | None, through: Sequence[str]) -> Die | None:
        """The type at the end of these. Cycles and void have none."""
        seen = set()
        while label is not None and label not in seen:
            seen.add(label)
            it = self.dies[label]
            if it.tag not in through:
                return None if it.tag == "unspecified_type" else it
            label = value(it, "type")
        return None

    def has_size(self, label: str | None) -> bool:
        """Whether a type is neither void nor a struct without a size or of one byte."""
        it = self.end(label, QUALIFIERS)
        return it is not None and (it.tag not in STRUCTS or value(it, "byte_size") not in (None, 0, 1))

    def is_qualified_void(self, label: str | None) -> bool:
        """Whether a type is void with `const` or the like. A mere typedef of void is not."""
        return self.end(label, ("typedef",)) is not None and self.end(label, QUALIFIERS) is None

    def is_kept(self, it: Die, name: str | int, label: Any) -> bool:
        """Whether a DIE keeps this attribute with this value."""
        if name not in TO_ANOTHER:
            return True
        if it.tag == "variable":
            return label not in self.inner
        return it.tag not in AGGREGATES or bool(value(it, "name")) or self.dies[label].tag in AGGREGATES

    def mended(self, it: Die, plain: str) -> Die:
        """The mended DIE with all DIEs below it. `plain` is the label of its unit's `int`."""
        attributes: list[Attribute] = [each for each in it.attributes if self.is_kept(it, each[0], each[2])]
        type_ = value(it, "type")
        of_nothing = it.tag == "array_type" and self.end(type_, (*QUALIFIERS, "array_type")) is None
        no_size = it.tag == "member" and bool(value(it, "bit_size")) and not self.has_size(type_)
        if of_nothing or no_size or (it.tag == "variable" and self.is_qualified_void(type_)):
            attributes = [each for each in attributes if each[0] != "type"] + [("type", "ref4", plain)]
        if it.tag == "variable":
            attributes = [each for each in attributes if each[0] != "name" or each[2]]
        children = [self.mended(child, plain) if isinstance(child, Die) else child for child in it.children]
        return it._replace(attributes=tuple(attributes), children=children)
