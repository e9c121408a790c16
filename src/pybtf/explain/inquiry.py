"""One file, encoded so that questions can be asked: the verdict on any name, without a look at the DWARF.

Whether a name is in BTF is looked up in the finished BTF, and nowhere else. The reason why it is not there comes from
the notes of the encoder (core/fates.py): for a function, the fate that was decided over all units or, if there is none,
what became of its descriptions.
"""

from __future__ import annotations

from bisect import bisect_right
from fnmatch import fnmatchcase
from functools import cache, cached_property

from pybtf.btf import BTF, Kind
from pybtf.core.codes import TRACE_NAMES
from pybtf.core.elf.symbols import SymbolError
from pybtf.core.fates import Fates
from pybtf.core.run import Run
from pybtf.core.search import Search
from pybtf.dwarf.sections import DebugSections
from pybtf.elf.constants import ET_REL, SHF_EXECINSTR, SHT_DYNAMIC, SHT_SYMTAB
from pybtf.elf.image import ElfImage
from pybtf.elf.kfuncs import find_kfuncs
from pybtf.elf.layout import section_addresses
from pybtf.elf.symbols import symbol_source
from pybtf.errors import InputError
from pybtf.explain.labels import Labels
from pybtf.explain.reasons import FUNCTION_TRACES, FUNCTIONS, IN_BTF, VARIABLE_TRACES, VARIABLES
from pybtf.explain.whereabouts import Whereabouts
from pybtf.languages import language_name
from pybtf.options import EncodeOptions
from pybtf.report import REASON_OF_FATE
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from pybtf.core.elf.symbols import SymbolSource
    from pybtf.core.fates import Trace
    from pybtf.dwarf.slow import Dies

TYPE_KINDS = (Kind.STRUCT, Kind.UNION, Kind.ENUM, Kind.ENUM64, Kind.TYPEDEF, Kind.INT, Kind.FLOAT, Kind.FWD)
PADDING = "__pfx_"
"""So the kernel's objtool calls the bytes in front of a function that are left free for patches."""
KEYWORDS = {
    "struct": (Kind.STRUCT, Kind.FWD),
    "union": (Kind.UNION, Kind.FWD),
    "enum": (Kind.ENUM, Kind.ENUM64),
    "typedef": (Kind.TYPEDEF,),
}
OTHERS = ("function", "variable")
"""What else a name may begin with, to say what is meant."""


