# What the code relies on, asserted in builds with PYBTF_CHECK=1, and nothing in others: see docs/development.md.
#
# CHECK(condition, what): the process ends by abort(), with a message. STATIC_CHECK(condition), in all builds: the
# compiler refuses the source. A condition has no effect of its own.

cdef extern from *:
    """
    #ifdef PYBTF_CHECK
    #include <stdio.h>
    #include <stdlib.h>
    #define PYBTF_HOLDS(condition, what) \\
        ((condition) ? (void)0 : (void)(fprintf(stderr, "pybtf: internal error: %s\\n", what), abort()))
    #define PYBTF_CHECKED 1
    #else
    #define PYBTF_HOLDS(condition, what) ((void)sizeof(condition), (void)sizeof(what))
    #define PYBTF_CHECKED 0
    #endif
    #define PYBTF_STATIC(condition) ((void)sizeof(struct { int does_not_hold : (condition) ? 1 : -1; }))
    """
    void CHECK "PYBTF_HOLDS" (bint condition, const char *what) noexcept nogil
    void STATIC_CHECK "PYBTF_STATIC" (bint condition) noexcept nogil
    const bint CHECKED "PYBTF_CHECKED"
