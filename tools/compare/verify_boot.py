"""Compares what `pybtf verify` says with kernels other than the running one, which are booted under qemu.

    python -m tools.compare.verify_boot [KERNEL...]   6.1-amd64, 6.12-amd64, sid-amd64; others as in reference.py
    python -m tools.compare.verify_boot --images 40   also so many boots with the kernel's own BTF altered
    python -m tools.compare.verify_boot 6.1-amd64 --modules FOLDER   the BTF of these modules, as of another release

All three loaders are covered. `user`: the cases of minimal_btf.py and random graphs, through BPF_BTF_LOAD. `module`:
dummy.ko with altered BTF, and with the BTF of other modules; most are from other kernels, so their base is wrong.
`vmlinux`: the kernel's own `.BTF`, altered in place, with one boot for each. The kernel with its debug data is started
as it is, through its PVH entry. The guest is emulated and has one program, kernels/btf_verdicts/init.c.

A kernel with MODULE_ALLOW_BTF_MISMATCH (6.1, 6.12) loads a module without its BTF and does not say why: then only
whether it has BTF is compared. This needs qemu-system-x86_64, gcc and objcopy. Dots in names came with 6.4 and with
6.1.36: Debian's 6.1 accepts them, and differences for that reason are counted separately. Exit status: 1 if another
verdict differs; the input is kept in build/verify-found.
"""

from __future__ import annotations

import argparse
import lzma
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

from pybtf.elf.image import ElfImage
from pybtf.verify.judge import MODULE, USER, VMLINUX, Judgement, judge
from pybtf.verify.sources import open_source
from pybtf.verify.task import version_of
from tools.compare.verify_compare import KEPT, WORDS, Graph
from tools.golden.minimal_btf import CASES
from tools.judge import reference

SOURCE = Path(__file__).resolve().parents[1] / "kernels" / "btf_verdicts" / "init.c"
KERNELS = ("6.1-amd64", "6.12-amd64", "sid-amd64")
COMMAND = (
    "qemu-system-x86_64 -accel tcg -smp 1 -m 768 -nodefaults -display none -no-reboot -serial stdio"
    " -append console=ttyS0\x00panic=-1\x00reboot=k,t\x00quiet"
)


def archive(init: bytes, folders: dict[str, dict[str, bytes]]) -> bytes:
    """The files of the guest, in cpio's "newc" format."""
    made = bytearray()

    def add(name: str, data: bytes = b"", mode: int = 0o100755, device: tuple[int, int] = (0, 0)) -> None:
        words = (len(made) + 1, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0)
        made.extend(b"070701" + b"".join(b"%08X" % word for word in words) + name.encode() + b"\0")
        made.extend(bytes(-len(made) % 4) + data)
        made.extend(bytes(-len(made) % 4))

    for folder in ("dev", "proc", "sys", *folders):
        add(folder, mode=0o40755)
    add("dev/console", mode=0o20600, device=(5, 1))
    add("init", init)
    for folder, files in folders.items():
        for name, data in files.items():
            add(f"{folder}/{name}", data, 0o100644)
    add("TRAILER!!!", mode=0)
    return bytes(made)


class NoEnd(Exception):
    """The guest did not finish; the text has the last lines of its console."""


def boot(image: Path, files: bytes, timeout: float) -> dict[tuple[str, str], tuple[int, str]]:
    """What the guest says: by loader and name, the errno, and whether there is BTF in the end. Raises `NoEnd`."""
    with tempfile.NamedTemporaryFile(suffix=".cpio") as ram:
        ram.write(files)
        ram.flush()
        command = [word.replace("\x00", " ") for word in COMMAND.split(" ")]
        try:
            output = subprocess.run(
                [*command, "-kernel", str(image), "-initrd", ram.name],
                stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False,
            ).stdout  # fmt: skip
        except subprocess.TimeoutExpired as late:
            output = late.stdout or b""
    said = {}
    lines = output.decode("utf-8", "replace").replace("\r", "").splitlines()
    for line in lines:
        at = line.find("VERDICT ")
        if at < 0:
            continue
        _, loader, name, code, *rest = line[at:].split()
        said[loader, name] = (int(code), rest[0] if rest else "")
    if ("end", "-") not in said:
        raise NoEnd("\n".join(lines[-20:]))
    return said


