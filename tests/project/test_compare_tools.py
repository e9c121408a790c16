"""tools/compare/modules.py: pybtf accepts each way to encode a module. The reference is not used."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import pybtf
from pybtf.elf.writer import put_sections
from tests.encode.test_split import base_path, golden, module
from tools.compare import modules


@pytest.mark.parametrize("kind", [modules.BATCH, modules.SINGLY, modules.DISTILLED, modules.STANDALONE])
def test_each_way_to_encode_a_module(kind: modules.Kind, tmp_path: Path) -> None:
    path, base = tmp_path / "x.ko", base_path("gcc")
    shutil.copyfile(module("gcc", "reuse"), path)
    put_sections(path, {".gnu.linkonce.this_module": bytes(64)})
    made = list(modules.ours([path], kind, base, pybtf.Base.from_file(base), 1))
    assert len(made) == 1
    assert isinstance(made[0], dict)
    if kind.base:
        assert made[0][".BTF"] == golden("gcc", "reuse", "distilled" if kind is modules.DISTILLED else "split")
    assert made[0].keys() == ({".BTF", ".BTF.base"} if kind is modules.DISTILLED else {".BTF"})
