# What becomes of memory that is given back (see heap.py).

cdef extern from *:
    """
    #include <stdlib.h>
    #ifdef __GLIBC__
    #include <malloc.h>
    static void pybtf_keep_memory(void) {
        mallopt(M_MMAP_THRESHOLD, 32 << 20);    /* the most it takes */
        mallopt(M_TRIM_THRESHOLD, 1 << 30);
        mallopt(M_TOP_PAD, 1 << 20);
    }
    #else
    static void pybtf_keep_memory(void) {}
    #endif
    """
    void keep_memory_ "pybtf_keep_memory"()
