# Texts that are compared with one that is expected, a few bytes at a time.

from libc.stdint cimport uint64_t

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #ifdef __SSE2__
    #include <emmintrin.h>
    #endif
    static inline uint64_t pybtf_text_at(const void *p) {
        uint64_t x;
        memcpy(&x, p, 8);
    #if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        x = __builtin_bswap64(x);
    #endif
        return x;
    }
    static inline int pybtf_same_text(const char *a, size_t a_left, const char *b, size_t b_left, size_t longest) {
    #ifdef __SSE2__
        while (a_left >= 16 && b_left >= 16) {
            __m128i x = _mm_loadu_si128((const __m128i *)a), y = _mm_loadu_si128((const __m128i *)b);
            unsigned differ = 0xFFFF ^ (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, y));
            unsigned ends = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_setzero_si128()));
            if (differ | ends) return (differ & (ends ^ (ends - 1))) == 0;     /* without an end, all bits count */
            a += 16; b += 16; a_left -= 16; b_left -= 16;
        }
    #else
        while (a_left >= 8 && b_left >= 8) {
            uint64_t x = pybtf_text_at(a), y = pybtf_text_at(b);
            /* the lowest bit of these is in the first NUL */
            uint64_t ends = (x - 0x0101010101010101ull) & ~x & 0x8080808080808080ull;
            if (ends) return ((x ^ y) & (ends ^ (ends - 1))) == 0;
            if (x != y) return 0;
            a += 8; b += 8; a_left -= 8; b_left -= 8;
        }
    #endif
        return strncmp(a, b, a_left < longest ? a_left : longest) == 0;  /* it ends, if the file has not changed */
    }
    """
    # Eight bytes, the first one lowest.
    uint64_t text_at "pybtf_text_at"(const void *p) noexcept nogil
    # Whether two texts are the same. Both end in what is left of their sections, and `b` before it is `longest`.
    bint same_text "pybtf_same_text"(const char *a, size_t a_left, const char *b, size_t b_left,
                                     size_t longest) noexcept nogil

cdef enum:
    TEXT_STEP = 16              # bytes compared at a time, at most
