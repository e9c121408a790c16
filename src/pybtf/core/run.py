"""One encoding: the workers, the hand-over to the encoder, and what follows the last unit.

All workers do the same. A worker claims the next unit, decodes it into a value and puts the value into the ring at
the unit's place. If nobody is encoding, it then encodes whatever is ready at the head of the ring, in unit order,
and goes on decoding. So there is no thread that only waits, one worker needs no thread at all, and the encoder
still sees every unit exactly once and in order.

The ring bounds how far decoding may run ahead of encoding, and so the memory: a worker whose unit would not fit
waits. It cannot wait for ever: the unit at the head of the ring is being decoded by somebody who encodes it next.

Worker 0 belongs to the main thread and comes back to Python now and then, for signals and progress.
"""

import cython
from cython.cimports.cpython.buffer import PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.btf.type_section import WireError, wire_store, wire_swap
from cython.cimports.pybtf.core.btf.verify import Written, verify, verify_error
from cython.cimports.pybtf.core.classes.class_record import REC_NAME, class_record
from cython.cimports.pybtf.core.classes.record_cache import seen_delete
from cython.cimports.pybtf.core.context import context_free, context_is_one, context_seen, context_tables
from cython.cimports.pybtf.core.dedup.base import Base, Space, room_reserve
from cython.cimports.pybtf.core.dedup.dedup import DedupError, DedupInput, dedup_run
from cython.cimports.pybtf.core.dedup.namesakes import other_sizes
from cython.cimports.pybtf.core.elf.function_table import FunctionTable, functable_head
from cython.cimports.pybtf.core.encode.append_unit import stream_again, stream_unit
from cython.cimports.pybtf.core.encode.assemble import assemble
from cython.cimports.pybtf.core.encode.distill import DISTILL_KIND, DISTILL_MEMORY, Distilled, distill, distill_free
from cython.cimports.pybtf.core.encode.emit import (
    Layout,
    emit_count,
    emit_header,
    emit_layout,
    emit_strings,
    emit_types,
    raw_btf,
)
from cython.cimports.pybtf.core.encode.emit_split import split_layout, split_names
from cython.cimports.pybtf.core.encode.encoder import (
    ENCODE_ARENA,
    ENCODE_EFFORT,
    ENCODE_MEMORY,
    Encoder,
    encode_functions,
    encode_sections,
    encoder_fail,
    encoder_free,
    encoder_init,
)
from cython.cimports.pybtf.core.fates import Fates
from cython.cimports.pybtf.core.functions.calling_convention import machine_init
from cython.cimports.pybtf.core.functions.variables import SectionRange
from cython.cimports.pybtf.core.model.debug_sections import DebugSections, Span
from cython.cimports.pybtf.core.model.encoded_unit import *
from cython.cimports.pybtf.core.model.faults import (
    FAULT_SPLIT,
    FAULT_VARIABLE_NAME,
    FAULT_VARIABLE_TYPE,
    IN_INFO,
    Fault,
)
from cython.cimports.pybtf.core.model.losses import Losses, losses_free, losses_reset, losses_take
from cython.cimports.pybtf.core.model.options import OPT_DEGRADE
from cython.cimports.pybtf.core.reduction.certify import certify
from cython.cimports.pybtf.core.search import Search
from cython.cimports.pybtf.core.strings.string_table import (
    IN_BASE,
    NO_STRING,
    Text,
    string_in_base,
    string_intern,
    string_text,
    strings_build_on,
)
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.memory import U32s, u32s_free, u64s_free
from cython.cimports.pybtf.core.support.monitor import *
from cython.cimports.pybtf.core.worker import *

from pybtf.core.codes import COUNT_NAMES, DEDUP_NAMES, ERROR_NAMES, FATE_NAMES, FAULT_NAMES

