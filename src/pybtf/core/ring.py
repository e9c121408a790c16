"""The workers, and the hand-over of what they make to the encoder.

All workers are alike. A worker claims the next unit, decodes it into a value and puts the value into the ring at
the unit's place. If nobody is encoding, it then encodes whatever is ready at the head of the ring, in unit order,
and goes on decoding. So there is no thread that only waits, one worker needs no thread at all, and the encoder
still sees every unit exactly once and in order.

The ring bounds how far decoding may run ahead of encoding, and so the memory: a worker whose unit would not fit
waits. It cannot wait for ever: the unit at the head of the ring is being decoded by somebody who encodes it next.

The worker of the calling thread (`on_slice` of `work`) comes back to Python now and then, for signals and progress.

The values of a unit may come from an object instead of being decoded (`pybtf merge`, payload_units.py). Then a worker
takes them: from memory, from a file that it reads itself (`take_stored`), or, where that fails, from Python (`fetch`).
"""

import cython
from cython.cimports.cpython.object import PyObject
from cython.cimports.libc.stdint import int64_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.pybtf.core.classes.plain_names import plain_name
from cython.cimports.pybtf.core.dwarf.walk_state import unit_ending_after, walker_shed
from cython.cimports.pybtf.core.elf.function_table import FunctionTable, functable_head
from cython.cimports.pybtf.core.encode.append_unit import keep_again, keep_unit
from cython.cimports.pybtf.core.encode.encoder import ENCODE_ARENA, ENCODE_EFFORT, ENCODE_MEMORY, encoder_fail
from cython.cimports.pybtf.core.inputs import Inputs, point_at
from cython.cimports.pybtf.core.model.encoded_unit import *
from cython.cimports.pybtf.core.model.faults import (
    FAULT_DISCARDED,
    FAULT_SPLIT,
    FAULT_VALUES,
    FAULT_VARIABLE_NAME,
    FAULT_VARIABLE_TYPE,
    IN_INFO,
    IN_VALUES,
    Fault,
    fault_set,
)
from cython.cimports.pybtf.core.model.losses import losses_reset, losses_take
from cython.cimports.pybtf.core.payload_units import begin_value, read_unit
from cython.cimports.pybtf.core.ring import NONE_LEFT, RING_FULL
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.monitor import *
from cython.cimports.pybtf.core.values.stored_payload import StoredPayload, stored_close, stored_open
from cython.cimports.pybtf.core.values.unit_read import PayloadUnit
from cython.cimports.pybtf.core.worker import *

from pybtf.core.codes import ERROR_NAMES, FAULT_NAMES
from pybtf.core.support.mapped_file import own

SLICE = cython.declare(cython.long, 50)  # milliseconds between two looks at signals and progress
PATIENCE = cython.declare(cython.long, 1000)  # and for which a worker waits for room, where nobody looks at either


