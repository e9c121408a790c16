"""What an encoding works on: its files, and the tables that all of it shares.

The files come one after the other (`next_file`); sections are pointed at where they are, mapped or unpacked, and their
buffers are held as long as this object. Unit headers are read here (`scan`); what follows is in ring.py and run.py.
"""

import cython
from cython.cimports.cpython.buffer import PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.pybtf.core.context import (
    context_free,
    context_is_one,
    context_seen,
    context_tables,
    ready_for_payloads,
)
from cython.cimports.pybtf.core.dedup.base import Base
from cython.cimports.pybtf.core.elf.function_table import FunctionTable
from cython.cimports.pybtf.core.encode.encoder import Encoder, encoder_free, encoder_init
from cython.cimports.pybtf.core.functions.calling_convention import machine_init
from cython.cimports.pybtf.core.functions.variables import SectionRange
from cython.cimports.pybtf.core.model.debug_sections import N_SPANS, DebugSections, Span, SplitUnit, spans_of
from cython.cimports.pybtf.core.model.losses import Losses, losses_free
from cython.cimports.pybtf.core.model.options import (
    OPT_DEGRADE,
    WITHOUT_MODELS,
    WITHOUT_READING,
    WITHOUT_REDUCTION,
    WITHOUT_RESTORING,
)
from cython.cimports.pybtf.core.payload_units import take_piece, take_unit
from cython.cimports.pybtf.core.strings.name_prediction import Models
from cython.cimports.pybtf.core.strings.string_table import (
    IN_BASE,
    NO_STRING,
    Text,
    string_in_base,
    string_intern,
    string_text,
    strings_build_on,
)
from cython.cimports.pybtf.core.support.check import STATIC_CHECK
from cython.cimports.pybtf.core.support.cursor import HOST_IS_BIG
from cython.cimports.pybtf.core.support.memory import u64s_free
from cython.cimports.pybtf.core.support.met_table import met_delete
from cython.cimports.pybtf.core.unit_headers import scan_units
from cython.cimports.pybtf.core.values.stored_payload import DIGEST_BYTES
from cython.cimports.pybtf.core.values.unit_read import PayloadUnit
from cython.cimports.pybtf.core.worker import *

from pybtf.core.codes import OPTIONAL
from pybtf.core.support.mapped_file import own

SECTION_NAMES = ("info", "abbrev", "str", "line_str", "str_offsets", "addr", "loc", "loclists")
if len(SECTION_NAMES) != N_SPANS:
    raise AssertionError("a section has no name")


@cython.cfunc
def point_at(g: cython.pointer[PayloadUnit], values) -> cython.void:
    """See `inputs.pxd`."""
    view = cython.declare(cython.Py_buffer)
    PyObject_GetBuffer(values, cython.address(view), PyBUF_SIMPLE)
    g.p = cython.cast(cython.pointer[cython.const[uint8_t]], view.buf)
    g.size = view.len
    PyBuffer_Release(cython.address(view))


