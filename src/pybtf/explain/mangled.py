"""Names that Rust and C++ make for the linker, and the names that DWARF has for the same functions.

`_RNvNtCs1234_4core9panicking5panic` says `core::panicking::panic`, and DWARF calls the function `panic`; of a generic
one, `panic<u8>`. Nothing is demangled here: whatever in the symbol may be an identifier, a length with as many
characters behind it, is a candidate, and its code has to begin where the symbol is.
"""

from __future__ import annotations

import re
from itertools import chain, islice

from .entries import described_at
from .inquiry import Inquiry

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pybtf.core.fates import Trace

SCHEMES = ("_R", "_Z")
"""Rust's own, and that of C++, which Rust had before."""
MOST_CANDIDATES = 50
"""Names that are tried."""


def identifiers(symbol: str) -> list[str]:
    """What may be identifiers in a name made for the linker, the last first; of other symbols none."""
    if not symbol.startswith(SCHEMES):
        return []
    found: dict[str, None] = {}
    for match in re.finditer(r"[1-9][0-9]{0,3}", symbol):
        # Digits of a number before may look like the begin of a length.
        for digits in range(match.start(), match.end()):
            size = int(symbol[digits : match.end()])
            for start in (match.end(), match.end() + symbol.startswith("_", match.end())):
                text = symbol[start : start + size]
                if len(text) == size and text.isidentifier():
                    found.setdefault(text)
    return [*reversed(found)]


def described_unmangled(inquiry: Inquiry, symbol: str, addresses: set[int]) -> tuple[str, Trace] | None:
    """The name in DWARF, and the description, of the function that begins at one of these addresses."""
    names = identifiers(symbol)
    generic = (name for name in inquiry.kinds if "<" in name and name.partition("<")[0] in names)
    there = (name for name in names if name in inquiry.kinds)
    for name in islice(chain(there, generic), MOST_CANDIDATES):
        trace = described_at(inquiry, name, addresses)
        if trace is not None:
            return name, trace
    return None
