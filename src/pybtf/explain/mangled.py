"""Names that Rust and C++ make for the linker, and the names that DWARF has for the same functions.

`_RNvNtCs1234_4core9panicking5panic` says `core::panicking::panic`, and DWARF calls the function `panic`; of a generic
one, `panic<u8>`. Nothing is demangled here: whatever in the symbol may be an identifier, a length with as many
characters after it, is a candidate. That it is the one is known from the code, which has to begin where the symbol is,
or else from DW_AT_linkage_name.
"""

from __future__ import annotations

import re
from itertools import chain, islice

from pybtf.explain.entries import described_at, in_few_units, is_function
from pybtf.explain.inquiry import Inquiry
from pybtf.languages import LANGUAGES
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pybtf.core.fates import Trace

SCHEMES = ("_R", "_Z")
"""Rust's own, and that of C++, which Rust had before."""
LONGEST = 10_000
"""Characters of a symbol that is looked into: each number in it may be the length of thousands."""
MOST_CANDIDATES = 50
"""Names that are tried."""
PLAIN = frozenset(LANGUAGES[name] for name in ("asm", "c", "c89", "c99", "c11")) | {0x2C, 0x3E}
"""Languages whose names are their symbols; the last two are C 17 and C 23."""


def identifiers(symbol: str) -> list[str]:
    """What may be identifiers in a name made for the linker, the last first; of other symbols none."""
    if not symbol.startswith(SCHEMES) or len(symbol) > LONGEST:
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


def _candidates(inquiry: Inquiry, symbol: str) -> Iterator[str]:
    """Names of functions in DWARF of which a compiler may have made this symbol."""
    names = identifiers(symbol)
    there = (name for name in names if name in inquiry.kinds)
    generic = (name for name in inquiry.kinds if "<" in name and name.partition("<")[0] in names)
    # Closures have no name of their own, and DWARF calls them `{closure#0}`.
    closure = bool(names) and ("NC" in symbol or "closure" in symbol)
    closures = (name for name in inquiry.kinds if closure and name.startswith("{closure"))
    return islice(chain(there, generic, closures), MOST_CANDIDATES)


def _foreign(inquiry: Inquiry, traces: Iterable[Trace]) -> Iterator[Trace]:
    """Those of functions in other languages than C. A name of C may be in two thousand units."""
    for trace in traces:
        if is_function(trace) and inquiry.language(trace) not in PLAIN:
            yield trace


def described_unmangled(inquiry: Inquiry, symbol: str, addresses: Iterable[int]) -> tuple[str, Trace] | None:
    """The name in DWARF, and the description, of the function that begins at one of these addresses."""
    units: set[int | None] = set()
    for name in _candidates(inquiry, symbol):
        trace = described_at(inquiry, _foreign(inquiry, inquiry.fates.of(name)), addresses, units)
        if trace is not None:
            return name, trace
    # The code may be described where the core notes nothing, as a copy of what another unit has.
    name, traces = described_for(inquiry, symbol, units)
    return (name, traces[0]) if traces else None


def described_for(inquiry: Inquiry, symbol: str, units: set[int | None] | None = None) -> tuple[str, list[Trace]]:
    """The name in DWARF, and the descriptions, of functions that are to have this symbol by their DW_AT_linkage_name.
    `units`: as for `in_few_units`.
    """
    seen: set[int | None] = set() if units is None else units
    for name in _candidates(inquiry, symbol):
        found = []
        for trace in in_few_units(inquiry, _foreign(inquiry, inquiry.fates.of(name)), seen):
            die = inquiry.dies.die(trace["die"])
            if die is not None and inquiry.dies.linkage_name(die) == symbol:
                found.append(trace)
        if found:
            return name, found
    return "", []


def compiled_as(inquiry: Inquiry, name: str, traces: Iterable[Trace]) -> list[tuple[str, int, Trace]]:
    """Symbols that a compiler has made of a name, where their code begins, and which of these descriptions has it: by
    the address or, if that of a copy is not noted, by DW_AT_linkage_name.
    """
    plain = name.partition("<")[0]
    likely = (symbol for symbol in inquiry.symbols if symbol.startswith(SCHEMES) and plain in symbol)
    starts = {symbol: inquiry.place_of(symbol, inquiry.symbols[symbol])
              for symbol in likely if plain in identifiers(symbol)}  # fmt: skip
    symbols = {start: symbol for symbol, start in starts.items()}
    found: dict[str, Trace] = {}
    for trace in in_few_units(inquiry, _foreign(inquiry, traces if starts else ())):
        die = inquiry.dies.die(trace["die"])
        if die is None:
            continue
        for start in symbols.keys() & (inquiry.dies.starts(die) or ()):
            inquiry.entries[trace["die"]] = start
            found[symbols[start]] = trace
        linked = inquiry.dies.linkage_name(die)
        if linked in starts:
            found.setdefault(linked, trace)
    return sorted(((symbol, starts[symbol], trace) for symbol, trace in found.items()), key=lambda row: row[1])
