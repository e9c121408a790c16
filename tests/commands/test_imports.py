"""Start-up cost as a test: which modules `pybtf --version`, `pybtf --help` and `import pybtf` may import.

A list of modules is the same on every machine, however busy. The benchmarks measure milliseconds.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

import pybtf
from pybtf.base import Base
from pybtf.cli.main import COMMANDS
from pybtf.core import FOLDERS
from pybtf.elf.writer import put_sections
from tests.commands.test_merge import FEATURES
from tests.conftest import ROOT

# Beyond what the interpreter itself has imported before the first line of a program.
FIRST = {"pybtf", "pybtf._version", "pybtf.support", "pybtf.support.process", "__future__", "gc"}
QUICK = FIRST | {"pybtf.cli", "pybtf.cli.main"}


def imported_by(code: str, *, isolated: bool = False) -> set[str]:
    """Modules in `sys.modules` after `code`, without those of a bare interpreter. `isolated`: with the flags of
    installed commands, which import even less.
    """
    show = "import sys; before = set(sys.modules); {}\nprint(*(set(sys.modules) - before), file=sys.stderr)"
    if isolated:
        code = f"sys.path += {sys.path[1:]!r}; {code}"
    run = subprocess.run(
        [sys.executable, *["-IS"] * isolated, "-c", show.format(code)], capture_output=True, text=True, check=True
    )
    return set(run.stderr.split())


def test_import_pybtf() -> None:
    assert imported_by("import pybtf; pybtf.__version__") == {"pybtf", "pybtf._version"}


def test_version() -> None:
    assert imported_by("from pybtf.cli.main import main; main(['--version'])") <= QUICK


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["encode", "--help"], ["completion", "-h"]])
def test_help(arguments: list[str]) -> None:
    code = f"from pybtf.cli.main import main; main({arguments!r})"
    assert imported_by(code) <= QUICK | {"pybtf.cli.manual", "pybtf.cli.manual_merging", "pybtf.cli.manual_showing"}


@pytest.mark.parametrize(("options", "click"), [(["--features", "foo"], False), (["--feature", "foo"], True)])
def test_the_command_line_imports_no_core_before_it_encodes(options: list[str], click: bool) -> None:
    """To find a mistake in its options, `pybtf encode` needs click at most, and nothing that reads ELF."""
    modules = imported_by(f"from pybtf.cli.main import main; main(['encode', *{options}, 'x'])")
    assert ("click" in modules) == click
    roots = {name.split(".")[0] for name in modules}
    assert not roots & {"elftools", "xxhash", "hashlib", "concurrent", "multiprocessing", "asyncio"}
    assert not any(name.startswith(("pybtf.core", "pybtf.elf", "pybtf.btf")) for name in modules)


@pytest.mark.parametrize("name", [name for name, metavar in COMMANDS.items() if metavar])
def test_no_plain_command_line_needs_click(name: str) -> None:
    line = [name, *(["--", "true"] if name == "cc" else ["no-such-file"])]
    modules = imported_by(f"from pybtf.cli.main import main; main({line!r})")
    assert f"pybtf.cli.{name.replace('-', '_')}" in modules
    assert "click" not in modules


# Each takes a tenth of the time of a small module, or imports something that does.
DEAR = {
    "click", "inspect", "dataclasses", "typing", "elftools", "hashlib", "xxhash", "subprocess", "concurrent", "ctypes",
    "tempfile", "json", "pathlib", "logging", "locale", "gettext", "datetime",
}  # fmt: skip


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
@pytest.mark.parametrize("detached", [True, False])
def test_encode_imports_nothing_dear(jobs: str, detached: bool, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes((ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf").read_bytes())
    arguments = ["encode", "-q", jobs, *(["--detached", "/dev/null"] if detached else []), str(file)]
    modules = imported_by(f"from pybtf.cli.main import main; assert main({arguments!r}) == 0", isolated=True)
    assert "pybtf.pipeline.passes" in modules
    dear = DEAR | {"signal", "enum", "threading", "functools", "collections"}
    assert not {name.split(".")[0] for name in modules} & dear


def test_a_batch_imports_nothing_dear(tmp_path: Path) -> None:
    """Nor modules that fork and talk to processes in their own way."""
    files = sorted(map(str, (ROOT / "fixtures" / "bin").glob("01_char.*.elf")))
    assert len(files) > 1
    arguments = ["encode", "-q", "-j2", "--detached-dir", str(tmp_path), *files]
    modules = imported_by(f"from pybtf.cli.main import main; assert main({arguments!r}) == 0")
    assert "pybtf.workers" in modules
    more = {"multiprocessing", "pickle", "socket", "selectors", "queue"}
    assert not {name.split(".")[0] for name in modules} & (DEAR | more)


# pybtf-pahole: a kernel's build starts it for every module.

PAHOLE = FIRST | {"pybtf.pahole", "pybtf.pahole.main"}


@pytest.mark.parametrize("question", ["--version", "--numeric_version", "--supported_btf_features"])
def test_pahole_questions(question: str) -> None:
    assert imported_by(f"from pybtf.pahole.main import main; main([{question!r}])") <= PAHOLE


def test_pahole_encodes_without_click() -> None:
    file = ROOT / "fixtures" / "bin" / "01_char.gcc-O0-5-obj.elf"
    arguments = ["-J", "-j2", "--btf_encode_detached=/dev/null", "--btf_features=default", str(file)]
    code = f"from pybtf.pahole.main import main; assert main({arguments!r}) == 0"
    roots = {name.split(".")[0] for name in imported_by(code)}
    assert not roots & DEAR


# The usual path of a module: what the process in a build imports besides the core. Each further import costs 0.1 to 1
# ms, times the thousands of modules of a kernel.
MODULE = PAHOLE | {
    "abc", "_abc", "os", "os.path", "_stat", "stat", "_collections_abc", "genericpath", "posixpath",
    "errno", "mmap", "_operator",
    *(f"pybtf.pahole.{name}" for name in ("getopt", "request", "run", "table")),
    *(f"pybtf.{name}" for name in ("arguments", "base", "encoded", "errors", "features")),
    *(f"pybtf.{name}" for name in ("languages", "options", "report")),
    *(f"pybtf.pipeline{name}" for name in ("", ".loaded", ".passes", ".run_report")),
    *(f"pybtf.support.{name}" for name in ("records", "timings")),
    *(f"pybtf.btf{name}" for name in ("", ".files", ".kind_numbers")),
    *(f"pybtf.dwarf{name}" for name in ("", ".merging", ".sections", ".skeletons")),
    *(f"pybtf.elf{name}" for name in ("", ".atomic", ".constants", ".image", ".layout", ".notes", ".relocation")),
    "pybtf.elf.mapped", "pybtf.elf.symbols",
}  # fmt: skip
WITH_ELF_BASE = {"pybtf.btf.elf_sections", "struct", "_struct", "itertools"}
IN_PLACE = {"pybtf.elf.outline", "pybtf.elf.plan", "pybtf.elf.wire", "pybtf.elf.writer", "struct", "_struct"}


@pytest.mark.parametrize("jobs", ["-j", "-j1", "-j8"])
@pytest.mark.parametrize(
    ("raw", "detached", "more"), [(True, True, set()), (True, False, IN_PLACE), (False, True, WITH_ELF_BASE)]
)
def test_pahole_imports_for_a_module_what_it_needs(
    jobs: str, raw: bool, detached: bool, more: set[str], tmp_path: Path
) -> None:
    source = ROOT / "fixtures" / "bin" / "01_char.gcc-O0-5-obj.elf"
    base, module = tmp_path / "base", tmp_path / "module.ko"
    module.write_bytes(source.read_bytes())
    base.write_bytes(source.read_bytes())
    data = bytes(pybtf.encode(str(source)).data)
    if raw:
        base.write_bytes(data)
    else:
        put_sections(base, {".BTF": data})
    features = "--btf_features=encode_force,var,float,decl_tag,type_tag,enum64,optimized_func,consistent_func"
    arguments = ["-J", jobs, features, "--lang_exclude=rust", "--btf_base", str(base), str(module)]
    if detached:
        arguments.append(f"--btf_encode_detached={tmp_path / 'out.btf'}")
    code = (
        "import os; os.environ['MAKEFLAGS'] = '-j8 --jobserver-auth=fifo:/nowhere'; "
        f"from pybtf.pahole.main import main; assert main({arguments!r}) == 0"
    )
    modules = imported_by(code, isolated=True)
    assert "pybtf.pipeline.passes" in modules
    assert {name for name in modules if not name.startswith("pybtf.core") and "cython" not in name} <= MODULE | more


# What a module with values (pybtf cc) needs in addition.
OF_VALUES = {
    *(f"pybtf.merging{name}" for name in ("", ".archives", ".facts", ".index", ".linked", ".payloads", ".pieces")),
    *(f"pybtf.elf.{name}" for name in ("compressed", "packed", "values_index")),
    "pybtf.dwarf.units", "pybtf.pipeline.run_errors", "heapq", "_heapq", "itertools", "struct", "_struct", "_thread",
    *(f"xxhash{name}" for name in ("", "._xxhash", ".version")),
}  # fmt: skip


OPTIONS_OF_VALUES = (f"--btf_features={FEATURES}", "--btf_base", "wanted.btf", "--btf_encode_detached=out")


def test_a_module_of_values_imports_little_more(built: Callable[[str], Path]) -> None:
    built("x86-relocatable")
    arguments = ["-J", *OPTIONS_OF_VALUES, "merged"]
    modules = imported_by(f"from pybtf.pahole.main import main; assert main({arguments!r}) == 0", isolated=True)
    assert "pybtf.merging.linked" in modules
    others = {name for name in modules if not name.startswith("pybtf.core") and "cython" not in name}
    assert others <= MODULE | OF_VALUES


def test_a_module_of_values_reads_its_base_once(built: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if only its values show that it has no DWARF."""
    from pybtf.pahole.main import main

    built("x86-relocatable")
    reads: list[str] = []
    read = Base._read

    def counted(path: str, *, once: bool) -> Base:
        reads.append(path)
        return read(path, once=once)

    monkeypatch.setattr(Base, "_read", counted)
    assert main(["-J", *OPTIONS_OF_VALUES, "merged"]) == 0
    assert reads == ["wanted.btf"]


