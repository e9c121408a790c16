"""`pybtf merge --cache`: the bytes are the same with and without it, whatever happens to the cache."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pybtf.cli.main import main
from pybtf.elf.image import ElfImage
from pybtf.encoded import Encoded
from pybtf.errors import InputError
from pybtf.features import Features
from pybtf.merging.cache import MAGIC, Cache
from pybtf.merging.encoding import encode_object
from pybtf.merging.linked import Sources, merge_file
from pybtf.merging.pieces import pack_payload, payload_digest
from pybtf.merging.placing import Placing
from pybtf.options import make_options
from pybtf.pipeline.passes import Task, encode_images
from pybtf.support.records import replace
from tests.commands.test_merge import FEATURES, NAMES

CACHE = Path("cache")


def merge(cache: str = "cache") -> tuple[bytes, list[str]]:
    """The BTF of `merged`, and the warnings."""
    encoded = merge_file("merged", make_options(FEATURES, 1), Sources((), None, cache))
    return bytes(encoded.data), [each for each in encoded.report.warnings if "cache" in each]


@pytest.fixture
def folder(built: Callable[[str], Path]) -> Path:
    """The folder of a build, with a cache of its link."""
    folder = built("x86")
    assert merge() == ((folder / "wanted.btf").read_bytes(), [])
    return folder


def without_results() -> None:
    """The cache has only payloads: what a merge makes of them is not known yet."""
    content = CACHE.read_bytes()
    CACHE.write_bytes(content[: content.index(b"bUVR")])


def without_objects() -> None:
    for each in ("sa.o", "sb.o"):
        Path(each).unlink()


def test_what_is_in_the_cache_needs_no_objects(folder: Path) -> None:
    content = CACHE.read_bytes()
    without_objects()
    with pytest.raises(InputError, match=r"sa\.o: its values are not to be found"):
        merge("other")
    assert not Path("other").exists()
    without_results()
    for _ in range(2):  # from payloads, then from what was remembered
        assert merge() == ((folder / "wanted.btf").read_bytes(), [])
        assert CACHE.read_bytes() == content


@pytest.mark.parametrize("name", NAMES)
def test_by_the_command_in_either_byte_order(built: Callable[[str], Path], name: str) -> None:
    folder = built(name)
    for _ in range(2):
        command = ["merge", "-q", "--features", FEATURES, "--cache", "cache", "--detached", "out", "merged"]
        assert main(command) == 0
        assert Path("out").read_bytes() == (folder / "wanted.btf").read_bytes()
        if Path("sa.o").exists():
            without_objects()


def test_a_report_says_what_was_remembered(folder: Path) -> None:
    """Everything else is the same for the same link. With a base, nothing is remembered."""

    def report(*options: str) -> dict[str, Any]:
        command = ["merge", "-q", "--features", FEATURES, "--report", "json", "--detached", "out", *options, "merged"]
        assert main(command) == 0
        found: dict[str, Any] = json.loads(Path("json").read_text())
        return {**found, "timings": None, "peak_memory_bytes": None}

    without_results()
    first, second = report("--cache", "cache"), report("--cache", "cache")
    assert first["merged"].pop("remembered") is False
    assert second["merged"].pop("remembered") is True
    assert first == second
    assert first["output"]["sha256"] == hashlib.sha256((folder / "wanted.btf").read_bytes()).hexdigest()
    for _ in range(2):
        assert report("--cache", "cache", "--base", "wanted.btf")["merged"]["remembered"] is False


def test_as_pahole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pybtf.pahole.main import main as pahole

    without_objects()
    shutil.copyfile("merged", "vmlinux")
    features = f"--btf_features={FEATURES}"
    monkeypatch.delenv("PYBTF_MERGE_CACHE", raising=False)
    assert pahole(["-J", features, "--btf_encode_detached=out", "vmlinux"]) != 0
    monkeypatch.setenv("PYBTF_MERGE_CACHE", "cache")
    assert pahole(["-J", features, "--btf_encode_detached=out", "vmlinux"]) == 0
    assert Path("out").read_bytes() == (folder / "wanted.btf").read_bytes()


def test_a_cache_of_another_link_gets_what_it_lacks(folder: Path) -> None:
    """The payloads of the other link stay until they are the greater part."""
    wanted = CACHE.read_bytes()
    other = bytes(range(256)) * (len(wanted) // 600)
    CACHE.write_bytes(wanted[:16] + pack_payload(other, little=True))
    assert merge()[1] == []
    assert len(CACHE.read_bytes()) == len(wanted) + len(pack_payload(other, little=True))
    without_objects()
    assert merge()[0] == (folder / "wanted.btf").read_bytes()


def test_a_cache_of_which_little_is_wanted_is_written_anew(folder: Path) -> None:
    wanted = CACHE.read_bytes()
    without_results()
    CACHE.write_bytes(CACHE.read_bytes() + pack_payload(bytes(2 * len(wanted)), little=True))
    assert merge() == ((folder / "wanted.btf").read_bytes(), [])
    assert CACHE.read_bytes() == wanted


def test_the_end_that_an_interrupted_run_has_left_is_cut_off(folder: Path) -> None:
    wanted = CACHE.read_bytes()
    for cut in (16, 20, len(wanted) // 2, len(wanted) - 9):
        CACHE.write_bytes(wanted[:cut])
        assert merge() == ((folder / "wanted.btf").read_bytes(), [])
        assert CACHE.read_bytes() == wanted
    for content in (wanted[:-1], wanted + b"more"):  # padding is cut off; bytes are appended
        CACHE.write_bytes(content)
        assert merge() == ((folder / "wanted.btf").read_bytes(), [])


def test_damage_is_no_error(folder: Path) -> None:
    wanted = CACHE.read_bytes()
    for at in range(16, len(wanted), 97):
        damaged = bytearray(wanted)
        damaged[at] ^= 1 << at % 8
        CACHE.write_bytes(damaged)
        assert merge() == ((folder / "wanted.btf").read_bytes(), []), at
    assert merge()[1] == []
    without_objects()
    CACHE.write_bytes(wanted[:-9] + bytes([wanted[-9] ^ 1]) + wanted[-8:])  # a result of a merge, not values
    assert merge() == ((folder / "wanted.btf").read_bytes(), [])
    assert CACHE.read_bytes() == wanted


@pytest.mark.parametrize("at", [8, 12])
def test_another_version_is_written_anew(folder: Path, at: int) -> None:
    wanted = CACHE.read_bytes()
    CACHE.write_bytes(wanted[:at] + b"\xff" + wanted[at + 1 :])
    assert merge() == ((folder / "wanted.btf").read_bytes(), [])
    assert CACHE.read_bytes() == wanted


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("content", [b"something else", b"bUVCach", b"x"])
def test_another_file_is_not_touched(content: bytes) -> None:
    CACHE.write_bytes(content)
    with pytest.raises(InputError, match=r"cache: offset 0x0: not a cache of pybtf merge"):
        merge()
    assert CACHE.read_bytes() == content


@pytest.mark.usefixtures("folder")
def test_what_is_no_file_is_an_error() -> None:
    Path("folder").mkdir()
    with pytest.raises(InputError, match="cache of pybtf merge"):
        merge("folder")
    os.mkfifo("fifo")
    with pytest.raises(InputError, match="cache of pybtf merge"):
        merge("fifo")


@pytest.mark.usefixtures("folder")
def test_an_empty_file_becomes_one() -> None:
    wanted = CACHE.read_bytes()
    CACHE.write_bytes(b"")
    assert merge()[1] == []
    assert CACHE.read_bytes() == wanted


def test_one_that_cannot_be_written_is_a_warning(folder: Path) -> None:
    data, warnings = merge("no/such/folder/cache")
    assert data == (folder / "wanted.btf").read_bytes()
    assert len(warnings) == 1
    assert "no/such/folder/cache" in warnings[0]


def kept(cache: Cache, payloads: list[bytes], result: tuple[bytes, list[bytes]] | None = None) -> str | None:
    by_digest = {payload_digest(each): each for each in payloads}
    return cache.keep({key: len(each) for key, each in by_digest.items()}, by_digest.__getitem__, result)


def test_a_cache_that_is_deleted_meanwhile_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "cache"
    assert kept(Cache(str(path), little=True), [b"payload."]) is None
    content, cache = path.read_bytes(), Cache(str(path), little=True)
    path.unlink()
    assert cache.find(payload_digest(b"payload.")) is None
    assert kept(cache, [b"payload."]) is None
    assert path.read_bytes() == content


def test_a_cache_that_only_others_write_lacks_no_payload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no warning if a result cannot be kept, but there is if a payload cannot be."""
    path = tmp_path / "cache"
    assert kept(Cache(str(path), little=True), [b"payload."]) is None
    cache = Cache(str(path), little=True)

    def refused(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Cache, "_append", refused)
    assert kept(cache, [b"payload."], (bytes(16), [b"result.."])) is None
    assert kept(cache, [b"payload.", b"another."]) == f"{path}: cannot be written: Permission denied"


