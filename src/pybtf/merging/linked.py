"""`pybtf merge`: BTF of a linked file from the values of its objects. Read `merge_file` from top to bottom.

The bytes are those that encoding the file's DWARF would give, had it been linked. Where that cannot be had, it is an
error, or, if all of the DWARF is there after all, the DWARF is encoded and a warning says so.
"""

from __future__ import annotations

from pybtf.base import Base, open_base
from pybtf.dwarf.units import count_units
from pybtf.elf.constants import ET_REL, SHF_ALLOC, SHT_NOBITS, SHT_PROGBITS, SHT_SYMTAB
from pybtf.elf.image import ElfImage, Section
from pybtf.elf.packed import open_module
from pybtf.elf.symbols import symbol_source
from pybtf.elf.values_index import STRIPPED
from pybtf.encoded import Encoded
from pybtf.errors import DiscardedError, EncodeError, InputError, Place, counted, shortened
from pybtf.merging.facts import has_dwarf, shaping, shaping_names
from pybtf.merging.index import find_index, index_of
from pybtf.merging.payloads import Payloads
from pybtf.merging.pieces import ONE_UNIT, RULES, Piece, digest
from pybtf.options import EncodeOptions
from pybtf.pipeline.loaded import LoadedFile, load
from pybtf.pipeline.passes import Task, encode_file, encode_images, new_report
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record, replace
from pybtf.support.timings import Timings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pybtf.pipeline.passes import Progress
    from pybtf.report import Report

MOST_NAMES = 3


@record(frozen=True)
class Sources:
    """Where values may be, besides the linked file and the objects that it names."""

    objects: tuple[str, ...] = ()
    store: str | None = None
    cache: str | None = None


def merge_file(
    path: str,
    options: EncodeOptions,
    sources: Sources,
    progress: Progress | None = None,
    timings: Timings | None = None,
    read: list[str] | None = None,
) -> Encoded:
    """BTF of the linked file `path`, which is only read, from values of its objects. `read` gets the names of the files
    that these are from.

    Raises `InputError` and `EncodeError` as `encode_file`, and where an object's values are missing, damaged, foreign
    or made with other options, or cannot be put together as the linker has put the file together.
    """
    timings = timings or Timings()
    check_options(path, options)
    base = open_base(options.base, timings)
    with timings.pass_("open"):
        image = open_module(path)
    with image:
        section = find_index(image)
        if section is None:
            raise InputError(
                image.place(),
                "has no values of objects (.debug_btf)",
                "objects that pybtf object or pybtf cc has encoded",
                _advice(image),
            )
        loaded = load(image, options, timings, dwarf=False)  # by several jobs, symbols are read beside the index
        with timings.pass_("values"):
            pieces = index_of(image, section)
            _check_alike(image, section, pieces, options)
            why = _whole_dwarf(image, section, pieces)
        complete = has_dwarf(image) and not any(piece.flags & STRIPPED for piece in pieces)
        if why is None:
            try:
                encoded = _merge(loaded, pieces, options, sources, base, timings, progress, read)
            except DiscardedError as error:
                if not complete:
                    raise
                why = f"{error.place.file} has {error.found.partition(':')[0]}"
        if why is not None:
            encoded = encode_file(path, options, progress, timings)
            encoded.report.warnings.append(f"{path}: {why}: the DWARF of the file is encoded instead")
        elif image.etype == ET_REL and not complete:
            _tell_of_sections_behind(image, section, encoded)
        return encoded


def check_options(path: str, options: EncodeOptions) -> None:
    """Raise `EncodeError` for what cannot be had without the DWARF."""
    if options.degrade or options.features.force_cu_merging:
        found = "an encoding that degrades" if options.degrade else "the feature force_cu_merging, which makes one unit"
        raise EncodeError(path, found, "units as they are in the objects", "pybtf encode encodes the linked DWARF.")


def _advice(image: ElfImage) -> str:
    if has_dwarf(image):
        return "pybtf encode encodes the DWARF."
    btf = image.section(".BTF")
    if btf is not None and btf.type != SHT_NOBITS and btf.size:
        return "It has .BTF: if compilers wrote that (gcc -gbtf), --compiler-btf merges it."
    return "Was it stripped (ld -S, strip)?"


