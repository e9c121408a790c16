"""How C writes what a DIE declares: prototypes and types, as DWARF has them, before BTF has lost anything of them.

A declaration is built from the inside out, as the type reads from the outside in. Types of damaged DWARF may refer to
themselves and prototypes multiply: each text has a budget of types and of names, and what is beyond it is `...`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pybtf.dwarf.slow import Dies

BUDGET = 200
"""Types visited for one prototype."""
ROOM = 1 << 16
"""Characters that its names may have."""

_KEYWORDS = {
    "DW_TAG_structure_type": "struct",
    "DW_TAG_class_type": "struct",
    "DW_TAG_union_type": "union",
    "DW_TAG_enumeration_type": "enum",
}
_QUALIFIERS = {
    "DW_TAG_const_type": "const",
    "DW_TAG_volatile_type": "volatile",
    "DW_TAG_restrict_type": "restrict",
    "DW_TAG_atomic_type": "_Atomic",
}
_POINTERS = {
    "DW_TAG_pointer_type": "*",
    "DW_TAG_reference_type": "&",
    "DW_TAG_rvalue_reference_type": "&&",
}


class Prototype(NamedTuple):
    """Of a function: the type it returns and its parameters, each as C writes it; `names` of the parameters."""

    name: str
    returns: str
    params: list[str]
    names: list[str]

    def __str__(self) -> str:
        return f"{self.returns}{' ' if not self.returns.endswith('*') else ''}{self.name}({', '.join(self.params)})"


class _Declarer:
    def __init__(self, dies: Dies) -> None:
        self.dies = dies
        self.budget = BUDGET
        self.room = ROOM

    def word(self, name: str) -> str:
        """A name, if there is still room for it."""
        if len(name) > self.room:
            return "..."
        self.room -= len(name)
        return name

    def declare(self, die: Any | None, inner: str) -> str:
        """`inner` declared with the type that `die` is; None is void."""
        while self.budget:
            self.budget -= 1
            tag = None if die is None else die.tag
            if tag in _POINTERS:
                inner = f"{_POINTERS[tag]}{inner}"
            elif tag == "DW_TAG_array_type":
                inner = f"{_grouped(inner)}{self.dimensions(die)}"
            elif tag == "DW_TAG_subroutine_type":
                inner = f"{_grouped(inner)}({', '.join(self.parameters(die)) or 'void'})"
            elif tag in _QUALIFIERS:
                words, die = self.qualifiers(die)
                if die is None or die.tag not in _POINTERS:
                    return _join(words, self.declare(die, inner))
                inner = _join(words, inner)
                continue
            else:
                return _join(self.base_name(die), inner)
            die = self.dies.to(die, "DW_AT_type")
        return _join("...", inner)

    def qualifiers(self, die: Any) -> tuple[str, Any | None]:
        words = []
        at: Any | None = die
        while at is not None and at.tag in _QUALIFIERS and self.budget:
            self.budget -= 1
            words.append(_QUALIFIERS[at.tag])
            at = self.dies.to(at, "DW_AT_type")
        return " ".join(words), at

    def base_name(self, die: Any | None) -> str:
        if die is None:
            return "void"
        return _join(_KEYWORDS.get(die.tag, ""), self.word(self.dies.name(die)) or "(anonymous)")

    def dimensions(self, die: Any) -> str:
        text = ""
        for child in self.dies.children(die):
            if not self.budget:
                return f"{text}[...]"
            if child.tag == "DW_TAG_subrange_type":
                self.budget -= 1
                upper, count = self.dies.number(child, "DW_AT_upper_bound"), self.dies.number(child, "DW_AT_count")
                n = count if count is not None else None if upper is None else upper + 1
                text += "[]" if n is None else f"[{n}]"
        return text or "[]"

    def parameters(self, die: Any) -> list[str]:
        """The types of the parameters, without names."""
        found: list[str] = []
        for child in self.dies.children(die):
            if not self.budget:
                return [*found, "..."]
            if child.tag == "DW_TAG_formal_parameter":
                found.append(self.declare(self.dies.to(child, "DW_AT_type"), ""))
            elif child.tag == "DW_TAG_unspecified_parameters":
                found.append("...")
        return found


def parameters(dies: Dies, die: Any) -> list[Any]:
    """The DIEs of the parameters of a function."""
    return [child for child in dies.children(die) if child.tag == "DW_TAG_formal_parameter"]


def prototype(dies: Dies, die: Any) -> Prototype:
    """The prototype of a DW_TAG_subprogram, by its own parameters; what it does not say, its origins say."""
    declarer = _Declarer(dies)
    name = declarer.word(dies.name(die))
    returns = declarer.declare(_type(dies, die), "")
    params, names = [], []
    for child in dies.children(die):
        if child.tag == "DW_TAG_formal_parameter":
            declarer.budget = max(declarer.budget, 20)
            names.append(declarer.word(dies.name(child)))
            params.append(declarer.declare(_type(dies, child), names[-1]))
        elif child.tag == "DW_TAG_unspecified_parameters":
            params.append("...")
    return Prototype(name, returns, params or ["void"], names)


def declaration(dies: Dies, die: Any) -> str:
    """How C declares a variable."""
    declarer = _Declarer(dies)
    return declarer.declare(_type(dies, die), declarer.word(dies.name(die)))


def _type(dies: Dies, die: Any) -> Any | None:
    for each in dies.origins(die):
        if "DW_AT_type" in each.attributes:
            return dies.to(each, "DW_AT_type")
    return None


def _grouped(declarator: str) -> str:
    return f"({declarator})" if declarator.startswith(("*", "&")) else declarator


def _join(before: str, after: str) -> str:
    return f"{before} {after}".strip()
