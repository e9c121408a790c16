"""One encoding: `Run`, and of its passes those that follow the last unit.

`Run` inherits from `Ring`, which hands units to the encoder, and that from `Inputs`, which has the files and the shared
tables. Each of the three has its own fields and frees them. They are bases and not parts because Python calls methods
of all three on one object, and because an object file (export.py) needs the first two without what is here.

Here are, in the order in which pipeline/passes.py calls them: `certify` (more is kept), `combine` and `finish` (one
list of all types, with functions and variables), `deduplicate`, `lay_out`, `write_types` and `write_strings` (the
bytes), and `data`, which checks them. `distill`, `other_sizes`, `facts` and the rest say more of a run that has come to
its end, and `close` ends it.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.btf.type_section import WIRE_HEADER, WireError, wire_store, wire_swap
from cython.cimports.pybtf.core.btf.verify import Written, verify, verify_error
from cython.cimports.pybtf.core.classes.class_record import REC_NAME, class_record
from cython.cimports.pybtf.core.context import context_again, context_forget
from cython.cimports.pybtf.core.dedup.base import room_reserve
from cython.cimports.pybtf.core.dedup.dedup import DedupError, DedupInput, dedup_run
from cython.cimports.pybtf.core.dedup.namesakes import other_sizes
from cython.cimports.pybtf.core.dedup.refuted import usual_patience
from cython.cimports.pybtf.core.encode.assemble import assemble
from cython.cimports.pybtf.core.encode.distill import Distilled, distill, distill_free
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
    encode_functions,
    encode_sections,
    encoder_combine,
    encoder_release,
)
from cython.cimports.pybtf.core.fates import Fates
from cython.cimports.pybtf.core.model.options import WITHOUT_LIKES, WITHOUT_REFUTED
from cython.cimports.pybtf.core.origins import Origins
from cython.cimports.pybtf.core.reduction.certify import certify
from cython.cimports.pybtf.core.ring import Ring
from cython.cimports.pybtf.core.search import Search
from cython.cimports.pybtf.core.support.memory import U32s, u32s_free

from pybtf.core.codes import COUNT_NAMES, DEDUP_NAMES, FATE_NAMES

MOST_CONFLICTS = cython.declare(cython.size_t, 1000)  # conflicting names that a report lists; all are counted
NEVER = cython.declare(uint64_t, 0xFFFFFFFFFFFFFFFF)  # as `DedupInput.patience`
MAX_SIZE = cython.declare(uint64_t, 0xFFFFFFFF)  # bytes of types and strings: offsets in the BTF have 32 bits


@cython.final
@cython.cclass
class Run(Ring):
    """An encoding from its inputs to its bytes."""

    def __cinit__(self, *_, **__):
        memset(cython.address(self.layout), 0, cython.sizeof(Layout))
        self.own_words = 0
        self.map = self.own_map = cython.NULL

    def __dealloc__(self):
        free(self.own_map)  # `base` cannot be asked: the garbage collector may have cleared it
        free(self.layout.number)

    def certify(self):
        """Has more types kept where dropping them could change a byte. Prepares `work` for the units that are decoded
        again; returns how many.
        """
        ready: cython.bint = True
        with cython.nogil:
            if not self.e.keep_all:
                context_forget(cython.address(self.x), False)
            certify(cython.address(self.e))
            if self.e.redo.n:
                ready = context_again(cython.address(self.x), self.e.redo.n)
        if not ready:
            raise MemoryError
        self.again = True
        self.units = cython.cast(uint32_t, self.e.redo.n)
        self.claimed = self.consumed = 0
        return self.e.redo.n

    def combine(self):
        """Merges what was observed of functions, after the last unit and before `finish`, which leaves what went wrong
        here for `error`. Raises nothing. Another thread may be in `certify` meanwhile, or in `work` after that.
        """
        with cython.nogil:
            encoder_combine(cython.address(self.e))

    def finish(self):
        """Makes one list of all units, with functions and sections of variables; returns its number of types."""
        with cython.nogil:
            context_forget(cython.address(self.x), True)
            if assemble(cython.address(self.e)) == 0 and encode_functions(cython.address(self.e)) == 0:
                encode_sections(cython.address(self.e), self.section_names, self.n_section_names)
            if self.e.dies.n == 0:
                encoder_release(cython.address(self.e))
        return self.e.offs.n - self.first

    def deduplicate(self):
        """Returns (one of DEDUP_NAMES, offending id): "" if all went well."""
        input: DedupInput
        error: DedupError
        input.base = cython.NULL
        input.room = cython.NULL
        input.likes = not self.x.without & WITHOUT_LIKES
        input.patience = NEVER if self.x.without & WITHOUT_REFUTED else usual_patience(self.e.offs.n)
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
        input.resolved = self.e.resolved.p
        input.n_resolved = self.e.resolved.n
        input.first_own = self.first
        error.code = 0
        error.id = 0
        with cython.nogil:
            dedup_run(cython.address(input), self.map, cython.address(error))
        return DEDUP_NAMES[error.code], error.id

    def lay_out(self):
        """Numbers the types, and makes room for the BTF, which `write_types`, `write_strings` and `data` complete.

        Raises `OverflowError` if types and strings are not below 4 GiB together.
        """
        failed: cython.int
        swap: cython.bint = self.x.sections.swap
        with cython.nogil:
            if self.base is None:
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
        self.btf = PyBytes_FromStringAndSize(
            cython.NULL, cython.cast(cython.Py_ssize_t, WIRE_HEADER + self.layout.type_size + self.layout.string_size)
        )
        self.types = emit_header(
            cython.address(self.layout),
            cython.cast(cython.pointer[uint8_t], cython.cast(cython.p_char, self.btf)),
            swap,
        )

    def write_types(self):
        """Writes the types, of a run without a base."""
        if self.base is None:
            with cython.nogil:
                emit_types(cython.address(self.e), self.map, cython.address(self.layout), self.types)

    def write_strings(self):
        """Writes the strings. Raises nothing, and may be called while another thread is in `write_types`."""
        with cython.nogil:
            emit_strings(
                cython.address(self.e), cython.cast(cython.p_char, self.types) + self.layout.type_size
            )

    def data(self):
        """The finished BTF. Raises `InternalError` if it is not valid."""
        written: Written
        swap: cython.bint = self.x.sections.swap
        split: cython.bint = self.base is not None
        memset(cython.address(written), 0, cython.sizeof(Written))
        written.n_words = self.own_words = self.layout.type_size // 4
        written.first = self.first
        written.n = self.first + self.layout.types - 1
        written.size = self.layout.string_size
        written.text = cython.cast(cython.p_char, self.types) + self.layout.type_size
        if split:
            written.base = self.e.base.text
            written.base_size = self.e.base.size
            if written.n_words:
                written.words = self.e.words.p + self.e.offs.p[self.first]
        else:
            written.words = cython.cast(cython.pointer[uint32_t], self.types)
        self.check(cython.address(written))
        with cython.nogil:
            if split:
                wire_store(self.types, written.words, written.n_words, swap)
            elif swap:
                wire_swap(self.types, written.n_words)
        data = self.btf
        self.btf = None
        return data

    @cython.cfunc
    def check(self, written: cython.pointer[cython.const[Written]]):
        """Raises `InternalError` if what is about to be written is not valid BTF."""
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
        """From the split BTF that `data()` returned: the same with a minimal base of its own, and that base.

        Returns the id of a type instead, if the BTF refers to one that cannot be in such a base. Raises `InputError` if
        names of the base share too many bytes.
        """
        d: Distilled
        written: Written
        layout: Layout
        raw: cython.p_const_char = data
        memset(cython.address(d), 0, cython.sizeof(Distilled))
        memset(cython.address(layout), 0, cython.sizeof(Layout))
        d.base = cython.address(self.base.types)
        d.words = self.e.words.p
        d.offs = self.e.offs.p
        d.strings = cython.address(self.base.strings)
        d.own_text = raw + WIRE_HEADER + self.layout.type_size
        d.n_own = self.layout.type_size // 4
        if d.n_own:
            d.own = self.e.words.p + self.e.offs.p[self.first]
        try:
            if not distill(cython.address(d), self.base.strings.size + len(data), self.base.name):
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

    def origins(self):
        """Where types and functions are from; see origins.py. After `data`, of a run that notes DIEs."""
        origins: Origins = Origins()
        origins.bind(self, cython.address(self.map), cython.address(self.layout))
        return origins

    def search(self):
        """A search in the units of the file in work; see search.py."""
        search: Search = Search()
        search.bind(self, cython.address(self.x))
        return search

    def facts(self):
        """Counts for the report; of `counts` and `fates` those that are not 0."""
        kinds = {i: self.layout.kinds[i] for i in range(32) if self.layout.kinds[i]}
        fates: cython.pointer[uint64_t] = self.e.emission.counts
        whole = sum([1 for i in range(self.e.redo.n) if self.e.kept[self.e.redo.p[i]].whole])
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
