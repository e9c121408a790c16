"""The BTF of a BPF object, as a loader completes it before it is given to a kernel.

A compiler does not know where variables end up, so it leaves that out: sections have the size 0, and variables that are
not static the offset 0. What it has to say of extern variables and functions, kernels do not understand at all. So no
kernel ever sees the BTF that is in the file. What libbpf makes of it, as observed from 1.1 to 1.7:

- A section has the size of the ELF section of its name, each variable the value of its symbol as offset. Static ones
  have theirs already. Where the size is not 0 (`bpftool gen object` has linked the object), both stay.
- `.kconfig` is not an ELF section: the loader lays it out by alignment, the largest first, then by size, then by name.
- `.ksyms` has four bytes for each entry, which are never used: its variables become `int`, and instead of functions,
  of which a section cannot consist, a variable `dummy_ksym` stands there. If there is no `int`, the type is `void`,
  which kernels refuse.
- Extern variables and functions become global ones, and parameters of such functions get a name if they have none.
- Entries are sorted by offset.

Variables that are hidden become static, too, which makes no difference to a kernel, and is not done here. All else
stays, with all that is wrong in it, for the judge to see. BTF that cannot be read is not completed.
"""

from __future__ import annotations

import sys
from array import array

from pybtf.btf.header import LAYOUT_LENGTH
from pybtf.btf.kinds import Kind, Linkage, pack_info
from pybtf.btf.reader import BTF
from pybtf.btf.strings import encode_name
from pybtf.btf.types import Datasec, Func, FuncProto, Int, Var
from pybtf.core.elf.symbols import SymbolError, SymbolSource
from pybtf.elf.constants import SHN_LORESERVE, SHT_SYMTAB
from pybtf.elf.image import ElfImage
from pybtf.elf.symbols import symbol_error, symbol_source
from pybtf.errors import PybtfError
from pybtf.support.records import record

SYMBOLS, CONFIG = ".ksyms", ".kconfig"
DUMMY = b"dummy_ksym"
_LIMIT = 1 << 32


@record()
class Completed:
    """`said`: what was done. `missing`: what a loader needs and does not find, so that it refuses the object."""

    data: bytes
    said: list[str]
    missing: list[str]


def complete(data: bytes, image: ElfImage) -> Completed:
    """The BTF in `image`, a BPF object, as a loader gives it to the kernel; the same bytes if nothing is to be done."""
    try:
        work = _Completion(BTF.from_bytes(data), image)
        work.run()
        return Completed(work.tobytes(), work.said(), work.missing)
    except PybtfError as error:
        return Completed(data, [], [f"not completed, {error}"])


