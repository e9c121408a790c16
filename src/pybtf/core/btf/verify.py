"""Is what is about to be written BTF? Asked of every output, before it is brought into the byte order of the file.

A mistake of this program must not become a file that a kernel refuses, or worse, believes. So each record is walked
once more: its kind exists and has room for it, its names begin where strings begin, its references are to types that
exist. That checks the form; that the types are the right ones is for the tests to check.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.pybtf.core.btf.record_layout import (
    WIRE_INFO_RESERVED,
    RefSpan,
    wire_each,
    wire_kind,
    wire_names,
    wire_refs,
    wire_vlen,
    wire_words,
)
from cython.cimports.pybtf.core.btf.type_section import (
    WIRE_KIND,
    WIRE_NAME,
    WIRE_OK,
    WIRE_REFERENCE,
    WIRE_RESERVED,
    WIRE_TRUNCATED,
    WireError,
)
from cython.cimports.pybtf.core.btf.verify import WIRE_ELEMENTS, WIRE_MIDDLE, WIRE_STRINGS, WIRE_TYPES, Written

from pybtf.core.btf.type_section import REASONS
from pybtf.errors import InternalError

OWN_REASONS = {
    WIRE_MIDDLE: "name offset {value:#x} in type {id} is in the middle of a string",
    WIRE_ELEMENTS: "info word {value:#010x} of type {id} counts elements, but its kind has none",
    WIRE_TYPES: "the types end before type {id}, although {value} were counted",
    WIRE_STRINGS: "the strings do not begin with an empty one, or the last one has no end",
}


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def reject(error: cython.pointer[WireError], code: cython.int, id: uint32_t, value: uint32_t) -> cython.int:
    error.code = code
    error.id = id
    error.value = value
    return code


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def name_fault(w: cython.pointer[cython.const[Written]], name: uint32_t) -> cython.int:
    """What is wrong with the offset of a name."""
    at: uint32_t = name
    if at == 0:
        return WIRE_OK
    if at < w.base_size:
        return WIRE_OK if w.base[at - 1] == 0 else WIRE_MIDDLE
    at -= w.base_size
    if at >= w.size:
        return WIRE_NAME
    return WIRE_OK if at == 0 or w.text[at - 1] == 0 else WIRE_MIDDLE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def record_fault(
    w: cython.pointer[cython.const[Written]],
    r: cython.pointer[uint32_t],
    id: uint32_t,
    error: cython.pointer[WireError],
) -> cython.int:
    """Names and references of one record."""
    i: uint32_t
    p: cython.pointer[uint32_t]
    names: RefSpan = wire_names(r)
    refs: RefSpan = wire_refs(r)
    code: cython.int = name_fault(w, r[0])
    if code:
        return reject(error, code, id, r[0])
    if wire_vlen(r) and wire_each(wire_kind(r)) == 0:
        return reject(error, WIRE_ELEMENTS, id, r[1])
    p = names.p
    for i in range(names.count):
        code = name_fault(w, p[0])
        if code:
            return reject(error, code, id, p[0])
        p += names.stride
    p = refs.p
    for i in range(refs.count):
        if p[0] >= w.n:
            return reject(error, WIRE_REFERENCE, id, p[0])
        p += refs.stride
    return WIRE_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def verify(w: cython.pointer[cython.const[Written]], error: cython.pointer[WireError]) -> cython.int:
    """WIRE_OK, or what is wrong, which `error` has as well."""
    at: cython.size_t = 0
    size: cython.size_t
    id: uint32_t = w.first
    r: cython.pointer[uint32_t]
    if (w.size and w.text[w.size - 1]) or (w.base_size == 0 and (w.size == 0 or w.text[0])):
        return reject(error, WIRE_STRINGS, 0, 0)
    while at < w.n_words:
        if w.n_words - at < 3:
            return reject(error, WIRE_TRUNCATED, id, 0)
        r = cython.cast(cython.pointer[uint32_t], w.words + at)
        size = wire_words(r[1])
        if size == 0:
            return reject(error, WIRE_KIND, id, r[1])
        if r[1] & WIRE_INFO_RESERVED:
            return reject(error, WIRE_RESERVED, id, r[1])
        if size > w.n_words - at:
            return reject(error, WIRE_TRUNCATED, id, r[1])
        if record_fault(w, r, id, error):
            return error.code
        at += size
        id += 1
    if id != w.n:
        return reject(error, WIRE_TYPES, id, w.n)
    return WIRE_OK


@cython.cfunc
def verify_error(error: cython.pointer[cython.const[WireError]]) -> object:
    """The exception for what `verify` found."""
    reason: str = OWN_REASONS[error.code] if error.code in OWN_REASONS else REASONS[error.code][0]
    return InternalError(f"the BTF that was made is damaged: {reason.format(id=error.id, value=error.value)}")


def check_output(types: bytes, strings: bytes, n: int, base_strings: bytes = b"", first: int = 1) -> None:
    """Raise `InternalError` unless these are the types and strings of BTF with `n` ids; for tests.

    `types`: words in host byte order. `first`: the id of the first.
    """
    w = cython.declare(Written)
    error = cython.declare(WireError)
    words: cython.p_char = types
    w.words = cython.cast(cython.pointer[uint32_t], words)
    w.n_words = len(types) // 4
    w.first = first
    w.n = n
    w.base = base_strings
    w.base_size = len(base_strings)
    w.text = strings
    w.size = cython.cast(uint64_t, len(strings))
    if verify(cython.address(w), cython.address(error)):
        raise verify_error(cython.address(error))
