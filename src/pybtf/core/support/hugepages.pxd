# Memory by the megabyte: what costs is not to have it, but to touch each page of it for the first time; and later, if
# it is visited all over the place, to find out where its pages are, of which a processor remembers only so many.

cdef extern from *:
    """
    #include <stdint.h>
    #ifdef __linux__
    #include <sys/mman.h>
    #ifndef MADV_HUGEPAGE
    #define MADV_HUGEPAGE 14
    #endif
    #ifndef MADV_POPULATE_WRITE         /* glibc before 2.35 */
    #define MADV_POPULATE_WRITE 23
    #endif
    #endif
    #include <stdlib.h>
    #include <string.h>
    #define PYBTF_LARGE ((size_t)1 << 21)
    static inline void *pybtf_large(size_t n) {
        void *p = NULL;
        if (n < PYBTF_LARGE / 2) return malloc(n ? n : 1);
        n = (n + PYBTF_LARGE - 1) & ~(PYBTF_LARGE - 1);
        if (n == 0 || posix_memalign(&p, PYBTF_LARGE, n)) return NULL;
    #ifdef __linux__
        (void)madvise(p, n, MADV_HUGEPAGE);     /* a hint */
    #endif
        return p;
    }
    static inline void *pybtf_large_zeroed(size_t n) {
        void *p = pybtf_large(n);
        if (p) memset(p, 0, n);
        return p;
    }
    static inline void pybtf_touch(void *p, size_t n) {
    #ifdef __linux__
        uintptr_t first = ((uintptr_t)p + 4095) & ~(uintptr_t)4095, end = ((uintptr_t)p + n) & ~(uintptr_t)4095;
        if (n >= 65536) (void)madvise((void *)first, end - first, MADV_POPULATE_WRITE);
    #endif
    }
    """
    # All of this memory will be written to soon: get its pages in one go, which takes a fraction of a fault for each.
    # Systems that cannot (Linux before 5.14) do as they always did.
    void touch "pybtf_touch"(void *p, size_t n) noexcept nogil
    # As malloc and calloc, for tables that live long and are visited all over the place: in large pages, where the
    # system has them. `realloc` and `free` work as ever, but a table that has grown may have lost them.
    void *large "pybtf_large"(size_t n) noexcept nogil
    void *large_zeroed "pybtf_large_zeroed"(size_t n) noexcept nogil
