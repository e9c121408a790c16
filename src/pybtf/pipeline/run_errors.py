"""What is said of a run that failed: an exception for each error of the core. Imported when there is one."""

from __future__ import annotations

from pybtf.elf.image import ElfImage
from pybtf.errors import EncodeError, InputError, InternalError, shortened
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from pybtf.core.run import FaultInfo, Run
    from pybtf.pipeline.loaded import UnitValues


def of_input(image: ElfImage, run: Run, fault: FaultInfo, values: UnitValues | None) -> Exception:
    """What is wrong with the DWARF of `image`, or with the `values` in its place."""
    from pybtf.dwarf.faults import fault_error

    if values is not None:
        return fault_error(values.paths[fault["piece"]], fault)
    return fault_error(image.path, fault, run.sections)


def of_encoding(image: ElfImage, what: str, name: str) -> Exception:
    """`what` is one of ERROR_NAMES (core/codes.py), `name` the name or number that it is about."""
    if what == "memory":
        return MemoryError(f"{image.path}: not enough memory")
    name = shortened(name)
    if what == "too_many":
        return EncodeError(image.place(), "more types or strings than BTF can number", "less than 2 GiB of each")
    if what == "arena":
        return EncodeError(
            image.place(),
            f"the kfunc {name} is flagged as taking or returning an arena pointer, but has no pointer there",
            "a pointer",
        )
    if what == "changed":
        return InputError(image.place(), "was changed while it was read", "a file that nobody writes to")
    if what == "effort":
        return EncodeError(
            image.place(), f"comparing the prototypes of the function {name} takes too long", "types made by a compiler"
        )
    if what == "bug":
        return InternalError(f"{image.path}: no type stands for class {name}")
    return EncodeError(
        image.place(image.sections[int(name)]),
        "more variables than a DATASEC can count",
        "at most 65535",
        "Leave out the feature global_var.",
    )


def of_deduplication(image: ElfImage, what: str, type_id: int) -> Exception:
    """`what` is one of DEDUP_NAMES (core/codes.py)."""
    if what == "memory":
        return MemoryError(f"{image.path}: not enough memory")
    if what == "cycle":
        return EncodeError(
            image.place(), f"type {type_id} refers to itself through pointers and qualifiers only", "a type that ends"
        )
    if what == "effort":
        return EncodeError(
            image.place(), f"comparing type {type_id} with its namesakes takes too long", "fewer conflicting types"
        )
    return InternalError(f"{image.path}: de-duplication failed ({what}) at type {type_id}")


def of_distilling(image: ElfImage, type_id: int) -> EncodeError:
    """A distilled base cannot hold the type `type_id` of the base."""
    return EncodeError(
        image.place(),
        f"type {type_id} of the base is used: a function, variable or tag, or an enum whose size is not 1, 2, 4 or 8,"
        " which a distilled base cannot hold",
        "types only",
        "Leave out the feature distilled_base.",
    )
