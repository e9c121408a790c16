"""Where the bytes of new or changed sections go in an ELF file that must otherwise stay as it is.

The rule: every other section keeps its index, its bytes and its file offset, and program headers are not
touched. Then symbol tables, groups, relocations and everything a loader maps stay right without being looked
at. Three things may change: the sections asked for (the *targets*), the section name table if it needs a new
name, and the section table itself. Call these three the loose parts, all else the fixed parts.

*The tail.* Let the end of the last fixed part be E. Whatever lies past E is loose, and is laid out anew on
every run in one order: names, targets, section table. In a file from GNU ld the names and the table are at
the end already, so they grow where they are; in others a copy of the names is made. A second run finds the
same E, and so gives the same bytes: files do not grow with each run. Bytes past E that no table mentions
are somebody's (a signature, an appended archive) and fixed, unless they are zero.

*In front of E* a loose part stays where it is if its new contents fit: into its old bytes, or with them into
zero bytes that nobody uses. Bytes left over are set to zero. If it does not fit it moves to the tail, and its
old place is set to zero too: no old BTF is left to be found by a search for its magic, and zeros compress.

*Loaded sections.* A target that a running program or kernel sees (SHF_ALLOC, inside a segment) cannot move:
its address is in code and symbols. It may shrink, or grow into the padding up to the next section, at most to
the end of what its segment loads from the file. More does not fit, and that is an error, not a relocation.
(Code that finds the section by symbols that the linker put around it, as the kernel does with __start_BTF and
__stop_BTF, still sees the old length; that is so with any tool that changes a linked section.)
In a relocatable object there are no segments, and SHF_ALLOC ties nothing down. Nor does it tie down an empty section:
lld keeps the empty .BTF for which the linker script of a kernel has a place, in the first link of a build, and objcopy
takes the new one out of that file. Such a section moves to the tail and is no longer loaded.

*What changes in headers.* A replaced section keeps name, type, flags, address and alignment; size and perhaps
offset change. A new section: SHT_PROGBITS, no flags, alignment 1, as `objcopy --add-section` makes it. Cases
where keeping the header would leave a broken section:
- SHF_COMPRESSED: the flag goes, for the new bytes are not compressed.
- SHT_NOBITS: in a debug-only file the section has lost its bytes. It becomes SHT_PROGBITS and loses
  SHF_ALLOC, for no segment contains it any longer. (pahole leaves it SHT_NOBITS, and so writes nothing.)
  In a file that is loaded such a section is memory, and this is an error.
- Relocations against the old contents (`.rel.BTF`, in objects that clang made for BPF) would corrupt the new
  ones at the next link. Their section becomes empty; it keeps its index and its header.

*The names.* The table may be one that symbols use too (clang makes one `.strtab` for all). It only ever grows
at its end, so all old offsets stay good, and as it keeps its section index, symbol tables find it as before.

*Over 65,279 sections* the count does not fit the header: `e_shnum` is 0 and `sh_size` of section 0 has it.
A new section is the last one, so no index in symbols or in SHT_SYMTAB_SHNDX changes.
"""

from __future__ import annotations

from pybtf.elf.constants import (
    SHF_ALLOC,
    SHF_COMPRESSED,
    SHN_LORESERVE,
    SHT_NOBITS,
    SHT_NULL,
    SHT_PROGBITS,
    SHT_REL,
    SHT_RELA,
)
from pybtf.elf.outline import Outline
from pybtf.elf.wire import Phdr, Shdr
from pybtf.errors import InputError, OutputError, Place
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import field, record

if TYPE_CHECKING:
    from collections.abc import Mapping

Bytes = bytes | bytearray | memoryview
Range = tuple[int, int]
"""Start and end in the file, in bytes, the end excluded."""

DETACHED_ADVICE = "Use --detached to write the BTF to a file of its own."

# The header asks for alignment 1; readers that map the file are faster on whole words.
_TAIL_ALIGN = 8
_MAX_ALIGN = 4096
_SCAN = 1 << 20


@record(frozen=True)
class Plan:
    """The new file, `size` bytes: the first `keep` of the old one; over them `zeros`; over all, `patches`.

    `placed` says for each target where it went: "added", "in place" or "moved".
    """

    keep: int
    zeros: list[Range]
    patches: list[tuple[int, Bytes]]
    size: int
    placed: dict[str, str]


@record()
class _Part:
    """A loose part: its old place (empty if it is new), what it will hold, and where that goes.

    `index` is that of its section, 0 for the section table, which is none. `pinned`: it cannot move.
    """

    what: str
    old: Range
    size: int
    align: int
    content: Bytes = b""
    index: int = 0
    pinned: bool = False
    offset: int = -1