SECTION_NAMES = (
    "info", "abbrev", "str", "line_str", "str_offsets", "addr", "loc", "loclists", "ranges", "rnglists",
)  # fmt: skip
MOST_CONFLICTS = cython.declare(cython.size_t, 1000)  # told by name
MAX_SIZE = cython.declare(uint64_t, 0xFFFFFFFF)
LENT = cython.declare(cython.size_t, 1 << 28)  # words of a list that is lent at most: offsets in it are of 32 bits


@cython.final
@cython.cclass
class Run:
    """Everything one encoding needs; freed as a whole."""

    x: Context
    e: Encoder
    values: cython.pointer[UnitValue]
    window: uint32_t
    monitor: Monitor
    claimed: uint32_t
    consumed: uint32_t
    units: uint32_t
    draining: cython.bint
    stopped: cython.bint
    again: cython.bint  # the second round: units of which more must be kept
    encode_ns: int64_t
    bad: Fault
    bad_unit: uint32_t
    bad_name: uint32_t
    losses: Losses  # of an encoding that degrades
    renamed: set  # string ids of names that were replaced
    map: cython.pointer[uint32_t]  # of the de-duplication: `own_map`, or that of `space`
    own_map: cython.pointer[uint32_t]
    layout: Layout
    own_words: cython.size_t  # of the types that `data` wrote, which stay where they are
    section_names: cython.pointer[uint32_t]
    n_section_names: uint32_t
    symbols: FunctionTable  # of the file in work
    functions: FunctionTable  # of all files
    buffers: list
    sections = cython.declare(object, visibility="readonly")
    base: Base
    space: Space
    first: uint32_t  # id of the first own type

    def __cinit__(self, sections, symbols, **options):
        memset(cython.address(self.x), 0, cython.sizeof(Context))
        memset(cython.address(self.e), 0, cython.sizeof(Encoder))
        memset(cython.address(self.layout), 0, cython.sizeof(Layout))
        memset(cython.address(self.losses), 0, cython.sizeof(Losses))
        self.own_words = 0
        self.values = cython.NULL
        self.map = self.own_map = cython.NULL
        self.section_names = cython.NULL
        monitor_init(cython.address(self.monitor))

    def __dealloc__(self):
        i: uint32_t
        if self.values != cython.NULL:
            for i in range(self.window):
                value_free(cython.address(self.values[i]))
        free(self.values)
        free(self.own_map)  # `base` cannot be asked: the garbage collector may have cleared it
        free(self.layout.number)
        free(self.section_names)
        losses_free(cython.address(self.losses))
        encoder_free(cython.address(self.e))
        context_free(cython.address(self.x))
        monitor_destroy(cython.address(self.monitor))

    def __init__(
        self,
        sections,
        symbols: FunctionTable,
        *,
        little,
        machine,
        options,
        force,
        ranges,
        names,
        languages,
        only_languages,
        jobs,
        info_mapped=False,
        keep_all=False,
        base: Base = None,
        functions: FunctionTable = None,
        tracing=False,
    ):
        """`functions`: the table of all files, if there are several (see `next_file`); `symbols` are those of one."""
        self.functions = symbols if functions is None else functions
        self.buffers = []
        self.x.little = little
        self.x.options = options
        self.x.tracing = tracing
        self.x.table = cython.address(self.functions.t)
        self.e.keep_all = self.x.keep_all = keep_all or base is not None or functions is not None
        self.set_file(sections, symbols, machine, info_mapped)
        self.set_tables()
        self.set_variables(ranges, names, force)
        self.renamed = set()
        if len(languages) > MAX_LANGUAGES:
            raise ValueError(f"at most {MAX_LANGUAGES} languages")
        for i, code in enumerate(languages):
            self.x.languages[i] = code
        self.x.n_languages = len(languages)
        self.x.only_languages = only_languages
        # One worker encodes a unit right after it has decoded it.
        self.window = 4 * jobs + 4 if jobs > 1 else 1
        self.values = cython.cast(cython.pointer[UnitValue], calloc(self.window, cython.sizeof(UnitValue)))
        self.e.strings = self.x.strings
        self.e.classes = self.x.classes
        self.e.table = self.x.table
        self.e.known = self.x.known
        self.e.options = options
        self.first = 1
        if base is not None:
            self.base = base
            self.first = base.types.n
            self.e.base = cython.address(base.strings)
            if base.strings.size <= IN_BASE and not strings_build_on(
                self.x.strings, self.e.base, cython.address(base.models)
            ):
                raise MemoryError
        if self.values == cython.NULL or encoder_init(cython.address(self.e)):
            raise MemoryError
        if base is not None:
            # The list begins with the base: in the room of a space, which is this run's until `close` gives it back.
            self.space = base.take()
            u64s_free(cython.address(self.e.offs))
            self.e.words = self.space.r.words
            self.e.offs = self.space.r.offs
            self.space.r.words.p = cython.NULL
            self.space.r.offs.p = cython.NULL

    def next_file(self, sections, symbols: FunctionTable, *, machine, info_mapped=False):
        """Goes on with another file, of the same byte order, for the same BTF. Sections of variables remain those
        of the first file, as in the reference.
        """
        self.x.first_unit += self.units
        self.x.file += 1
        self.x.merge = False
        free(self.x.headers)
        self.x.headers = cython.NULL
        self.x.n_units = self.units = self.claimed = self.consumed = 0
        memset(cython.address(self.x.sections), 0, cython.sizeof(self.x.sections))
        self.set_file(sections, symbols, machine, info_mapped)
        # Its records have names by offsets, of which each file has its own.
        seen_delete(self.x.seen)
        if not context_seen(cython.address(self.x)):
            raise MemoryError

    @cython.cfunc
    def set_file(self, sections, symbols: FunctionTable, machine, info_mapped):
        self.symbols = symbols
        self.x.info_mapped = info_mapped
        self.x.sections.swap = not self.x.little
        machine_init(cython.address(self.x.machine), machine)
        self.set_sections(sections)

    @cython.cfunc
    def set_sections(self, sections):
        """Points the spans at the buffers, which live as long as this object."""
        own: cython.pointer[DebugSections] = cython.address(self.x.sections)
        other: cython.pointer[DebugSections] = cython.address(self.x.alternate)
        alternate = getattr(sections, "alternate", None)
        self.point(own, sections)
        self.sections = sections
        own.types_at = getattr(sections, "types_at", own.info.n)
        own.alternate_at = own.info.n
        if alternate is None:
            return
        memset(other, 0, cython.sizeof(DebugSections))
        self.point(other, alternate)
        other.swap = own.swap
        other.info = own.info
        if own.str.n > alternate.str_at:
            other.str.p = own.str.p + cython.cast(cython.size_t, alternate.str_at)
            other.str.n = own.str.n - cython.cast(cython.size_t, alternate.str_at)
            own.str.n = alternate.str_at
        own.alternate_at = other.alternate_at = alternate.info_at
        own.alternate = other

    @cython.cfunc
    def point(self, to: cython.pointer[DebugSections], sections):
        spans: cython.pointer[Span] = cython.address(to.info)
        view = cython.declare(cython.Py_buffer)
        i: cython.int
        for i in range(len(SECTION_NAMES)):
            data = sections.get(SECTION_NAMES[i])
            if data is None or len(data) == 0:
                continue
            PyObject_GetBuffer(data, cython.address(view), PyBUF_SIMPLE)
            spans[i].p = cython.cast(cython.pointer[cython.const[uint8_t]], view.buf)
            spans[i].n = view.len
            PyBuffer_Release(cython.address(view))
            self.buffers.append(data)

    @cython.cfunc
    def set_tables(self):
        if not context_tables(cython.address(self.x)):
            raise MemoryError

    @cython.cfunc
    def set_variables(self, ranges, names, force):
        r: cython.pointer[SectionRange]
        i: uint32_t
        self.x.variables.force = force
        self.x.variables.degrade = (self.x.options & OPT_DEGRADE) != 0
        self.x.variables.n_sections = len(ranges)
        self.x.variables.sections = cython.cast(
            cython.pointer[SectionRange], calloc(len(ranges) + 1, cython.sizeof(SectionRange))
        )
        self.n_section_names = len(names)
        self.section_names = cython.cast(cython.pointer[uint32_t], calloc(len(names) + 1, cython.sizeof(uint32_t)))
        if self.x.variables.sections == cython.NULL or self.section_names == cython.NULL:
            raise MemoryError
        for i in range(len(ranges)):
            r = cython.address(self.x.variables.sections[i])
            r.address, r.size, r.start, r.index, r.included = ranges[i]
        known: dict = {}  # many sections may share one long name
        for i in range(len(names)):
            name: bytes = names[i]
            if name not in known:
                known[name] = string_intern(self.x.strings, name, len(name), True)
            self.section_names[i] = known[name]
            if self.section_names[i] == NO_STRING:
                raise MemoryError

    def scan(self, merge):
        """Reads all unit headers; returns how many. `merge`: treat them as one logical unit."""
        with cython.nogil:
            scan_units(cython.address(self.x), cython.address(self.bad), cython.address(self.losses))
        self.x.merge = merge
        self.units = (1 if self.x.n_units else 0) if merge else self.x.n_units
        if self.bad.code:
            self.bad_unit = 0xFFFFFFFF
        return self.x.n_units

    def merge(self):
        """Treats all units as one logical unit from now on."""
        self.x.merge = True
        self.units = 1 if self.x.n_units else 0

    def has_reference_to_other_units(self):
        """Whether some abbreviation has the form DW_FORM_ref_addr, or there are type units; see context.pxd."""
        found: cython.bint
        with cython.nogil:
            found = context_is_one(cython.address(self.x), cython.address(self.bad), cython.address(self.bad_unit))
        return found

    # ---- the hand-over --------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def claim(self, patience: cython.long) -> int64_t:
        """The number of the next unit to decode; -1: none is left; -2: none before the time is up."""
        number: int64_t = -1
        monitor_enter(cython.address(self.monitor))
        while not self.stopped and self.claimed < self.units and self.claimed - self.consumed >= self.window:
            monitor_wait(cython.address(self.monitor), patience)
            if self.claimed - self.consumed >= self.window:
                number = -2
                break
        if number != -2 and not self.stopped and self.claimed < self.units:
            number = self.claimed
            self.claimed += 1
        elif self.stopped or self.claimed >= self.units:
            number = -1
        monitor_leave(cython.address(self.monitor))
        return number

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def publish(self, v: cython.pointer[UnitValue]) -> cython.void:
        """Puts a value into the ring, and encodes what is ready unless somebody else does."""
        head: cython.pointer[UnitValue]
        start: int64_t
        monitor_enter(cython.address(self.monitor))
        v.ready = True
        if self.draining:
            monitor_leave(cython.address(self.monitor))
            return
        self.draining = True
        while not self.stopped and self.consumed < self.claimed:
            head = cython.address(self.values[self.consumed % self.window])
            if not head.ready:
                break
            monitor_leave(cython.address(self.monitor))
            CHECK(head.number == self.x.first_unit + self.unit(self.consumed), "a unit is encoded out of its turn")
            start = now_ns()
            if head.fault.code:
                self.bad = head.fault
                self.bad_unit = head.number - self.x.first_unit
                self.bad_name = head.name
            elif (
                stream_again(cython.address(self.e), head) if self.again else stream_unit(cython.address(self.e), head)
            ):
                self.bad_unit = head.number - self.x.first_unit
                self.bad_name = head.name
            elif not self.again and not losses_take(cython.address(self.losses), cython.address(head.losses)):
                encoder_fail(cython.address(self.e), ENCODE_MEMORY)
            self.encode_ns += now_ns() - start
            monitor_enter(cython.address(self.monitor))
            head.ready = False
            self.consumed += 1
            if self.bad.code or self.e.error:
                self.stopped = True
            monitor_notify(cython.address(self.monitor))
        self.draining = False
        monitor_leave(cython.address(self.monitor))

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def unit(self, number: uint32_t) -> uint32_t:
        """The unit that is decoded as number `number` of this round."""
        return self.e.redo.p[number] if self.again else number

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def lend(self, v: cython.pointer[UnitValue]) -> cython.bint:
        """Lets a unit write its records behind the list, where they will stay if all of them are kept and there is
        nobody else who could write there. False: it writes them to a place of its own.
        """
        if self.window > 1 or not self.e.keep_all or self.e.words.n > LENT:
            return False
        CHECK(v.words.p == cython.NULL or v.words.p != self.e.words.p, "the list is lent twice")
        u32s_free(cython.address(v.words))
        v.words = self.e.words
        v.start = cython.cast(uint32_t, self.e.words.n)
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def loop(self, w: cython.pointer[Worker], milliseconds: cython.long) -> cython.bint:
        """Decodes until nothing is left (1) or the time is up (0); `milliseconds` 0: without limit."""
        end: int64_t = now_ns() + milliseconds * cython.cast(int64_t, 1000000)
        number: int64_t
        v: cython.pointer[UnitValue]
        lent: cython.bint
        while True:
            number = self.claim(milliseconds if milliseconds else 1000)
            if number == -1:
                return True
            if number >= 0:
                v = cython.address(self.values[number % self.window])
                lent = self.lend(v)
                decode_unit(w, cython.address(self.x), self.unit(cython.cast(uint32_t, number)), v, self.symbols)
                if lent:
                    self.e.words.p = v.words.p
                    self.e.words.cap = v.words.cap
                self.publish(v)
                CHECK(not lent or self.e.words.p == v.words.p or self.e.error != 0, "the list was moved while lent")
                if lent:
                    memset(cython.address(v.words), 0, cython.sizeof(U32s))
                    v.start = 0
            if milliseconds and now_ns() >= end:
                return False

    def work(self, on_slice=None):
        """Takes part in the run until nothing is left to decode; see the module.

        `on_slice(done, units)` is called every 50 ms, from this thread; what it raises ends the run.
        """
        slice_: cython.long = 0 if on_slice is None else 50
        done: cython.bint = False
        i: cython.size_t
        w: cython.pointer[Worker] = cython.cast(cython.pointer[Worker], malloc(cython.sizeof(Worker)))
        if w == cython.NULL or worker_init(w, cython.address(self.x)):
            free(w)
            raise MemoryError
        try:
            while not done:
                with cython.nogil:
                    done = self.loop(w, slice_)
                if on_slice is not None:
                    on_slice(self.consumed, self.units)
        finally:
            for i in range(w.classifier.renamed.n):
                self.renamed.add(w.classifier.renamed.p[i])
            worker_free(w)
            free(w)

    def stop(self):
        """Makes all workers return after the unit they are at."""
        monitor_enter(cython.address(self.monitor))
        self.stopped = True
        monitor_notify(cython.address(self.monitor))
        monitor_leave(cython.address(self.monitor))

    def fault(self):
        """The first fault in unit order, or None."""
        f: Fault = self.bad
        if f.code == 0:
            return None
        unit = -1
        if f.die or (self.x.merge and f.section == IN_INFO):
            unit = self.unit_around(f.die if f.die else f.offset)
        elif self.bad_unit < self.x.n_units and not self.x.merge:
            unit = self.x.headers[self.bad_unit].offset
        if unit == -1 and self.x.n_units and f.section == IN_INFO:
            unit = f.offset
        found = self.describe(f, unit)
        found["unit_name"] = self.text(self.bad_name)
        return found

    def take_losses(self):
        """What has been lost since the last call, as faults, `whole_unit` besides; and how many by the fault's name."""
        f: Fault
        i: uint32_t
        found: list = []
        for i in range(self.losses.n):
            f = self.losses.p[i].fault
            row = self.describe(f, self.unit_around(f.die if f.die else f.offset))
            row["whole_unit"] = bool(self.losses.p[i].whole_unit)
            found.append(row)
        counts = {name: self.losses.counts[code] for code, name in FAULT_NAMES.items() if self.losses.counts[code]}
        losses_reset(cython.address(self.losses))
        return found, counts

    def renamed_names(self):
        """The names that were replaced, sorted."""
        return sorted([self.text(sid) for sid in self.renamed])

    @cython.cfunc
    def describe(self, f: Fault, unit):
        name: uint32_t = 0
        if f.code == FAULT_VARIABLE_NAME or f.code == FAULT_VARIABLE_TYPE or f.code == FAULT_SPLIT:
            name = cython.cast(uint32_t, f.value)
        return {
            "name": self.text(name),
            "code": FAULT_NAMES[f.code],
            "section": f.section,
            "offset": f.offset,
            "die": f.die,
            "value": f.value,
            "unit": unit,
            "unit_name": "",
        }

    @cython.cfunc
    def unit_around(self, offset: uint64_t):
        """Offset of the unit that holds this offset of .debug_info, -1 if none does."""
        low: uint32_t = 0
        high: uint32_t = self.x.n_units
        middle: uint32_t
        while low < high:
            middle = low + (high - low) // 2
            if self.x.headers[middle].end <= offset:
                low = middle + 1
            else:
                high = middle
        return -1 if low == self.x.n_units else self.x.headers[low].offset

    def error(self):
        """The encoder's error (of ERROR_NAMES) and the name or number it is about, or None."""
        if self.e.error == 0:
            return None
        if self.e.error == ENCODE_ARENA or self.e.error == ENCODE_EFFORT:
            return ERROR_NAMES[self.e.error], self.text(functable_head(self.x.table, self.e.error_entry) + 1)
        return ERROR_NAMES[self.e.error], str(self.e.error_entry)

    @cython.cfunc
    def text(self, sid: uint32_t):
        if sid == 0 or (not string_in_base(sid) and sid >= self.x.strings.n):
            return ""
        x: Text = string_text(self.x.strings, sid)
        return x.text[: x.size].decode("utf-8", "backslashreplace")

    # ---- after the last unit ----------------------------------------------------------------------------------------

    def certify(self):
        """Finds the units of which more must be kept, and prepares `work` for them; returns how many."""
        with cython.nogil:
            certify(cython.address(self.e))
        self.again = True
        self.units = cython.cast(uint32_t, self.e.redo.n)
        self.claimed = self.consumed = 0
        return self.e.redo.n

    def finish(self):
        """Makes one list of all units, with functions and sections of variables; returns its number of types."""
        with cython.nogil:
            if assemble(cython.address(self.e)) == 0 and encode_functions(cython.address(self.e)) == 0:
                encode_sections(cython.address(self.e), self.section_names, self.n_section_names)
        return self.e.offs.n - self.first

    def deduplicate(self):
        """Returns (one of DEDUP_NAMES, offending id): "" if all went well."""
        input: DedupInput
        error: DedupError
        input.base = cython.NULL
        input.room = cython.NULL
        if self.base is None:
            free(self.own_map)
            self.own_map = cython.cast(cython.pointer[uint32_t], malloc(self.e.offs.n * cython.sizeof(uint32_t)))
            if self.own_map == cython.NULL:
                raise MemoryError
            self.map = self.own_map
        else:
            if not room_reserve(cython.address(self.space.r), self.e.offs.n):
                raise MemoryError
            split_names(cython.address(self.e))
            self.map = self.space.r.map
            input.base = cython.address(self.base.types)
            input.room = cython.address(self.space.r)
        input.words = self.e.words.p
        input.offs = cython.cast(cython.pointer[cython.size_t], self.e.offs.p)
        input.n = cython.cast(uint32_t, self.e.offs.n)
        input.first_own = self.first
        error.code = 0
        error.id = 0
        with cython.nogil:
            dedup_run(cython.address(input), self.map, cython.address(error))
        return DEDUP_NAMES[error.code], error.id

    def data(self):
        """The finished BTF. Raises `OverflowError` if types and strings are not below 4 GiB together."""
        out: cython.pointer[uint8_t]
        types: cython.pointer[uint8_t]
        written: Written
        failed: cython.int
        swap: cython.bint = self.x.sections.swap
        split: cython.bint = self.base is not None
        with cython.nogil:
            if not split:
                failed = emit_layout(cython.address(self.e), self.map, cython.address(self.layout))
            else:
                failed = split_layout(
                    cython.address(self.e),
                    self.first,
                    self.e.base.size,
                    self.map,
                    cython.address(self.layout),
                )
        if failed:
            if self.layout.type_size + self.layout.string_size <= MAX_SIZE:
                raise MemoryError
            raise OverflowError(self.layout.type_size + self.layout.string_size)
        data = PyBytes_FromStringAndSize(
            cython.NULL, cython.cast(cython.Py_ssize_t, 24 + self.layout.type_size + self.layout.string_size)
        )
        out = cython.cast(cython.pointer[uint8_t], cython.cast(cython.p_char, data))
        memset(cython.address(written), 0, cython.sizeof(Written))
        written.n_words = self.own_words = self.layout.type_size // 4
        written.first = self.first
        written.n = self.first + self.layout.types - 1
        written.size = self.layout.string_size
        with cython.nogil:
            types = emit_header(cython.address(self.layout), out, swap)
            written.text = cython.cast(cython.p_char, types) + self.layout.type_size
            emit_strings(cython.address(self.e), cython.cast(cython.p_char, types) + self.layout.type_size)
            if split:
                written.base = self.e.base.text
                written.base_size = self.e.base.size
                if written.n_words:
                    written.words = self.e.words.p + self.e.offs.p[self.first]
            else:
                emit_types(cython.address(self.e), self.map, cython.address(self.layout), types)
                written.words = cython.cast(cython.pointer[uint32_t], types)
        self.check(cython.address(written))
        with cython.nogil:
            if split:
                wire_store(types, written.words, written.n_words, swap)
            elif swap:
                wire_swap(types, written.n_words)
        return data

    @cython.cfunc
    def check(self, written: cython.pointer[cython.const[Written]]):
        """Raises `InternalError` if what is about to be written is no BTF."""
        error: WireError
        code: cython.int
        with cython.nogil:
            code = verify(written, cython.address(error))
        if code:
            raise verify_error(cython.address(error))

    def other_sizes(self):
        """(name, size, size in the base) of each own struct or union whose only namesake in the base has another size.

        After `data`, of a run on a base; also after `distill`, whose layout is that of what it made.
        """
        found = cython.declare(U32s)
        done: cython.bint
        i: cython.size_t
        own: cython.pointer[uint32_t]
        there: cython.pointer[uint32_t]
        if self.own_words == 0:
            return []
        memset(cython.address(found), 0, cython.sizeof(U32s))
        own = self.e.words.p + self.e.offs.p[self.first]
        try:
            with cython.nogil:
                done = other_sizes(
                    cython.address(self.base.types),
                    self.e.words.p,
                    self.e.offs.p,
                    self.base.strings.size,
                    own,
                    self.own_words,
                    cython.address(found),
                )
            if not done:
                raise MemoryError
            result = []
            for i in range(0, found.n, 2):
                there = self.e.words.p + self.e.offs.p[found.p[i + 1]]
                name = cython.cast(bytes, self.base.strings.text + there[0])
                result.append((name.decode("utf-8", "backslashreplace"), own[found.p[i] + 2], there[2]))
            return result
        finally:
            u32s_free(cython.address(found))

    def distill(self, data: bytes):
        """Of `data`, what the function of that name returned: split BTF with a minimal base of its own, and that base.

        Returns the id of a type instead, if the BTF refers to one that cannot be in such a base.
        """
        d: Distilled
        written: Written
        layout: Layout
        raw: cython.p_const_char = data
        status: cython.int
        memset(cython.address(d), 0, cython.sizeof(Distilled))
        memset(cython.address(layout), 0, cython.sizeof(Layout))
        d.base = cython.address(self.base.types)
        d.words = self.e.words.p
        d.offs = self.e.offs.p
        d.strings = cython.address(self.base.strings)
        d.own_text = raw + 24 + self.layout.type_size
        d.n_own = self.layout.type_size // 4
        if d.n_own:
            d.own = self.e.words.p + self.e.offs.p[self.first]
        try:
            with cython.nogil:
                status = distill(cython.address(d))
            if status == DISTILL_MEMORY:
                raise MemoryError
            if status == DISTILL_KIND:
                return d.bad
            emit_count(cython.address(self.layout), cython.address(d.split_words), d.split_text.n)
            memset(cython.address(written), 0, cython.sizeof(Written))
            written.words = d.base_words.p
            written.n_words = d.base_words.n
            written.first = 1
            written.n = d.n_base
            written.text = cython.cast(cython.p_char, d.base_text.p)
            written.size = d.base_text.n
            self.check(cython.address(written))
            written.base = written.text
            written.base_size = cython.cast(uint32_t, d.base_text.n)
            written.words = d.split_words.p
            written.n_words = d.split_words.n
            written.first = d.n_base
            written.n = d.n_base + self.layout.types - 1
            written.text = cython.cast(cython.p_char, d.split_text.p)
            written.size = d.split_text.n
            self.check(cython.address(written))
            return (
                raw_btf(cython.address(d.split_words), cython.address(d.split_text), self.x.sections.swap),
                raw_btf(cython.address(d.base_words), cython.address(d.base_text), self.x.sections.swap),
            )
        finally:
            distill_free(cython.address(d))

    def fates(self):
        """What became of each function and variable, by name; see fates.py. After `data`, of a run that traces."""
        fates: Fates = Fates()
        fates.bind(self, cython.address(self.x), cython.address(self.e))
        return fates

    def search(self):
        """A search in the units of the file in work; see search.py."""
        search: Search = Search()
        search.bind(self, cython.address(self.x))
        return search

    def close(self):
        """Gives back what belongs to the base, for the next run on it. To be called last, whatever happened."""
        if self.space is None:
            return
        self.space.r.words = self.e.words
        self.space.r.offs = self.e.offs
        self.e.words.p = cython.NULL
        self.e.offs.p = cython.NULL
        self.map = cython.NULL
        self.base.give(self.space)
        self.space = None

    def facts(self):
        """Counts for the report; of `counts` and `fates` those that are not 0."""
        kinds = {i: self.layout.kinds[i] for i in range(32) if self.layout.kinds[i]}
        fates: cython.pointer[uint64_t] = self.e.emission.counts
        whole = sum([1 for i in range(self.e.redo.n) if self.e.streams[self.e.redo.p[i]].whole])
        return {
            "units": self.e.units,
            "filtered": self.e.filtered,
            "types_before": self.e.types_seen,
            "types_kept": self.e.offs.n - 1,
            "units_again": self.e.redo.n,
            "units_whole": whole,
            "conflicts": [
                self.text(class_record(self.e.classes, self.e.conflicts.p[i])[REC_NAME])
                for i in range(min(self.e.conflicts.n, MOST_CONFLICTS))
            ],
            "n_conflicts": self.e.conflicts.n,
            "types": self.layout.types - 1,
            "kinds": kinds,
            "type_size": self.layout.type_size,
            "string_size": self.layout.string_size,
            "functions": self.e.functions,
            "variables": self.e.n_entries,
            "counts": {name: self.e.counts[i] for i, name in enumerate(COUNT_NAMES) if self.e.counts[i]},
            "fates": {name: fates[i] for i, name in enumerate(FATE_NAMES) if fates[i]},
            "encode_seconds": self.encode_ns / 1e9,
            "classes": self.x.classes.n - 1,
            "strings": self.x.strings.n - 1,
        }