@cython.cclass
class Inputs:
    """Everything one encoding needs; freed as a whole."""

    def __cinit__(self, *_, **__):
        memset(cython.address(self.x), 0, cython.sizeof(Context))
        memset(cython.address(self.e), 0, cython.sizeof(Encoder))
        memset(cython.address(self.losses), 0, cython.sizeof(Losses))
        self.section_names = cython.NULL

    def __dealloc__(self):
        free(self.section_names)
        losses_free(cython.address(self.losses))
        encoder_free(cython.address(self.e))
        context_free(cython.address(self.x))

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
        info_file=None,
        without=(),
        base: Base = None,
        functions: FunctionTable = None,
        tracing=False,
        values_size=0,
        track_dies=False,
        later=False,
    ):
        """`functions`: the table of all files, if there are several (see `next_file`); `symbols` are those of one.

        `ranges`: where variables may lie, as `variable_ranges` of pipeline/loaded.py has it; `names`: of all sections,
        by index. Both are empty where no variables are wanted. `force`: variables that BTF cannot express are passed
        over.

        `languages`: those to encode if `only_languages`, else those to leave out.

        `without`, for tests and benchmarks: names of OPTIONAL (codes.py), which is all left out.

        `info_file`: if `info` is mapped, the descriptor of the file, which stays open, and where `info` begins in it.

        `later`: `start` is called before the first unit is decoded, and only then the tables of functions are complete.
        """
        self.functions = symbols if functions is None else functions
        self.buffers = []
        self.x.little = little
        self.x.options = options
        self.x.tracing = tracing
        self.x.values_size = values_size
        self.x.track_dies = track_dies
        self.x.table = cython.address(self.functions.t)
        for name in without:
            self.x.without |= OPTIONAL[name]
        self.x.keep_all = self.x.without & WITHOUT_REDUCTION or base is not None or functions is not None
        self.e.keep_all = self.x.keep_all
        self.e.decode_again = (self.x.without & WITHOUT_RESTORING) != 0
        self.set_file(sections, symbols, machine, info_file)
        self.base = base
        self.variables = ranges, names, force
        self.set_languages(languages, only_languages)
        self.e.table = self.x.table
        self.e.options = options
        self.first = 1
        if not later:
            self.start()

    def start(self):
        """Makes the tables of a run, which begin with the names of functions."""
        base: Base = self.base
        models: cython.pointer[cython.const[Models]] = cython.NULL
        self.set_tables()
        ranges, names, force = self.variables
        self.set_variables(ranges, names, force)
        self.e.strings = self.x.strings
        self.e.classes = self.x.classes
        self.e.known = self.x.known
        if base is not None:
            self.first = base.types.n
            self.e.base = cython.address(base.strings)
            # The list begins with the base: in the room of a space, which is this run's until `close` gives it back.
            self.space = base.take()
            if not self.x.without & WITHOUT_MODELS:
                base.foresee(self.space, self.x.sections.info.n + self.x.values_size)
                if base.models.slots:
                    models = cython.address(base.models)
            if base.strings.size <= IN_BASE and not strings_build_on(self.x.strings, self.e.base, models):
                raise MemoryError
        if encoder_init(cython.address(self.e)):
            raise MemoryError
        if base is not None:
            u64s_free(cython.address(self.e.offs))
            self.e.words = self.space.r.words
            self.e.offs = self.space.r.offs
            self.space.r.words.p = cython.NULL
            self.space.r.offs.p = cython.NULL

    def next_file(self, sections, symbols: FunctionTable, *, machine, info_file=None):
        """Goes on with another file, of the same byte order, for the same BTF. Sections of variables remain those
        of the first file, as in pahole.
        """
        self.x.first_unit += self.units
        self.x.file += 1
        self.x.merge = False
        free(self.x.headers)
        self.x.headers = cython.NULL
        self.x.n_units = self.units = 0
        memset(cython.address(self.x.sections), 0, cython.sizeof(self.x.sections))
        self.set_file(sections, symbols, machine, info_file)
        # Its records have names by offsets, of which each file has its own.
        met_delete(self.x.seen)
        if not context_seen(cython.address(self.x)):
            raise MemoryError

    @cython.cfunc
    def set_file(self, sections, symbols: FunctionTable, machine, info_file):
        self.symbols = symbols
        if info_file is None or self.x.without & WITHOUT_READING:
            info_file = -1, 0
        self.x.info_file, self.x.info_at = info_file
        self.x.sections.swap = self.x.little == HOST_IS_BIG
        machine_init(cython.address(self.x.machine), machine)
        self.set_sections(sections)

    @cython.cfunc
    def set_sections(self, sections):
        """Points the spans at the buffers, which live as long as this object."""
        own: cython.pointer[DebugSections] = cython.address(self.x.sections)
        other: cython.pointer[DebugSections] = cython.address(self.x.alternate)
        alternate = getattr(sections, "alternate", None)
        self.point(own, sections)
        self.set_split(own, getattr(sections, "split_units", None))
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
    def set_split(self, to: cython.pointer[DebugSections], rows):
        """`rows`: the fields of SplitUnit of each, in 64-bit words."""
        view = cython.declare(cython.Py_buffer)
        i: cython.size_t
        s: cython.pointer[cython.const[SplitUnit]]
        to.split = cython.NULL
        to.n_split = 0
        if rows is None or len(rows) == 0:
            return
        rows = memoryview(rows)
        PyObject_GetBuffer(rows, cython.address(view), PyBUF_SIMPLE)
        to.split = cython.cast(cython.pointer[cython.const[SplitUnit]], view.buf)
        to.n_split = view.len // cython.sizeof(SplitUnit)
        PyBuffer_Release(cython.address(view))
        self.buffers.append(rows)
        for i in range(to.n_split):
            s = cython.address(to.split[i])
            if s.offsets > to.str_offsets.n or s.offsets_end > to.str_offsets.n or s.str > to.str.n:
                raise ValueError("a part of a section is outside it")

    @cython.cfunc
    def point(self, to: cython.pointer[DebugSections], sections):
        spans: cython.pointer[Span] = cython.address(to.info)
        view = cython.declare(cython.Py_buffer)
        i: cython.int
        STATIC_CHECK(spans_of(to) == N_SPANS)  # what lies one after the other
        mapped = getattr(sections.get("info"), "obj", None) if self.x.info_file >= 0 else None
        to.mapped = 0
        for i in range(N_SPANS):
            data = sections.get(SECTION_NAMES[i])
            if data is None or len(data) == 0:
                continue
            data = memoryview(data)  # whoever has it cannot resize or unmap it while this is kept
            PyObject_GetBuffer(data, cython.address(view), PyBUF_SIMPLE)
            spans[i].p = cython.cast(cython.pointer[cython.const[uint8_t]], view.buf)
            spans[i].n = view.len
            if mapped is not None and data.obj is mapped:
                to.mapped |= 1 << i
            PyBuffer_Release(cython.address(view))
            self.buffers.append(data)

    @cython.cfunc
    def set_languages(self, languages, only_languages):
        if len(languages) > MAX_LANGUAGES:
            raise ValueError(f"at most {MAX_LANGUAGES} languages")
        for i, code in enumerate(languages):
            self.x.languages[i] = code
        self.x.n_languages = len(languages)
        self.x.only_languages = only_languages

    @cython.cfunc
    def set_tables(self):
        if not context_tables(cython.address(self.x)):
            raise MemoryError

    @cython.cfunc
    def set_variables(self, ranges, names, force):
        """`ranges`, `names` and `force` as `__init__` has them. All names get string ids; only those of sections that
        are written get into the output. Raises `MemoryError`.
        """
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

    def take_values(self, pieces, digest=None, block_digest=None, find=None):
        """Takes units from values of objects in place of DWARF: pieces as pipeline/loaded.py describes them, in order.

        Of those that are awaited a worker reads the values when it has claimed the unit; `block_digest(bytes)` gives
        the digests that stored_payload.py needs. Where they are not, or `digest(values)` is another one than the
        piece's, `find(number of the piece)` returns them, or raises what `fault` is to raise. Returns None, or the
        number of the piece that is damaged, and where.
        """
        where = cython.declare(cython.Py_buffer)
        at: uint64_t = 0
        cap: uint32_t = 0
        number: uint32_t
        status: cython.int
        g: PayloadUnit
        self.pieces = []
        self.digest, self.block_digest, self.find = digest, block_digest, find
        for number, piece in enumerate(pieces):
            memset(cython.address(g), 0, cython.sizeof(PayloadUnit))
            g.piece = number
            g.awaited = piece.digest is not None
            if not g.awaited:
                values = own(piece.values)
                self.buffers.append(values)
                point_at(cython.address(g), values)
            elif piece.path is not None:
                path: bytes = piece.path
                its_digest: bytes = piece.digest
                if len(its_digest) != DIGEST_BYTES:
                    raise ValueError(f"a digest of {len(its_digest)} bytes")
                memcpy(cython.address(g.digest[0]), cython.cast(cython.p_char, its_digest), DIGEST_BYTES)
                g.path = path
                g.size = piece.size
                g.stored_at = piece.at
            self.pieces.append(piece)
            PyObject_GetBuffer(piece.addresses, cython.address(where), PyBUF_SIMPLE)
            g.addresses = cython.cast(cython.pointer[cython.const[uint8_t]], where.buf)
            g.n_addresses = cython.cast(uint32_t, where.len // 8)
            with cython.nogil:
                if g.awaited:
                    status = 0 if take_unit(cython.address(self.x), cython.address(g), cython.address(cap)) else 1
                else:
                    status = take_piece(
                        cython.address(self.x), cython.address(g), cython.address(cap), cython.address(at)
                    )
            PyBuffer_Release(cython.address(where))
            if status == 1:
                raise MemoryError
            if status:
                return number, at
        self.units = self.x.n_units
        if not ready_for_payloads(cython.address(self.x)):
            raise MemoryError
        return None

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

    @cython.cfunc
    def text(self, sid: uint32_t):
        if sid == 0 or (not string_in_base(sid) and sid >= self.x.strings.n):
            return ""
        x: Text = string_text(self.x.strings, sid)
        return x.text[: x.size].decode("utf-8", "backslashreplace")
