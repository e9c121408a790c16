"""What became of each function and variable, for `pybtf why`: made from the notes of a run (model/traces.pxd).

A kernel has half a million traces of a hundred thousand names. They are chained by name, in the order of the units, and
become Python's objects only where somebody asks for them.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memset, strlen
from cython.cimports.pybtf.core.elf.function_table import NO_ENTRY, FuncTable, functable_find
from cython.cimports.pybtf.core.encode.encoder import Encoder
from cython.cimports.pybtf.core.functions.function_merge import FATE_UNSEEN, Emission
from cython.cimports.pybtf.core.functions.prototype_match import MATCH_MEMORY, MATCH_YES, types_match
from cython.cimports.pybtf.core.model.encoded_unit import *
from cython.cimports.pybtf.core.model.function_state import *
from cython.cimports.pybtf.core.model.traces import *
from cython.cimports.pybtf.core.strings.string_table import NO_STRING, Text, string_intern, string_text
from cython.cimports.pybtf.core.worker import Context

from pybtf.core.codes import FATE_NAMES, TRACE_NAMES

FLAGS = {
    S_UNEXPECTED: "unexpected",
    S_UNCERTAIN: "uncertain",
    S_REORDERED: "reordered",
    S_OPTIMIZED: "optimized",
    S_SIGNATURE_CHANGED: "signature_changed",
}
NO_REGISTER = cython.declare(uint32_t, 0xFFFF)


@cython.final
@cython.cclass
class Fates:
    """Traces of a run by name."""

    def __dealloc__(self):
        free(self.first)
        free(self.next)

    @cython.cfunc
    def bind(self, owner, x: cython.pointer[cython.const[Context]], e: cython.pointer[cython.const[Encoder]]):
        i: uint32_t
        name: uint32_t
        self.owner = owner
        self.x = x
        self.e = e
        self.n_names = x.strings.n
        self.first = cython.cast(cython.pointer[uint32_t], calloc(self.n_names + 1, cython.sizeof(uint32_t)))
        self.next = cython.cast(cython.pointer[uint32_t], calloc(e.traces.n + 1, cython.sizeof(uint32_t)))
        if self.first == cython.NULL or self.next == cython.NULL:
            raise MemoryError
        for i in range(e.traces.n, 0, -1):
            name = e.traces.p[i - 1].name
            if name < self.n_names:  # not one of a base
                self.next[i - 1] = self.first[name]
                self.first[name] = i

    @cython.cfunc
    def text(self, sid: uint32_t):
        x: Text = string_text(self.x.strings, sid)
        return x.text[: x.size].decode("utf-8", "surrogateescape")

    def names(self):
        """For each name that has traces: a bit for each kind of them, of the numbers in TRACE_NAMES."""
        sid: uint32_t
        at: uint32_t
        bits: uint32_t
        found: dict = {}
        for sid in range(self.n_names):
            at = self.first[sid]
            if at == 0:
                continue
            bits = 0
            while at:
                bits |= cython.cast(uint32_t, 1) << (self.e.traces.p[at - 1].what & 31)
                at = self.next[at - 1]
            found[self.text(sid)] = bits
        return found

    def totals(self):
        """How many traces of each kind there are."""
        counts: uint32_t[32]
        i: uint32_t
        memset(counts, 0, cython.sizeof(counts))
        for i in range(self.e.traces.n):
            counts[self.e.traces.p[i].what & 31] += 1
        found: dict = {}
        for i in range(32):
            if counts[i]:
                found[TRACE_NAMES[i]] = counts[i]
        return found

    def of(self, name: str):
        """The traces of a name, in the order of the units: dicts, see fates.pyi."""
        sid: uint32_t
        at: uint32_t
        result: list = []
        wanted: bytes = name.encode("utf-8", "surrogateescape")
        sid = string_intern(self.x.strings, wanted, len(wanted), True)
        if sid == NO_STRING:
            raise MemoryError
        at = self.first[sid] if sid < self.n_names else 0
        while at:
            result.append(self.at(at - 1))
            at = self.next[at - 1]
        return result

    @cython.cfunc
    def at(self, trace: uint32_t):
        """One trace, by its number: a dict as fates.pyi has it."""
        t: cython.pointer[cython.const[Trace]] = cython.address(self.e.traces.p[trace])
        s: cython.pointer[cython.const[State]]
        register: uint32_t
        result: dict = {"what": TRACE_NAMES[t.what & 31], "die": t.die}
        if t.parameter != TRACE_NONE:
            result["parameter"] = t.parameter
        if t.state == TRACE_NONE:
            return result
        s = cython.address(self.e.states[t.state])
        result["state"] = t.state
        result["address"] = s.address
        result["prototype"] = s.proto
        result["flags"] = [name for bit, name in FLAGS.items() if s.flags & bit]
        if t.optimized != TRACE_NONE:
            result["optimized"] = t.optimized
        if t.found != TRACE_NONE:
            register = t.found & 0xFFFF
            result["register"] = None if register == NO_REGISTER else register
            result["due"] = t.found >> 16
        return result

    def same_prototype(self, one: cython.size_t, other: cython.size_t):
        """Whether the prototypes of two states match, by the rule that decides it for the encoding."""
        status: cython.int
        if one >= self.e.n_states or other >= self.e.n_states:
            raise IndexError("no such state")
        status = types_match(self.x.classes, self.e.states[one].proto, self.e.states[other].proto)
        if status == MATCH_MEMORY:
            raise MemoryError
        return status == MATCH_YES

    def functions(self):
        """(base name, fate, is a kfunc) of each function that the symbol table has, in order of their names."""
        table: cython.pointer[cython.const[FuncTable]] = self.x.table
        out: cython.pointer[cython.const[Emission]] = cython.address(self.e.emission)
        result: list = []
        i: uint32_t
        fate: uint8_t
        for i in range(table.n):
            fate = FATE_UNSEEN if out.fate == cython.NULL else out.fate[i]
            result.append((
                table.name[i][: table.name_len[i]].decode("utf-8", "surrogateescape"),
                FATE_NAMES[fate],
                bool(table.kfunc[i]),
            ))  # fmt: skip
        return result

    def emitted(self):
        """For each function of the output: its name there, its base name, and its state."""
        out: cython.pointer[cython.const[Emission]] = cython.address(self.e.emission)
        table: cython.pointer[cython.const[FuncTable]] = self.x.table
        result: dict = {}
        i: cython.size_t
        for i in range(out.n):
            entry: uint32_t = out.p[i].entry
            result[out.p[i].name[: out.p[i].name_len].decode("utf-8", "surrogateescape")] = (
                table.name[entry][: table.name_len[entry]].decode("utf-8", "surrogateescape"),
                out.p[i].state,
            )
        return result

    def places(self, compiled: bytearray):
        """Where functions and variables are described: two dicts by name. `compiled` is what Origins says.

        Of each function how many descriptions have code, how many are abstract (for inlining), how many are only
        declarations; and the DIE of the first of the first sort there is. Of each variable that is in the output, the
        DIEs it is from, in the order of the units.
        """
        functions: dict = {}
        variables: dict = {}
        counts: uint32_t[3]
        first: uint32_t[3]
        sid: uint32_t
        at: uint32_t
        number: uint32_t
        sort: cython.int
        t: cython.pointer[cython.const[Trace]]
        for sid in range(self.n_names):
            at = self.first[sid]
            if at == 0:
                continue
            memset(counts, 0, cython.sizeof(counts))
            kept: list = []
            while at:
                number = at - 1
                t = cython.address(self.e.traces.p[number])
                at = self.next[number]
                if t.what == COUNT_VAR_KEPT:
                    kept.append(t.die)
                    continue
                if t.what == TRACE_DECLARED:
                    sort = 2
                elif t.what == TRACE_EXCLUDED or t.what < COUNT_VARIABLES:
                    sort = 0 if compiled[number] else 1
                else:
                    continue
                if counts[sort] == 0:
                    first[sort] = t.die
                counts[sort] += 1
            if kept:
                variables[self.text(sid)] = kept
            for sort in range(3):
                if counts[sort]:
                    functions[self.text(sid)] = (counts[0], counts[1], counts[2], first[sort])
                    break
        return functions, variables

    def dies_of_states(self, states):
        """The DIEs that states are from, as a dict."""
        i: uint32_t
        wanted: set = set(states)
        found: dict = {}
        for i in range(self.e.traces.n):
            if self.e.traces.p[i].state != TRACE_NONE and self.e.traces.p[i].state in wanted:
                found[self.e.traces.p[i].state] = self.e.traces.p[i].die
        return found

    def fate(self, name: str):
        """The fate (of FATE_NAMES) of the functions with this base name; None if the symbol table has none."""
        wanted: bytes = name.encode("utf-8", "surrogateescape")
        entry: uint32_t = functable_find(self.x.table, wanted, len(wanted))
        if entry == NO_ENTRY:
            return None
        return FATE_NAMES[FATE_UNSEEN if self.e.emission.fate == cython.NULL else self.e.emission.fate[entry]]

    def symbols(self, name: str):
        """(name, address) of the symbols with this base name; and whether they make the name ambiguous."""
        i: uint32_t
        wanted: bytes = name.encode("utf-8", "surrogateescape")
        table: cython.pointer[cython.const[FuncTable]] = self.x.table
        entry: uint32_t = functable_find(table, wanted, len(wanted))
        found: list = []
        if entry == NO_ENTRY:
            return found, False
        for i in range(table.first[entry], table.first[entry + 1]):
            found.append((
                table.sym_name[i][: strlen(table.sym_name[i])].decode("utf-8", "surrogateescape"),
                table.value[i],
            ))  # fmt: skip
        return found, bool(table.ambiguous[entry])

    def at_address(self, address: uint64_t):
        """The base names of the functions with a symbol at an address."""
        table: cython.pointer[cython.const[FuncTable]] = self.x.table
        entry: uint32_t
        i: uint32_t
        found: list = []
        for entry in range(table.n):
            for i in range(table.first[entry], table.first[entry + 1]):
                if table.value[i] == address:
                    found.append(table.name[entry][: table.name_len[entry]].decode("utf-8", "surrogateescape"))
                    break
        return found

    def parameter_registers(self):
        """DWARF's numbers of the registers that the convention gives to parameters; empty if they are not known."""
        i: cython.int
        found: list = []
        for i in range(self.x.machine.R if self.x.machine.known else 0):
            found.append(self.x.machine.regs[i])
        return found

    def units(self):
        """(first byte, end) of each unit in .debug_info, ascending."""
        i: uint32_t
        found: list = []
        for i in range(self.x.n_own):
            found.append((self.x.headers[i].offset, self.x.headers[i].end))
        return found
