"""`.BTF_ids` before resolve_btfids sees it, and after: has each name in it a type, and one only.

The kernel's macros leave a word for each id that its code wants, and a symbol that says which,
`__BTF_ID__struct__file__12`. After the link resolve_btfids looks up the names in the BTF and stores the ids; what has
none stays 0, which is `void`. Symbols of sets, `__BTF_ID__set8__NAME`, have as size that of the set: a count (and
flags), then the members, which resolve_btfids sorts by id. A set of pairs with flag 1 is one of kfuncs, before 6.9
every set of pairs. A kernel refuses a whole set of kfuncs for one id of 0 (6.4 and newer).

This follows the resolve_btfids of 6.12, 7.2 and 7.3; that of 7.3 makes the tags of kfuncs itself. If the words
are there already, they are compared with what the BTF says; the order of the members of a set is then no longer that
of their symbols.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from itertools import pairwise
from struct import Struct

from pybtf.btf.kinds import Kind
from pybtf.btf.reader import BTF
from pybtf.btf.types import DeclTag
from pybtf.core.elf.symbols import SymbolError
from pybtf.elf.constants import SHT_SYMTAB
from pybtf.elf.image import ElfImage, Section
from pybtf.elf.symbols import symbol_error, symbol_source
from pybtf.errors import InputError, Place, counted
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record
from pybtf.verify.judge import LOST, ODD, REJECTED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

SECTION = ".BTF_ids"
_PREFIX = b"__BTF_ID__"
_KINDS = {"func": Kind.FUNC, "struct": Kind.STRUCT, "union": Kind.UNION, "typedef": Kind.TYPEDEF}

LOWEST_SINCE, FAILS_BEFORE, WHOLE_SET_SINCE, FLAGGED_SINCE, TAGS_SINCE = 511, 512, 604, 609, 703
"""Versions: the lowest of several ids is taken, before that the last; names without a type no longer stop the link; a
set of kfuncs with an id of 0 is refused; sets of kfuncs have a flag; resolve_btfids makes their tags."""


@record()
class _Set:
    name: str
    start: int
    end: int
    width: int
    kfuncs: bool


@record()
class _Id:
    """A name that is looked up. `within`: the set it is a member of."""

    kind: str
    name: str
    at: int
    within: _Set | None


def check_ids(image: ElfImage, btf: BTF, version: int) -> dict[str, Any]:
    """What resolve_btfids and a kernel of this version would say: numbers, and findings as dicts, worst first.

    Raises `InputError` if the file has no `.BTF_ids` or no symbols, or if they lie outside of the section.
    """
    section = image.section(SECTION)
    tables = image.of_type(SHT_SYMTAB)
    if section is None:
        raise InputError(Place(image.path), f"no {SECTION} section", "a file that looks up ids")
    if not tables:
        raise InputError(Place(image.path), "no symbol table", f"the symbols of {SECTION}", "It has been stripped.")
    ids, sets = _read(image, section, tables[-1], version)
    words = _Words(image, section)
    values = [words.at(each.at) for each in ids]
    resolved = any(values)
    tagged = {each.type for each in btf.all_by_name("bpf_kfunc", Kind.DECL_TAG) if isinstance(each, DeclTag)}
    will_tag = version >= TAGS_SINCE and not resolved
    expected = {}
    known: dict[tuple[str, str], list[int]] = {}
    findings: list[dict[str, Any]] = []
    for each in ids:
        key = each.kind, each.name
        if key not in known:
            known[key] = [one.id for one in btf.all_by_name(each.name, _KINDS[each.kind])]
        found = known[key]
        expected[each.at] = (found[0] if version >= LOWEST_SINCE else found[-1]) if found else 0
        if not found:
            findings.append(_unresolved(each, version))
        elif len(found) > 1:
            findings.append(_several(each, found, version))
        if found and each.within is not None and each.within.kfuncs and found[0] not in tagged and not will_tag:
            text = "no declaration tag bpf_kfunc: its prototype is not shown, and from 7.0 on implicit arguments stay"
            findings.append(_finding("IDS3", ODD, each, text))
    if resolved:
        findings += _stale(ids, values, expected, words, sets)
    units = symbol_source(image, tables[-1]).files_of(section.index) if findings else {}
    for finding in findings:
        unit = units.get(finding.pop("at"))
        finding["unit"] = unit.decode("utf-8", "surrogateescape") if unit is not None else None
    findings.sort(key=lambda one: (REJECTED, LOST, ODD).index(one["severity"]))
    return {"ids": len(ids), "sets": len(sets), "resolved": resolved, "findings": findings}


class _Words:
    """The words of the section, by address."""

    def __init__(self, image: ElfImage, section: Section) -> None:
        self._data = image.data(section)
        self._start = section.addr
        self._word = Struct(f"{image.order}I")
        self._place = image.place(section)

    def at(self, address: int) -> int:
        end = self._start + len(self._data)
        if not self._start <= address <= end - 4:
            found = f"a symbol of an id at {address:#x}"
            raise InputError(self._place, found, f"4 bytes within {self._start:#x}..{end:#x}")
        word: int = self._word.unpack_from(self._data, address - self._start)[0]
        return word


def _read(image: ElfImage, section: Section, table: Section, version: int) -> tuple[list[_Id], list[_Set]]:
    """The names that are looked up, and the sets, both by address."""
    try:
        symbols = symbol_source(image, table).in_section(section.index, _PREFIX)
    except SymbolError as fault:
        raise symbol_error(image, table, fault) from None
    words = _Words(image, section)
    sets = []
    ids = []
    for symbol, value, size in symbols:
        kind, _, rest = symbol[len(_PREFIX) :].decode("utf-8", "surrogateescape").partition("__")
        if kind in ("set", "set8"):
            flagged = kind == "set8" and (version < FLAGGED_SINCE or bool(words.at(value + 4) & 1))
            sets.append(_Set(rest, value, value + size, 8 if kind == "set8" else 4, flagged))
            continue
        name, separator, number = rest.rpartition("__")
        if kind in _KINDS and separator and number.isdecimal():
            ids.append((value, kind, name))
    sets.sort(key=lambda one: one.start)
    for before, after in pairwise(sets):
        if after.start < before.end:
            found = f"sets that overlap, {before.name} and {after.name}"
            raise InputError(image.place(section), found, "consecutive ones")
    starts = [one.start for one in sets]
    members = []
    for at, kind, name in sorted(ids):
        index = bisect_right(starts, at) - 1
        within = sets[index] if index >= 0 and at < sets[index].end else None
        members.append(_Id(kind, name, at, within))
    return members, sets


def _finding(rule: str, severity: str, each: _Id, text: str) -> dict[str, Any]:
    within = each.within.name if each.within is not None else None
    return {
        "rule": rule, "severity": severity, "kind": each.kind, "name": each.name, "set": within, "text": text,
        "at": each.at,
    }  # fmt: skip


def _unresolved(each: _Id, version: int) -> dict[str, Any]:
    what = f"no {_KINDS[each.kind].name} of this name"
    if version < FAILS_BEFORE:
        return _finding("IDS1", REJECTED, each, f"{what}: resolve_btfids stops the link")
    if each.within is not None and each.within.kfuncs and version >= WHOLE_SET_SINCE:
        return _finding("IDS1", REJECTED, each, f"{what}: the kernel refuses the whole set of kfuncs, EINVAL")
    return _finding("IDS1", LOST, each, f"{what}: its id is 0, void; resolve_btfids warns")


def _several(each: _Id, found: list[int], version: int) -> dict[str, Any]:
    used = found[0] if version >= LOWEST_SINCE else found[-1]
    listed = ", ".join(map(str, found[:4])) + (", ..." if len(found) > 4 else "")
    return _finding("IDS2", LOST, each, f"{len(found)} types of this name, {listed}: {used} is used")


def _stale(
    ids: list[_Id], values: list[int], expected: dict[int, int], words: _Words, sets: list[_Set]
) -> Iterator[dict[str, Any]]:
    """Words that are there, against what the BTF says; sets that are not sorted, which are searched by halves."""
    members: dict[int, list[tuple[_Id, int]]] = {}
    for each, value in zip(ids, values, strict=True):
        if each.within is not None:
            members.setdefault(each.within.start, []).append((each, value))
        elif value != expected[each.at]:
            text = f"the file has id {value}, and the type is {expected[each.at]}: they come from different links"
            yield _finding("IDS4", REJECTED, each, text)
    for one in sets:
        pairs = members.get(one.start, [])
        stored = [words.at(at) for at in range(one.start + one.width, one.end, one.width)]
        whole = _Id("set8" if one.width == 8 else "set", one.name, pairs[0][0].at if pairs else one.start, None)
        if words.at(one.start) != len(stored):
            text = f"its count is {words.at(one.start)}, and it has room for {len(stored)}"
            yield _finding("IDS5", REJECTED, whole, text)
        elif stored != sorted(stored):
            yield _finding("IDS5", REJECTED, whole, "its members are not sorted by id: the kernel does not find them")
        missing = Counter(expected[each.at] for each, _ in pairs) - Counter(stored)
        if missing:
            text = f"it lacks the ids {', '.join(map(str, sorted(missing)[:4]))}: they come from different links"
            yield _finding("IDS4", REJECTED, whole, text)


def text(path: str, result: dict[str, Any], version: str) -> list[str]:
    """Lines for people."""
    state = "resolved" if result["resolved"] else "not yet resolved"
    names, sets = counted(result["ids"], "name"), counted(result["sets"], "set")
    lines = [f"{path}: {names} in {SECTION}, {sets}, {state} (kernel {version})"]
    shown = None
    for each in result["findings"]:
        if (each["severity"], each["rule"]) != shown:
            shown = each["severity"], each["rule"]
            lines.append(f"  {each['severity']}, rule {each['rule']}:")
        where = f" ({each['unit']})" if each["unit"] else ""
        of = f" of the set {each['set']}" if each["set"] else ""
        lines.append(f"    {each['kind']} {each['name']}{of}{where}: {each['text']}")
    return lines
