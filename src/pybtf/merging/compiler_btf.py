"""BTF that compilers wrote of each source (`gcc -gbtf`), merged: `pybtf merge --compiler-btf`. Second best.

A linker puts the `.BTF` of objects one after the other, and no kernel reads that: functions that are only declared or
inlined are in it, some without a name, and variables without their places. What it says of types is right, though. So
each piece becomes a unit value, as an object's DWARF does (core/values/btf_unit.py), and is merged as those are: the
symbol table of the linked file says which functions there are and where variables lie.

No compiler's BTF says which functions do not take their parameters as the source says: they are included here, while
encoding the DWARF would leave them out. So the bytes differ, and both the message and the report say so.

The format. Pieces follow each other, with at most zeros between them. Only a piece's header says where it ends, and it
is not trusted until it has been compared with the section.
"""

from __future__ import annotations

from pybtf.base import Base, open_base
from pybtf.btf.header import BASE_LENGTH, LAYOUT_LENGTH, has_magic
from pybtf.core.btf.type_section import header_words
from pybtf.core.btf.type_view import View
from pybtf.core.elf.function_table import FunctionTable
from pybtf.core.values.btf_unit import BtfUnits, UnitError
from pybtf.elf.constants import ET_REL, SHF_EXECINSTR, SHT_NOBITS, SHT_SYMTAB
from pybtf.elf.image import ElfImage, Section
from pybtf.elf.layout import section_addresses
from pybtf.elf.packed import open_module
from pybtf.elf.symbols import function_table, symbol_source
from pybtf.encoded import Encoded
from pybtf.errors import EncodeError, InputError, Place
from pybtf.merging.facts import has_dwarf
from pybtf.merging.linked import check_options, tell_of_others
from pybtf.merging.payloads import images
from pybtf.merging.pieces import RULES, digest
from pybtf.options import EncodeOptions
from pybtf.pipeline.loaded import PERCPU, ObjectValues, UnitValues, load
from pybtf.pipeline.passes import Task, encode_images, new_report, option_bits
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record
from pybtf.support.timings import Timings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from pybtf.pipeline.passes import Progress
    from pybtf.report import Report

BTF: Final = ".BTF"
NOTE: Final = "BTF written by compilers: not the bytes that DWARF gives"
_WRITTEN: Final = "BTF as compilers write it"


@record(frozen=True)
class Written:
    """What a compiler wrote of one source: where it is, the bytes, and, if the object is known, its functions."""

    place: Place
    data: bytes
    defined: FunctionTable | None = None


def merge_compiled(
    path: str,
    options: EncodeOptions,
    objects: tuple[str, ...] = (),
    progress: Progress | None = None,
    timings: Timings | None = None,
) -> Encoded:
    """BTF of the linked file `path`, which is only read, from what compilers wrote in its `.BTF`, or in that of
    `objects` (object files and archives, in the order of the link).

    Raises `InputError` and `EncodeError` as `encode_file`, and where there is no such BTF, or it is damaged, or the
    linked file has some that is of none of the objects.
    """
    timings = timings or Timings()
    check_options(path, options)
    if options.features.true_signature:
        raise EncodeError(path, "the feature true_signature, of which BTF of compilers says nothing", "none such")
    base = open_base(options.base, timings)
    with timings.pass_("open"):
        image = open_module(path)
    with image:
        return _merge(image, options, objects, base, timings, progress)


def _merge(
    image: ElfImage,
    options: EncodeOptions,
    objects: tuple[str, ...],
    base: Base | None,
    timings: Timings,
    progress: Progress | None,
) -> Encoded:
    report = new_report(image.path, options, timings)
    without: list[str] = []
    loaded = load(image, options, timings, dwarf=False)
    with timings.pass_("values"):
        written = _chosen(image, _of_objects(image, objects, without) if objects else None)
        units = _Units(image, options)
        pieces = [units.value(each) for each in written]
        size = sum(len(values) for values, _ in pieces)
        paths = [str(each.place) for each in written]
        unit_values = UnitValues(loaded, [ObjectValues(addresses, values) for values, addresses in pieces], paths, size)
        del written
    report.merged = {
        "source": "compiler_btf",
        "exact": False,
        "note": NOTE,
        "objects": len(unit_values.paths),
        "values_xxh3_128": digest(*[values for values, _ in pieces]).hex(),
        "rules": RULES,
        "remembered": False,
    }
    tell_of_others(report, without, "objects, with code, but without BTF")
    if has_dwarf(image):
        report.warnings.append(f"{image.path}: it has DWARF: pybtf encode gives the exact BTF")
    _tell_of_old(report, units.makes)
    encoded = encode_images([image], Task(options, report, base, progress, unit_values))
    report.variables.leave_out("ambiguous_symbol", units.ambiguous())
    if image.status is not None:
        report.input_size = image.status.st_size
    return encoded


def _tell_of_old(report: Report, makes: BtfUnits) -> None:
    """Warn of what some versions of gcc write wrongly, so that nothing tells what was meant."""
    if makes.old:
        report.warnings.append(
            "some of the BTF comes from gcc before 14, which omits enumerators above 2147483647, treats negative ones "
            f"as unsigned, and may reverse the dimensions of arrays ({makes.nested} arrays of arrays in all units)"
        )


# ---- pieces -------------------------------------------------------------------------------------------------