@record()
class _Draft:
    """The plan in the making."""

    outline: Outline
    shdrs: list[Shdr]
    strings: bytearray
    targets: dict[int, _Part] = field(default_factory=dict)
    names: _Part | None = None
    table: _Part | None = None


def is_current(outline: Outline, contents: Mapping[str, Bytes]) -> bool:
    """Whether the file already holds just these sections, so that nothing needs to be written."""
    for name, content in contents.items():
        index = outline.find(name.encode())
        if index is None:
            return False
        header = outline.shdrs[index]
        plain = header.type != SHT_NOBITS and not header.flags & SHF_COMPRESSED
        if not plain or header.size != len(content) or _relocations(outline.shdrs, index):
            return False
        for at in range(0, header.size, _SCAN):
            piece = memoryview(content)[at : at + _SCAN]
            if outline.read(header.offset + at, len(piece)) != piece:
                return False
    return True


def make_plan(outline: Outline, contents: Mapping[str, Bytes]) -> Plan:
    """Lay out the file with `contents` (by section name) in it.

    Raises `InputError` if the file is damaged, `OutputError` if it would be by putting a section in.
    """
    draft = _Draft(outline, list(outline.shdrs), bytearray(outline.strings))
    placed = {name: _add_target(draft, name, content) for name, content in contents.items()}
    _add_names_and_table(draft)
    fixed = _fixed_ranges(draft)
    parts = _parts(draft)
    end = _end_of_fixed(draft, fixed, parts)
    tail = _stay_or_move(draft, fixed, parts, end)
    size = _lay_tail(tail, end)
    _check_limits(outline, parts, size)
    for name, part in zip(contents, draft.targets.values(), strict=True):
        if placed[name] != "added" and part.offset != part.old[0]:
            placed[name] = "moved"
    zeros = _subtract([(part.old[0], min(part.old[1], end)) for part in parts], fixed)
    zeros += [(part.offset + part.size, part.old[1]) for part in parts if part.pinned]
    zeros = [(start, stop) for start, stop in zeros if start < stop]
    return Plan(end, zeros, _patches(draft), size, placed)


def _add_target(draft: _Draft, name: str, content: Bytes) -> str:
    """Make `name` a loose part, with a header of its own if there is none yet."""
    outline, encoded = draft.outline, name.encode()
    index = outline.find(encoded)
    if index is None:
        header = Shdr(_name_offset(draft, encoded), SHT_PROGBITS, 0, 0, 0, len(content), 0, 0, 1, 0)
        index = len(draft.shdrs)
        draft.targets[index] = _Part(name, (0, 0), len(content), _TAIL_ALIGN, content, index)
        draft.shdrs.append(header)
        return "added"
    old = draft.shdrs[index]
    _check_replaceable(outline, name, index)
    place = (0, 0) if old.type == SHT_NOBITS else (old.offset, old.offset + old.size)
    flags, align = old.flags, old.addralign
    pinned = _is_loaded(outline, old)
    address = old.addr
    if old.type == SHT_NOBITS:
        flags &= ~SHF_ALLOC
    elif pinned and not old.size:
        place, pinned = (0, 0), False
        flags, address = flags & ~SHF_ALLOC, 0
    if flags & SHF_COMPRESSED:
        flags, align = flags & ~SHF_COMPRESSED, 1
    draft.shdrs[index] = old._replace(
        type=SHT_PROGBITS, flags=flags, addr=address, size=len(content), addralign=align
    )
    draft.targets[index] = _Part(name, place, len(content), _tail_align(align), content, index, pinned)
    for relocations in _relocations(draft.shdrs, index):
        draft.shdrs[relocations] = draft.shdrs[relocations]._replace(size=0)
    return "in place"


def _check_replaceable(outline: Outline, name: str, index: int) -> None:
    """Raise unless section `index` is one that contents can be put into."""
    header = outline.shdrs[index]
    if index == outline.shstrndx or header.type not in (SHT_PROGBITS, SHT_NOBITS):
        raise InputError(
            Place(outline.path, name),
            f"a section of type {header.type:#x}, index {index}",
            f"SHT_PROGBITS ({SHT_PROGBITS})",
            DETACHED_ADVICE,
        )
    if header.type == SHT_NOBITS and header.flags & SHF_ALLOC and outline.phdrs:
        raise OutputError(
            f"{outline.path}: {name} takes memory when the file is loaded, but no bytes in the file "
            f"(SHT_NOBITS), so none can be put there. {DETACHED_ADVICE}"
        )


def _name_offset(draft: _Draft, name: bytes) -> int:
    """Offset of `name` in the name table, which gets it if no name there ends with it."""
    wanted = name + b"\0"
    found = draft.strings.find(wanted)
    if found < 0:
        found = len(draft.strings)
        draft.strings += wanted
    return found


