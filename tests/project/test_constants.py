"""Numbers of DWARF, ELF and BTF have names, all from one source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pybtf.btf import kind_numbers
from pybtf.btf.kind_numbers import KIND_NAMES
from pybtf.btf.kinds import Kind
from pybtf.core import codes
from pybtf.dwarf import faults
from pybtf.elf import constants as elf_names
from pybtf.pipeline.losses import _SORTS
from tests.conftest import ROOT
from tools.project import constants

CORE = ROOT / "src" / "pybtf" / "core"
SOURCES = sorted(path for path in CORE.rglob("*.p*") if path.suffix in (".py", ".pxd"))


@pytest.mark.parametrize("file", constants.FILES, ids=lambda file: file.path.name)
def test_the_generated_files_are_current(file: constants.File) -> None:
    assert file.path.read_text() == constants.text(file), "run tools/project/constants.py"


def test_names_of_elf_in_python_are_those_of_the_standard() -> None:
    named = {name: value for name, value in vars(elf_names).items() if re.match(r"(ET|SHN|SHT|SHF)_", name)}
    assert len(named) > 10
    known = constants.elf()
    assert named == {name: known[name] for name in named}


NUMBER = re.compile(
    r"\b(ate|tag|form|attribute|op|code|encoding|language|e_machine|operation)\b\)? *([=!]=|[<>]=?) *"
    r"(0x[0-9A-Fa-f]+|[1-9]\d*)\b"
)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(CORE)))
def test_no_number_of_dwarf_is_compared_with(path: Path) -> None:
    code = re.sub(r'"""[\s\S]*?"""|#.*', "", path.read_text())
    assert [found.group() for found in NUMBER.finditer(code)] == []


def names(file: str, prefix: str) -> list[str]:
    """The names of an enumeration in a file of the core, as the rest of pybtf knows them."""
    found = re.findall(rf"^    {prefix}_(\w+)(?: =|$| *#)", (CORE / file).read_text(), re.M)
    return [name.lower() for name in found if name != "N"]


def test_what_leaves_the_core_by_its_place_has_the_right_name() -> None:
    assert list(codes.COUNT_NAMES) == names("model/encoded_unit.pxd", "COUNT")
    assert list(codes.FATE_NAMES) == names("functions/function_merge.pxd", "FATE")
    assert ["ok", *codes.DEDUP_NAMES[1:]] == names("dedup/type_graph.pxd", "DEDUP")
    assert list(codes.ERROR_NAMES[1:]) == names("encode/encoder.pxd", "ENCODE")
    assert ["none", *codes.FAULT_NAMES.values()] == names("model/faults.pxd", "FAULT")
    *sections, values = names("model/faults.pxd", "IN")
    assert [*(f".debug_{name}" for name in sections), f".debug_btf_{values}"] == list(faults._SECTIONS)
    assert list(KIND_NAMES) == [kind.name for kind in Kind]
    assert {name: getattr(kind_numbers, name) for name in KIND_NAMES} == {kind.name: int(kind) for kind in Kind}


def test_every_fault_has_its_sentence() -> None:
    sentences = {*faults._DAMAGE, *faults._INEXPRESSIBLE, "memory"}
    # These never end an encoding: an encoding that degrades notes them.
    lost = {"left_out", "no_size", "bitfield_type", "static_member", "member_order", "variants"}
    lost |= {"array_size", "void_result"}
    assert sentences | lost == set(codes.FAULT_NAMES.values())
    assert not sentences & lost
    assert lost <= set(_SORTS)
    assert not set(faults._DAMAGE) & set(faults._INEXPRESSIBLE)
    assert set(faults._HINTS) <= set(faults._DAMAGE)
