"""What can be mended without the DWARF: BTF for a kernel that knows less, and entries of sections in their order.

What a kernel of this version does not know is replaced as encoding without that feature would have it (features.py):
FLOAT by INT, ENUM64 by ENUM with truncated values, a type tag by what it is on. Tags on declarations, and before 5.2
variables and sections, go altogether. So ids change. Nothing is renamed, and no wrong size or offset is
corrected: judging the result shows what is left.

The BTF of a BPF object is completed by its loader (completion.py), which first reads in it what maps, extern variables
and extern functions there are. These stay, whatever the version; entries of sections are not sorted, since their
offsets are not known yet; and strings stay where they are, because `.BTF.ext` names some by their offset.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from pybtf.btf.reader import BTF
from pybtf.btf.renumbering import renumbered
from pybtf.btf.types import (
    Const,
    Datasec,
    DeclTag,
    Enum,
    Enum64,
    Enumerator,
    Float,
    Func,
    FuncProto,
    Int,
    Restrict,
    Type,
    TypeTag,
    Var,
    Volatile,
)
from pybtf.btf.writer import BtfBuilder
from pybtf.features import SINCE

_FUNCTIONS, _VARIABLES, _LINKAGE, _EMPTY_SECTION, _FLAG_OF_ENUM, _CHAINS, _FREE_TAGS = 500, 502, 506, 512, 600, 519, 702

_LOADERS, _STRUCT_OPS = (".maps", ".kconfig", ".ksyms"), (".struct_ops", "?.struct_ops")


def _since(feature: str) -> int:
    major, minor = SINCE[feature]
    return 100 * major + minor


def mend(btf: BTF, version: int) -> tuple[bytes, Counter[str]]:
    """BTF for a kernel of this version, in the byte order of the old; what was changed, and how often.

    Raises `InputError` if the BTF cannot be read.
    """
    return _mended(btf, version, {each.id: each for each in btf}, frozenset(), False)[:2]


def mend_object(btf: BTF, version: int) -> tuple[bytes, Counter[str], dict[int, int]]:
    """As `mend`, of the BTF in a BPF object; also the new ids of types, for `.BTF.ext`."""
    types = {each.id: each for each in btf}
    return _mended(btf, version, types, _for_loaders(types), True)


def _for_loaders(types: dict[int, Type]) -> frozenset[int]:
    """What a loader itself looks at: sections, their variables and functions, with prototypes."""
    found = set()
    for each in types.values():
        if isinstance(each, Datasec) and (each.name in _LOADERS or each.name.startswith(_STRUCT_OPS)):
            found.add(each.id)
            found.update(one.type for one in each.variables)
    functions = [types[id] for id in found if id in types]
    return frozenset(found | {each.type for each in functions if isinstance(each, Func)})


def _mended(
    btf: BTF, version: int, types: dict[int, Type], needed: frozenset[int], is_object: bool
) -> tuple[bytes, Counter[str], dict[int, int]]:
    changes: Counter[str] = Counter()
    behind = _Behind({id: each.type for id, each in types.items() if isinstance(each, TypeTag)})
    instead: dict[int, int] = {}
    kept: list[Type] = []
    for id, each in types.items():
        later = is_object and isinstance(each, Datasec) and each.variables and version >= _VARIABLES
        if later or (id in needed and isinstance(each, Func | FuncProto | Var | Datasec)):
            kept.append(each)
            continue
        made = _known(each, behind, version, changes)
        if made is None:
            instead[id] = each.type if isinstance(each, TypeTag) else 0
        else:
            kept.append(made)
    numbers = {each.id: number for number, each in enumerate(kept, btf.first_id)}
    below = range(1, btf.first_id)
    landed = _Behind(instead)
    final = {id: id for id in below}
    for id in types:
        at = landed(id)
        final[id] = at if at in below else numbers.get(at, 0)
    builder = BtfBuilder(btf.base)
    if is_object:
        builder.keep_strings(btf.strings)
    builder.extend([renumbered(each, final) for each in kept])
    if btf.header.hdr_len > 24 and version < 701:
        changes["a header of 24 bytes, without the layout of kinds"] += 1
    return builder.tobytes(btf.header.little), changes, final


class _Behind:
    """Where a chain of ids ends: each is followed once, however many begin with it. One that is a circle ends at 0."""

    def __init__(self, next: dict[int, int]) -> None:
        self.next = next
        self._ends: dict[int, int] = {}

    def __call__(self, id: int) -> int:
        way: dict[int, None] = {}
        while id in self.next and id not in self._ends and id not in way:
            way[id] = None
            id = self.next[id]
        end = 0 if id in way else self._ends.get(id, id)
        self._ends.update(dict.fromkeys(way, end))
        return end


def _known(each: Type, behind: _Behind, version: int, changes: Counter[str]) -> Type | None:
    """The type as this version knows it; None: it goes."""
    match each:
        case Func() | FuncProto() if version < _FUNCTIONS:
            changes["functions and prototypes dropped (5.0)"] += 1
        case Var() | Datasec() if version < _VARIABLES:
            changes["variables and sections dropped (5.2)"] += 1
        case Datasec():
            return _section(each, version, changes)
        case DeclTag() if version < _since("decl_tag"):
            changes["declaration tags dropped (5.16)"] += 1
        case TypeTag() if version < _since("type_tag"):
            changes["type tags dropped (5.17)"] += 1
        case TypeTag() | DeclTag() if each.kind_flag and version < _since("attributes"):
            changes["tags of attributes dropped (6.15)"] += 1
        case Const() | Volatile() | Restrict() if _CHAINS <= version < _FREE_TAGS and each.type in behind.next:
            changes["type tags after a qualifier skipped (allowed since 7.2)"] += 1
            return replace(each, type=behind(each.type))
        case Float() if version < _since("float"):
            changes["FLOAT became INT (5.13)"] += 1
            return Int(each.name, each.size, 8 * each.size, id=each.id)
        case Enum64() if version < _since("enum64"):
            changes["ENUM64 became ENUM, with values of 32 bits (6.0)"] += 1
            return _enum(each)
        case Enum() if each.kind_flag and version < _FLAG_OF_ENUM:
            changes["the sign of an ENUM dropped (6.0)"] += 1
            return replace(each, values=_values(each.values), kind_flag=False)
        case Func() if version < _LINKAGE and each.linkage:
            changes["the linkage of a function dropped (5.6)"] += 1
            return replace(each, linkage=type(each.linkage)(0))
        case _:
            return each
    return None


def _enum(each: Enum64) -> Enum:
    return Enum(each.name, each.size, _values(each.values), id=each.id)


def _values(values: tuple[Enumerator, ...]) -> tuple[Enumerator, ...]:
    """32 bits of each, without a sign."""
    return tuple([Enumerator(name, value & 0xFFFFFFFF) for name, value in values])


def _section(each: Datasec, version: int, changes: Counter[str]) -> Datasec | None:
    if not each.variables and version < _EMPTY_SECTION:
        changes["empty sections dropped (5.12)"] += 1
        return None
    ordered = tuple(sorted(each.variables, key=lambda one: one.offset))
    if ordered == each.variables:
        return each
    changes["entries of a section sorted by offset"] += 1
    return replace(each, variables=ordered)