def _merge(
    loaded: LoadedFile,
    pieces: list[Piece],
    options: EncodeOptions,
    sources: Sources,
    base: Base | None,
    timings: Timings,
    progress: Progress | None,
    read: list[str] | None,
) -> Encoded:
    image = loaded.image
    report = new_report(image.path, options, timings)
    with timings.pass_("values"):
        cache, memory = None, None
        if sources.cache is not None:
            from pybtf.merging.cache import Cache

            cache = Cache(sources.cache, little=image.little)
            if base is None:
                from pybtf.merging.remembered import Memory

                memory = Memory(cache, image, pieces, options)
        payloads = Payloads(cache)
        payloads.take(sources.objects)
        if sources.objects:
            what = "objects, with code, but neither values nor DWARF"
            tell_of_others(report, payloads.without, what)
        else:
            what = "sources named in the symbol table that have no values"
            tell_of_others(report, _files_without(image, pieces), what)
    values = payloads.unit_values(loaded, pieces, sources.store)
    if memory is not None:
        values = replace(values, recall=memory.recall, remember=memory.remember)
    report.merged = {
        "source": "values",
        "exact": True,
        "objects": len(pieces),
        "values_xxh3_128": digest(*[piece.payload_digest for piece in pieces]).hex(),
        "rules": RULES,
        "remembered": False,
    }
    encoded = encode_images([image], Task(options, report, base, progress, values))
    if read is not None:
        read += values.paths
    if memory is not None and memory.found:
        report.merged["remembered"] = True
    elif cache is not None:
        with timings.pass_("cache"):
            result = memory.result if memory is not None else None
            problem = payloads.keep(cache, pieces, image.path, sources.store, result)
        if problem is not None:
            report.warnings.append(f"nothing was put into the cache: {problem}")
    if options.features.global_var:
        _tell_of_unloaded(image, encoded)
    if image.status is not None:
        report.input_size = image.status.st_size
    return encoded


def _tell_of_unloaded(image: ElfImage, encoded: Encoded) -> None:
    """Warn of variables that are in a section which is not loaded. As pahole, the encoder takes what lies at a
    variable's address; which of the sections of DWARF, all at 0, that is depends on which of them are there.
    """
    unloaded = [each for each in image.sections if each.type == SHT_PROGBITS and not each.flags & SHF_ALLOC]
    for name in _names_in(encoded, unloaded):
        encoded.report.warnings.append(
            f"some variables are assigned to {name}, which is not loaded; with the DWARF linked, it could be "
            "another section"
        )


def _tell_of_sections_behind(image: ElfImage, index: Section, encoded: Encoded) -> None:
    """Warn of variables in sections that come after the index, in a relocatable file. All sections that are not
    loaded are at 0 there, and of several at one address the first has it (`owners` of elf/layout.py): that of DWARF,
    had it been linked, in the index's place.
    """
    behind = [each for each in image.sections[index.index :] if each.flags & SHF_ALLOC]
    for name in _names_in(encoded, behind):
        encoded.report.warnings.append(
            f"in a link with DWARF, variables of {name} could be missing or in another section: in this relocatable "
            f"file it comes after {index.name}, where DWARF would be"
        )


def _names_in(encoded: Encoded, sections: Sequence[Section]) -> list[str]:
    """The names of sections that are in the BTF."""
    strings = bytes(encoded.data[len(encoded.data) - encoded.report.strings_size :])
    names = dict.fromkeys(section.name for section in sections if section.name)
    return [name for name in names if b"\0" + name.encode("utf-8", "surrogateescape") + b"\0" in strings]


def tell_of_others(report: Report, names: list[str], what: str) -> None:
    """Warn of sources or objects of which nothing is in the BTF, if there are any."""
    if names:
        report.warnings.append(f"nothing is in the BTF of {_some(names)} ({len(names)} of the {what})")


def _some(names: list[str]) -> str:
    """The first few, for a message."""
    return ", ".join(map(shortened, names[:MOST_NAMES])) + (", ..." if len(names) > MOST_NAMES else "")


def _place(image: ElfImage, section: Section, piece: Piece) -> Place:
    return Place(image.path, section.name, piece.at)


def _check_alike(image: ElfImage, section: Section, pieces: list[Piece], options: EncodeOptions) -> None:
    """Raise `InputError` unless all objects were encoded by this version, with the features that are asked for."""
    wanted = shaping(options.features)
    word = 8 if image.is64 else 4
    for piece in pieces:
        if piece.rules != RULES:
            raise InputError(
                _place(image, section, piece),
                f"{piece.path} was encoded by another version of pybtf (rules {piece.rules:#x})",
                f"rules {RULES:#x}, as of this one",
                "Encode the objects anew.",
            )
        if piece.options != wanted:
            raise InputError(
                _place(image, section, piece),
                f"{piece.path} was encoded with the features {shaping_names(piece.options)}",
                f"{shaping_names(wanted)}, which this command asks for",
                "pybtf object, pybtf cc and pybtf merge must be given the same --features, pybtf-pahole the same "
                "--btf_features.",
            )
        if piece.word != word and not piece.flags & ONE_UNIT:
            raise InputError(
                _place(image, section, piece), f"{piece.path} has addresses of {piece.word} bytes", f"{word}"
            )