def _chosen(image: ElfImage, objects: list[Written] | None) -> list[Written]:
    """The pieces to merge, in the order of the link."""
    linked = list(_linked(image))
    if objects is None:
        if not linked:
            raise InputError(
                image.place(),
                f"has no {BTF}",
                "that of compilers (gcc -gbtf)",
                "If the linker has left it out, --objects names the objects.",
            )
        return linked
    if not objects:
        raise InputError(image.place(), f"none of its objects has {BTF}", "that of compilers (gcc -gbtf)")
    known = {digest(each.data): each for each in reversed(objects)}
    wanted = [known.get(digest(each.data)) for each in linked]
    if not linked or wanted == [None]:  # left out by the linker, or replaced by what was merged of it
        return objects
    for each, object_ in zip(linked, wanted, strict=True):
        if object_ is None:
            raise InputError(
                each.place,
                "BTF that none of the objects has",
                "that of the objects that were linked",
                "Name all of them; if one was compiled anew, link again.",
            )
    return [each for each in wanted if each is not None]


def _linked(image: ElfImage) -> Iterator[Written]:
    section = image.section(BTF)
    if section is not None and section.type != SHT_NOBITS:
        for at, data in pieces(image, section):
            yield Written(Place(image.path, BTF, at), data)


def _of_objects(image: ElfImage, objects: tuple[str, ...], without: list[str]) -> list[Written]:
    """What is in the objects; `without` gets the names of those that have code, and no BTF."""
    found = []
    for path in objects:
        for name, each in images(path):
            with each:
                if (each.little, each.is64, each.machine) != (image.little, image.is64, image.machine):
                    raise InputError(each.place(), "an object for another machine", f"one of those of {image.path}")
                section = each.section(BTF)
                if section is None or not section.size:
                    if any(section.flags & SHF_EXECINSTR and section.size for section in each.sections):
                        without.append(name)
                    continue
                defined = function_table(each)
                defined.freeze()
                found += [Written(Place(name, BTF, at), data, defined) for at, data in pieces(each, section)]
    return found


def pieces(image: ElfImage, section: Section) -> Iterator[tuple[int, bytes]]:
    """The BTFs that stand in a section, and where. Raises `InputError` where none begins, or one does not end."""
    data = image.data(section)
    at = 0
    while at < len(data):
        if data[at] == 0:  # what a linker puts between them; no BTF begins so
            at = _next(data, at)
            continue
        size = _size(data[at:], image, Place(image.path, section.name, at))
        yield at, bytes(data[at : at + size])
        at += size


def _next(data: memoryview, at: int) -> int:
    """The first place from `at` on that is not zero, or the end."""
    step = 4096
    while at < len(data):
        some = bytes(data[at : at + step])
        rest = some.lstrip(b"\0")
        at += len(some) - len(rest)
        if rest:
            break
    return at


def _size(data: memoryview, image: ElfImage, place: Place) -> int:
    """Bytes of the BTF that begins here, as its header says."""
    head = bytes(data[:LAYOUT_LENGTH])
    if not has_magic(head):
        raise InputError(place, f"bytes {head[:4].hex(' ')}", _WRITTEN)
    if (head[0] == 0x9F) != image.little:
        raise InputError(place, "BTF in another byte order than the file's", _WRITTEN)
    length, *spans = header_words(head, image.little)
    known = spans if length >= LAYOUT_LENGTH else spans[:4]
    size = length + max(off + size for off, size in zip(known[::2], known[1::2], strict=True))
    if length < BASE_LENGTH or size > len(data):
        raise InputError(place, f"BTF of {size} bytes with a header of {length}", f"at most {len(data)}")
    return int(size)


# ---- units --------------------------------------------------------------------------------------------------


class _Units:
    """Makes values of what compilers wrote, for one linked file."""

    def __init__(self, image: ElfImage, options: EncodeOptions) -> None:
        self.pointer = 8 if image.is64 else 4
        functions = function_table(image)
        functions.freeze()
        self.objects = _objects(image, options)
        bits = option_bits(options.features.on)
        little = memoryview(b"\1\0").cast("H")[0] == 1
        self.makes = BtfUnits(functions, self.objects, swap=little != image.little, options=bits)

    def value(self, written: Written) -> tuple[bytes, memoryview]:
        """The value and the addresses of one piece. Raises `InputError`, `EncodeError`."""
        title = str(written.place)
        view = View(written.data, title, pointer=self.pointer)
        try:
            values, addresses = self.makes.unit(view, title.encode("utf-8", "surrogateescape"), written.defined)
        except UnitError as error:
            raise _error(title, error) from None
        return values, memoryview(addresses)

    def ambiguous(self) -> int:
        """How many variables were left out because the symbol table has several of the name, or one of another size.
        """
        return len(self.makes.ambiguous)


def _objects(image: ElfImage, options: EncodeOptions) -> dict[bytes, list[int]] | None:
    """The variables that the symbol table has, if any are wanted."""
    features = options.features
    symtab = next(iter(image.of_type(SHT_SYMTAB)), None)
    if symtab is None or not (features.global_var or (features.var and image.section(PERCPU) is not None)):
        return None
    addresses = section_addresses(image) if image.etype == ET_REL else None
    wanted = None if features.global_var else {each.index for each in image.sections if each.name == PERCPU}
    return symbol_source(image, symtab).objects(addresses, wanted)


def _error(title: str, error: UnitError) -> InputError:
    place = Place(title)
    if error.problem == "feature":
        return EncodeError(place, f"type {error.id} is a TYPE_TAG, and the feature type_tag is off", "it to be on")
    if error.problem == "large":
        return EncodeError(place, "more than 2 GiB of types", "less")
    if error.problem == "shared":
        found = f"type {error.id}: names that begin inside others, or a name or prototype that very many share"
        return InputError(place, found, _WRITTEN)
    what = "refers to something that is not a type"
    if error.problem != "reference":
        what = "is not one that compilers write for C"
    return InputError(place, f"type {error.id} {what}", _WRITTEN)
