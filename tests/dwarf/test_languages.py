"""Language lists, and the numbers of languages compared with pyelftools' independent table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.dwarf import constants

from pybtf.errors import UsageError
from pybtf.languages import LANGUAGES, parse_languages
from tests.conftest import environment

FIXTURES = Path(__file__).parents[2] / "fixtures"
FEATURES: dict[str, str] = json.loads((FIXTURES / "manifest.json").read_text())["features"]


def dwarf_code(name: str) -> int:
    """The DW_LANG number of a name, found by DWARF's own spelling."""
    special = {
        "asm": "Mips_Assembler",
        "c": "C",
        "c++": "C_plus_plus",
        "objc": "ObjC",
        "objc++": "ObjC_plus_plus",
        "pli": "PLI",
        "upc": "UPC",
        "ocaml": "OCaml",
        "opencl": "OpenCL",
        "bliss": "BLISS",
        "renderscript": "RenderScript",
    }
    spelt = special.get(name) or name[:1].upper() + name[1:].replace("++", "_plus_plus_")
    code = getattr(constants, f"DW_LANG_{spelt}")
    assert isinstance(code, int)
    return code


@pytest.mark.parametrize("name", sorted(LANGUAGES))
def test_numbers(name: str) -> None:
    assert LANGUAGES[name] == dwarf_code(name)


def test_lists_whatever_the_case() -> None:
    assert parse_languages("Rust,c++14,RUST") == {0x1C, 0x21}


@pytest.mark.parametrize("text", ["c11,", ",c11", "c11,,C11"])
def test_empty_names_vanish(text: str) -> None:
    assert parse_languages(text) == {0x1D}


@pytest.mark.parametrize("text", ["", ",", ",,"])
def test_lists_without_a_name(text: str) -> None:
    with pytest.raises(UsageError, match="names none"):
        parse_languages(text)


@pytest.mark.parametrize("text", ["klingon", "c, c11", "c17"])
def test_unknown_names(text: str) -> None:
    with pytest.raises(UsageError, match=r"unknown language .*; expected one of ada83, .*, upc"):
        parse_languages(text)


def test_environment_excludes_rust(tmp_path: Path) -> None:
    """A kernel build sets the variable. The output is what the reference writes with the option."""
    name = "51_rust_first.gcc-O2-5-exe"
    out = tmp_path / "out.btf"
    argv = [sys.executable, "-m", "pybtf", "encode", "--features", FEATURES["usual"], "--detached", str(out)]
    done = subprocess.run(
        [*argv, str(FIXTURES / "bin" / f"{name}.elf")],
        env={**environment(), "PAHOLE_LANG_EXCLUDE": "rust"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert out.read_bytes() == (FIXTURES / "golden" / f"{name}.usual.btf").read_bytes()