def _whole_dwarf(image: ElfImage, section: Section, pieces: list[Piece]) -> str | None:
    """Why the DWARF is to be encoded instead, where all of it is there; None if values are as good.

    Raises `InputError` if they are not, and the DWARF is not there.
    """
    there = has_dwarf(image)
    complete = there and not any(piece.flags & STRIPPED for piece in pieces)
    for piece in pieces:
        if piece.flags & ONE_UNIT:
            if complete:
                return f"{piece.path} has units that refer to each other"
            raise EncodeError(
                _place(image, section, piece),
                f"{piece.path} has units that refer to each other, or type units, or was linked with optimisation",
                "units that stand alone",
                "All units of the file make one then: link the DWARF, and use pybtf encode.",
            )
    if not there:
        return None
    found = count_units(image)
    wanted = sum(piece.units for piece in pieces if not piece.flags & STRIPPED)
    if found == wanted:
        return None
    if complete and found > wanted:
        return f"{counted(found, 'unit')} of DWARF, of which {wanted} {'has' if wanted == 1 else 'have'} values"
    raise InputError(
        image.place(section),
        f"values of objects with DWARF of {counted(wanted, 'unit')}, and DWARF of {found}",
        "the same of each",
        f"Some object has DWARF and no values{_with_dwarf(image, pieces)}, or the linker has left out values: see "
        "docs/merge.md.",
    )


def _with_dwarf(image: ElfImage, pieces: list[Piece]) -> str:
    """A clause with names of units that may be those without values, or nothing."""
    from pybtf.merging.unit_folders import unit_names

    both = {name for piece in pieces if not piece.flags & STRIPPED for name in piece.files}
    names = [each for each in dict.fromkeys(unit_names(image)) if each.rpartition("/")[2] not in both]
    return f" (there is DWARF of {_some(names)})" if names else ""


_START_FILES = frozenset(
    (
        "crt1.o", "Scrt1.o", "gcrt1.o", "rcrt1.o", "grcrt1.o", "crti.o", "crtn.o", "crtstuff.c",
        "crtbegin.c", "crtbegin.o", "crtbeginS.o", "crtbeginT.o", "crtend.c", "crtend.o", "crtendS.o",
    )
)  # fmt: skip
"""Files of the C library and the compiler that every hosted program has, as symbol tables name them."""


def _files_without(image: ElfImage, pieces: list[Piece]) -> list[str]:
    """The sources that the symbol table names, and of which there are no values."""
    symtab = next(iter(image.of_type(SHT_SYMTAB)), None)
    if symtab is None:
        return []
    known = {name for piece in pieces for name in piece.files}
    # ld's names for what assembler made
    objects = {(bool(piece.files), piece.path.rpartition("/")[2]) for piece in pieces}
    named = dict.fromkeys(symbol_source(image, symtab).file_names())
    without = named.keys() - known - {name for _, name in objects} - _START_FILES - {""}
    # `objcopy --prefix-symbols` puts the prefix before names of files, too. Then the name itself is not there.
    renamed = (known | {name for has_files, name in objects if not has_files}) - named.keys()
    ends = _Ends(renamed - {""})
    return [name for name in named if name in without and not ends.has_one_of(name)]


class _Ends:
    """Names, of which others may be asked whether they end with one."""

    def __init__(self, names: set[str]) -> None:
        # Backwards, an end is a beginning. Of those that begin with one another the shortest will do. Then the one that
        # a name begins with, if any, is the last that does not sort after it.
        self._known: list[str] = []
        for each in sorted(name[::-1] for name in names):
            if not self._known or not each.startswith(self._known[-1]):
                self._known.append(each)

    def has_one_of(self, name: str) -> bool:
        """Whether the name ends with one of them, or is one."""
        from _bisect import bisect_right  # without what else `bisect` has

        backwards = name[::-1]
        at = bisect_right(self._known, backwards)
        return at > 0 and backwards.startswith(self._known[at - 1])