class Inquiry:
    """What `pybtf why` knows of a file. Only valid while the file is open: inside the `look` of an encoding."""

    def __init__(
        self, run: Run, image: ElfImage, sections: DebugSections, data: bytes, options: EncodeOptions, base: BTF | None
    ) -> None:
        self.image = image
        self.options = options
        self.run = run
        self.sections = sections
        self._data = data
        self._base = base
        self._named: dict[Kind, dict[str, list[int]]] = {}
        self._own: dict[Kind, dict[str, list[int]]] = {}
        self._stems: dict[str, set[str]] = {}
        self.entries: dict[int, int | None] = {}
        """Where the code of functions begins of which the core knows no address (entries.py), by DIE."""
        self.fates: Fates = run.fates()

    # ---- what there is ----

    @cached_property
    def btf(self) -> BTF:
        """The BTF that was made."""
        return BTF.from_bytes(self._data, self._base)

    @cached_property
    def renamed(self) -> dict[str, str]:
        """Names in DWARF that kernels reject, and those that replace them. Only BTF that is degraded has some."""
        return self.run.renamed_names()

    @cached_property
    def search(self) -> Search:
        return self.run.search()

    @cached_property
    def whereabouts(self) -> Whereabouts:
        """Where DIEs are, without pyelftools."""
        return Whereabouts(self.run, self.image, self.sections)

    @cached_property
    def complete(self) -> bool:
        """Whether no other file can define what this one declares, as is so of a kernel, and not of a module or of a
        program that is linked with libraries.
        """
        return self.image.etype != ET_REL and not self.image.of_type(SHT_DYNAMIC)

    def address(self, address: int) -> str:
        """An address as a text. Of a relocatable file, which has none yet, the section and the offset in it: where the
        encoder has put its sections says nothing to anybody else.
        """
        at = bisect_right(self._code, address, key=lambda row: row[0]) - 1
        if at >= 0 and address < self._code[at][1]:
            return f"{self._code[at][2]}+{address - self._code[at][0]:#x}"
        return f"{address:#x}"

    @cached_property
    def _code(self) -> list[tuple[int, int, str]]:
        """Where the sections of code of a relocatable file have been put: start, end and name, ascending."""
        if self.image.etype != ET_REL:
            return []
        places = section_addresses(self.image)
        return sorted(
            (places[section.index], places[section.index] + section.size, section.name)
            for section in self.image.sections
            if section.flags & SHF_EXECINSTR and section.size
        )

    @cached_property
    def kinds(self) -> dict[str, int]:
        """Which traces a name has: a bit for each kind (TRACE_NAMES)."""
        return self.fates.names()

    @cached_property
    def table(self) -> dict[str, str]:
        """The fate of each function of the symbol table, by its name in the source; without those that this file only
        calls, unless there is more to say than that nothing describes them.
        """
        rows = {name: fate for name, fate, _ in self.fates.functions()}
        stems = {symbol.partition(".")[0] for symbol, _ in self.undefined}
        for name in stems & rows.keys():
            if not self.symbols_of(name) and function_reason(rows[name], self.kinds.get(name, 0)) == "no_description":
                del rows[name]
        return rows

    @cached_property
    def _functions(self) -> tuple[SymbolSource | None, list[tuple[str, int, int]]]:
        """The symbol table, and its function symbols: name, value and section."""
        symtab = self.image.section(".symtab")
        if symtab is None or symtab.type != SHT_SYMTAB:
            return None, []
        source = symbol_source(self.image, symtab)
        return source, source.functions()

    @cached_property
    def undefined(self) -> set[tuple[str, int]]:
        """Function symbols, by name and value, whose code is in another file: those of libraries, in what is linked
        with them. The encoder takes them for functions, as pahole does; at 0, where none is, or in the table for calls.
        """
        source, rows = self._functions
        outside = {(name, value) for name, value, section in rows if not section}
        if source is None or not outside:
            return set()
        try:  # symbols with an absolute value are not in a section either
            without = {(name.decode("utf-8", "surrogateescape"), value) for name, value, _ in source.in_section(0, b"")}
        except SymbolError:
            return set()
        return outside & without - {(name, value) for name, value, section in rows if section}

    @cached_property
    def symbols(self) -> dict[str, int]:
        """The whole names of all function symbols that have code here, with an address."""
        rows = self._functions[1]
        return {name: value for name, value, _ in rows if name and (name, value) not in self.undefined}

    def symbols_of(self, name: str) -> list[tuple[str, int]]:
        """The symbols with this base name that have code here: name and value."""
        return [row for row in self.fates.symbols(name)[0] if row not in self.undefined]

    def is_elsewhere(self, name: str) -> bool:
        """Whether there is an undefined symbol of this name; linkers add the version: `puts@GLIBC_2.2.5`."""
        return any(name in (symbol, symbol.partition("@")[0]) for symbol, _ in self.undefined)

    @cached_property
    def labels(self) -> Labels:
        """The symbols that are not those of functions."""
        return Labels(self.image)

    @cached_property
    def parts(self) -> dict[str, list[str]]:
        """By the name in the source: the symbols of what the compiler has cut out of a function (`.part.0`)."""
        found: dict[str, list[str]] = {}
        for symbol in self.symbols:
            stem, _, suffix = symbol.partition(".")
            if suffix.startswith("part.") and "cold" not in suffix:
                found.setdefault(stem, []).append(symbol)
        return found

    @cached_property
    def _placed(self) -> dict[tuple[str, int], list[int]]:
        """Where the encoder has put the code of the function symbols of a relocatable file, by name and value. There
        values are offsets in sections, and several of one name may have the same.
        """
        if self.image.etype != ET_REL:
            return {}
        places = section_addresses(self.image)
        found: dict[tuple[str, int], list[int]] = {}
        for name, value, section in self._functions[1]:
            if 0 < section < len(places):
                found.setdefault((name, value), []).append(places[section] + value)
        return found

    def place_of(self, symbol: str, value: int, number: int = 0) -> int:
        """The address by which DWARF, as it is read here, knows the code of a symbol: the first of this name and value,
        or a later one.
        """
        places = self._placed.get((symbol, value))
        return places[min(number, len(places) - 1)] if places else value

    def placed(self, name: str) -> list[tuple[str, int, int]]:
        """The symbols with this base name: name, value, and address as above."""
        found: list[tuple[str, int, int]] = []
        seen: dict[tuple[str, int], int] = {}
        for row in self.symbols_of(name):
            found.append((*row, self.place_of(*row, seen.get(row, 0))))
            seen[row] = seen.get(row, 0) + 1
        return found

    def language(self, trace: Trace) -> int:
        """The number of the language of the unit that has a description; 0 if that is not known."""
        number = self.dies.unit_number(trace["die"])
        return 0 if number is None else self.whereabouts.units[number][3]

    def left_out(self, trace: Trace) -> dict[str, str] | None:
        """If a description is in a language that is left out: the language, and the option that does so."""
        if trace["what"] not in ("excluded", "var_excluded"):
            return None
        option = "--lang-exclude" if self.options.lang is None else "--lang"
        return {"language": language_name(self.language(trace)), "option": option}

    @cached_property
    def emitted(self) -> dict[str, tuple[str, int]]:
        """By the name in BTF: the name in the source, and the state (core/fates.py) that gave the prototype."""
        return self.fates.emitted()

    @cached_property
    def kfuncs(self) -> dict[str, int]:
        """Flags of the functions in sets of kfuncs. That they are damaged the encoding has said, where it matters."""
        try:
            found, _ = find_kfuncs(self.image)
        except InputError:
            return {}
        return {name.decode("utf-8", "surrogateescape"): flags for name, flags in found}

    @cached_property
    def dies(self) -> Dies:
        """The DWARF, for a look at single DIEs."""
        from pybtf.dwarf.slow import dies_of

        return dies_of(self.image, self.sections, self.fates.units())

    def named(self, kind: Kind) -> dict[str, list[int]]:
        """Ids of all types of a kind by name, those of a base first."""
        if kind not in self._named:
            found: dict[str, list[int]] = {}
            for btf in (self._base, self.btf):
                for name, ids in btf.index.named(kind).items() if btf is not None else ():
                    found[name] = found.get(name, []) + ids
            self._named[kind] = found
        return self._named[kind]

    def own(self, kind: Kind) -> dict[str, list[int]]:
        """As `named`, without those of a base."""
        if kind not in self._own:
            self._own[kind] = self.btf.index.named(kind)
        return self._own[kind]

    def ids(self, name: str, *kinds: Kind) -> list[int]:
        """Ids of the types of a name, those of a base included."""
        return [id for kind in kinds for id in self.named(kind).get(name, ())]

    # ---- verdicts ----

    def asked(self, name: str) -> tuple[str | None, str]:
        """What a name says that it is, `function` or `variable`, or None, and the rest of it."""
        keyword, _, plain = name.partition(" ")
        return (keyword, plain.strip()) if keyword in OTHERS and self.kind(name) is None else (None, name)

    def kind(self, name: str, of: str | None = None) -> str | None:
        """`function`, `variable` or `type`: what a name means, the first of these that it can; None: nothing. `of`:
        it can only mean this.
        """
        if of is not None:
            return None if self.reason(name, of) is None else of
        if name.partition(" ")[0] in KEYWORDS:
            return "type"
        if self.function_reason(name) is not None:
            return "function"
        if self.variable_reason(name) is not None:
            return "variable"
        return "type" if self.ids(name, *TYPE_KINDS) else None

    def knows(self, name: str) -> bool:
        """Whether there is a function, a variable or a type of BTF of this very name."""
        keyword, _, plain = name.partition(" ")
        if keyword in KEYWORDS:
            return bool(self.ids(plain.strip(), *KEYWORDS[keyword]))
        return self.kind(name) is not None

    def function_reason(self, name: str) -> str | None:
        """Why a function is not in BTF, one of FUNCTIONS; IN_BTF; None if there is no such function. That a base has
        one of this name says nothing of a function that has code here.
        """
        if name in self.own(Kind.FUNC) or (name in self.named(Kind.FUNC) and not self.symbols_of(name)):
            return IN_BTF
        reason = function_reason(self.table.get(name), self.kinds.get(name, 0))
        if reason is not None:
            return self._padding(name, reason)
        if name not in self.symbols:
            return None
        if name.startswith(PADDING) and name.removeprefix(PADDING) in self.symbols:
            return "padding"
        stem = name.partition(".")[0]
        if stem not in self._stems:  # very many symbols may have one stem
            self._stems[stem] = {symbol for symbol, _ in self.symbols_of(stem)}
        return "clone" if name in self._stems[stem] else "part"

    def _padding(self, name: str, reason: str | None) -> str | None:
        """The same reason, but for what is only padding in front of a function."""
        plain = reason == "no_description" and name.startswith(PADDING)
        return "padding" if plain and name.removeprefix(PADDING) in self.table else reason

    def variable_reason(self, name: str) -> str | None:
        """Why a variable is not in BTF, one of VARIABLES; IN_BTF; None if there is no such variable."""
        return IN_BTF if name in self.named(Kind.VAR) else variable_reason(self.kinds.get(name, 0))

    def reason(self, name: str, of: str) -> str | None:
        """Why a function, or a variable, is not in BTF; IN_BTF; None if there is none of this name."""
        return self.function_reason(name) if of == "function" else self.variable_reason(name)

    def names(self) -> list[str]:
        """All functions and variables there are, with the names of clones, sorted."""
        own = {name for kind in (Kind.FUNC, Kind.VAR) for name in self.named(kind)}
        return sorted({*self.kinds, *self.table, *own, *self.symbols})

    def types(self, *kinds: Kind) -> list[str]:
        """The names of all types of these kinds, sorted."""
        return sorted({name for kind in kinds for name in self.named(kind)})

    def matching(self, pattern: str, of: str | None = None) -> list[str]:
        """Functions and variables whose names match a pattern of the shell; types, if none does, or if it begins with
        one of KEYWORDS. `of`: only functions, or only variables.
        """
        if of is not None:
            found = [name for name in self.names() if fnmatchcase(name, pattern)]
            return [name for name in found if self.reason(name, of) is not None]
        keyword, _, plain = pattern.partition(" ")
        if keyword in KEYWORDS:
            return [f"{keyword} {name}" for name in self.types(*KEYWORDS[keyword]) if fnmatchcase(name, plain.strip())]
        found = [name for name in self.names() if fnmatchcase(name, pattern)]
        if found:
            return found
        return [name for name in self.types(*TYPE_KINDS) if fnmatchcase(name, pattern)]

    # ---- all of them ----

    def by_reason(self, kind: str) -> dict[str, list[str]]:
        """The names of all functions, or of all variables, of this file by reason, sorted; IN_BTF among them."""
        functions = kind == "function"
        there = self.own(Kind.FUNC if functions else Kind.VAR)
        found: dict[str | None, list[str]] = {IN_BTF: list(there)}
        found |= {reason: [] for reason in (FUNCTIONS if functions else VARIABLES)}
        table = self.table if functions else {}
        for name, fate in table.items():
            if name not in there:
                reason = self._padding(name, function_reason(fate, self.kinds.get(name, 0)))
                found.setdefault(reason, []).append(name)
        reason_of = _function_without_symbol if functions else variable_reason
        for name, bits in self.kinds.items():
            if name not in there and name not in table:
                found.setdefault(reason_of(bits), []).append(name)
        return {
            reason: sorted(names) for reason, names in found.items()
            if reason is not None and (names or reason == IN_BTF)
        }  # fmt: skip

    def symbols_by_reason(self, reason: str) -> list[str]:
        """The names of symbols that are not in BTF for a reason, sorted. Clones and parts are not functions of their
        own, so `by_reason` has none of them; of padding it has what is not that of a clone.
        """
        return [name for name in sorted(self.symbols) if self.function_reason(name) == reason]


