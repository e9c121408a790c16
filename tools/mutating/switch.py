"""Puts mutations into a copy of the sources, each behind a switch: one build for all of them.

A mutation replaces a piece of one file. The smallest expression around it (or, if that does not do, the smallest
statement) becomes `(mutated) if MUTANT(n) else (original)`, where MUTANT compares with the environment variable
PYBTF_MUTANT, read once when the program is loaded. So what is compiled is the original, until a number is given.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable
from typing import NamedTuple

VARIABLE = "PYBTF_MUTANT"

CORE_SWITCH = '''# Made by tools/mutations.py.

cdef extern from *:
    """
    #include <stdlib.h>
    static int pybtf_mutant_number = 0;
    __attribute__((constructor)) static void pybtf_mutant_read(void)
    {
        const char *number = getenv("PYBTF_MUTANT");
        pybtf_mutant_number = number ? atoi(number) : 0;
    }
    #define PYBTF_MUTANT_IS(n) (pybtf_mutant_number == (n))
    """
    bint MUTANT "PYBTF_MUTANT_IS" (int n) noexcept nogil
'''
IN_CORE = "from cython.cimports.pybtf.core.mutant import MUTANT"
IN_PXD = "from pybtf.core.mutant cimport MUTANT"
IN_PYTHON = """import os as _os
def MUTANT(n, _number=int(_os.environ.get("PYBTF_MUTANT", "0"))):
    return n == _number
del _os"""


class Mutation(NamedTuple):
    """`old`, which stands in `within` once, becomes `new`; `within` stands in the file once. `within` "@N": at N."""

    id: str
    file: str
    old: str
    new: str
    why: str
    within: str = ""
    harmless: str = ""  # why nothing can notice it, if that is so

    def span(self, text: str) -> tuple[int, int]:
        """Where in the text of the file `old` is."""
        if self.within.startswith("@"):
            return int(self.within[1:]), int(self.within[1:]) + len(self.old)
        within = self.within or self.old
        if text.count(within) != 1:
            raise ValueError(f"{self.id}: {within!r} is {text.count(within)} times in {self.file}")
        if within.count(self.old) != 1:
            raise ValueError(f"{self.id}: {self.old!r} is {within.count(self.old)} times in {within!r}")
        start = text.index(within) + within.index(self.old)
        return start, start + len(self.old)


class Edit(NamedTuple):
    """The text from `start` to `end` becomes `text`, which contains the original for all other numbers."""

    start: int
    end: int
    new: str
    is_statement: bool


class Source:
    """A Python file, with the ways from positions to nodes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self.parents: dict[ast.AST, ast.AST] = {
            child: parent for parent in ast.walk(self.tree) for child in ast.iter_child_nodes(parent)
        }
        self.lines = [0]
        for line in text.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line.encode()))
        self.raw = text.encode()

    def span(self, node: ast.AST) -> tuple[int, int]:
        start = self.lines[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self.lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return len(self.raw[:start].decode()), len(self.raw[:end].decode())

    def around(self, start: int, end: int) -> list[ast.AST]:
        """The expressions and statements that contain a piece, the smallest first."""
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.expr | ast.stmt):
                first, last = self.span(node)
                if first <= start and end <= last:
                    found.append((last - first, isinstance(node, ast.stmt), node))
        return [node for _, _, node in sorted(found, key=lambda each: each[:2])]


def replaceable(source: Source, node: ast.AST) -> bool:
    """Whether an expression may become a conditional one: it has a value, whose type cannot change by that."""
    parent = source.parents.get(node)
    if not isinstance(node, ast.expr) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    if isinstance(node, ast.Starred | ast.JoinedStr | ast.Slice | ast.keyword):
        return False
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.stmt):
        up = source.parents.get(at)
        if isinstance(up, ast.JoinedStr | ast.FormattedValue | ast.arguments | ast.arg):
            return False
        if isinstance(up, ast.AnnAssign) and up.annotation is at:
            return False
        if isinstance(up, ast.FunctionDef | ast.ClassDef):
            return False  # a decorator, or a base
        if isinstance(up, ast.Call) and up.args and up.args[0] is at and is_cython(up, "cast", "declare", "sizeof"):
            return False
        if isinstance(up, ast.Call) and is_cython(up, "address", "sizeof"):
            return False
        if isinstance(up, ast.Call) and isinstance(up.func, ast.Name) and up.func.id == "range" and len(up.args) == 3:
            return False  # a step has to be known to be a loop of C
        at = up
    if isinstance(node, ast.Compare | ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return True
    return isinstance(
        parent, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return | ast.If | ast.While | ast.IfExp
    ) or (isinstance(parent, ast.Call) and node in parent.args)


def is_tested(source: Source, node: ast.AST) -> bool:
    """Whether nothing is asked of an expression but whether it is true."""
    parent = source.parents.get(node)
    if isinstance(parent, ast.If | ast.While | ast.IfExp):
        return parent.test is node
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
        return True
    return isinstance(parent, ast.BoolOp) and is_tested(source, parent)


def is_cython(call: ast.Call, *names: str) -> bool:
    return (
        isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "cython"
        and call.func.attr in names
    )


def parses(text: str) -> bool:
    try:
        ast.parse(textwrap.dedent(text))
    except SyntaxError:
        return False
    return True


def edit(source: Source, start: int, end: int, new: str, number: int) -> Edit:
    """The switch for one mutation of a Python file."""
    for node in source.around(start, end):
        first, last = source.span(node)
        original = source.text[first:last]
        mutated = source.text[first:start] + new + source.text[end:last]
        if isinstance(node, ast.stmt):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ImportFrom | ast.Import):
                break
            at = source.text.rindex("\n", 0, first) + 1
            indent = source.text[at:first]
            if indent.strip():
                continue
            if not parses(indent + mutated + ("" if mutated.strip() else "pass")):
                continue
            body = textwrap.indent(textwrap.dedent(indent + (mutated if mutated.strip() else "pass")), indent + "    ")
            other = textwrap.indent(textwrap.dedent(indent + original), indent + "    ")
            return Edit(at, last, f"{indent}if MUTANT({number}):\n{body}\n{indent}else:\n{other}", True)
        if replaceable(source, node) and parses(f"({mutated})"):
            text = f"(({mutated}) if MUTANT({number}) else ({original}))"
            if is_tested(source, node):  # then the two need not be of one type
                text = f"((MUTANT({number}) and ({mutated})) or (not MUTANT({number}) and ({original})))"
            return Edit(first, last, text, False)
    raise ValueError(f"number {number}: no expression and no statement to switch")


def apart(edits: Iterable[tuple[Edit, int]]) -> list[list[tuple[Edit, int]]]:
    """The edits in as few groups as a greedy hand makes in which none overlap."""
    groups: list[list[tuple[Edit, int]]] = []
    for one in sorted(edits, key=lambda each: each[0].start):
        for group in groups:
            if group[-1][0].end <= one[0].start:
                group.append(one)
                break
        else:
            groups.append([one])
    return groups


def applied(text: str, edits: Iterable[Edit], file: str) -> str:
    """The file with switches, and the import of what they ask."""
    for one in sorted(edits, key=lambda each: -each.start):
        text = text[: one.start] + one.new + text[one.end :]
    if file.endswith(".pxd"):
        return f"{IN_PXD}\n{text}"
    tree = ast.parse(text)
    line = 0
    for node in tree.body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not is_docstring and not is_future:
            break
        line = node.end_lineno or 0
    lines = text.split("\n")
    lines.insert(line, IN_CORE if "/core/" in file else IN_PYTHON)
    return "\n".join(lines)
