"""`pybtf object --store`: a damaged payload in the store is written again, and a sound one is left alone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf.errors import InputError
from pybtf.features import Features
from pybtf.merging.encoding import CURRENT, DONE, encode_object
from pybtf.merging.placing import Placing
from tests.commands.test_merge import FEATURES, merge


def encode(each: str) -> str:
    return encode_object(each, Features.parse(FEATURES), Placing(store="store")).what


@pytest.fixture
def stored(built: Callable[[str], Path]) -> Path:
    """The payload of a.o in a store with those of the linked objects."""
    built("x86-relocatable")
    for each in ("a.o", "b.o"):
        shutil.copyfile(each, f"plain-{each}")
        assert encode(each) == DONE
        Path(f"s{each}").unlink()
    return max(Path("store").glob("*/*"), key=lambda path: path.stat().st_size)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def change(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


@pytest.mark.parametrize("damage", [cut, empty, change, lengthen, Path.unlink])
@pytest.mark.parametrize("again", [False, True])
def test_a_damaged_payload_is_written_again(stored: Path, damage: Callable[[Path], object], again: bool) -> None:
    """When the object is compiled again, and when the same object is encoded again."""
    wanted = stored.read_bytes()
    damage(stored)
    with pytest.raises(InputError):
        merge("merged", store="store")
    for each in ("a.o", "b.o"):
        if not again:
            shutil.copyfile(f"plain-{each}", each)
        encode(each)
    assert stored.read_bytes() == wanted
    assert merge("merged", store="store") == Path("wanted.btf").read_bytes()


@pytest.mark.parametrize("what", ["pipe", "device", "link to a device", "long file"])
def test_what_has_no_end_is_not_read(stored: Path, what: str) -> None:
    """It must not wait for a pipe without a writer, or read a device until memory runs out."""
    stored.unlink()
    if what == "pipe":
        os.mkfifo(stored)
    elif what == "long file":
        with stored.open("wb") as file:
            file.truncate(1 << 40)
    else:
        device = Path("/dev/zero")
        if what == "link to a device":
            Path("zero").symlink_to(device)
            device = Path("zero").absolute()
        stored.symlink_to(device)
    with pytest.raises(InputError, match="those that were linked" if what == "long file" else "is not a regular file"):
        merge("merged", store="store")


def test_a_sound_payload_is_left_alone(stored: Path) -> None:
    before = stored.stat()
    for each in ("a.o", "b.o"):
        assert encode(each) == CURRENT
        shutil.copyfile(f"plain-{each}", each)
        assert encode(each) == DONE
    after = stored.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
