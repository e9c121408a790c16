"""Structs that a module defines itself although its base has one of that name, of another size.

On the BTF of its own kernel, a module has hardly any: pipeline/belonging.py says what follows from that.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.pybtf.core.btf.kinds import KIND_STRUCT, KIND_UNION
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_words
from cython.cimports.pybtf.core.dedup.candidates import Slot, chain_first, chain_next, chain_of
from cython.cimports.pybtf.core.dedup.record_hash import hash_name
from cython.cimports.pybtf.core.dedup.type_graph import BaseTypes
from cython.cimports.pybtf.core.support.memory import U32s, u32s_push


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def other_sizes(
    base: cython.pointer[cython.const[BaseTypes]],
    words: cython.pointer[cython.const[uint32_t]],
    offs: cython.pointer[cython.const[uint64_t]],
    strings: uint32_t,
    own: cython.pointer[cython.const[uint32_t]],
    n: cython.size_t,
    found: cython.pointer[U32s],
) -> cython.bint:
    """Push, for each such record among the `n` words `own`, its place there and the id of its namesake. 0: no memory.

    `words` and `offs` have the types of the base, `strings` is the size of its strings in bytes. Names that the base
    has more than once do not count.
    """
    at: cython.size_t = 0
    r: cython.pointer[cython.const[uint32_t]]
    s: cython.pointer[cython.const[Slot]]
    c: uint32_t
    kind: uint32_t
    while at < n:
        r = own + at
        kind = wire_kind(r)
        if (kind == KIND_STRUCT or kind == KIND_UNION) and r[0] and r[0] < strings:
            s = chain_of(cython.address(base.names), hash_name(r))
            c = chain_first(cython.address(base.names), s)
            while c and words[offs[c]] != r[0]:
                c = chain_next(cython.address(base.names), s, c)
            if c and not base.several[c] and wire_kind(words + offs[c]) == kind and words[offs[c] + 2] != r[2]:
                if not u32s_push(found, cython.cast(uint32_t, at)) or not u32s_push(found, c):
                    return False
        at += wire_words(r[1])
    return True
