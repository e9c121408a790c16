"""Modules and their bases: a module without a base, a base of another kernel, and BTF that is read on another base.

Modules are those of fixtures/split, with the sections that make an object a module. The expected bytes are the
reference's. The rules were measured on all modules of two kernels; see src/pybtf/pipeline/belonging.py.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pybtf
from pybtf.btf import Kind
from pybtf.elf.constants import ET_REL
from pybtf.elf.image import ElfImage
from pybtf.elf.modules import is_module, release_of_module
from pybtf.elf.writer import put_sections
from pybtf.errors import WrongBaseError
from pybtf.pipeline.belonging import check_sizes
from tests.builders import kernelish
from tests.builders.dwarftree import die
from tests.builders.elfwriter import Section, bare
from tests.conftest import RunCli
from tests.encode.test_split import FEATURES, MODULES, base_path, check, golden, module

TARGET = "gcc"
BASE = base_path(TARGET)
RELEASE = "6.1.0-50-amd64"

Make = Callable[..., Path]


def modinfo(release: str) -> bytes:
    return b"license=GPL\0vermagic=" + release.encode() + b" SMP preempt mod_unload modversions \0name=x\0"


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """`make("x.ko")` makes a module. `release`: the kernel that it says it is for."""

    def made(name: str = "x.ko", release: str | None = None, of: str = "reuse") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(module(TARGET, of), path)
        sections = {".gnu.linkonce.this_module": bytes(64)}
        if release is not None:
            sections[".modinfo"] = modinfo(release)
        put_sections(path, sections)
        return path

    return made


@pytest.fixture
def vmlinux(tmp_path: Path) -> Callable[[str], Path]:
    """A kernel with the BTF of the base and a banner."""

    def made(release: str, before: int = 416) -> Path:
        path = tmp_path / f"vmlinux-{release}"
        shutil.copyfile(module(TARGET, "same"), path)
        banner = f"Linux version {release} (builder@host) (gcc 12) #1 SMP\n".encode()
        put_sections(path, {".rodata": bytes(before) + banner + bytes(9), ".BTF": BASE.read_bytes()})
        return path

    return made


# What is a module


def test_what_a_module_is(make: Make) -> None:
    with ElfImage.open(make(release=RELEASE)) as image:
        assert image.etype == ET_REL
        assert is_module(image)
        assert release_of_module(image) == RELEASE
    with ElfImage.open(module(TARGET, "reuse")) as image:
        assert not is_module(image)
        assert release_of_module(image) is None


@pytest.mark.parametrize("text", [b"", b"vermagic=", b"vermagic=\0", b"vermagic= \0", b"xvermagic=6.1\0", b"a\0b\0"])
def test_a_module_that_does_not_say_its_kernel(make: Make, text: bytes) -> None:
    path = make()
    put_sections(path, {".modinfo": text})
    with ElfImage.open(path) as image:
        assert is_module(image)
        assert release_of_module(image) is None
    assert pybtf.encode(path, base=BASE, features=FEATURES).data == golden(TARGET, "reuse", "split")


# Without a base


def test_a_module_without_a_base(make: Make, run_cli: RunCli) -> None:
    path = make()
    before = path.read_bytes()
    for arguments in ([path], ["--detached", path.with_name("out"), path], ["--combine", module(TARGET, "same"), path]):
        done = run_cli("encode", *arguments)
        assert done.returncode == 2
        assert f"{path}: a kernel module, and no base is given" in done.stderr
        assert "--base vmlinux" in done.stderr
        assert "--standalone" in done.stderr
        assert done.stderr.count("\n") == 1
        assert path.read_bytes() == before
        assert not path.with_name("out").exists()
    done = run_cli("encode", "--standalone", "--detached", path.with_name("out"), path)
    assert (done.returncode, path.read_bytes()) == (0, before)
    assert path.with_name("out").read_bytes() == pybtf.encode(module(TARGET, "reuse")).data


def test_an_object_that_is_no_module_needs_none(run_cli: RunCli, tmp_path: Path) -> None:
    assert run_cli("encode", "--detached", tmp_path / "out", module(TARGET, "reuse")).returncode == 0


def test_a_folder_of_modules_without_a_base(make: Make, run_cli: RunCli, tmp_path: Path) -> None:
    """No file in it is changed, not even one that comes before the modules and is not a module."""
    paths = [make(f"tree/{name}.ko") for name in "abc"]
    plain = tmp_path / "tree" / "0.ko"
    shutil.copyfile(module(TARGET, "same"), plain)
    before = {path: path.read_bytes() for path in (plain, *paths)}
    done = run_cli("encode", tmp_path / "tree")
    assert done.returncode == 2
    assert f"{paths[0]}: a kernel module, and no base is given" in done.stderr
    assert "none of the 4 files is encoded" in done.stderr
    assert {path: path.read_bytes() for path in before} == before
    done = run_cli("encode", "--standalone", tmp_path / "tree")
    assert done.returncode == 0
    assert all(path.read_bytes() != data for path, data in before.items())


def test_a_compressed_module_without_a_base(make: Make, run_cli: RunCli, tmp_path: Path) -> None:
    path = tmp_path / "x.ko.gz"
    path.write_bytes(gzip.compress(make().read_bytes()))
    done = run_cli("encode", "--detached-dir", tmp_path / "out", path, module(TARGET, "same"))
    assert done.returncode == 2
    assert "none of the 2 files is encoded" in done.stderr
    assert not list((tmp_path / "out").glob("*"))


def test_of_the_api(make: Make) -> None:
    path = make()
    with pytest.raises(pybtf.ModuleWithoutBaseError, match="standalone=True") as caught:
        pybtf.encode(path)
    assert isinstance(caught.value, pybtf.UsageError)
    assert caught.value.path == str(path)
    (outcome,) = pybtf.encode_many([path])
    assert isinstance(outcome.error, pybtf.ModuleWithoutBaseError)
    assert pybtf.encode(path, standalone=True).data == pybtf.encode(module(TARGET, "reuse")).data
    with pytest.raises(pybtf.UsageError, match="do not go together"):
        pybtf.encode(path, base=BASE, standalone=True)
    with pytest.raises(pybtf.UsageError, match="none is given"):
        pybtf.encode(path, force_base=True)


def test_reproduce_asks_as_well(make: Make, run_cli: RunCli, tmp_path: Path) -> None:
    path, lock = make(), tmp_path / "lock"
    few = ["-j1", "--rounds", "0", "--skip", "crowd,folder,copy,locale,hashing,umask,environment,much memory"]
    done = run_cli("reproduce", *few, path)
    assert done.returncode == 2
    assert "a kernel module, and no base is given" in done.stderr
    assert run_cli("reproduce", *few, "--standalone", "--write-lock", lock, path).returncode == 0
    assert run_cli("reproduce", *few, "--lock", lock).returncode == 0


# The base of another kernel


def test_releases(make: Make, vmlinux: Callable[..., Path], run_cli: RunCli, tmp_path: Path) -> None:
    """A base of another release is refused, unless forced. If one side names no release, nothing is compared."""
    path, out = make(release=RELEASE), tmp_path / "out"
    other, own = vmlinux("6.1.0-49-amd64"), vmlinux(RELEASE)
    options = ["--features", FEATURES, "--detached", out]
    done = run_cli("encode", *options, "--base", other, path)
    assert done.returncode == 1
    assert f"{path}: a module of kernel {RELEASE}; expected one of 6.1.0-49-amd64" in done.stderr
    assert f", as the base {other} is" in done.stderr
    assert "built for with --base; --force-base goes on with this one" in done.stderr
    assert not out.exists()
    for base, more in ((other, ["--force-base"]), (own, []), (BASE, [])):
        assert run_cli("encode", *options, *more, "--base", base, path).returncode == 0
        check(out.read_bytes(), TARGET, "reuse", "split")
        out.unlink()
    assert run_cli("encode", *options, "--base", other, make("silent.ko")).returncode == 0
    with pytest.raises(pybtf.WrongBaseError):
        pybtf.encode(path, base=pybtf.Base.from_file(other))
    assert pybtf.encode(path, base=other, force_base=True, features=FEATURES).data == golden(TARGET, "reuse", "split")


@pytest.mark.parametrize("before", [0, (1 << 18) - 20, (1 << 18) - 1, 1 << 18, 3 << 18])
def test_where_the_banner_is(vmlinux: Callable[..., Path], before: int) -> None:
    """It is found anywhere in `.rodata`, which is read in pieces."""
    assert pybtf.Base.from_file(vmlinux("7.2.13", before)).release == "7.2.13"


def test_bases_that_do_not_say_their_release(vmlinux: Callable[..., Path]) -> None:
    assert pybtf.Base.from_file(BASE).release is None
    assert pybtf.Base.from_bytes(BASE.read_bytes(), str(vmlinux("1.2"))).release is None
    path = vmlinux("1.3")
    put_sections(path, {".rodata": b"Linux version " + b"9" * 4000})
    assert pybtf.Base.from_file(path).release is None
    base = pybtf.Base.from_file(path)
    path.unlink()
    assert base.release is None


STRUCTS = [f"struct_{i}" for i in range(6)]


def structs(sizes: dict[str, int], tmp_path: Path, *, kernel: bool) -> Path:
    """A program with these structs. The BTF of one is the kernel; another, with a module's sections, is the module.
    """
    flavour = kernelish.FLAVOURS["x86_64"]
    dies = [
        die("structure_type", ("name", "string", name), ("byte_size", "data1", size)) for name, size in sizes.items()
    ]
    unit = kernelish.unit([*kernelish.standard(flavour), *dies], address_size=flavour.address_size)
    path = tmp_path / ("kernel" if kernel else "x.ko")
    path.write_bytes((kernelish.kernel if kernel else kernelish.relocatable)([unit]).data)
    if kernel:
        path.write_bytes(pybtf.encode(path).data)
    else:
        put_sections(path, {".gnu.linkonce.this_module": bytes(64)})
    return path


@pytest.mark.parametrize(
    ("others", "refused"), [((), 0), (STRUCTS[:3], 0), (STRUCTS[:4], 4), (["task_struct"], 1), (["module"], 1)]
)
def test_sizes(others: list[str], refused: int, tmp_path: Path) -> None:
    """Four structs of another size are too many. A single one is, too, if kernels have only one struct of that name."""
    names = [*STRUCTS, "task_struct", "module"]
    base = structs(dict.fromkeys(names, 8), tmp_path, kernel=True)
    path = structs({name: 16 if name in others else 8 for name in names}, tmp_path, kernel=False)
    forced = pybtf.encode(path, base=base, force_base=True)
    own = {each.name for each in forced.btf if each.kind is Kind.STRUCT}
    assert own == set(others)
    if not refused:
        assert pybtf.encode(path, base=base).data == forced.data
        return
    with pytest.raises(pybtf.WrongBaseError) as caught:
        pybtf.encode(path, base=base)
    assert f"struct {others[0]} has 16 bytes in the module and 8 in the base {base}" in str(caught.value)
    assert ("and 3 other structs differ in size" in str(caught.value)) == (refused > 1)


def test_sizes_are_looked_at_in_modules_only(tmp_path: Path) -> None:
    base = structs(dict.fromkeys(STRUCTS, 8), tmp_path, kernel=True)
    path = structs(dict.fromkeys(STRUCTS, 16), tmp_path, kernel=False)
    data = path.read_bytes()
    path.write_bytes(data.replace(b".gnu.linkonce.this_module", b".gnu.linkonce.that_module"))
    assert path.read_bytes() != data
    assert len(pybtf.encode(path, base=base).btf) >= len(STRUCTS)


# Reading


def test_btf_on_the_strings_of_another_base(tmp_path: Path) -> None:
    split = golden(TARGET, "reuse", "split")
    assert split is not None
    base = pybtf.BTF.from_file(BASE)
    assert len(pybtf.BTF.from_bytes(split, base)) == len(pybtf.BTF.from_bytes(split, base, force_base=True))
    # One more letter before all names but the empty one: the same texts are at other offsets.
    data = bytearray(BASE.read_bytes())
    start, end = base.header.section("str")
    data[start:end] = b"\0longer" + data[start + 1 : end - 6]
    data[end - 1] = 0
    other = pybtf.BTF.from_bytes(data, name="other")
    with pytest.raises(pybtf.WrongBaseError, match="split from another BTF than other: a name begins at") as caught:
        pybtf.BTF.from_bytes(split, other)
    assert isinstance(caught.value, pybtf.InputError)
    path = tmp_path / "x.btf"
    path.write_bytes(split)
    with pytest.raises(pybtf.WrongBaseError):
        pybtf.BTF.from_file(path, other)
    assert len(pybtf.BTF.from_file(path, other, force_base=True)) == len(pybtf.BTF.from_bytes(split, base))


def test_a_type_that_is_not_there() -> None:
    btf = pybtf.BTF.from_file(BASE)
    for ask in (btf.type, btf.kind_of, btf.references, btf.size_of, btf.c_name):
        for id in (10**7, btf.end_id, -1):
            with pytest.raises(pybtf.NoSuchTypeError, match=f"there is no type {id}; ids go from 0 to") as caught:
                ask(id)
            assert isinstance(caught.value, pybtf.PybtfError)
            assert isinstance(caught.value, IndexError)


DISTILLED = [name for target, name in MODULES if target == TARGET and golden(target, name, "distilled") is not None]


@pytest.mark.parametrize("name", DISTILLED)
def test_sizes_are_those_of_the_module_before_it_gets_a_base_of_its_own(make: Make, name: str) -> None:
    """Types that move from the base into a distilled module do not count as types that the module defines."""
    encoded = pybtf.encode(make(of=name), base=BASE, features=f"{FEATURES},distilled_base")
    assert encoded.data == golden(TARGET, name, "distilled")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ([], None),
        ([("a", 1, 2)] * 3, None),
        ([("a", 1, 2)] * 4, "a has 1 bytes in the module and 2 in the base B, and 3 other structs differ in size;"),
        ([("a", 1, 2), ("module", 3, 4)], "module has 3 bytes in the module and 4 in the base B, and another one"),
        ([("task_struct", 3, 4)], "struct task_struct has 3 bytes in the module and 4 in the base B;"),
    ],
)
def test_how_many_structs_of_other_sizes_are_too_many(found: list[tuple[str, int, int]], told: str | None) -> None:
    run: Any = SimpleNamespace(other_sizes=lambda: found)
    base: Any = SimpleNamespace(path="B")
    with ElfImage("x.ko", bare([Section(".text", b"x")])) as image:
        if told is None:
            check_sizes(image, run, base)
        else:
            with pytest.raises(WrongBaseError) as caught:
                check_sizes(image, run, base)
            assert told in str(caught.value)
