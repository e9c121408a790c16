"""Types whose references get other numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pybtf.btf.types import Array, Composite, Datasec, FuncProto, Ref, Type


def renumbered(type: Type, new: Mapping[int, int]) -> Type:
    """The type with other ids in place of those it refers to; void where `new` has none."""
    match type:
        case Ref():
            return replace(type, type=new.get(type.type, 0))
        case Array():
            return replace(type, type=new.get(type.type, 0), index_type=new.get(type.index_type, 0))
        case Composite():
            return replace(type, members=tuple([each._replace(type=new.get(each.type, 0)) for each in type.members]))
        case FuncProto():
            params = tuple([each._replace(type=new.get(each.type, 0)) for each in type.params])
            return replace(type, return_type=new.get(type.return_type, 0), params=params)
        case Datasec():
            variables = tuple([each._replace(type=new.get(each.type, 0)) for each in type.variables])
            return replace(type, variables=variables)
        case _:
            return type