@cython.cclass
class Ring(Inputs):
    """An encoding whose units are decoded and encoded; and what was wrong with them."""

    def __cinit__(self, *_, **__):
        self.values = cython.NULL
        monitor_init(cython.address(self.monitor))

    def __dealloc__(self):
        i: uint32_t
        if self.values != cython.NULL:
            for i in range(self.window):
                value_free(cython.address(self.values[i]))
        free(self.values)
        monitor_destroy(cython.address(self.monitor))

    def __init__(self, sections, symbols: FunctionTable, *, jobs, **others):
        """`jobs`: how many workers there are at most; `others`: see `Inputs`."""
        self.renamed = set()
        self.failures = {}
        self.held = {}
        # One worker encodes a unit right after it has decoded it. Of several, each may be a few units ahead of a large
        # one at the head of the ring.
        self.window = 4 * jobs + 4 if jobs > 1 else 1
        self.values = cython.cast(cython.pointer[UnitValue], calloc(self.window, cython.sizeof(UnitValue)))
        if self.values == cython.NULL:
            raise MemoryError
        super().__init__(sections, symbols, **others)

    def next_file(self, sections, symbols: FunctionTable, *, machine, info_file=None):
        """See `Inputs`."""
        super().next_file(sections, symbols, machine=machine, info_file=info_file)
        self.claimed = self.consumed = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def claim(self, patience: cython.long) -> int64_t:
        """The number of the next unit to decode, or NONE_LEFT, or RING_FULL: there was no room, and there is none after
        `patience` milliseconds at most.
        """
        number: int64_t
        monitor_enter(cython.address(self.monitor))
        if not self.stopped and self.claimed < self.units and self.claimed - self.consumed >= self.window:
            monitor_wait(cython.address(self.monitor), patience)
        if self.stopped or self.claimed >= self.units:
            number = NONE_LEFT
        elif self.claimed - self.consumed >= self.window:
            number = RING_FULL
        else:
            number = self.claimed
            self.claimed += 1
        monitor_leave(cython.address(self.monitor))
        return number

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def publish(self, v: cython.pointer[UnitValue]) -> cython.void:
        """Puts a value into the ring, and encodes what is ready unless somebody else does."""
        head: cython.pointer[UnitValue]
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
            self.encode(head)
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
    @cython.exceptval(check=False)
    def encode(self, v: cython.pointer[UnitValue]) -> cython.void:
        """Takes the next value into the encoder. What is wrong is left in `bad` or in the encoder's error."""
        start: int64_t = now_ns()
        failed: cython.bint = True
        if v.fault.code:
            self.bad = v.fault
        elif self.again:
            failed = keep_again(cython.address(self.e), v)
        else:
            failed = keep_unit(cython.address(self.e), v)
            if not failed and not losses_take(cython.address(self.losses), cython.address(v.losses)):
                encoder_fail(cython.address(self.e), ENCODE_MEMORY)
        if failed:
            self.bad_unit = v.number - self.x.first_unit
            self.bad_name = v.name
        self.encode_ns += now_ns() - start
        if self.x.merge:
            value_free(v)

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
    def take(self, w: cython.pointer[Worker], number: uint32_t, v: cython.pointer[UnitValue]) -> cython.void:
        """Makes the value of a unit that does not come from DWARF."""
        g: PayloadUnit = self.x.payload_units[number]
        begin_value(cython.address(self.x), number, v)
        if g.awaited:
            if self.take_stored(w, cython.address(g), v):
                return
            begin_value(cython.address(self.x), number, v)
            if not self.fetch(w, cython.address(g)):
                fault_set(cython.address(v.fault), FAULT_VALUES, IN_VALUES, 0, 0, 0)
                return
        read_unit(w, cython.address(self.x), cython.address(g), v, self.symbols, self.again)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def take_stored(
        self, w: cython.pointer[Worker], g: cython.pointer[PayloadUnit], v: cython.pointer[UnitValue]
    ) -> cython.bint:
        """Reads a unit that is awaited from its file. False: it is not there, or was lost on the way."""
        s: cython.pointer[StoredPayload] = cython.address(w.reading.stored)
        whole: cython.bint = self.again or self.x.keep_all
        s.digest = cython.cast(cython.pointer[PyObject], self.block_digest)
        if g.path == cython.NULL or not stored_open(
            s, g.path, g.stored_at, g.size, cython.address(g.digest[0]), whole
        ):
            return False
        g.p = s.values
        read_unit(w, cython.address(self.x), g, v, self.symbols, self.again)
        stored_close(s)
        return not s.lost

    @cython.cfunc
    @cython.with_gil
    @cython.exceptval(check=False)
    def fetch(self, w: cython.pointer[Worker], g: cython.pointer[PayloadUnit]) -> cython.bint:
        """Points a unit at values that have its digest. False: there are none, and `failures` says why."""
        try:
            piece = self.pieces[g.piece]
            values = piece.values
            if values is not None:
                values = own(values)
            if values is None or self.digest(values) != piece.digest:
                values = self.find(g.piece)
            point_at(g, values)
            self.held[cython.cast(cython.size_t, w)] = values
        except BaseException as error:
            self.failures[g.piece] = error
            return False
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def decode(self, w: cython.pointer[Worker], milliseconds: cython.long) -> cython.bint:
        """Decodes units until none is left (true) or the time is up (false); `milliseconds` 0: without limit."""
        end: int64_t = now_ns() + milliseconds * cython.cast(int64_t, 1000000)
        number: int64_t
        v: cython.pointer[UnitValue]
        while True:
            number = self.claim(milliseconds if milliseconds else PATIENCE)
            if number == NONE_LEFT:
                return True
            if number >= 0:
                v = cython.address(self.values[number % self.window])
                if self.x.payload_units == cython.NULL:
                    decode_unit(w, cython.address(self.x), self.unit(cython.cast(uint32_t, number)), v, self.symbols)
                    if self.x.merge:  # nothing comes after it, and it may be hundreds of megabytes
                        walker_shed(cython.address(w.walker))
                else:
                    self.take(w, self.unit(cython.cast(uint32_t, number)), v)
                self.publish(v)
            if milliseconds and now_ns() >= end:
                return False

    def work(self, on_slice=None):
        """Takes part in the run until nothing is left to decode; see the module.

        `on_slice(done, units)` is called every `SLICE` milliseconds, from this thread; what it raises ends the run.
        """
        slice_: cython.long = 0 if on_slice is None else SLICE
        done: cython.bint = False
        consumed: uint32_t
        i: cython.size_t
        w: cython.pointer[Worker] = cython.cast(cython.pointer[Worker], malloc(cython.sizeof(Worker)))
        if w == cython.NULL:
            raise MemoryError
        try:
            if worker_init(w, cython.address(self.x)):
                raise MemoryError
            while not done:
                with cython.nogil:
                    done = self.decode(w, slice_)
                if on_slice is not None:
                    monitor_enter(cython.address(self.monitor))
                    consumed = self.consumed
                    monitor_leave(cython.address(self.monitor))
                    on_slice(consumed, self.units)
        finally:
            for i in range(w.classifier.renamed.n):
                self.renamed.add(w.classifier.renamed.p[i])
            self.held.pop(cython.cast(cython.size_t, w), None)
            worker_free(w)
            free(w)

    def stop(self):
        """Makes all workers return after the unit they are at."""
        monitor_enter(cython.address(self.monitor))
        self.stopped = True
        monitor_notify(cython.address(self.monitor))
        monitor_leave(cython.address(self.monitor))

    def fault(self):
        """The first fault in unit order, or None. Raises what `find` of `take_values` has raised for that unit."""
        f: Fault = self.bad
        if f.code == 0:
            return None
        unit = -1
        if self.x.payload_units != cython.NULL:
            if self.x.payload_units[self.bad_unit].piece in self.failures:
                raise self.failures[self.x.payload_units[self.bad_unit].piece]
            found = self.describe(f, unit)
            found["unit_name"] = self.text(self.bad_name)
            found["piece"] = self.x.payload_units[self.bad_unit].piece
            return found
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
        """What has been lost since the last call, as faults, with `whole_unit`; and how many by the fault's name."""
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
        """The names that were replaced, sorted, with what replaces each."""
        return dict(sorted([(self.text(sid), self.text(plain_name(self.x.strings, sid))) for sid in self.renamed]))

    @cython.cfunc
    def describe(self, f: Fault, unit):
        name: uint32_t = 0
        if f.code in (FAULT_VARIABLE_NAME, FAULT_VARIABLE_TYPE, FAULT_SPLIT, FAULT_DISCARDED):
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
        unit: uint32_t = unit_ending_after(self.x.headers, self.x.n_units, offset)
        if unit == self.x.n_units or self.x.headers[unit].offset > offset:
            return -1
        return self.x.headers[unit].offset

    def error(self):
        """The encoder's error (of ERROR_NAMES) and the name or number it is about, or None."""
        if self.e.error == 0:
            return None
        if self.e.error == ENCODE_ARENA or self.e.error == ENCODE_EFFORT:
            return ERROR_NAMES[self.e.error], self.text(functable_head(self.x.table, self.e.error_entry) + 1)
        return ERROR_NAMES[self.e.error], str(self.e.error_entry)
