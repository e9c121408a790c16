"""What an encoding with `degrade` could not keep, in words: what, how often, where, and what replaces it.

The core notes a fault for each (core/model/losses.pxd) and goes on. Here those of one kind become one `Loss`, and the
first few of each are looked up in the DWARF, by pyelftools, for a name and a place in the source.
"""

from __future__ import annotations

from pybtf.errors import Place, shortened
from pybtf.report import Loss
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from pybtf.core.run import LossInfo, Run
    from pybtf.dwarf.sections import DebugSections
    from pybtf.dwarf.slow import Dies
    from pybtf.elf.image import ElfImage

MOST_EXAMPLES = 20
"""Of each sort of loss, so many are looked up."""

LEFT_OUT = "nothing: the unit is left out"
_OPAQUE = "a struct of that size without members"
_TAGS = {
    "DW_TAG_reference_type": "a pointer",
    "DW_TAG_rvalue_reference_type": "a pointer",
    "DW_TAG_atomic_type": "volatile",
    "DW_TAG_ptr_to_member_type": _OPAQUE,
    "DW_TAG_string_type": _OPAQUE,
    "DW_TAG_interface_type": "a struct",
}
_NAMELESS = {
    "DW_TAG_base_type": _OPAQUE,
    "DW_TAG_typedef": "volatile",
    "DW_TAG_LLVM_annotation": "volatile",
    "DW_TAG_enumerator": "the enumeration without it",
}
_SORTS = {
    "float_complex": ("complex or imaginary floating-point type", _OPAQUE),
    "float_size": ("floating-point type of an odd size", _OPAQUE),
    "member_offset": ("member that does not begin with a byte", "the type without such members"),
    "bitfield_offset": ("bitfield more than 2 MiB from the start", "the type without such members"),
    "union_offset": ("member of a union that is not at its start", "the type without such members"),
    "int_size": ("number of an odd size", _OPAQUE),
    "member_end": ("member that reaches past the end of its type", "the type without such members"),
    "enum_value": ("enumerator of more than 32 bits in an enumeration of 4 bytes", "the enumeration without it"),
    "enum_size": ("enumeration of an odd size", _OPAQUE),
    "too_many": (
        "type of more than 65,535 members, enumerators or parameters",
        "the type, with all of its members dropped",
    ),
    "variable_name": ("variable with a name that BTF does not allow", "nothing"),
    "variable_type": ("variable without a type", "nothing"),
    "no_size": ("member, parameter, element or result without a size", "a struct without a name, members or size"),
    "void_result": ("result that is void by another name", "void"),
    "array_size": ("array of 4 GiB or more", "an array without elements"),
    "variants": ("type with variants", "a struct of that size and name, without what depends on the variant"),
    "static_member": ("static member", "the type without such members"),
    "member_order": ("member that begins before the previous one", "the type without such members"),
    "bitfield_type": ("bitfield of a type that is not a number", "the type without such members"),
    "origin": ("function whose abstract origin is not read", "nothing"),
    "left_out": (
        "reference to a unit that is left out",
        "one to a struct without a name, members or size; of a bitfield, nothing; of a function to its origin, no name",
    ),
}
UNNAMEABLE = ("function with a name that every kernel rejects", "nothing")
RENAMED = (
    "name that every kernel rejects",
    "_ for each character that is not a letter, digit or _; at most 127 characters",
)


def losses(image: ElfImage, sections: DebugSections, run: Run) -> list[Loss]:
    """What was lost of this file, in the order in which it was met. To be called when its units have been decoded."""
    found, counts = run.take_losses()
    sorts: dict[tuple[str, int, bool], Loss] = {}
    dies: Dies | None = None
    for each in found:
        by_value = each["value"] if each["code"] in ("unsupported_tag", "no_name") else 0
        key = (each["code"], by_value, each["whole_unit"])
        if key not in sorts:
            sorts[key] = Loss(*_words(image, sections, each))
        loss = sorts[key]
        loss.count += 1
        counts[each["code"]] -= 1
        if len(loss.examples) < MOST_EXAMPLES:
            dies = dies or _dies(image, sections, run)
            loss.examples.append(_example(dies, each, sections))
    for (code, _, _), loss in sorts.items():  # what the core only counted, as there was so much of it
        loss.count += counts.pop(code, 0)
    return list(sorts.values())


def renamed(run: Run) -> list[Loss]:
    """The names of all files that were replaced."""
    names = list(run.renamed_names())
    if not names:
        return []
    return [Loss(*RENAMED, len(names), _named(names))]


def unnameable(run: Run) -> list[Loss]:
    """The functions that are left out because of their names, once it is known which would be kept."""
    names = [name for name, fate, _ in run.fates().functions() if fate == "invalid_name"]
    if not names:
        return []
    return [Loss(*UNNAMEABLE, len(names), _named(names))]


def _named(names: list[str]) -> list[dict[str, Any]]:
    """Examples of which no more than the name is known."""
    return [{"name": shortened(name)} for name in names[:MOST_EXAMPLES]]


def _words(image: ElfImage, sections: DebugSections, each: LossInfo) -> tuple[str, str]:
    from pybtf.dwarf.faults import fault_error, tag_name

    if each["whole_unit"]:
        error: Any = fault_error(image.path, each, sections)
        return f"unit with {error.found}", LEFT_OUT
    if each["code"] == "unsupported_tag":
        tag = tag_name(each["value"])
        return tag, _TAGS.get(tag, _OPAQUE)
    if each["code"] == "no_name":
        tag = tag_name(each["value"])
        return f"{tag} without a name", _NAMELESS.get(tag, _OPAQUE)
    return _SORTS[each["code"]]


def _dies(image: ElfImage, sections: DebugSections, run: Run) -> Dies:
    from pybtf.dwarf.slow import dies_of

    return dies_of(image, sections, run.fates().units())


def _example(dies: Dies, each: LossInfo, sections: DebugSections) -> dict[str, Any]:
    at = each["die"] or each["offset"]
    row: dict[str, Any] = {"unit": shortened(dies.unit_name(at))}
    if each["whole_unit"]:  # what the damaged DIE says of itself is not to be trusted
        unit = each["unit"] if each["unit"] >= 0 else None  # only the header is there, which is damaged
        place = sections.place(Place(sections.path, ".debug_info", each["offset"], unit, die=each["die"] or None))
        if not row["unit"]:
            row["unit"] = f"at {place.offset if place.unit is None else place.unit:#x} of {place.section}"
            if place.file != sections.path:
                row["unit"] += f" of {place.file}"
        return row if place.die is None else row | {"die": f"{place.die:#x}"}
    if each["die"]:
        row["die"] = f"{each['die']:#x}"
    die = dies.die(each["die"]) if each["die"] else None
    name = each["name"] or (dies.name(die) if die is not None else "")
    file, line = dies.where(die) if die is not None else ("", 0)
    row |= {"name": shortened(name), "file": shortened(file), "line": line}
    return {key: value for key, value in row.items() if value}
