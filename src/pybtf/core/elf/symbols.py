"""A symbol table as bytes that stay in memory, and the error of a symbol that cannot be used.

Reading one symbol is in `symbols.pxd`, inline. `SymbolSource` owns what it reads from: three buffers, usually
slices of the mapped file, which cannot be unmapped while they are held.
"""

import cython
from cython.cimports.cpython.buffer import PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import strlen
from cython.cimports.pybtf.core.elf.elf_constants import SHN_LORESERVE, STT_FILE, STT_FUNC, STT_OBJECT
from cython.cimports.pybtf.core.elf.symbols import Symbol, SymbolView, name_budget, name_ok, read_symbol, symbol_size
from cython.cimports.pybtf.core.support.cursor import HOST_IS_BIG


class SymbolError(ValueError):
    """A symbol that cannot be used: its index, what was found and what was expected."""

    def __init__(self, symbol: object, found: str, expected: str) -> None:
        self.symbol = symbol
        self.found = found
        self.expected = expected
        super().__init__(f"symbol {symbol}: {found}; expected {expected}")


@cython.final
@cython.cclass
class SymbolSource:
    """A symbol table, its strings and its extended section indexes, held as buffers of bytes.

    `symtab` is the data of a SHT_SYMTAB section, `strtab` of the section that it links to, `shndx` of the
    SHT_SYMTAB_SHNDX section that links to it, if any. Trailing bytes that make no whole symbol are ignored.
    Raises `SymbolError` if `shndx` is too short, or the tables are too large for 31 and 32 bits.
    """

    def __cinit__(self, symtab, strtab, *, is64: cython.bint, little: cython.bint, shndx=None):
        count: uint64_t
        PyObject_GetBuffer(symtab, cython.address(self.symtab_buffer), PyBUF_SIMPLE)
        PyObject_GetBuffer(strtab, cython.address(self.strtab_buffer), PyBUF_SIMPLE)
        count = cython.cast(uint64_t, self.symtab_buffer.len) // symbol_size(is64)
        if count >> 31:
            raise SymbolError(0, f"{count} symbols", "fewer than 2^31")
        if self.strtab_buffer.len >> 32:
            raise SymbolError(0, f"a string table of {self.strtab_buffer.len} bytes", "less than 2^32")
        self.view.n = cython.cast(uint32_t, count)
        self.view.symtab = cython.cast(cython.pointer[cython.const[uint8_t]], self.symtab_buffer.buf)
        self.view.strtab = cython.cast(cython.p_const_char, self.strtab_buffer.buf)
        self.view.strtab_size = self.strtab_buffer.len
        self.view.is64 = is64
        self.view.swap = little == HOST_IS_BIG
        if shndx is not None:
            PyObject_GetBuffer(shndx, cython.address(self.shndx_buffer), PyBUF_SIMPLE)
            if cython.cast(uint64_t, self.shndx_buffer.len) < count * 4:
                raise SymbolError(0, f"{self.shndx_buffer.len} bytes of extended section indexes", f"{count * 4}")
            self.view.shndx = cython.cast(cython.pointer[cython.const[uint8_t]], self.shndx_buffer.buf)

    def __dealloc__(self):
        PyBuffer_Release(cython.address(self.symtab_buffer))
        PyBuffer_Release(cython.address(self.strtab_buffer))
        PyBuffer_Release(cython.address(self.shndx_buffer))

    def __len__(self):
        return self.view.n

    def in_section(self, section: uint32_t, prefix: bytes):
        """Symbols of a section whose names start with `prefix`: list of (name, value, size), in table order.

        The section must have an index below 0xFF00; extended indexes are not looked at. Raises `SymbolError`
        if the name of a symbol of that section is not a string of the string table, or if the names overlap so much
        that they add up to far more than the table.
        """
        found: list = []
        s = cython.declare(Symbol)
        i: uint32_t
        v: cython.pointer[SymbolView] = cython.address(self.view)
        budget: uint64_t = name_budget(v)
        size: cython.size_t
        for i in range(v.n):
            read_symbol(v, i, cython.address(s))
            if s.section != section or s.extended:
                continue
            if not name_ok(v, s.name):
                raise bad_name(self, i)
            size = strlen(v.strtab + s.name)
            if size > budget:
                raise too_long(self, i)
            budget -= size
            name: bytes = v.strtab[s.name : s.name + size]
            if name.startswith(prefix):
                found.append((name, s.value, s.size))
        return found

    def named(self, type: uint32_t):
        """(name, value, section) of all symbols of a type, in table order; section 0 if it is in none. What has no
        usable name is passed over; names that add up to far more than the string table end the list.
        """
        found: list = []
        s = cython.declare(Symbol)
        i: uint32_t
        v: cython.pointer[SymbolView] = cython.address(self.view)
        budget: uint64_t = name_budget(v)
        size: cython.size_t
        for i in range(v.n):
            read_symbol(v, i, cython.address(s))
            if s.type != type or not name_ok(v, s.name):
                continue
            size = strlen(v.strtab + s.name)
            if size > budget:
                break
            budget -= size
            section = 0 if s.section >= SHN_LORESERVE and not s.extended else s.section
            found.append((v.strtab[s.name : s.name + size].decode("utf-8", "surrogateescape"), s.value, section))
        return found

    def file_names(self):
        """The names of all STT_FILE symbols, as `named` gives them."""
        return [name for name, _, _ in self.named(STT_FILE)]

    def function_names(self):
        """(name, value) of all function symbols, also of those that the function table leaves out, as `named` does."""
        return [(name, value) for name, value, _ in self.named(STT_FUNC)]

    def functions(self):
        """As `function_names`, with the section of each: (name, value, section)."""
        return self.named(STT_FUNC)

    def objects(self, addresses, wanted):
        """STT_OBJECT symbols in sections, by name: [address, size, how many there are of the name, False, whether one
        is in a section that is `wanted` (a set of indexes; None: all are)].

        `addresses`: of each section, to which values are relative, as 64-bit words; None: values are addresses. Several
        symbols of a name at one address are one. What has no usable name is passed over; names that add up to far more
        than the string table end the list.
        """
        found: dict = {}
        s = cython.declare(Symbol)
        i: uint32_t
        v: cython.pointer[SymbolView] = cython.address(self.view)
        budget: uint64_t = name_budget(v)
        size: cython.size_t
        address: uint64_t
        for i in range(v.n):
            read_symbol(v, i, cython.address(s))
            if s.type != STT_OBJECT or s.section == 0 or (s.section >= SHN_LORESERVE and not s.extended):
                continue
            if not name_ok(v, s.name):
                continue
            size = strlen(v.strtab + s.name)
            if size > budget:
                break
            budget -= size
            name: bytes = v.strtab[s.name : s.name + size]
            address = s.value
            if addresses is not None:
                if s.section >= len(addresses):
                    continue
                address += cython.cast(uint64_t, addresses[s.section])
            known: list = found.get(name)
            asked: bool = wanted is None or s.section in wanted
            if known is None:
                found[name] = [address, s.size, 1, False, asked]
            elif known[0] != address:
                known[2] += 1
                known[4] = known[4] or asked
        return found

    def files_of(self, section: uint32_t):
        """Of symbols of a section, by value: the name of the STT_FILE symbol that comes before, as bytes. Linkers write
        the local symbols of one object after that.
        """
        found: dict = {}
        file: bytes = b""
        s = cython.declare(Symbol)
        i: uint32_t
        v: cython.pointer[SymbolView] = cython.address(self.view)
        budget: uint64_t = name_budget(v)
        size: cython.size_t
        for i in range(v.n):
            read_symbol(v, i, cython.address(s))
            if s.type == STT_FILE and name_ok(v, s.name):
                size = strlen(v.strtab + s.name)
                if size > budget:
                    break
                budget -= size
                file = v.strtab[s.name : s.name + size]
            elif s.section == section and not s.extended and file:
                found.setdefault(s.value, file)
        return found


def too_long(source: SymbolSource, index: uint32_t):
    """The error for symbol `index`, with which the names are longer than `name_budget` allows."""
    return SymbolError(
        index,
        f"with it, the names are more than {name_budget(cython.address(source.view))} bytes long",
        f"names that hardly overlap within the {source.view.strtab_size} bytes of the string table",
    )


def bad_name(source: SymbolSource, index: uint32_t):
    """The error for symbol `index`, whose name `name_ok` refused."""
    s = cython.declare(Symbol)
    v: cython.pointer[SymbolView] = cython.address(source.view)
    read_symbol(v, index, cython.address(s))
    if v.strtab_size and v.strtab[v.strtab_size - 1]:
        return SymbolError(index, "the string table does not end with a NUL", "a NUL")
    return SymbolError(index, f"its name is at {s.name:#x} of the string table", f"an offset below {v.strtab_size:#x}")