def _add_names_and_table(draft: _Draft) -> None:
    """Make the section table a loose part, and the name table too if it grew."""
    outline, wire = draft.outline, draft.outline.wire
    entry = wire.shdr.size
    start = outline.ehdr.shoff
    old = (start, start + entry * len(outline.shdrs))
    draft.table = _Part("the section table", old, entry * len(draft.shdrs), wire.word)
    if len(draft.strings) == len(outline.strings):
        return
    index = outline.shstrndx
    header = outline.shdrs[index]
    place = (header.offset, header.offset + header.size)
    pinned = _is_loaded(outline, header)
    draft.names = _Part("the section name table", place, len(draft.strings), 1, draft.strings, index, pinned)
    draft.shdrs[index] = header._replace(size=len(draft.strings))


def _parts(draft: _Draft) -> list[_Part]:
    """The loose parts in the order of the tail."""
    assert draft.table is not None
    names = [] if draft.names is None else [draft.names]
    return [*names, *(draft.targets[index] for index in sorted(draft.targets)), draft.table]


def _fixed_ranges(draft: _Draft) -> list[Range]:
    """Sorted, merged ranges of the file that something other than the loose parts uses."""
    outline, wire = draft.outline, draft.outline.wire
    ehdr = outline.ehdr
    loose = set(draft.targets)
    if draft.names is not None:
        loose.add(outline.shstrndx)
    ranges = [(0, min(max(ehdr.ehsize, wire.ehdr.size), outline.size))]
    if outline.phdrs:
        ranges.append((ehdr.phoff, ehdr.phoff + wire.phdr.size * len(outline.phdrs)))
    ranges += [(segment.offset, segment.offset + segment.filesz) for segment in outline.phdrs]
    ranges += [
        (header.offset, header.offset + header.size)
        for index, header in enumerate(outline.shdrs)
        if header.size and index not in loose and header.type not in (SHT_NULL, SHT_NOBITS)
    ]
    return _merge(ranges)


def _end_of_fixed(draft: _Draft, fixed: list[Range], parts: list[_Part]) -> int:
    """Where the tail starts: after all fixed parts, and after unexplained bytes that are not zero."""
    end = fixed[-1][1]
    outline = draft.outline
    unexplained = _subtract([(end, outline.size)], _merge([part.old for part in parts]))
    for start, stop in reversed(unexplained):
        last = _last_nonzero(outline, start, stop)
        if last is not None:
            return last + 1
    return end


def _last_nonzero(outline: Outline, start: int, stop: int) -> int | None:
    """Offset of the last byte in the range that is not zero."""
    zeros = bytes(min(_SCAN, stop - start))
    while stop > start:
        size = min(_SCAN, stop - start)
        piece = outline.read(stop - size, size)
        if piece != zeros[:size]:  # hundreds of times as fast as rstrip, for the hole of a sparse file
            return stop - size + len(piece.rstrip(b"\0")) - 1
        stop -= size
    return None


def _stay_or_move(draft: _Draft, fixed: list[Range], parts: list[_Part], end: int) -> list[_Part]:
    """Leave in place what can stay in front of `end`; return the parts for the tail, in order."""
    tail = []
    for part in parts:
        others = [other.old for other in parts if other is not part]
        if part.pinned:
            part.offset = part.old[0]
            _check_pinned(draft, part, others)
        elif part.old[1] > part.old[0] and part.old[0] < end and _fits(draft, part, fixed, others, end):
            part.offset = part.old[0]
        else:
            tail.append(part)
    return tail


def _fits(draft: _Draft, part: _Part, fixed: list[Range], others: list[Range], end: int) -> bool:
    """Whether the new contents fit at the old place, with unused zero bytes after it if need be."""
    start, stop = part.old
    want = (start, start + max(part.size, stop - start))
    if want[1] > end or _overlaps(want, fixed) or _overlaps(want, _merge(others)):
        return False
    return _last_nonzero(draft.outline, stop, want[1]) is None


def _check_pinned(draft: _Draft, part: _Part, others: list[Range]) -> None:
    """Raise `OutputError` unless the new contents of a loaded section fit where it is."""
    outline, (start, stop) = draft.outline, part.old
    header = outline.shdrs[part.index]
    limit = min(segment.offset + segment.filesz for segment in outline.phdrs if _loads(segment, part.old))
    ranges = list(others)
    for number, other in enumerate(outline.shdrs):
        if number == part.index or other.type == SHT_NULL or not other.size:
            continue
        if other.type != SHT_NOBITS:
            ranges.append((other.offset, other.offset + other.size))
        if other.flags & SHF_ALLOC and other.addr > header.addr:
            limit = min(limit, start + other.addr - header.addr)
    taken = _merge(ranges)
    if _overlaps(part.old, taken):
        raise OutputError(f"{outline.path}: {part.what} shares bytes with another section. {DETACHED_ADVICE}")
    following = _behind(taken, start)
    if following < len(taken):
        limit = min(limit, taken[following][0])
    limit = max(limit, stop)
    if start + part.size > limit or _last_nonzero(outline, stop, max(stop, start + part.size)) is not None:
        raise OutputError(
            f"{outline.path}: {part.what} lies in a loaded segment, so it cannot be moved, and the new one "
            f"does not fit: it has {part.size} bytes, and there is room for {limit - start}. "
            f"{DETACHED_ADVICE}"
        )


