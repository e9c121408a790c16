"""Every way of writing the same DWARF gives the same BTF; rules that no compiler exercises are the reference's.

The expectations are bytes that the reference wrote (`fixtures/synthetic`, made by `tools/golden/synthetic_golden.py`).
Each test first makes sure that its input is the file that the reference was asked about."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.errors import InternalError, PybtfError
from tests.builders import formsprogram, synthetic
from tests.builders.kernelish import FLAVOURS
from tests.builders.meaning import meanings
from tools.judge import btfdiff

HOME = Path(__file__).parents[2] / "fixtures" / "synthetic"
MANIFEST: dict[str, Any] = json.loads((HOME / "manifest.json").read_text())
CASES = synthetic.load()
# Cases where the reference writes something wrong, and pybtf reports an error (docs/differences.md).
REFUSED = {"unit_skeleton": "skeleton", "alternate_file_missing": "debugaltlink"}
# Type units: the same types in another order, and typedefs of types that the reference does not find
# (test_containers.py has more of these).
BETTER: dict[str, dict[str, Any]] = {"unit_type_dwarf4": {}, "unit_type_dwarf5": {"u": ("Struct", "s")}}


def test_manifest_lists_every_case() -> None:
    assert set(MANIFEST["cases"]) == set(CASES)
    assert MANIFEST["forms"]["variants"] == sum(1 for _ in formsprogram.variants())


@pytest.mark.parametrize("name", CASES)
def test_rule(name: str, tmp_path: Path) -> None:
    case, facts = CASES[name], MANIFEST["cases"][name]
    assert case.digest() == facts["input_sha256"], "the input changed: make new golden files"
    path = tmp_path / f"{name}.elf"
    case.write(path)
    if name in REFUSED:
        with pytest.raises(PybtfError, match=REFUSED[name]):
            pybtf.encode(path, features=case.features, jobs=1)
        return
    if facts["outcome"] == "error":
        # The reference says so on stderr and exits with 0. pybtf does not.
        with pytest.raises(PybtfError) as caught:
            pybtf.encode(path, features=case.features, jobs=1, **case.options)
        assert not isinstance(caught.value, InternalError)
        assert str(path) in str(caught.value)
        return
    golden = (HOME / f"{name}.btf").read_bytes()
    if name in BETTER:
        assert meanings(bytes(pybtf.encode(path, features=case.features, jobs=1).data)) == Counter(
            {(*told[:-1], BETTER[name].get(told[1], told[-1])): count for told, count in meanings(golden).items()}
        )
        return
    for jobs in (1, 2):
        data = pybtf.encode(path, features=case.features, jobs=jobs, **case.options).data
        difference = btfdiff.explain(bytes(data), golden)
        assert not difference, difference


GROUPS = sorted(
    {name.rsplit("-", 1)[0] for name, _, forms in formsprogram.variants() if name.endswith("-plain")}
)


@pytest.mark.parametrize("group", GROUPS)
def test_forms(group: str, tmp_path: Path) -> None:
    """All variants for one machine, version and offset size."""
    little = FLAVOURS[group.split("-", maxsplit=1)[0]].little
    golden = (HOME / f"forms-{'le' if little else 'be'}.btf").read_bytes()
    wrong = {}
    count = 0
    for name, flavour, forms in formsprogram.variants():
        if not name.startswith(f"{group}-"):
            continue
        count += 1
        path = tmp_path / name
        path.write_bytes(formsprogram.build(flavour, forms))
        try:
            difference = btfdiff.explain(bytes(pybtf.encode(path, features="default", jobs=1).data), golden)
        except PybtfError as error:
            difference = str(error)
        if difference:
            wrong[name] = difference
        path.unlink()
    assert count > 40
    assert not wrong, f"{len(wrong)} of {count}: " + "; ".join(
        f"{name}: {what}" for name, what in wrong.items()
    )


@pytest.mark.parametrize("machine", FLAVOURS)
def test_forms_are_the_files_the_reference_saw(machine: str) -> None:
    digest = hashlib.sha256()
    for name, flavour, forms in formsprogram.variants():
        if name.startswith(f"{machine}-") and forms.compress is None:
            digest.update(formsprogram.build(flavour, forms))
    assert digest.hexdigest() == MANIFEST["forms"]["input_sha256"][FLAVOURS[machine].machine]