@cache
def _bit(trace: str) -> int:
    return 1 << next(number for number, name in TRACE_NAMES.items() if name == trace)


def function_reason(fate: str | None, bits: int) -> str | None:
    """Of a function that is not in BTF: by its fate, None without a symbol, and by the traces that it has."""
    if fate is None:
        return _function_without_symbol(bits)
    if fate in REASON_OF_FATE:
        return REASON_OF_FATE[fate]
    return "renamed" if fate == "emitted" else _function_unseen(bits)


@cache
def _function_unseen(bits: int) -> str:
    """There is a symbol, but no description that counts."""
    traces = {trace: reason for trace, reason in FUNCTION_TRACES.items() if trace != "no_symbol"}
    return _first(traces, bits) or "no_description"


@cache
def _function_without_symbol(bits: int) -> str | None:
    traces = {trace: reason for trace, reason in FUNCTION_TRACES.items() if trace != "unnamed_parameter"}
    return _first(traces, bits)


@cache
def variable_reason(bits: int) -> str | None:
    """Of a variable that is not in BTF, by the traces that it has."""
    return _first(VARIABLE_TRACES, bits)


def _first(traces: dict[str, str], bits: int) -> str | None:
    return next((reason for trace, reason in traces.items() if bits & _bit(trace)), None)
