"""`pybtf diff --dwarf`: BTF against the DWARF that it should have come from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pybtf
from pybtf import Builder
from pybtf.cli.main import main
from pybtf.explain import asking
from tests.commands.test_diff import OLD, run
from tests.conftest import ROOT


def test_dwarf(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = str(ROOT / "fixtures" / "bin" / "01_char.gcc-O0-5-obj.elf")
    out = str(tmp_path / "out.btf")
    assert main(["encode", "-q", "--detached", out, source]) == 0
    assert run(capsys, "--dwarf", source, out) == (0, "")
    assert run(capsys, "--dwarf", "--fail-on", "any", source, OLD)[0] == 1


def test_functions_that_are_not_encoded_have_a_reason(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """BTF with a function too many: one that pahole leaves out, and one that is not in the DWARF."""
    source = str(ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf")
    reasons = {each.name: each for each in pybtf.why(source, "*", lang_exclude="") if each.kind == "function"}
    left_out = next(name for name, each in reasons.items() if not each.in_btf)
    builder = Builder()
    builder.append(pybtf.BTF.from_bytes(pybtf.encode(source).data))
    proto = builder.add_func_proto(0, [])
    builder.add_func(left_out, proto)
    builder.add_func("of_nobody", proto)
    out = tmp_path / "more.btf"
    out.write_bytes(builder.to_bytes())
    lines = run(capsys, "--dwarf", source, str(out))[1].splitlines()
    assert f"  {reasons[left_out].verdict}" in lines
    assert any(line.startswith("  ") and "of_nobody" in line for line in lines)
    changes = json.loads(run(capsys, "--dwarf", "--json", source, str(out))[1])["changes"]
    assert {each["name"]: each.get("reason") for each in changes if each["kind"] == "function"} == {
        left_out: reasons[left_out].reason, "of_nobody": "not_found",
    }  # fmt: skip


def test_no_like_names_are_looked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The DWARF of another kernel lacks thousands of functions, and each search for a similar name takes 0.2 s."""
    monkeypatch.setattr(asking, "_like", lambda *_: pytest.fail("not asked for"))
    builder = Builder()
    builder.add_func("of_nobody", builder.add_func_proto(0, []))
    out = tmp_path / "other.btf"
    out.write_bytes(builder.to_bytes())
    source = str(ROOT / "fixtures" / "bin" / "01_char.gcc-O0-5-obj.elf")
    lines = run(capsys, "--dwarf", source, str(out))[1].splitlines()
    assert any(line.startswith("  ") and "of_nobody" in line for line in lines)
