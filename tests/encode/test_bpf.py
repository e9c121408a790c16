"""BPF objects as clang makes them with `-g`: maps, CO-RE, both byte orders. Their BTF is the reference's.

Made in `fixtures/bpf` by clang 14 and pahole 1.32:

    clang --target=bpfel -O2 -gdwarf-4 -fdebug-compilation-dir=. -ffile-prefix-map=$PWD=. -c hash.c -o hash.o
                                                                (core: bpfeb, DWARF 5; old: bpfel, DWARF 5)
    pahole -J --btf_features=default --btf_encode_detached=hash.default.btf hash.o      (and `all`)
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.elf.image import ElfImage

FOLDER = Path(__file__).parents[2] / "fixtures" / "bpf"
PROGRAMS = ("hash", "core", "old")


@pytest.mark.parametrize("features", ["default", "all"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_same_bytes(program: str, features: str) -> None:
    expected = (FOLDER / f"{program}.{features}.btf").read_bytes()
    assert bytes(pybtf.encode(FOLDER / f"{program}.o", features=features, jobs=1).data) == expected


@pytest.mark.parametrize("program", PROGRAMS)
def test_in_place(program: str, tmp_path: Path, run_cli: Any) -> None:
    """clang writes a .BTF of its own, with relocations. pybtf's replaces it, and the relocations, which would change
    it, are removed. Everything else stays.
    """
    path = tmp_path / "program.o"
    shutil.copy(FOLDER / f"{program}.o", path)
    done = run_cli("encode", "--features", "default", str(path))
    assert done.returncode == 0, done.stderr
    assert "its .BTF.ext refers to the BTF that was replaced" in done.stderr
    before, after = sections(FOLDER / f"{program}.o"), sections(path)
    assert after.pop(".BTF") == (FOLDER / f"{program}.default.btf").read_bytes()
    assert after.pop(".rel.BTF") == b""
    assert before.pop(".rel.BTF")
    assert before.pop(".BTF")
    assert after == before


def sections(path: Path) -> dict[str, bytes]:
    with ElfImage.open(path) as image:
        return {section.name: bytes(image.data(section)) for section in image.sections if section.name}
