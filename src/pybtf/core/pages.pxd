# Memory by the megabyte: what costs is not to have it, but to touch each page of it for the first time.

cdef extern from *:
    """
    #include <stdint.h>
    #ifdef __linux__
    #include <sys/mman.h>
    #endif
    static inline void pybtf_touch(void *p, size_t n) {
    #ifdef __linux__
        uintptr_t first = ((uintptr_t)p + 4095) & ~(uintptr_t)4095, end = ((uintptr_t)p + n) & ~(uintptr_t)4095;
        if (n >= 65536) (void)madvise((void *)first, end - first, 23);     /* MADV_POPULATE_WRITE */
    #endif
    }
    """
    # All of this memory will be written to soon: get its pages in one go, which takes a fraction of a fault for each.
    # Systems that cannot (Linux before 5.14) do as they always did.
    void touch "pybtf_touch"(void *p, size_t n) noexcept nogil
