# A word that processes share, and what takes a number from it at once (see shared_counter.py): the first number that is
# left in its low half, the end in its high half.

from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <sys/mman.h>
    #ifndef MAP_ANONYMOUS
    #define MAP_ANONYMOUS MAP_ANON
    #endif
    static uint64_t *pybtf_share_word(void) {
        void *p = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        return p == MAP_FAILED ? NULL : p;
    }
    static void pybtf_unshare_word(uint64_t *word) {
        if (word) (void)munmap(word, sizeof(uint64_t));
    }
    static int64_t pybtf_take(uint64_t *word, int last) {
        uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED), new_;
        uint32_t first, end;
        do {
            first = (uint32_t)old;
            end = (uint32_t)(old >> 32);
            if (first >= end) return -1;
            new_ = last ? old - ((uint64_t)1 << 32) : old + 1;
        } while (!__atomic_compare_exchange_n(word, &old, new_, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
        return last ? end - 1 : first;
    }
    static void pybtf_put(uint64_t *word, uint32_t count) {
        __atomic_store_n(word, (uint64_t)count << 32, __ATOMIC_SEQ_CST);
    }
    """
    uint64_t *share_word "pybtf_share_word"() noexcept
    void unshare_word "pybtf_unshare_word"(uint64_t *word) noexcept
    int64_t take "pybtf_take"(uint64_t *word, bint last) noexcept
    void put "pybtf_put"(uint64_t *word, uint32_t count) noexcept