def test_what_follows_the_last_payload_is_cut_off(tmp_path: Path) -> None:
    """The bytes after it are longer than what is written there."""
    path = tmp_path / "cache"
    assert kept(Cache(str(path), little=True), [b"payload."]) is None
    wanted = path.read_bytes() + pack_payload(b"another.", little=True)
    path.write_bytes(path.read_bytes() + bytes(1000))
    assert kept(Cache(str(path), little=True), [b"payload.", b"another."]) is None
    assert path.read_bytes() == wanted


def test_two_at_a_time(folder: Path) -> None:
    """Nothing is appended if somebody else is writing to the cache, or has written to it."""
    wanted = CACHE.read_bytes()
    half = wanted[:16]
    CACHE.write_bytes(half)
    with CACHE.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert merge() == ((folder / "wanted.btf").read_bytes(), [])
        assert CACHE.read_bytes() == half
    cache = Cache("cache", little=True)
    with CACHE.open("ab") as file:
        file.write(pack_payload(b"another", little=True))
    content = CACHE.read_bytes()
    assert cache.keep({b"x" * 16: 9}, lambda _: b"something") is None
    assert CACHE.read_bytes() == content


def test_another_file_in_its_place(tmp_path: Path) -> None:
    """It has the size of the cache, and is not written to."""
    path = tmp_path / "cache"
    path.write_bytes(b"")
    whole = Cache(str(path), little=True)
    assert whole.keep({b"x" * 16: 9}, lambda _: b"something") is None
    cache = Cache(str(path), little=True)
    other = b"#" * len(path.read_bytes())
    path.write_bytes(other)
    assert cache.keep({b"x" * 16: 9, b"y" * 16: 9}, lambda _: b"something") is None
    assert path.read_bytes() == other


