# Chains of canonical types that share a hash, in the order libbpf tries them (Q19).
#
# libbpf keeps them in a chained hash table: a new entry goes to the front of its chain, and whenever
# the table grows all entries are moved bucket by bucket to the fronts of new chains, which reverses the order
# inside each. Which candidate is met first decides between several suitable ones, so this order is part of
# the output.
#
# Here a chain is a doubly linked list, and one flag of the whole table says from which end all of them are
# read: a growth of libbpf's table is one flip of the flag. An insertion "at the front" goes to the end
# that is the front at that moment. Only the two numbers that decide when libbpf grows are simulated
# (`entries`, `capacity`); the slots of this table are found by open addressing and grow on their own.
#
# A slot stands for a 64-bit hash, not for the words it is of. Should two collide, they share a chain and
# the order among the entries of each is still right; whoever walks a chain compares every candidate in full.
#
# A table may lie on that of a base: a finished table which is only read, and which many tables share. What is inserted
# goes to one of the two ends of a chain, never inside, so the entries of the base remain neighbours. A chain that is
# extended gets a slot of its own, whose list contains the whole chain of the base as if it were one entry, between its
# two `joints`. A chain that is not extended is found in the base.

from libc.stdint cimport uint32_t, uint64_t

cdef struct Slot:
    uint64_t hash
    uint32_t head               # 0: free slot
    uint32_t tail

cdef struct Candidates:
    Slot *slots
    size_t mask
    size_t used
    uint32_t *links             # of id `first` + i: links[2 i] is the neighbour towards the tail, links[2 i + 1] that
                                # towards the head; 0: none. NULL until some chain has two entries; set for those of
                                # such chains
    uint32_t *joints            # joints[2 slot]: neighbour of the base's entries towards the tail, [2 slot + 1] towards
                                # the head. NULL without a base
    const Candidates *base
    uint32_t first              # ids below are entries of the base
    uint32_t n                  # ids are below
    uint32_t entries            # in libbpf's table
    uint64_t capacity           # buckets of libbpf's table
    uint32_t reversed           # 1: chains are read from the tail

cdef inline const Slot *chain_of(const Candidates *t, uint64_t hash) noexcept nogil:
    # The chain for a hash, NULL if there is none.
    cdef size_t i = hash & t.mask
    while t.slots[i].head:
        if t.slots[i].hash == hash:
            return &t.slots[i]
        i = (i + 1) & t.mask
    if t.base != NULL:
        return chain_of(t.base, hash)
    return NULL

cdef inline uint32_t chain_first(const Candidates *t, const Slot *s) noexcept nogil:
    if s == NULL:
        return 0
    return s.tail if t.reversed else s.head

cdef inline uint32_t chain_next(const Candidates *t, const Slot *s, uint32_t id) noexcept nogil:
    if s.head == s.tail:
        return 0
    if id >= t.first:
        return t.links[2 * <size_t> (id - t.first) + t.reversed]
    return chain_base_next(t, s, id)

cdef uint32_t chain_base_next(const Candidates *t, const Slot *s, uint32_t id) noexcept nogil
cdef bint candidates_init(Candidates *t, uint32_t n, const Candidates *base, uint32_t first) noexcept nogil
cdef bint candidates_expect(Candidates *t, uint32_t n) noexcept nogil
cdef void candidates_free(Candidates *t) noexcept nogil
cdef bint candidates_insert(Candidates *t, uint64_t hash, uint32_t id) noexcept nogil
