# What becomes of memory that is given back (see malloc_tuning.py).

cdef extern from *:
    """
    #include <stdlib.h>
    #ifdef __GLIBC__
    #include <malloc.h>
    #include <stdint.h>
    #include <sys/mman.h>
    #ifndef MADV_HUGEPAGE
    #define MADV_HUGEPAGE 14
    #endif
    static void pybtf_keep_memory(void) {
        size_t n = (size_t)24 << 20, large = (size_t)1 << 21;
        char *p;
        mallopt(M_MMAP_THRESHOLD, 32 << 20);    /* the most it takes */
        mallopt(M_TRIM_THRESHOLD, 1 << 30);
        mallopt(M_TOP_PAD, 1 << 20);
        p = malloc(n);          /* from the end of the heap, where it will be when it is given back */
        if (p) {
            uintptr_t from = ((uintptr_t)p + large - 1) & ~(large - 1), to = ((uintptr_t)p + n) & ~(large - 1);
            if (from < to) (void)madvise((void *)from, to - from, MADV_HUGEPAGE);   /* a hint */
            free(p);
        }
    }
    static void pybtf_part_memory(void) {
        mallopt(M_MMAP_THRESHOLD, 1 << 20);
        mallopt(M_TRIM_THRESHOLD, 1 << 26);
    }
    #else
    static void pybtf_keep_memory(void) {}
    static void pybtf_part_memory(void) {}
    #endif
    """
    void keep_memory_ "pybtf_keep_memory"()
    void part_memory_ "pybtf_part_memory"()
