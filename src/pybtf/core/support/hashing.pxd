# Hashing and the few atomic operations of the shared tables.
#
# Hashes only choose a bucket: every hit is compared in full, so their quality decides speed, never bytes. All of them
# depend on a salt that is new in every process: with a known hash, a small file can be written whose names, types or
# offsets all fall into one bucket, and the run takes hours. The salt also keeps this promise honest: a byte of output
# that depended on a hash would change from run to run.

from libc.stdint cimport uint32_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #include <sched.h>
    #ifndef __linux__
    #error "what is random, and the same in all modules of a process, is found for Linux only"
    #endif
    #include <sys/auxv.h>
    static uint64_t pybtf_salt[2] __attribute__((unused));
    __attribute__((constructor)) static void pybtf_salt_set(void) {
        const void *random = (const void *)getauxval(AT_RANDOM);    /* 16 bytes, the same all over the process */
        if (random) memcpy(pybtf_salt, random, 16);     /* Linux has had it since 2.6.29 */
        pybtf_salt[0] ^= 0x9E3779B97F4A7C15ull;
        pybtf_salt[1] ^= 0xD6E8FEB86659FD93ull;
        pybtf_salt[0] |= 1;     /* factors: even ones would lose bits */
        pybtf_salt[1] |= 1;
    }
    static inline uint64_t pybtf_fold(uint64_t a, uint64_t b) {
        __uint128_t m = (__uint128_t)a * b;
        return (uint64_t)m ^ (uint64_t)(m >> 64);
    }
    static inline uint64_t pybtf_hash_bytes(const char *p, size_t n) {
        uint64_t h = pybtf_salt[0] ^ n, a, b;
        while (n > 16) {
            memcpy(&a, p, 8); memcpy(&b, p + 8, 8);
            h = pybtf_fold(a ^ pybtf_salt[1], b ^ h);
            p += 16; n -= 16;
        }
        if (n >= 8) {
            memcpy(&a, p, 8); memcpy(&b, p + n - 8, 8);
        } else if (n >= 4) {
            uint32_t x, y;
            memcpy(&x, p, 4); memcpy(&y, p + n - 4, 4);
            a = x; b = y;
        } else {
            a = n ? ((uint64_t)(uint8_t)p[0] << 16) | ((uint64_t)(uint8_t)p[n >> 1] << 8) | (uint8_t)p[n - 1] : 0;
            b = 0;
        }
        return pybtf_fold(a ^ 0xE7037ED1A0B428DBull ^ pybtf_salt[1], b ^ h);
    }
    static inline uint64_t pybtf_hash_words(const uint32_t *p, size_t n) {
        uint64_t h = 0x8EBC6AF09C88C6E3ull ^ pybtf_salt[0] ^ n, a;
        while (n >= 2) {
            memcpy(&a, p, 8);
            h = pybtf_fold(a ^ pybtf_salt[1], h ^ 0xE7037ED1A0B428DBull);
            p += 2; n -= 2;
        }
        if (n) h = pybtf_fold((uint64_t)*p ^ 0x589965CC75374CC3ull ^ pybtf_salt[1], h ^ 0xE7037ED1A0B428DBull);
        return h;
    }
    static inline uint32_t pybtf_load(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
    static inline void pybtf_store(uint32_t *p, uint32_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
    static inline void *pybtf_load_pointer(void *p) { return __atomic_load_n((void **)p, __ATOMIC_ACQUIRE); }
    static inline void pybtf_store_pointer(void *p, void *v) { __atomic_store_n((void **)p, v, __ATOMIC_RELEASE); }
    static inline void pybtf_lower(uint32_t *p, uint32_t v) {
        uint32_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
        while (v < old && !__atomic_compare_exchange_n(p, &old, v, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) ;
    }
    static inline uint32_t pybtf_add(uint32_t *p, uint32_t v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
    static inline void pybtf_lock(int *l) {
        while (__atomic_exchange_n(l, 1, __ATOMIC_ACQUIRE)) {
            int spins = 0;
            while (__atomic_load_n(l, __ATOMIC_RELAXED)) if (++spins > 64) { sched_yield(); spins = 0; }
        }
    }
    static inline void pybtf_unlock(int *l) { __atomic_store_n(l, 0, __ATOMIC_RELEASE); }
    """
    uint64_t SALT "pybtf_salt[0]"
    uint64_t SALT2 "pybtf_salt[1]"
    uint64_t fold "pybtf_fold"(uint64_t a, uint64_t b) noexcept nogil
    uint64_t hash_bytes "pybtf_hash_bytes"(const char *p, size_t n) noexcept nogil
    uint64_t hash_words "pybtf_hash_words"(const uint32_t *p, size_t n) noexcept nogil
    uint32_t load_acquire "pybtf_load"(const uint32_t *p) noexcept nogil
    void store_release "pybtf_store"(uint32_t *p, uint32_t v) noexcept nogil
    void *load_pointer "pybtf_load_pointer"(void *p) noexcept nogil
    void store_pointer "pybtf_store_pointer"(void *p, void *v) noexcept nogil
    void lower "pybtf_lower"(uint32_t *p, uint32_t v) noexcept nogil    # to `v`, unless it is lower
    uint32_t fetch_add "pybtf_add"(uint32_t *p, uint32_t v) noexcept nogil
    void lock "pybtf_lock"(int *l) noexcept nogil
    void unlock "pybtf_unlock"(int *l) noexcept nogil
