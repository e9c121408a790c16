# Growable arrays of plain words. They never shrink; a worker reuses its arrays from unit to unit by setting
# `n` to 0. Growth can fail: `*_reserve` and `*_push` then return 0 and leave the array as it was.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

cdef extern from *:
    """
    #ifndef _GNU_SOURCE
    #define _GNU_SOURCE
    #endif
    #include <stdint.h>
    #include <stdlib.h>
    #include <string.h>
    void *memmem(const void *, size_t, const void *, size_t);
    /* The array of `cap` elements, `n` of them in use, made larger so that it has room for `more`; NULL, and it is as
       it was, if there is no memory. `first`: how many elements a new one has at least. Nothing wraps. */
    __attribute__((noinline, cold, unused))
    static void *pybtf_reserve(void *p, size_t *cap, size_t n, size_t more, size_t first, size_t size)
    {
        size_t most = SIZE_MAX / 4 / size, bigger = *cap ? *cap : first;
        void *q;
        if (n > most || more > most - n)
            return NULL;
        if (*cap && bigger <= most)
            bigger *= 2;
        while (bigger < n + more)
            bigger *= 2;
        q = realloc(p, bigger * size);
        if (q != NULL)
            *cap = bigger;
        return q;
    }
    static inline void pybtf_read_through(const unsigned char *p, size_t n) {
        for (size_t i = 0; i < n; i += 64) (void)*(const volatile unsigned char *)(p + i);
    }
    """
    void *memmem(const void *hay, size_t hay_size, const void *needle, size_t needle_size) noexcept nogil
    void *reserve_ "pybtf_reserve"(void *p, size_t *cap, size_t n, size_t more, size_t first,
                                   size_t size) noexcept nogil
    void read_through "pybtf_read_through"(const unsigned char *p, size_t n) noexcept nogil   # in order, which is quick
    void prefetch "__builtin_prefetch"(const void *p) noexcept nogil   # only asks; any address will do

cdef struct U32s:
    uint32_t *p
    size_t n        # elements in use
    size_t cap      # elements allocated

cdef struct U64s:
    uint64_t *p
    size_t n
    size_t cap

cdef struct U8s:
    uint8_t *p
    size_t n
    size_t cap

cdef inline bint u32s_reserve(U32s *a, size_t more) noexcept nogil:
    cdef void *p
    if more <= a.cap - a.n:
        return 1
    p = reserve_(a.p, &a.cap, a.n, more, 64, sizeof(uint32_t))
    if p == NULL:
        return 0
    a.p = <uint32_t *> p
    return 1

cdef inline bint u32s_push(U32s *a, uint32_t v) noexcept nogil:
    if a.n == a.cap and not u32s_reserve(a, 1):
        return 0
    a.p[a.n] = v
    a.n += 1
    return 1

cdef inline void u32s_add(U32s *a, uint32_t v) noexcept nogil:
    # As `u32s_push`, where room has been reserved.
    a.p[a.n] = v
    a.n += 1

cdef inline void u32s_free(U32s *a) noexcept nogil:
    free(a.p)
    a.p = NULL
    a.n = a.cap = 0

cdef inline bint u64s_reserve(U64s *a, size_t more) noexcept nogil:
    cdef void *p
    if more <= a.cap - a.n:
        return 1
    p = reserve_(a.p, &a.cap, a.n, more, 64, sizeof(uint64_t))
    if p == NULL:
        return 0
    a.p = <uint64_t *> p
    return 1

cdef inline bint u64s_push(U64s *a, uint64_t v) noexcept nogil:
    if a.n == a.cap and not u64s_reserve(a, 1):
        return 0
    a.p[a.n] = v
    a.n += 1
    return 1

cdef inline void u64s_free(U64s *a) noexcept nogil:
    free(a.p)
    a.p = NULL
    a.n = a.cap = 0

cdef inline bint u8s_reserve(U8s *a, size_t more) noexcept nogil:
    cdef void *p
    if more <= a.cap - a.n:
        return 1
    p = reserve_(a.p, &a.cap, a.n, more, 256, 1)
    if p == NULL:
        return 0
    a.p = <uint8_t *> p
    return 1

cdef inline bint u8s_append(U8s *a, const void *src, size_t size) noexcept nogil:
    if not u8s_reserve(a, size):
        return 0
    if size:
        memcpy(a.p + a.n, src, size)
    a.n += size
    return 1

cdef inline void u8s_free(U8s *a) noexcept nogil:
    free(a.p)
    a.p = NULL
    a.n = a.cap = 0

cdef extern from *:
    """
    #include <stdint.h>
    #include <stdlib.h>
    __attribute__((noinline, cold, unused))
    static int pybtf_grow(void **p, uint32_t *cap, uint64_t need, size_t size)
    {
        uint64_t bigger = *cap ? *cap * (uint64_t)2 : 64;
        void *q;
        while (bigger < need)
            bigger *= 2;
        if (bigger > 0xFFFFFFF0u)
            return 0;
        q = realloc(*p, bigger * size);
        if (q == NULL)
            return 0;
        *p = q;
        *cap = (uint32_t)bigger;
        return 1;
    }
    #define PYBTF_GROW(p, cap, need) \\
        (((need) <= (cap) && (p) != NULL) || pybtf_grow((void **)&(p), &(cap), (need), sizeof(*(p))))
    """
    # grow(array, capacity, need): makes the array, which this may move, hold at least `need` elements. Both are places,
    # not values, and `need` is written out twice. 0 if there is no memory.
    bint grow "PYBTF_GROW" (...) noexcept nogil