def test_the_compiled_core_is_one_library() -> None:
    """None of its modules is looked for in a file of its own, compiled or not."""
    modules = "(each for name, each in sys.modules.items() if name.startswith('pybtf.core.'))"
    show = f"print(*{{getattr(each, '__file__', each.__name__) for each in {modules}}})"
    code = f"import sys, pybtf.pipeline.passes; {show}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    (library,) = set(run.stdout.split()) - {f"pybtf.core.{folder}" for folder in FOLDERS}
    assert Path(library).name.startswith("_compiled.")
    for module in ("pybtf.core.no_such_module", "pybtf.core.btf.no_such_module"):
        with pytest.raises(ImportError):
            import_module(module)


def test_the_base_is_read_while_the_rest_is_imported(tmp_path: Path) -> None:
    """In a batch, the encoder is not imported yet when the thread starts."""
    code = (
        "import sys, threading; from pybtf.cli.main import main; before = threading.Thread.start\n"
        "def start(self): print(*sorted(sys.modules)); before(self)\n"
        "threading.Thread.start = start\n"
        f"main(['encode', '-j2', '--base', '/dev/null', '--detached-dir', {str(tmp_path / 'out')!r}, 'a', 'b'])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(run.stdout.split())
    assert "pybtf.core.dedup.base" in modules
    assert not modules & {"pybtf.pipeline.passes", "pybtf.cli.batch", "pybtf.elf.image", "pybtf.report"}
    assert run.stderr.startswith("pybtf: error: /dev/null: is empty")
