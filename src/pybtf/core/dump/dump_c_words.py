"""What is a name of C, by spelling alone (dump_c_words.pxd). `bool` and other words that only C23 has are names."""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.string import memset, strcmp, strlen, strncmp
from cython.cimports.pybtf.core.dump.dump_c_words import KEYWORDS, TYPE_WORDS, Words


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def words_init(w: cython.pointer[Words]) -> cython.void:
    i: cython.int
    memset(w, 0, cython.sizeof(Words))
    for i in range(26):
        w.part[65 + i] = w.part[97 + i] = 1
    for i in range(10):
        w.part[48 + i] = 2
    w.part[95] = w.part[36] = 1
    i = 0
    while KEYWORDS[i] != cython.NULL:
        w.lengths[cython.cast(cython.uchar, KEYWORDS[i][0])] |= cython.cast(uint64_t, 1) << strlen(KEYWORDS[i])
        i += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def word_faults(
    w: cython.pointer[cython.const[Words]], name: cython.p_const_char, length: cython.pointer[uint32_t]
) -> uint32_t:
    """Whether C cannot have this name, which is not empty. `length`: bytes that were looked at."""
    at: uint32_t = 0
    i: cython.int = 0
    fault: uint32_t = w.part[cython.cast(cython.uchar, name[0])] != 1
    while not fault and name[at]:
        fault = w.part[cython.cast(cython.uchar, name[at])] == 0
        at += 1
    length[0] = at
    if not fault and at < 64 and (w.lengths[cython.cast(cython.uchar, name[0])] >> at) & 1:
        while KEYWORDS[i] != cython.NULL:
            if KEYWORDS[i][0] == name[0] and strcmp(name, KEYWORDS[i]) == 0:
                return 1
            i += 1
    return fault


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def names_a_type(name: cython.p_const_char) -> cython.bint:
    """Whether these are words that C has for numbers, such as `unsigned int`. The order is not looked at."""
    i: cython.int
    size: cython.size_t
    while True:
        i = 0
        while TYPE_WORDS[i] != cython.NULL:
            size = strlen(TYPE_WORDS[i])
            if strncmp(name, TYPE_WORDS[i], size) == 0 and (name[size] == 0 or name[size] == b" "):
                break
            i += 1
        if TYPE_WORDS[i] == cython.NULL:
            return False
        if name[size] == 0:
            return True
        name += size + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def number_faults(r: cython.pointer[cython.const[uint32_t]], name: cython.p_const_char) -> cython.bint:
    """Whether an integer or float is called otherwise than in C; `char` of Rust has four bytes."""
    return r[2] != 1 if strcmp(name, b"char") == 0 else not names_a_type(name)
