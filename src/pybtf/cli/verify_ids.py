"""`pybtf verify --btf-ids`: the names that a kernel, module or object looks up in its BTF."""

from __future__ import annotations

from pybtf.btf.opening import open_btf
from pybtf.btf.reader import BTF
from pybtf.cli import console
from pybtf.cli.faults import explain
from pybtf.cli.verify import write
from pybtf.elf.image import ElfImage
from pybtf.elf.packed import open_module
from pybtf.errors import UsageError, counted, printable
from pybtf.inputs import find_inputs
from pybtf.support import TYPE_CHECKING
from pybtf.verify.id_lists import SECTION, check_ids, text
from pybtf.verify.judge import NEWEST, REJECTED
from pybtf.verify.task import version_of
from pybtf.verify.words import version_text

if TYPE_CHECKING:
    from typing import Any


def verify_ids(
    files: tuple[str, ...],
    base: tuple[str, ...],
    btf: str | None,
    versions: list[int],
    strict: bool,
    json: bool,
    quiet: bool,
) -> int:
    """The exit status. The BTF is that in `btf`, else the file's own, else it is encoded from its DWARF.

    Of the modules in a folder, those that look up nothing are left out: most do not.
    """
    if len(base) > 1:
        raise UsageError("--btf-ids takes one --base")
    inputs = find_inputs(files)
    if btf is not None and len(inputs) > 1:
        raise UsageError("--btf is about one FILE")
    results: list[dict[str, Any]] = []
    status = without = 0
    for each in inputs:
        path = each.path
        try:
            if each.problem is not None:
                raise each.problem
            checked = _check(path, base[0] if base else None, btf, versions, optional=path not in files)
            if checked is None:
                without += 1
                continue
            result = checked
        except Exception as error:
            words, code = explain(error)
            result = {"file": path, "error": words, "status": code}
            status = max(status, code)
        else:
            found = result["findings"]
            if any(one["severity"] == REJECTED for one in found) or (strict and found):
                status = max(status, 1)
        results.append(result)
        if result["error"] is not None:
            console.error(result["error"])
        elif not json and (not quiet or result["findings"]):
            lines = text(path, result, result["kernel"])
            write("".join(f"{printable(line)}\n" for line in (lines[:1] if quiet else lines)))
    if without and not (json or quiet):
        write(f"{counted(without, 'module')} of a folder without {SECTION}\n")
    if json:
        import json as format_

        write(format_.dumps({"schema": 1, "files": results}, indent=2) + "\n")
    return status


def _check(
    path: str, base: str | None, btf: str | None, versions: list[int], *, optional: bool
) -> dict[str, Any] | None:
    """`optional`: None of a file that looks up no ids, which is an error otherwise."""
    with open_module(path) as image:
        if optional and image.section(SECTION) is None:
            return None
        version = versions[0] if versions else version_of(_release(image, path) or "") or NEWEST
        result = check_ids(image, _btf(image, path, base, btf), version)
    return {"file": path, "error": None, "kernel": version_text(version), **result}


def _release(image: ElfImage, path: str) -> str | None:
    from pybtf.btf.files import read_release
    from pybtf.elf.modules import release_of_module

    return release_of_module(image) or read_release(path)


def _btf(image: ElfImage, path: str, base: str | None, btf: str | None) -> BTF:
    if btf is not None:
        return open_btf(btf, base)
    section = image.section(".BTF")
    if section is not None and section.size:  # an empty one is none
        own = image.section(".BTF.base") is not None
        return open_btf(path, None if own else base)
    from pybtf.api import encode

    encoded = encode(path, base=base, standalone=base is None)
    return BTF.from_bytes(encoded.data, open_btf(base) if base is not None else None, name=path)
