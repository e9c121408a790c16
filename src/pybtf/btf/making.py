"""Connects the compiled reader with the model: which class stands for which kind, and in which order it is filled."""

from __future__ import annotations

from typing import Any

from pybtf.btf import types
from pybtf.btf.kinds import IntEncoding, Kind, Linkage
from pybtf.core.btf.read_types import teach

_COMMON = ("name", "kind_flag", "id")
_FIELDS: dict[type[types.Type], tuple[str, ...]] = {
    types.Int: ("size", "bits", "encoding", "offset"),
    types.Ptr: ("type",),
    types.Array: ("type", "index_type", "nelems"),
    types.Struct: ("size", "members"),
    types.Union: ("size", "members"),
    types.Enum: ("size", "values"),
    types.Fwd: (),
    types.Typedef: ("type",),
    types.Volatile: ("type",),
    types.Const: ("type",),
    types.Restrict: ("type",),
    types.Func: ("type", "linkage"),
    types.FuncProto: ("return_type", "params"),
    types.Var: ("type", "linkage"),
    types.Datasec: ("size", "variables"),
    types.Float: ("size",),
    types.DeclTag: ("type", "component"),
    types.TypeTag: ("type",),
    types.Enum64: ("size", "values"),
}
_ROWS = {
    Kind.STRUCT: types.Member,
    Kind.UNION: types.Member,
    Kind.ENUM: types.Enumerator,
    Kind.ENUM64: types.Enumerator,
    Kind.FUNC_PROTO: types.Param,
    Kind.DATASEC: types.SectionVar,
}


def teach_all() -> None:
    """To be called once, before the first type is made."""
    by_kind = {cls.kind: cls for cls in _FIELDS}
    classes: list[Any] = [by_kind.get(kind) for kind in Kind]
    slots: list[Any] = [
        [getattr(cls, name) for name in (*_COMMON, *_FIELDS[cls])] if cls is not None else [] for cls in classes
    ]
    teach(classes, slots, [_ROWS.get(kind) for kind in Kind], list(Linkage), [IntEncoding(word) for word in range(16)])
