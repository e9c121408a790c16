"""What is read of a file before its units: its debug sections, its symbols, and where variables may lie."""

from __future__ import annotations

from pybtf.core.elf.function_table import ALL_SECTIONS, FunctionTable
from pybtf.dwarf.sections import DebugSections, debug_sections
from pybtf.elf.constants import SHT_NOBITS, SHT_PROGBITS
from pybtf.elf.image import ElfImage
from pybtf.elf.layout import owners, section_addresses
from pybtf.elf.symbols import function_table, function_table_meanwhile
from pybtf.features import Features
from pybtf.options import EncodeOptions
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import NamedTuple, record, replace
from pybtf.support.timings import Timings

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    VariableRange = tuple[int, int, int, int, bool]
    Recall = Callable[[FunctionTable, Sequence[VariableRange]], tuple[dict[str, Any], bytes] | None]
    """The facts and the BTF of a run on the same values, of which symbols and ranges were as these; None: not known."""

Buffer = bytes | bytearray | memoryview

PERCPU = ".data..percpu"
# The debug sections that pahole unpacks, found by trying each.
UNPACKED = frozenset(
    f".debug_{name}"
    for name in (
        "abbrev", "addr", "aranges", "frame", "info", "line", "line_str", "loc", "loclists", "macinfo", "macro",
        "pubnames", "ranges", "rnglists", "str", "str_offsets", "sup", "types",
    )
)  # fmt: skip


class ObjectValues(NamedTuple):
    """The unit values of one object, and the addresses of its functions and variables: 64-bit words in the host's byte
    order.

    With a digest it has just one unit, which is awaited: whoever reads it compares the values with the digest. Where
    there are none, it takes them, `size` bytes, out of the file at `path`: an object, or what has them and the digests
    of their blocks, which stand before them, at `at`.
    """

    addresses: Buffer | array[int]
    values: Buffer | None
    digest: bytes | None = None
    path: bytes | None = None
    size: int = 0
    at: int = 0


@record(frozen=True)
class LoadedFile:
    """What is read of an image before its units."""

    image: ElfImage
    addresses: memoryview
    sections: DebugSections
    symbols: FunctionTable
    wait: Callable[[], None] | None
    """What waits for the symbols, if they are still being read. Raises `InputError`."""

    def waited(self) -> LoadedFile:
        """The same, with all symbols. Raises `InputError`."""
        if self.wait is None:
            return self
        self.wait()
        return replace(self, wait=None)

    @property
    def info_file(self) -> tuple[int, int] | None:
        """If the units are mapped from a file, its descriptor, and where they begin in it."""
        if self.sections.info_in is None:
            return None
        source, at = self.sections.info_in
        return source.fileno(), at


@record(frozen=True)
class UnitValues:
    """Unit values that take the place of a file's DWARF, in order (docs/merge.md)."""

    file: LoadedFile
    pieces: Iterable[ObjectValues]
    """Of each object, taken once."""
    paths: list[str]
    """Where the values of each object are, for messages."""
    size: int
    """Bytes of all values."""
    digest: Callable[[Buffer], bytes] | None = None
    """Of values, as a piece has it; and of a block of them (merging/pieces.py)."""
    block_digest: Callable[[Buffer], bytes] | None = None
    find: Callable[[int], Buffer] | None = None
    """Finds the values of a piece that are not where it says. Workers call it. Raises `InputError`."""
    recall: Recall | None = None
    """Has the result of an earlier run on the same values, if one is known (merging/remembered.py)."""
    remember: Callable[[dict[str, Any], bytes], None] | None = None
    """Gets the facts of a run and its BTF, for `recall` to have them another time."""


def load(
    image: ElfImage, options: EncodeOptions, timings: Timings, *, one_of_several: bool = False, dwarf: bool = True
) -> LoadedFile:
    """Reads what `LoadedFile` has. `dwarf`: whether units come from it. Raises `InputError`."""
    with timings.pass_("sections"):
        addresses = section_addresses(image)
        if dwarf:
            sections = debug_sections(image, addresses, package=options.dwp, degrade=options.degrade)
        else:
            sections = DebugSections(image)
    with timings.pass_("symbols"):
        # The numbers of sections are those of the first file, so that which of them count is not known here.
        objects = ALL_SECTIONS if one_of_several else _object_section(image, options.features)
        if options.jobs > 1 and not one_of_several:
            symbols, wait = function_table_meanwhile(image, objects)
            return LoadedFile(image, addresses, sections, symbols, wait)
        return LoadedFile(image, addresses, sections, function_table(image, objects), None)


def _object_section(image: ElfImage, features: Features) -> int | None:
    """Whose object symbols the function table has to know, for variables at the start of a section."""
    if features.global_var:
        return ALL_SECTIONS
    if not features.var or image.section(PERCPU) is None:
        return None
    wanted = [section.index for section in image.sections if section.name == PERCPU]
    return wanted[0] if len(wanted) == 1 else ALL_SECTIONS


def variable_ranges(image: ElfImage, addresses: memoryview, features: Features) -> list[VariableRange]:
    """Which addresses belong to which section that can hold variables: first address and size of the range, address and
    index of the section, and whether its variables are wanted. Ranges ascend and do not overlap. If no variables are
    wanted at all, as in most modules, there are no ranges. Sections with values of objects own nothing: with DWARF in
    the link, they would not be there.
    """
    if not features.global_var and not (features.var and image.section(PERCPU)):
        return []
    from pybtf.elf.values_index import is_ours

    sections = [
        section
        for section in image.sections[1:]
        if section.type in (SHT_PROGBITS, SHT_NOBITS) and not is_ours(image, section)
    ]
    return [
        (
            start,
            end - start,
            addresses[section.index],
            section.index,
            features.global_var or (features.var and section.name == PERCPU),
        )
        for start, end, section in owners(sections, addresses, _unpacked_sizes(image))
    ]


def _unpacked_sizes(image: ElfImage) -> dict[int, int]:
    """The sizes of the compressed debug sections that pahole unpacks, and then finds unpacked."""
    return {
        section.index: image.declared_size(section)
        for name, section in image.dwarf.items()
        if not section.plain and name in UNPACKED
    }