def _lay_tail(tail: list[_Part], end: int) -> int:
    """Give the parts of the tail their offsets; returns the size of the file."""
    for part in tail:
        part.offset = -(-end // part.align) * part.align
        end = part.offset + part.size
    return end


def _check_limits(outline: Outline, parts: list[_Part], size: int) -> None:
    if size > outline.wire.word_max:
        raise OutputError(
            f"{outline.path}: with {parts[-2].what} the file would have {size} bytes; its class of ELF file "
            f"ends at {outline.wire.word_max}. {DETACHED_ADVICE}"
        )


def _patches(draft: _Draft) -> list[tuple[int, Bytes]]:
    """All bytes that differ from the old file, after the zeros, in any order."""
    outline, wire, table = draft.outline, draft.outline.wire, draft.table
    assert table is not None
    patches: list[tuple[int, Bytes]] = []
    for index, part in draft.targets.items():
        draft.shdrs[index] = draft.shdrs[index]._replace(offset=part.offset)
        patches.append((part.offset, part.content))
    if draft.names is not None:
        index = outline.shstrndx
        draft.shdrs[index] = draft.shdrs[index]._replace(offset=draft.names.offset)
        patches.append((draft.names.offset, draft.names.content))
    ehdr, count = outline.ehdr, len(draft.shdrs)
    if ehdr.shnum == 0 or count >= SHN_LORESERVE:
        ehdr = ehdr._replace(shnum=0)
        draft.shdrs[0] = draft.shdrs[0]._replace(size=count)
    else:
        ehdr = ehdr._replace(shnum=count)
    patches.append((table.offset, b"".join(map(wire.pack_shdr, draft.shdrs))))
    patches.append((0, wire.pack_ehdr(outline.ident, ehdr._replace(shoff=table.offset))))
    return patches


def _relocations(shdrs: list[Shdr], index: int) -> list[int]:
    """Sections with relocations against the contents of section `index`, as a linker would apply them."""
    return [
        number
        for number, header in enumerate(shdrs)
        if header.type in (SHT_REL, SHT_RELA)
        and header.info == index
        and header.size
        and not header.flags & SHF_ALLOC
    ]


def _is_loaded(outline: Outline, header: Shdr) -> bool:
    """Whether the section is part of what a loader maps, so that its place is fixed."""
    place = (header.offset, header.offset + header.size)
    bits = header.flags & SHF_ALLOC and header.type != SHT_NOBITS
    return bool(bits) and any(_loads(segment, place) for segment in outline.phdrs)


def _loads(segment: Phdr, place: Range) -> bool:
    """Whether a segment of any type covers a byte of `place`."""
    return segment.offset < place[1] and place[0] < segment.offset + segment.filesz


def _tail_align(align: int) -> int:
    """Alignment in the file for a section that wants `align`; what is not sensible is not heeded."""
    sensible = _TAIL_ALIGN < align <= _MAX_ALIGN and align & (align - 1) == 0
    return align if sensible else _TAIL_ALIGN


def _merge(ranges: list[Range]) -> list[Range]:
    """Sorted, disjoint, non-empty ranges that cover the same bytes."""
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if end <= start:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _overlaps(place: Range, ranges: list[Range]) -> bool:
    """Whether `place` has a byte in common with `ranges`, which are sorted and disjoint."""
    following = _behind(ranges, place[0])
    if following < len(ranges) and ranges[following][0] < place[1]:
        return True
    return following > 0 and ranges[following - 1][1] > place[0]


def _subtract(ranges: list[Range], taken: list[Range]) -> list[Range]:
    """The bytes of `ranges` that are not in `taken`, which is sorted and disjoint; sorted and disjoint."""
    rest: list[Range] = []
    for start, end in _merge(ranges):
        at = start
        for taken_start, taken_end in taken:
            if taken_end <= at or taken_start >= end:
                continue
            if taken_start > at:
                rest.append((at, taken_start))
            at = taken_end
        if at < end:
            rest.append((at, end))
    return rest


def _behind(ranges: list[Range], at: int) -> int:
    """The number of the first of these ranges, which ascend, that is after the empty one at `at`."""
    low, high = 0, len(ranges)
    while low < high:
        middle = (low + high) // 2
        if ranges[middle] > (at, at):
            high = middle
        else:
            low = middle + 1
    return low
