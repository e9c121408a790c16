"""Types as C writes them, for the two sides of a comparison. What means the same is written once."""

from __future__ import annotations

from pybtf.btf.kind_numbers import (
    ARRAY,
    CONST,
    ENUM,
    ENUM64,
    FUNC_PROTO,
    FWD,
    PTR,
    RESTRICT,
    STRUCT,
    TYPE_TAG,
    UNION,
    VOID,
    VOLATILE,
)
from pybtf.errors import InputError, Place
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from pybtf.core.diff.diff_compare import Comparison

BUDGET = 200
"""Types visited for one text. Real ones need a handful; prototypes in damaged BTF multiply without end."""
MAX_DEPTH = 16
"""Prototypes in prototypes."""
FREE_TEXT = 1 << 24
TEXT_PER_BYTE = 8
"""Characters of all texts, for both files and for each of their bytes. Real ones have two or three for each byte, but
one prototype of very many parameters may be that of very many functions and variables.
"""
_KEYWORDS = {STRUCT: "struct ", UNION: "union ", ENUM: "enum ", ENUM64: "enum "}
_QUALIFIERS = {CONST: "const", VOLATILE: "volatile", RESTRICT: "restrict"}


def text_of(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def too_much(comparison: Comparison, side: int, id: int) -> InputError:
    """What `Comparison` says of such BTF, too."""
    view = comparison.new if side else comparison.old
    found = f"type {id} takes too many steps, or too much text"
    return InputError(Place(view.name, "types"), found, "BTF made by a compiler or encoder")


class Names:
    """The texts of the types of both sides."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self._pairs: dict[int | tuple[int, int], tuple[str, str]] = {}
        self._budget = BUDGET
        self._depth = 0
        self._room = FREE_TEXT + TEXT_PER_BYTE * (len(comparison.old.data) + len(comparison.new.data))

    def type(self, side: int, id: int) -> str:
        """`struct page *`, `int (*)(void *)`, `u8[16]`."""
        return self.declared(side, id, "")

    def declared(self, side: int, id: int, name: str) -> str:
        """A declaration of `name` with the type: `int (*name)(void *)`. Raises InputError if texts become too long."""
        self._budget = BUDGET
        before, after = self._pair(side, id)
        self._room -= len(before) + len(name) + len(after)
        if self._room < 0:
            raise too_much(self.comparison, side, id)
        return _placed(before, name, after)

    def prototype(self, side: int, id: int, name: str) -> str:
        """The declaration of a function of this name, with the names of its parameters."""
        kind, *_ = self.comparison.head(side, id)
        if kind != FUNC_PROTO:
            return self.declared(side, id, name)
        returned, params = self.comparison.prototype(side, id)
        words = ["..." if not each and not type else self.declared(side, type, text_of(each)) for each, type in params]
        return self.declared(side, returned, f"{name}({', '.join(words) or 'void'})")

    def _pair(self, side: int, id: int) -> tuple[str, str]:
        """What stands before the name in a declaration, and what after it."""
        key: int | tuple[int, int] = self.comparison.reference(side, id) or (side, id)
        pair = self._pairs.get(key)
        if pair is None:
            pair = self._spell(side, id)
            if self._budget > 0:  # else it is cut off because of what it is part of
                self._pairs[key] = pair
        return pair

    def _spell(self, side: int, id: int) -> tuple[str, str]:
        """From the inside out, as the type reads from the outside in."""
        left = right = words = ""
        head = self.comparison.head
        while self._budget > 0:
            self._budget -= 1
            kind, name, third, _, flag = head(side, id)
            if kind in _QUALIFIERS or kind == TYPE_TAG:
                word = _QUALIFIERS.get(kind) or f"btf_type_tag({text_of(name)})"
                words = f"{words} {word}" if words else word
                id = third
                continue
            if kind == PTR:
                left = f"*{words}{' ' if words and left else ''}{left}"
                words = ""
                id = third
                continue
            if kind in (ARRAY, FUNC_PROTO):
                if left.startswith("*"):
                    left, right = f"({left}", f"{right})"
                if kind == ARRAY:
                    id, count = self.comparison.array(side, id)
                    right = f"{right}[{count}]"
                else:
                    right = f"{right}({self._parameters(side, id)})"
                    id = third
                continue
            base = f"{words} {self._base(kind, name, flag)}".strip()
            return (f"{base} {left}" if left else base), right
        return (f"... {left}" if left else "..."), right

    def _parameters(self, side: int, id: int) -> str:
        _, params = self.comparison.prototype(side, id)
        words = []
        self._depth += 1
        for name, type in params:
            if self._depth > MAX_DEPTH:
                self._budget = 0
            if self._budget <= 0:
                words.append("...")
                break
            words.append("..." if not name and not type else _placed(*self._around(side, type)))
        self._depth -= 1
        return ", ".join(words) or "void"

    def _around(self, side: int, id: int) -> tuple[str, str, str]:
        before, after = self._pair(side, id)
        return before, "", after

    def _base(self, kind: int, name: bytes, flag: bool) -> str:
        if kind == VOID:
            return "void"
        if kind == FWD:
            kind = UNION if flag else STRUCT
        return _KEYWORDS.get(kind, "") + (text_of(name) if name else "{...}")


def _placed(before: str, name: str, after: str) -> str:
    between = " " if name and not before.endswith(("*", "(")) else ""
    return f"{before}{between}{name}{after}"
