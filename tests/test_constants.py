"""Numbers of DWARF, ELF and BTF have names, all from one source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import constants
from conftest import ROOT
from pybtf.elf import constants as elf_names

CORE = ROOT / "src" / "pybtf" / "core"
SOURCES = sorted(path for path in CORE.rglob("*.p*") if path.suffix in (".py", ".pxd"))


@pytest.mark.parametrize("file", constants.FILES, ids=lambda file: file.path.name)
def test_the_generated_files_are_current(file: constants.File) -> None:
    assert file.path.read_text() == constants.text(file), "run tools/constants.py"


def test_names_of_elf_in_python_are_those_of_the_standard() -> None:
    named = {name: value for name, value in vars(elf_names).items() if re.match(r"(ET|SHN|SHT|SHF)_", name)}
    assert len(named) > 10
    known = constants.elf()
    assert named == {name: known[name] for name in named}


NUMBER = re.compile(
    r"\b(tag|form|attribute|op|code|encoding|language|e_machine|operation)\b\)? *([=!]=|[<>]=?) *"
    r"(0x[0-9A-Fa-f]+|[1-9]\d*)\b"
)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(CORE)))
def test_no_number_of_dwarf_is_compared_with(path: Path) -> None:
    code = re.sub(r'"""[\s\S]*?"""|#.*', "", path.read_text())
    assert [found.group() for found in NUMBER.finditer(code)] == []