class _Completion:
    def __init__(self, btf: BTF, image: ElfImage) -> None:
        self.btf = btf
        self.image = image
        self.words = array("I", btf.words)
        self.text = b""
        self.missing: list[str] = []
        self._sizes = self._offsets = self._externs = 0
        self._dummy = 0
        self._int = -1
        self._symbols: SymbolSource | None = None

    def run(self) -> None:
        for id in range(self.btf.first_id, self.btf.end_id):
            if self.btf.kind_of(id) is Kind.DATASEC:
                section = self.btf.type(id)
                assert isinstance(section, Datasec)
                self._section(section)

    def said(self) -> list[str]:
        counts = (
            (self._sizes, "sizes of sections"),
            (self._offsets, "offsets of variables"),
            (self._externs, "extern variables and functions"),
        )
        return [f"{what}: {count:,}" for count, what in counts if count]

    def _section(self, section: Datasec) -> None:
        entries = [[one.type, one.offset, one.size] for one in section.variables]
        size = section.size
        if section.name == SYMBOLS:
            size = self._symbols_of_kernel(entries)
        elif section.name == CONFIG:
            size = self._configuration(entries)
        elif not size:
            size = self._of_file(section.name, entries)
        self._sizes += size != section.size
        at = self._at(section.id)
        self.words[at + 2] = size % _LIMIT
        if section.variables:
            entries.sort(key=lambda entry: entry[1])
            flat = [word % _LIMIT for entry in entries for word in entry]
            self.words[at + 3 : at + 3 + len(flat)] = array("I", flat)

    def _refused(self, why: str) -> None:
        self.missing.append(f"a loader refuses the object: {why}")

    def _at(self, id: int) -> int:
        return self.btf.starts[id - self.btf.first_id]

    def _var(self, id: int) -> Var | None:
        found = self.btf.type(id)
        return found if isinstance(found, Var) else None

    # Sections of the file

    def _of_file(self, name: str, entries: list[list[int]]) -> int:
        found = self.image.section(name)
        if found is None or not found.size:
            self._refused(f"{name} is {'no section' if found is None else 'an empty section'} of the file")
            return 0
        values = self._values(found.index)
        for entry in entries:
            var = self._var(entry[0])
            if var is None or var.linkage == Linkage.STATIC:
                continue
            value = values.get(encode_name(var.name))
            if value is None:
                self._refused(f"variable {var.name} of {name} has no symbol")
            elif value != entry[1]:
                self._offsets += 1
                entry[1] = value
        return found.size

    def _values(self, index: int) -> dict[bytes, int]:
        """Values of symbols in this section, by name. Raises `InputError`."""
        symtab = next(iter(self.image.of_type(SHT_SYMTAB)), None)
        if symtab is None or index >= SHN_LORESERVE:
            return {}
        if self._symbols is None:
            self._symbols = symbol_source(self.image, symtab)
        try:
            return {name: value for name, value, _ in self._symbols.in_section(index, b"")}
        except SymbolError as error:
            raise symbol_error(self.image, symtab, error) from None

    # What is outside of it

    def _configuration(self, entries: list[list[int]]) -> int:
        placed = []
        for entry in entries:
            var = self._var(entry[0])
            size = self.btf.size_of(entry[0]) if var is not None else None
            if var is None or size is None:
                return 0  # for the judge: a loader refuses that
            placed.append((self.btf.alignof(var.type), size, encode_name(var.name), entry))
        end = 0
        for align, size, _, entry in sorted(placed, key=lambda each: (-each[0], each[1], each[2])):
            start = (end + align - 1) // align * align
            self._offsets += start != entry[1]
            entry[1] = start
            end = start + size
            self._global(entry[0])
        return end

    def _symbols_of_kernel(self, entries: list[list[int]]) -> int:
        for number, entry in enumerate(entries):
            found = self.btf.type(entry[0])
            if isinstance(found, Func):
                entry[0] = self._dummy_var()
                self._function(found)
            elif isinstance(found, Var):
                self.words[self._at(found.id) + 2] = self._int_id()
                self._global(found.id)
            self._offsets += entry[1] != 4 * number
            entry[1:] = 4 * number, 4
        return 4 * len(entries)

    def _global(self, id: int) -> None:
        at = self._at(id) + 3
        if self.words[at] == Linkage.EXTERN:
            self.words[at] = Linkage.GLOBAL
            self._externs += 1

    def _function(self, func: Func) -> None:
        if func.linkage == Linkage.EXTERN:
            self.words[self._at(func.id) + 1] = pack_info(Kind.FUNC, Linkage.GLOBAL, func.kind_flag)
            self._externs += 1
        proto = self.btf.type(func.type)
        if isinstance(proto, FuncProto):
            at = self._at(proto.id) + 3
            for number, param in enumerate(proto.params):
                if param.type and not self.words[at + 2 * number]:
                    self.words[at + 2 * number] = self.btf.strings.end

    def _dummy_var(self) -> int:
        """The id of the variable, whose name is after all other names."""
        if not self._dummy:
            self._dummy = self.btf.end_id
            self.text = DUMMY + b"\0"
            info = pack_info(Kind.VAR, 0, False)
            self.words.extend((self.btf.strings.end, info, self._int_id(), Linkage.GLOBAL))
        return self._dummy

    def _int_id(self) -> int:
        """The first INT of 32 bits, 0 if there is none."""
        if self._int < 0:
            self._int = 0
            for id in range(self.btf.first_id, self.btf.end_id):
                if self.btf.kind_of(id) is not Kind.INT:
                    continue
                found = self.btf.type(id)
                if isinstance(found, Int) and (found.size, found.bits) == (4, 32):
                    self._int = id
                    break
        return self._int

    def tobytes(self) -> bytes:
        """What was after the types moves by as much as they have grown; the strings grow at their end."""
        data, header = self.btf.data, self.btf.header
        words = self.words[:]
        if header.little != (sys.byteorder == "little"):
            words.byteswap()
        start, end = header.section("type")
        _, text_end = header.section("str")
        types = words.tobytes()
        grown = len(types) - (end - start)
        if not grown and not self.text:
            return data[:start] + types + data[end:]
        if text_end < end:
            raise PybtfError("strings before the types")
        new = header._replace(
            type_len=len(types), str_off=header.str_off + grown, str_len=header.str_len + len(self.text)
        )
        if header.hdr_len >= LAYOUT_LENGTH and header.layout_off >= header.type_off + header.type_len:
            new = new._replace(layout_off=header.layout_off + grown)
        known = new.pack()[:LAYOUT_LENGTH]
        front = known + data[len(known) : start]
        return front + types + data[end:text_end] + self.text + data[text_end:]
