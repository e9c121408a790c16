"""Compares `pybtf.Builder.sort()` with the kernel's `resolve_btfids`, byte for byte.

    python -m tools.compare.sort_compare                       all fixtures, split BTF, cases by hand, 300 random BTFs
    python -m tools.compare.sort_compare --record              write fixtures/sorted.json, which a test reads
    python -m tools.compare.sort_compare --kernel sid-amd64    a whole kernel, and what Debian ships of it
    python -m tools.compare.sort_compare --distilled           distilled modules, sorted afterwards

`--kernel` encodes the DWARF of vmlinux and sorts the result. Then resolve_btfids gets the encoded BTF together with the
unresolved `.BTF_ids`, which must give the `.BTF` that Debian ships. The BTF that Debian ships for vmlinux and modules
must be sorted. Exit status 1 if anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pybtf
from pybtf import BTF, Builder
from pybtf.btf.kinds import Kind
from pybtf.btf.types import Member, Param, SectionVar
from tests.builders.elfwriter import elf
from tools.generate.randbtf import RandomBtf
from tools.judge import reference

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
FIXTURE = FIXTURES / "sorted.json"
EVERY = 12  # the recorded fixtures
FEATURES = (
    "encode_force,var,float,enum64,decl_tag,type_tag,optimized_func,consistent_func,decl_tag_kfuncs,attributes"
)


class Case(NamedTuple):
    name: str
    data: bytes
    base: bytes | None = None
    path: str = ""
    base_path: str = ""


def ours(case: Case) -> bytes:
    btf = BTF.from_bytes(case.data, BTF.from_bytes(case.base) if case.base is not None else None)
    builder = Builder.of(btf)
    builder.sort()
    return builder.to_bytes("little" if btf.header.little else "big", layout=bool(btf.header.layout_len))


def theirs(folder: Path, case: Case, *options: str, file: Path | None = None) -> bytes:
    """What resolve_btfids makes from it, with the `.BTF_ids` of a file or without any."""
    target = folder / "target"
    for path in folder.iterdir():
        path.unlink()
    if file is None:
        target.write_bytes(elf([]).data)
    else:
        target.symlink_to(file)
    (folder / "in.btf").write_bytes(case.data)
    command = [*reference.resolve_btfids(), *options, "--btf", str(folder / "in.btf")]
    if case.base is not None:
        (folder / "base.btf").write_bytes(case.base)
        command += ["--btf_base", str(folder / "base.btf")]
    run = subprocess.run([*command, str(target)], capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(run.stderr.strip())
    return (folder / "target.BTF").read_bytes()


def by_hand() -> Iterator[Case]:
    """One name of several kinds, letters that languages sort differently, tags, sections, names in a base."""
    whole = Builder()
    number = whole.add_int("int", 4, 1)
    struct_id = whole.add_struct("zeta", 4, [Member("b", number, 0)])
    pointer = whole.add_ptr(struct_id)
    for name in ("Zeta", "éta", "_a"):
        whole.add_typedef(name, pointer)
    whole.add_fwd("zeta")
    later, first = whole.add_var("zeta", number), whole.add_var("alpha", pointer)
    whole.add_datasec(".data", 16, [SectionVar(later, 0, 4), SectionVar(first, 8, 8)])
    for name, component in (("tag", 0), ("tag", -1), ("atag", -1)):
        whole.add_decl_tag(name, struct_id, component)
    whole.add_func("zeta", whole.add_func_proto(number, [Param("x", number)]))
    whole.add_struct("", 4, [Member("q", number, 0)])
    whole.add_type_tag("user", pointer)
    whole.add_array(pointer, 3, number)
    yield Case("little-endian", whole.to_bytes())
    yield Case("big-endian", whole.to_bytes("big"))
    yield Case("layout", whole.to_bytes(layout=True))
    yield Case("no types", Builder().to_bytes())
    spare = Builder()
    for name in ("b", "unused", "a", "other"):
        spare.string(name)
    spare.add_int("b", 4)
    spare.add_int("a", 4)
    yield Case("strings without use", spare.to_bytes())
    empty = bytearray(spare.to_bytes()) + b"\0"  # an empty string that is not the first
    struct.pack_into("<I", empty, 20, len(spare._strings) + 1)
    struct.pack_into("<I", empty, 24 + 16, len(spare._strings))
    yield Case("empty name at another place", bytes(empty))
    split = Builder(BTF.from_bytes(whole.to_bytes()))
    split.add_struct("m", 8, [Member("n", pointer, 0)])
    split.add_ptr(split.first_id)
    for name, of in (("a", struct_id), ("zeta", number), ("éta", split.first_id + 1)):
        split.add_typedef(name, of)
    split.add_const(number)
    split.add_decl_tag("tag", struct_id)
    yield Case("split", split.to_bytes(), whole.to_bytes())


def fixtures() -> Iterator[Case]:
    for path in sorted((FIXTURES / "golden").glob("*.btf")):
        yield Case(path.stem, path.read_bytes(), path=f"golden/{path.name}")


def splits() -> Iterator[Case]:
    folder = FIXTURES / "split" / "golden"
    for target in json.loads((folder.parent / "manifest.json").read_text())["targets"]:
        base = folder / target["base"]["file"]
        for golden in target["golden"].values():
            path = folder / golden["split"]["file"]
            names = [f"split/golden/{each.name}" for each in (path, base)]
            yield Case(path.stem, path.read_bytes(), base.read_bytes(), *names)


def compare(folder: Path, cases: Iterator[Case]) -> int:
    """The number of differences."""
    done = different = 0
    for case in cases:
        done += 1
        if ours(case) != theirs(folder, case):
            different += 1
            print(f"{case.name}: differs")
    print(f"{done} BTFs, {different} sorted otherwise than by resolve_btfids")
    return different


def record(folder: Path) -> None:
    """Committed BTF as its path and a digest; cases by hand in full."""
    rows: list[dict[str, str]] = []
    for case in by_hand():
        row = {"name": case.name, "btf": case.data.hex(), "sorted": theirs(folder, case).hex()}
        rows.append(row | ({"base": case.base.hex()} if case.base is not None else {}))
    for case in [*list(fixtures())[::EVERY], *list(splits())[::3]]:
        row = {"name": case.name, "path": case.path, "sha256": hashlib.sha256(theirs(folder, case)).hexdigest()}
        rows.append(row | ({"base_path": case.base_path} if case.base_path else {}))
    FIXTURE.write_text(json.dumps(rows, indent=1) + "\n")


def distilled(folder: Path) -> int:
    """As in a kernel's build, modules are first distilled and then sorted; the small base is not sorted."""
    done = different = 0
    for case in splits():
        try:
            split = theirs(folder, case, "--distill_base")
        except RuntimeError:  # some cannot be distilled
            continue
        base = BTF.from_bytes((folder / "target.BTF.base").read_bytes())
        module = BTF.from_bytes(case.data, BTF.from_bytes(case.base or b""))
        own, below = Builder.of(module).distill("little" if module.header.little else "big")
        made = BTF.from_bytes(ours(Case("", own, below)), BTF.from_bytes(below))
        done += 1
        for a, b in ((made, BTF.from_bytes(split, base)), (BTF.from_bytes(below), base)):  # headers have 32 bytes
            different += (a.words, a.strings.data) != (b.words, b.strings.data)
    print(f"{done} distilled, {different} otherwise than by resolve_btfids")
    return different


