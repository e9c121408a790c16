"""Names that kernels accept: ASCII letters, digits and `_`, not a digit first, fewer than 128 bytes.

Types of C++ and Rust have others, such as `Option<u32>`, and a kernel that meets one refuses the whole BTF. With
`degrade`, `_` replaces every other character. Numbers and tags may have any name.
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.pybtf.core.btf.kinds import KIND_FLOAT, KIND_INT, KIND_TYPE_TAG
from cython.cimports.pybtf.core.classes.class_record import KIND_CYCLE, KIND_VARIANT
from cython.cimports.pybtf.core.classes.plain_names import LONGEST_PLAIN, is_plain
from cython.cimports.pybtf.core.strings.string_table import NO_STRING, Strings, Text, string_intern, string_text
from cython.cimports.pybtf.core.support.memory import U32s, u32s_push


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def plain_name(strings: cython.pointer[Strings], sid: uint32_t) -> uint32_t:
    """See `plain_names.pxd`."""
    made = cython.declare(cython.char[128])  # LONGEST_PLAIN, and `_` in front of a digit
    x: Text = string_text(strings, sid)
    i: cython.size_t
    size: cython.size_t = 0
    plain: cython.bint = x.size <= LONGEST_PLAIN
    for i in range(min(x.size, LONGEST_PLAIN)):
        if is_plain(x.text[i], i == 0):
            made[size] = x.text[i]
        else:
            plain = False
            made[size] = b"_"
            if b"0" <= x.text[i] <= b"9":  # a digit at the start
                made[1] = x.text[i]
                size = 1
        size += 1
    return sid if plain else string_intern(strings, made, min(size, LONGEST_PLAIN), True)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def plain_names(
    strings: cython.pointer[Strings],
    renamed: cython.pointer[U32s],
    name: cython.pointer[uint32_t],
    n: uint32_t,
    step: uint32_t,
) -> cython.bint:
    """See `plain_names.pxd`."""
    i: cython.size_t
    made: uint32_t
    for i in range(n):
        if name[i * step]:
            made = plain_name(strings, name[i * step])
            if made == NO_STRING:
                return False
            if made != name[i * step]:
                if not u32s_push(renamed, name[i * step]):
                    return False
                name[i * step] = made
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_plain_names(kind: uint32_t) -> cython.bint:
    """See `plain_names.pxd`."""
    return not (
        kind == KIND_INT or kind == KIND_FLOAT or kind == KIND_TYPE_TAG or kind == KIND_CYCLE or kind == KIND_VARIANT
    )
