"""Puts mutations into a copy of the sources, each behind a switch: one build for all of them.

A mutation replaces a piece of one file. The smallest expression around it (or, if that does not do, the smallest
statement) becomes `(mutated) if MUTANT(n) else (original)`. The chosen number is in a file, the page, which every
process with the variable PYBTF_MUTANTS maps or reads; 0 means none. Each switch that is checked leaves a mark in the
page. So it is known which tests reach a mutation at all, and the others need not run.
"""

from __future__ import annotations

import ast
import os
import sys
import textwrap
from collections.abc import Iterable
from typing import NamedTuple

VARIABLE = "PYBTF_MUTANTS"
#: The page: the number in four bytes of this machine's order, four unused bytes, and a byte for each number.
MARKS = 8
PAGE = 1 << 14

CORE_SWITCH = f'''# Made by tools/mutations/mutations.py.

cdef extern from *:
    """
    #include <fcntl.h>
    #include <stdlib.h>
    #include <sys/mman.h>
    #include <unistd.h>
    #ifndef PYBTF_MUTANT_IS
    __attribute__((weak)) volatile unsigned char *pybtf_mutants = 0;
    __attribute__((constructor)) static void pybtf_mutants_open(void)
    {{
        const char *path = getenv("{VARIABLE}");
        int fd;
        void *page = MAP_FAILED;
        if (pybtf_mutants)
            return;
        fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
        if (fd >= 0) {{
            page = mmap(0, {PAGE}, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            close(fd);
        }}
        if (page == MAP_FAILED)
            page = calloc(1, {PAGE});
        pybtf_mutants = (volatile unsigned char *)page;
    }}
    static inline int pybtf_mutant_is(int n)
    {{
        volatile unsigned char *page = pybtf_mutants;
        if (!page[{MARKS} + n])
            page[{MARKS} + n] = 1;
        return *(volatile int *)page == n;
    }}
    #define PYBTF_MUTANT_IS(n) pybtf_mutant_is(n)
    #endif
    """
    bint MUTANT "PYBTF_MUTANT_IS" (int n) noexcept nogil
'''
IN_CORE = "from cython.cimports.pybtf.core.mutant import MUTANT"
IN_PXD = "from pybtf.core.mutant cimport MUTANT"
#: The number is kept, because a test may close or exhaust descriptors; MUTANT.seen and MUTANT.number are for the
#: server.
IN_PYTHON = f"""import os as _os
_path = _os.environ.get("{VARIABLE}")
def MUTANT(n, _path=_path, _open=_os.open, _read=_os.pread, _write=_os.pwrite, _close=_os.close):
    if _path and n not in MUTANT.seen:
        MUTANT.seen.add(n)
        try:
            _fd = _open(_path, {os.O_RDWR})
        except OSError:
            return n == MUTANT.number
        if MUTANT.number is None:
            MUTANT.number = int.from_bytes(_read(_fd, 4, 0), "{sys.byteorder}")
        _write(_fd, b"\\1", {MARKS} + n)
        _close(_fd)
    return n == MUTANT.number
MUTANT.seen = set()
MUTANT.number = None
del _os, _path"""


class Mutation(NamedTuple):
    """`old`, which occurs once in `within`, becomes `new`; `within` occurs once in the file. `within` "@N" means: at
    N.
    """

    id: str
    file: str
    old: str
    new: str
    why: str
    within: str = ""
    harmless: str = ""  # why nothing can notice it, if nothing can

    def span(self, text: str) -> tuple[int, int]:
        """The place of `old` in the text of the file."""
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
    """A switch around the text from `start` to `end`, which may contain other switches."""

    start: int
    end: int
    head: str
    tail: str
    deeper: bool = False  # the text is a statement, and is indented one level deeper

    def around(self, original: str) -> str:
        if self.deeper:
            indent = original[: len(original) - len(original.lstrip())]
            original = textwrap.indent(textwrap.dedent(original), indent + "    ")
        return self.head + original + self.tail


class Source:
    """A Python file, with the paths from positions to nodes."""

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
    """Whether an expression may become a conditional one: it has a value, whose type cannot change thereby."""
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
            return False  # for a C loop, the step must be known
        at = up
    if isinstance(node, ast.Compare | ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return True
    return isinstance(
        parent, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return | ast.If | ast.While | ast.IfExp
    ) or (isinstance(parent, ast.Call) and node in parent.args)


def is_tested(source: Source, node: ast.AST) -> bool:
    """Whether only the truth of an expression matters."""
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
            return Edit(at, last, f"{indent}if MUTANT({number}):\n{body}\n{indent}else:\n", "", True)
        if replaceable(source, node) and parses(f"({mutated})"):
            if is_tested(source, node):  # then the two need not have the same type
                return Edit(first, last, f"((MUTANT({number}) and ({mutated})) or (not MUTANT({number}) and (", ")))")
            return Edit(first, last, f"(({mutated}) if MUTANT({number}) else (", "))")
    raise ValueError(f"number {number}: no expression and no statement to switch")


def applied(text: str, edits: Iterable[Edit], file: str) -> str:
    """The file with switches, and the import of what they use."""
    text = _between(text, 0, len(text), sorted(edits, key=lambda each: (each.start, -each.end)))
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


def _between(text: str, start: int, end: int, edits: list[Edit]) -> str:
    """A piece of the text with its switches. They nest, because they belong to nodes of a tree."""
    result = ""
    while edits:
        outer, *edits = edits
        inner = [one for one in edits if one.start < outer.end]
        edits = edits[len(inner) :]
        original = _between(text, outer.start, outer.end, inner)
        result += text[start : outer.start] + outer.around(original)
        start = outer.end
    return result + text[start:end]
