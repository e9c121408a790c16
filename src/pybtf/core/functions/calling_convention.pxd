# What the calling convention says about a function's parameters (see calling_convention.py).

from pybtf.core.model.dwarf_unit cimport Function, Param, Unit
from pybtf.core.support.memory cimport U32s

cdef extern from *:
    int ctz64 "__builtin_ctzll"(unsigned long long) noexcept nogil

cdef struct Machine:
    int R                       # parameters passed in registers
    int regs[8]                 # their DWARF numbers, if `known`
    bint known                  # false: R holds, the numbers are not known
    bint is_s390                # aggregates never take more than one register

cdef void machine_init(Machine *m, int e_machine) noexcept nogil

# true_signature only: fill candidate_name and candidate_ref of a parameter with pieces. To be called after the types
# are resolved to small ids and before origins are applied, for parameters with a name of their own. Members that are
# looked at are taken from Unit.left, which must not be 0; 0 afterwards: it did not suffice.
cdef void find_candidate(Unit *unit, Param *param) noexcept nogil

# Parts (1) to (3) of the post-pass on one function of the unit: sets Param.optimized and Param.unexpected, and
# F_OPTIMIZED and F_UNEXPECTED of the function. May change Param.ref (true_signature).
cdef void analyse_function(Unit *unit, Function *func, const Machine *m, bint true_signature) noexcept nogil

# Whether the location of some parameter on the stack cannot be told. `align` is scratch: set align.n = 0 at the
# start of each unit. Returns 0, 1, or -1 if memory ran out.
cdef int uncertain_location(Unit *unit, const Function *func, const Machine *m, U32s *align) noexcept nogil