def unresolved(vmlinux: Path, btf: BTF, target: Path) -> None:
    """A copy of the kernel with unresolved `.BTF_ids`: no ids, flags beside their names."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    ids: dict[str, int] = {}
    for type in btf:
        if type.kind is Kind.FUNC:
            ids.setdefault(type.name, type.id)
    with vmlinux.open("rb") as stream:
        image = ELFFile(stream)
        section, table = image.get_section_by_name(".BTF_ids"), image.get_section_by_name(".symtab")
        assert section is not None
        assert isinstance(table, SymbolTableSection)
        number, start, at = image.get_section_index(".BTF_ids"), section["sh_addr"], section["sh_offset"]
        old, new = section.data(), bytearray(section.data())
        symbols = sorted(
            (symbol["st_value"] - start, symbol.name)
            for symbol in table.iter_symbols()
            if symbol["st_shndx"] == number and symbol.name.startswith("__BTF_ID__")
        )
    for place, name in symbols:
        struct.pack_into("<I", new, place, 0)  # also the number of entries in a set
        if not name.startswith("__BTF_ID__set8__"):
            continue
        (count,) = struct.unpack_from("<I", old, place)
        flags = dict(struct.iter_unpack("<II", old[place + 8 : place + 8 + 8 * count]))
        for entry, text in symbols:
            if place + 8 <= entry < place + 8 + 8 * count:
                func = text.removeprefix("__BTF_ID__func__").rpartition("__")[0]
                struct.pack_into("<I", new, entry + 4, flags[ids[func]])
    shutil.copyfile(vmlinux, target)
    with target.open("r+b") as out:
        out.seek(at)
        out.write(new)


def kernel(folder: Path, name: str) -> int:
    vmlinux = reference.kernel(name)
    shipped = BTF.from_file(vmlinux)
    different = 0

    def say(what: str, same: bool) -> None:
        nonlocal different
        different += not same
        print(f"{name}: {what}: {'the same' if same else 'DIFFERS'}", flush=True)

    with tempfile.TemporaryDirectory() as other:
        copy = Path(other) / "vmlinux"
        unresolved(vmlinux, shipped, copy)
        encoded = Case(name, bytes(pybtf.encode(copy, features=FEATURES, lang_exclude="rust").data))
        made = ours(encoded)
        say(f"encoded, {len(made)} bytes, sorted by pybtf and by resolve_btfids", made == theirs(folder, encoded))
        made = theirs(folder, encoded, file=copy)
        say(f"encoded, through resolve_btfids, {len(made)} bytes, and shipped", made == shipped.data)
    say("shipped, and that sorted", ours(Case(name, shipped.data)) == shipped.data)
    modules = reference.shipped(name)
    sorted_ones = 0
    for module in modules:
        path = folder / "module.ko"
        path.write_bytes(lzma.decompress(module.read_bytes()))
        btf = BTF.from_file(path, shipped)
        sorted_ones += ours(Case(module.name, btf.data, shipped.data)) == btf.data
    say(f"shipped modules, {sorted_ones} of {len(modules)}, and these sorted", sorted_ones == len(modules))
    return different


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--kernel", metavar="NAME")
    parser.add_argument("--distilled", action="store_true")
    parser.add_argument("--random", type=int, default=300, help="how many random BTFs (default: 300)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if options.record:
            record(folder)
            return 0
        if options.kernel:
            return 1 if kernel(folder, options.kernel) else 0
        if options.distilled:
            return 1 if distilled(folder) else 0
        different = compare(folder, by_hand())
        different += compare(folder, fixtures())
        different += compare(folder, splits())
        randoms = (Case(f"random {seed}", RandomBtf(seed).make()) for seed in range(options.random))
        return 1 if different + compare(folder, randoms) else 0


if __name__ == "__main__":
    sys.exit(main())