def test_an_object_that_was_compiled_anew(folder: Path) -> None:
    """The link determines the values that it needs, whatever else the cache has."""
    shutil.copyfile("a.o", "sb.o")
    encode_object("sb.o", Features.parse(FEATURES), Placing(strip=True))
    assert merge()[0] == (folder / "wanted.btf").read_bytes()
    assert CACHE.read_bytes()[:8] == MAGIC


def while_it_is_read(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """At a time when everything to be mapped is open, and nothing is read yet."""

    def changed(images: list[ElfImage], task: Task) -> Encoded:
        assert task.values is not None
        task = replace(task, values=replace(task.values, pieces=list(task.values.pieces)))
        change()
        return encode_images(images, task)

    monkeypatch.setattr("pybtf.merging.linked.encode_images", changed)


def after_it_was_read(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """At a time when everything is read, but not yet known to be unchanged."""

    def changed(images: list[ElfImage], task: Task) -> Encoded:
        encoded = encode_images(images, task)
        change()
        return encoded

    monkeypatch.setattr("pybtf.merging.linked.encode_images", changed)


@pytest.mark.usefixtures("folder")
def test_an_object_that_is_written_to_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is the digest of what was read. A file that replaces another one does no harm."""
    content = Path("sa.o").read_bytes()
    mapped, read = Sources(("sa.o", "sb.o")), Sources()

    def merged(sources: Sources) -> bytes:
        return bytes(merge_file("merged", make_options(FEATURES, 1), sources).data)

    def replace() -> None:
        Path("other").write_bytes(content[:-1])
        Path("other").rename("sa.o")

    def spoil() -> None:
        with Path("sa.o").open("r+b") as file:
            file.write(content.replace(b"\0shared\0", b"\0Shared\0"))

    wanted = Path("wanted.btf").read_bytes()
    while_it_is_read(monkeypatch, replace)
    assert merged(mapped) == wanted
    Path("sa.o").write_bytes(content)
    while_it_is_read(monkeypatch, lambda: os.utime("sa.o", ns=(1, 1)))
    assert merged(mapped) == merged(read) == wanted
    while_it_is_read(monkeypatch, spoil)
    with pytest.raises(InputError, match=r"sa\.o: was changed while it was read"):
        merged(mapped)
    with pytest.raises(InputError, match=r"sa\.o: the values of sa\.o are not those that were linked"):
        merged(read)


def test_a_cache_that_is_written_to_while_it_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others append to it, which does no harm. What does not agree with its digest when it is read is not used, and
    what happens to it afterwards does not matter.
    """

    def append() -> None:
        with CACHE.open("ab") as file:
            file.write(pack_payload(b"of another link", little=True))

    def rename() -> None:
        """Overwrites it in place with something equally valid."""
        content = CACHE.read_bytes()
        with CACHE.open("r+b") as file:
            file.write(content.replace(b"\0shared\0", b"\0Shared\0"))

    complete = CACHE.read_bytes()
    without_results()
    wanted = CACHE.read_bytes()
    while_it_is_read(monkeypatch, append)
    assert merge() == ((folder / "wanted.btf").read_bytes(), [])
    CACHE.write_bytes(wanted)
    while_it_is_read(monkeypatch, rename)
    assert merge() == ((folder / "wanted.btf").read_bytes(), [])
    assert CACHE.read_bytes() == complete
    without_results()
    after_it_was_read(monkeypatch, rename)
    assert merge() == ((folder / "wanted.btf").read_bytes(), [])


@pytest.mark.usefixtures("folder")
def test_modules_do_not_use_the_cache_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would remove the values of the kernel and of each other."""
    from pybtf.pahole.main import main as pahole

    monkeypatch.setenv("PYBTF_MERGE_CACHE", "another")
    features = f"--btf_features={FEATURES}"
    shutil.copyfile("sb.o", "module.ko")
    assert pahole(["-J", features, "--btf_base", "wanted.btf", "--btf_encode_detached=out", "module.ko"]) == 0
    assert Path("out").stat().st_size
    assert not Path("another").exists()
