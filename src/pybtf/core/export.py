"""Unit values of an object file as bytes: what `pybtf object` writes (docs/merge.md).

Units are decoded as for an encoding, but no table of functions is asked, for the linker has not made it yet, and the
values go into bytes and not to an encoder.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.elf.function_table import FunctionTable
from cython.cimports.pybtf.core.elf.symbols import SymbolSource
from cython.cimports.pybtf.core.model.encoded_unit import UnitValue
from cython.cimports.pybtf.core.model.options import OPT_TRUE_SIGNATURE, OPT_VARIABLES
from cython.cimports.pybtf.core.ring import Ring
from cython.cimports.pybtf.core.values.unit_export import Writing, export_unit, writing_free
from cython.cimports.pybtf.core.worker import Worker, decode_unit, value_free, worker_free, worker_init


@cython.final
@cython.cclass
class Export(Ring):
    """The units of one object file. `scan`, `has_reference_to_other_units` and `fault` are those of a run."""

    def __init__(self, sections, *, little, machine, options):
        """`sections`: as for `Run`; `options`: OPT_* bits."""
        super().__init__(
            sections,
            FunctionTable(SymbolSource(b"", b"", is64=True, little=little)),
            little=little,
            machine=machine,
            options=options | OPT_VARIABLES,
            force=False,
            ranges=(),
            names=(),
            languages=(),
            only_languages=False,
            jobs=1,
        )
        self.x.exporting = True

    def units_as_bytes(self):
        """(bytes of all units, addresses of their functions and variables, offset of a DIE or None).

        Addresses are 64-bit words in the host's byte order. If there is a DIE, it is one that says of another function
        what only the link could decide, and the rest is nothing; or `fault` tells why.
        """
        w: cython.pointer[Worker] = cython.cast(cython.pointer[Worker], malloc(cython.sizeof(Worker)))
        v = cython.declare(UnitValue)
        out = cython.declare(Writing)
        i: uint32_t
        failed: cython.bint = False
        memset(cython.address(v), 0, cython.sizeof(UnitValue))
        memset(cython.address(out), 0, cython.sizeof(Writing))
        if w == cython.NULL:
            raise MemoryError
        out.strings = self.x.strings
        out.machine = cython.address(self.x.machine)
        out.true_signature = (self.x.options & OPT_TRUE_SIGNATURE) != 0
        out.swap = self.x.sections.swap
        try:
            if worker_init(w, cython.address(self.x)):
                raise MemoryError
            w.walker.names.deferred = 0  # each name is needed
            with cython.nogil:
                for i in range(self.x.n_units):
                    failed = decode_unit(w, cython.address(self.x), i, cython.address(v), self.symbols) != 0
                    failed = failed or export_unit(
                        cython.address(out),
                        cython.address(w.walker.u),
                        cython.address(v),
                        cython.address(w.observer),
                        cython.address(w.classifier),
                    ) != 0
                    if failed:
                        self.bad = v.fault
                        self.bad_unit = i
                        self.bad_name = v.name
                        break
            if failed:
                return b"", b"", out.die or None
            return (
                PyBytes_FromStringAndSize(cython.cast(cython.p_char, out.out.p), out.out.n),
                PyBytes_FromStringAndSize(cython.cast(cython.p_char, out.addresses.p), 8 * out.addresses.n),
                None,
            )
        finally:
            value_free(cython.address(v))
            writing_free(cython.address(out))
            worker_free(w)
            free(w)
