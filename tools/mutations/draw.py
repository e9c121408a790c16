"""Mutations at random places in functions: operators swapped, conditions negated, numbers off by one."""

from __future__ import annotations

import ast
import random
from pathlib import Path

from tools.mutations.switch import Mutation, Source, edit, replaceable

COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<", "<=", ">="),
    ast.LtE: ("<=", "<", ">"),
    ast.Gt: (">", ">=", "<="),
    ast.GtE: (">=", ">", "<"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
}
OPERATORS: dict[type[ast.operator], tuple[str, ...]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.Mult: ("*", "+"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
#: Files in which a mistake is only a matter of words, or which only the build reads.
LEFT_OUT = ("cli/manual.py", "core/__init__.py", "_version.py")


def chances(source: Source) -> list[tuple[int, int, str]]:
    """Possible changes: the start, the end, and the new text."""
    found: list[tuple[int, int, str]] = []

    def text(node: ast.AST) -> str:
        start, end = source.span(node)
        return source.text[start:end]

    for node in ast.walk(source.tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            for operator in COMPARISONS.get(type(node.ops[0]), ("",))[1:]:
                new = f"{text(node.left)} {operator} {text(node.comparators[0])}"
                found.append((*source.span(node), new))
        elif isinstance(node, ast.BoolOp):
            joint = " or " if isinstance(node.op, ast.And) else " and "
            found.append((*source.span(node), joint.join(f"({text(value)})" for value in node.values)))
        elif isinstance(node, ast.If | ast.While):
            found.append((*source.span(node.test), f"not ({text(node.test)})"))
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            operator = OPERATORS[type(node.op)][1]
            found.append((*source.span(node), f"({text(node.left)}) {operator} ({text(node.right)})"))
        elif isinstance(node, ast.Constant) and type(node.value) is int and node.value < 1 << 30:
            found += [(*source.span(node), str(node.value + 1))]
            if node.value > 0:
                found += [(*source.span(node), str(node.value - 1))]
    return found


def drawn(root: Path, seed: int, count: int) -> list[Mutation]:
    """This many mutations, no two in one place, half of them in the core."""
    rng = random.Random(seed)
    files = sorted((root / "src/pybtf").rglob("*.py"))
    files = [path for path in files if not str(path).endswith(LEFT_OUT)]
    halves: list[list[Path]] = [[], []]
    for path in files:
        halves["core" not in path.relative_to(root).parts].append(path)
    pools: list[list[tuple[str, Source, int, int, str]]] = []
    for half in halves:
        pool = []
        for path in half:
            source = Source(path.read_text())
            name = str(path.relative_to(root))
            pool += [(name, source, *chance) for chance in chances(source)]
        pools.append(pool)
    result: list[Mutation] = []
    taken: set[tuple[str, int]] = set()
    while len(result) < count:
        file, source, start, end, new = rng.choice(pools[len(result) % 2])
        line = source.text.count("\n", 0, start) + 1
        if (file, line) in taken:
            continue
        try:
            edit(source, start, end, new, 1)
        except ValueError:
            continue
        around = list(source.around(start, end))
        if not any(replaceable(source, node) for node in around):
            continue
        if not any(isinstance(node, ast.FunctionDef) for node in around):
            continue  # it is computed when the tests are collected, before a mistake is chosen
        taken.add((file, line))
        result.append(Mutation(f"{Path(file).stem}:{line}", file, source.text[start:end], new, "", f"@{start}"))
    return result
