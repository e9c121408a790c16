"""Distilling from raw BTF to raw BTF; `distill.py` says what it is."""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.dedup.base import Base, Space
from cython.cimports.pybtf.core.encode.distill import Distilled, distill, distill_free
from cython.cimports.pybtf.core.encode.emit import raw_btf

from pybtf.core.btf.type_section import wire_header
from pybtf.errors import InputError, Place


def distill_btf(data: bytes, base: object, *, name: str = "BTF", base_name: str = "base BTF") -> tuple:
    """Of BTF that is split from `base`, raw BTF or a `Base`: the same on a minimal base of its own, and that base.

    Both have the byte order of `data` and a header of 24 bytes. Raises `InputError` when one is damaged, or when a type
    is referred to that such a base cannot have: a variable, function, section or declaration tag, or a named
    enumeration of a size that enumerations do not have. Likewise when names share too many bytes.
    """
    below: Base = Base(base, base_name) if isinstance(base, bytes) else base
    space: Space
    d: Distilled
    raw: cython.p_const_char = data
    header = wire_header(data, name, True)
    swap, _, _, str_at, str_len = header
    strings: cython.ulonglong = str_len + below.strings.size
    if strings > 0xFFFFFFFF:
        raise InputError(Place(name, "strings"), f"{strings} bytes of strings", "less than 4 GiB")
    space = below.take()
    first: cython.size_t = below.types.n
    space.load(data, name, header, cython.cast(uint32_t, strings))
    memset(cython.address(d), 0, cython.sizeof(Distilled))
    d.base = cython.address(below.types)
    d.words = space.r.words.p
    d.offs = cython.cast(cython.pointer[uint64_t], space.r.offs.p)
    d.strings = cython.address(below.strings)
    d.own_text = raw + cython.cast(cython.size_t, str_at)
    if space.r.offs.n > first:
        d.own = space.r.words.p + space.r.offs.p[first]
        d.n_own = space.r.words.n - space.r.offs.p[first]
    try:
        if not distill(cython.address(d), strings + 4 * d.n_own, name):
            found = f"type {d.bad} of the base is referred to"
            raise InputError(Place(name), found, "no variable, function, section, tag or enum of odd size")
        return (
            raw_btf(cython.address(d.split_words), cython.address(d.split_text), swap),
            raw_btf(cython.address(d.base_words), cython.address(d.base_text), swap),
        )
    finally:
        distill_free(cython.address(d))
        below.give(space)