def booted(image: Path, files: bytes) -> dict[tuple[str, str], tuple[int, str]]:
    """The same, retried if the kernel does not start: on a busy machine, it may hang when it changes its clock."""
    for seconds in (200, 300):
        with suppress(NoEnd):
            return boot(image, files, seconds)
    return boot(image, files, 900)


def altered(chooser: random.Random, data: bytes) -> bytes:
    """BTF with a fault in the header, in a record, in a name, or in its length."""
    made = bytearray(data)
    types, strings = struct.unpack_from("<I", data, 12)[0], struct.unpack_from("<I", data, 16)[0]
    what = chooser.randrange(12)
    if what == 0:
        struct.pack_into("<I", made, 4 * chooser.randrange(6), chooser.choice((*WORDS, types, strings)))
    elif what == 1 and len(data) > 24 + strings:
        made[24 + strings + chooser.randrange(len(data) - 24 - strings)] = chooser.choice(b"\0a-.9")
    elif what == 2:
        del made[len(made) - chooser.choice((1, 2, 4, 8)) :]
    else:
        for _ in range(chooser.choice((1, 1, 1, 2, 3))):
            at = 24 + 4 * chooser.randrange(max(1, types // 4))
            (word,) = struct.unpack_from("<I", made, at)
            bit = 1 << chooser.randrange(32)
            near = chooser.choice((word ^ bit, word + 1, max(0, word - 1), chooser.choice(WORDS)))
            struct.pack_into("<I", made, at, near & 0xFFFFFFFF)
    return bytes(made)


def unpacked(path: Path) -> bytes:
    return lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()


def btf_of(path: Path) -> bytes:
    """The `.BTF` of a module; empty if it has none."""
    return open_source(str(path)).data or b""


def with_btf(module: Path, btf: bytes, folder: Path) -> bytes:
    """The module with other BTF."""
    source, target, section = folder / "source.ko", folder / "target.ko", folder / "section"
    source.write_bytes(unpacked(module))
    section.write_bytes(btf)
    subprocess.run(["objcopy", f"--update-section=.BTF={section}", source, target], check=True, capture_output=True)
    return target.read_bytes()


def users(chooser: random.Random, count: int) -> list[bytes]:
    cases = [case.data for case in CASES]
    return cases + [Graph(chooser).make() for _ in range(count)]


def modules(chooser: random.Random, own: bytes, count: int) -> list[bytes]:
    """BTF for dummy.ko: half of it is its own, altered; half is from any module of any of the kernels."""
    others = [path for kernel in KERNELS for path in reference.shipped(kernel)]
    foreign = [data for path in chooser.sample(others, min(len(others), count // 2)) if (data := btf_of(path))]
    return [own, *foreign, *(altered(chooser, own) for _ in range(count - len(foreign)))]


def compare(
    name: str, chooser: random.Random, count: int, images: int, foreign: Path | None
) -> tuple[Counter[str], int]:
    """How many verdicts there are of each sort, and how many differ."""
    kernel = reference.kernel(name)
    dummy = next(path for path in reference.shipped(name) if path.name.startswith("dummy."))
    version = version_of(reference.package(name)["version"])
    assert version is not None
    source = open_source(str(kernel))
    assert source.data is not None
    base = judge(source.data, VMLINUX, version, pointer=8)
    counts: Counter[str] = Counter()
    differ = 0

    def count_one(loader: str, data: bytes, mine: Judgement, same: bool, answer: str) -> None:
        nonlocal differ
        counts[f"{loader} {'accepted' if mine.first is None else 'refused'}"] += 1
        if not same and version == 601 and not judge(data, loader, 604, base=base.layer, pointer=8).errno:
            counts[f"{loader} with dots"] += 1
        elif not same:
            differ += 1
            KEPT.mkdir(parents=True, exist_ok=True)
            path = KEPT / f"{name.replace('/', '_')}-{loader}-{differ}.btf"
            path.write_bytes(data)
            print(f"{path}: the kernel says {answer}, pybtf {mine.errno} {mine.first}", flush=True)

    with tempfile.TemporaryDirectory(prefix="pybtf-boot-") as home:
        folder = Path(home)
        init = folder / "init"
        subprocess.run(["gcc", "-O1", "-static", "-Wall", "-Werror", "-o", init, SOURCE], check=True)
        image = folder / "vmlinux"
        subprocess.run(["objcopy", "--strip-debug", kernel, image], check=True, capture_output=True)
        user = users(chooser, count)
        module = modules(chooser, btf_of(dummy), count)
        if foreign is not None:
            paths = sorted({*foreign.rglob("*.ko"), *foreign.rglob("*.ko.xz")})
            module = [module[0], *(data for path in paths if (data := btf_of(path)))]
        files = {
            "user": {str(number): data for number, data in enumerate(user)},
            "module": {str(number): with_btf(dummy, data, folder) for number, data in enumerate(module)},
        }
        said = booted(image, archive(init.read_bytes(), files))
        for number, data in enumerate(user):
            code, _ = said["user", str(number)]
            mine = judge(data, USER, version, pointer=8)
            count_one(USER, data, mine, code == mine.errno, str(code))
        tolerant = said["module", "0"] == (0, "btf") and any(
            loader == "module" and answer == (0, "no") for (loader, _), answer in said.items()
        )
        for number, data in enumerate(module):
            code, has = said["module", str(number)]
            mine = judge(data, MODULE, version, base=base.layer, pointer=8)
            wanted = mine.errno if not tolerant else 0
            same = code == wanted and (has == "btf") == (mine.first is None)
            count_one(MODULE, data, mine, same, f"{code}, {has}")
        place, size = btf_place(image)
        original = image.read_bytes()[place : place + size]
        for _ in range(images):
            data = altered(chooser, original)
            data = data[:size] + bytes(size - len(data))
            with open(image, "r+b") as out:
                out.seek(place)
                out.write(data)
            mine = judge(data, VMLINUX, version, pointer=8)
            try:
                code, _ = boot(image, archive(init.read_bytes(), {"user": {}, "module": {}}), 300)["vmlinux", "-"]
            except NoEnd as stuck:
                counts["vmlinux that does not start"] += 1
                print(f"pybtf says {mine.errno}; {stuck}")
                continue
            count_one(VMLINUX, data, mine, code == mine.errno, str(code))
    return counts, differ


def btf_place(image: Path) -> tuple[int, int]:
    """The offset and size of `.BTF` in a file."""
    with ElfImage.open(str(image)) as elf:
        section = elf.section(".BTF")
        assert section is not None
        return section.offset, section.size


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help=f"of x86-64; default: {', '.join(KERNELS)}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300, help="of random BTFs for each of the first two loaders")
    parser.add_argument("--modules", type=Path, help="the BTF of all modules of this folder, and no altered one")
    parser.add_argument("--images", type=int, default=0, help="boots with an altered vmlinux, some ten seconds each")
    options = parser.parse_args()
    if missing := [name for name in ("qemu-system-x86_64", "gcc", "objcopy") if shutil.which(name) is None]:
        print(f"skipped: {', '.join(missing)} not installed")
        return 0
    failed = 0
    for name in options.kernels or KERNELS:
        counts, differ = compare(
            name, random.Random(f"{options.seed} {name}"), options.count, options.images, options.modules
        )
        failed += differ
        print(f"{name}: {differ} of {sum(counts.values())} differ: "
              + ", ".join(f"{number} {what}" for what, number in sorted(counts.items())), flush=True)  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
