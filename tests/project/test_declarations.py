"""The core's declarations, which ruff does not read: a `.pxd` imports what is used there, and declares no function that
nobody calls.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from tests.conftest import ROOT

CORE = ROOT / "src" / "pybtf" / "core"
PROBE = ROOT / "tests" / "probe" / "rules_probe.py"
IMPORT = re.compile(r"^from ([\w.]+) c?import (\([^)]*\)|.*)", re.M)
FUNCTION = re.compile(r"^cdef (?!struct|enum|class|extern)(?:inline )?[\w *]*?(\w+)\(", re.M)


def code(path: Path) -> str:
    """What a file has apart from comments and documentation."""
    return re.sub(r"#(?!include|define).*", "", re.sub(r'"""[\s\S]*?"""', "", path.read_text()))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def imports(text: str) -> set[tuple[str, str]]:
    """(module, name) of each import; `*` is a name."""
    return {
        (module.removeprefix("cython.cimports."), name)
        for module, names in IMPORT.findall(text)
        for name in re.findall(r"(?:\w+ as )?(\w+|\*)", names)
    }


def sources() -> dict[Path, str]:
    return {path: code(path) for path in sorted(CORE.rglob("*.p*")) if path.suffix in (".py", ".pxd")}


def test_imports_are_used() -> None:
    """By the file itself, or by one that imports from it: from there it has what is imported here, too."""
    texts = sources()
    importers: dict[str, set[str]] = {}
    for text in texts.values():
        for module, _ in imports(text):
            importers.setdefault(module, set()).update(words(text))
    idle = []
    for path, text in texts.items():
        module = ".".join(("pybtf.core", *path.relative_to(CORE).with_suffix("").parts))
        used = {*words(IMPORT.sub("", text)), *importers.get(module, ()), "*"}
        if path.suffix == ".pxd":
            idle += [f"{path.name}: {name}" for _, name in imports(text) if name not in used]
    assert not idle


def test_functions_are_called() -> None:
    """Somewhere there is the name once more than in its declaration and its definition."""
    texts = sources()
    times = Counter(word for text in (*texts.values(), code(PROBE)) for word in words(text))
    idle = []
    for path, text in texts.items():
        if path.suffix == ".pxd":
            defined = texts.get(path.with_suffix(".py"), "")
            idle += [name for name in FUNCTION.findall(text) if times[name] < 2 + defined.count(f"def {name}(")]
    assert not idle
