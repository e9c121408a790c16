"""Types in words that do not depend on ids, for comparing BTF with the same types in another order."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

from pybtf.btf import BTF


def meaning(btf: BTF, id: int, *, whole: bool = True) -> Any:
    """A type in words that do not depend on ids. What a type refers to is written out up to the next name."""
    if id == 0:
        return "void"
    found = btf.type(id)
    if found.name and not whole and type(found).__name__ in ("Struct", "Union", "Enum", "Enum64", "Typedef"):
        return type(found).__name__, found.name

    def tell(value: Any, name: str) -> Any:
        if name in ("type", "return_type", "index_type"):
            return meaning(btf, value, whole=False)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return tuple(tell(part, field) for field, part in zip(value._fields, value, strict=True))
        if isinstance(value, tuple):
            return tuple(tell(part, "") for part in value)
        return value

    fields = [field.name for field in dataclasses.fields(found) if field.name != "id"]
    return type(found).__name__, *(tell(getattr(found, name), name) for name in fields)


def meanings(data: bytes) -> Counter[Any]:
    btf = BTF.from_bytes(data)
    return Counter(meaning(btf, id) for id in range(1, len(btf) + 1))
