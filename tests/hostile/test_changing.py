"""Input that changes while it is read: an error, never a crash, and never output from a mixture of old and new bytes.

The file is mapped, so what is read twice may differ. The first tests change a chosen place. The last one overwrites the
file at random moments, and also runs with sanitizers (tools/fuzz/sanitized.py).
"""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import pybtf
from pybtf.core.elf.function_table import FunctionTable
from pybtf.core.support.mapped_file import MappedFile
from pybtf.elf.image import ElfImage, Source
from pybtf.elf.packed import open_module
from pybtf.elf.symbols import symbol_source
from pybtf.errors import InputError
from pybtf.merging.pieces import payload_digest
from pybtf.options import EncodeOptions, make_options
from pybtf.pipeline import loaded, passes
from pybtf.pipeline.loaded import ObjectValues, UnitValues, load
from pybtf.pipeline.passes import Task, encode_images
from pybtf.report import Report
from pybtf.support.timings import Timings
from tests.builders import corruption
from tests.builders.elfwriter import Symbol
from tests.builders.kernelish import FLAVOURS, kernel
from tests.builders.rawdwarf import DATA1, REF4, STRP, RawDwarf
from tests.conftest import ROOT, environment
from tests.encode.test_keeping import structs
from tests.encode.test_merge_awaited import all_units, first_unit
from tests.encode.test_merge_values import ONE, read_back

X86 = FLAVOURS["x86_64"]
CHANGED = "was changed while it was read"


def overwrite(path: Path, offset: int, data: bytes) -> None:
    """Overwrites in place: a map of the file shows the change at once."""
    time.sleep(0.02)  # longer than a tick of the file system's clock
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def section(path: Path, name: str) -> tuple[int, int]:
    """The offset and size of a section."""
    with ElfImage.open(path) as image:
        found = image.section(name)
        assert found is not None
        return found.offset, found.size


# -- symbols -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["more functions", "more objects", "names without end"])
def test_symbols_are_those_of_the_first_look(what: str, tmp_path: Path) -> None:
    """Symbols are counted and read again. More of them must not be written past the end."""
    path = tmp_path / "file"
    more = [Symbol(f"name{i}", X86.text + i, 1, "NOTYPE", ".text") for i in range(5000)]
    path.write_bytes(kernel(extra_symbols=more).data)
    with ElfImage.open(path) as image:
        symtab = image.section(".symtab")
        assert symtab is not None
        source = symbol_source(image, symtab)
        before = FunctionTable(source, 0).entries()
        if what == "names without end":
            at, size = section(path, ".strtab")
            overwrite(path, at, b"x" * size)
        else:
            table = bytearray(image.data(symtab))
            for at in range(24, len(table), 24):
                table[at + 4] = 0x12 if what == "more functions" else 0x11
            overwrite(path, symtab.offset, bytes(table))
        after = FunctionTable(source, 0)
        assert after.entries() == before
        assert not any(after.has_object(1, f"name{i}".encode()) for i in range(5000))


def test_what_is_wrong_with_symbols_is_said_first(tmp_path: Path) -> None:
    """Also with several workers, which read symbols and unit headers at the same time."""
    path = tmp_path / "file"
    path.write_bytes(kernel().data)
    at, size = section(path, ".symtab")
    overwrite(path, section(path, ".debug_info")[0] + 4, b"\x77")  # the version of the first unit
    messages = []
    for name in (None, b"\xff\xff\xff\xff"):
        if name is not None:
            for each in range(at + 24, at + size, 24):
                overwrite(path, each, name)
        for jobs in (1, 2):
            with pytest.raises(InputError) as caught:
                pybtf.encode(path, jobs=jobs)
            messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "version" in messages[0]
    assert messages[2] == messages[3]
    assert "symbol" in messages[2]


# -- in the middle of an encoding ----------------------------------------------------------------------


@contextmanager
def when(name: str, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch, call: int = 1) -> Iterator[None]:
    """Calls `act` before the `call`th time that the pipeline, or its loader, calls its function `name`."""
    module = passes if hasattr(passes, name) else loaded
    original, calls = getattr(module, name), 0

    def patched(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            act()
        return original(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(module, name, patched)
        yield
    assert calls >= call


@pytest.mark.parametrize(
    "step", ["debug_sections", "function_table", "function_table_meanwhile", "_scan", "_work", "fill"]
)
def test_a_file_that_is_written_to(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the change is in bytes that are not read again: nobody knows what was read before."""
    path = tmp_path / "file"
    path.write_bytes(kernel().data)
    with (
        when(step, lambda: overwrite(path, 0, b"\x7f"), monkeypatch),
        pytest.raises(InputError, match=CHANGED) as caught,
    ):
        pybtf.encode(path, jobs=2 if step == "function_table_meanwhile" else 1)
    assert caught.value.place.file == str(path)
    assert pybtf.encode(path, jobs=1).data == pybtf.encode(path, jobs=2).data


def test_a_file_that_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    data = kernel().data
    path.write_bytes(data)
    message = rf"{CHANGED} \({len(data)} bytes before, {len(data) + 3} now\)"
    with (
        when("_work", lambda: overwrite(path, len(data), b"abc"), monkeypatch),
        pytest.raises(InputError, match=message),
    ):
        pybtf.encode(path)


def test_a_file_that_is_replaced_is_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The open file has not changed."""
    path, other = tmp_path / "file", tmp_path / "other"
    path.write_bytes(kernel().data)
    other.write_bytes(b"something else")
    expected = pybtf.encode(path).data
    with when("_work", lambda: os.replace(other, path), monkeypatch):  # noqa: PTH105
        assert pybtf.encode(path).data == expected


def test_the_debug_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, debug = tmp_path / "file", tmp_path / "file.debug"
    debug.write_bytes(kernel().data)
    subprocess.run(["objcopy", "--strip-debug", debug, path], check=True)
    with (
        when("_work", lambda: overwrite(debug, 0, b"\x7f"), monkeypatch),
        pytest.raises(InputError, match=CHANGED) as caught,
    ):
        pybtf.encode(path)
    assert caught.value.place.file == str(debug)


def test_a_message_of_damage_that_comes_from_the_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(kernel().data)
    at, size = section(path, ".debug_abbrev")
    with (
        when("_work", lambda: overwrite(path, at, b"\xff" * size), monkeypatch),
        pytest.raises(InputError, match=CHANGED),
    ):
        pybtf.encode(path)


def test_a_unit_that_is_read_a_second_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ids from the first reading must not be looked up in the tables of the second."""
    path = tmp_path / "file"
    units = [
        structs("0 ", x=None, y="", c="*x *y", e="*x"),
        structs("1 ", x="", y="int", c="*x *y"),
        structs("2 ", x="", e="*x"),
        structs("3 ", x="int int"),
    ]
    path.write_bytes(kernel(units).data)
    at, _ = section(path, ".debug_info")
    # Units of the same lengths, with everything after some DIE removed.
    with ElfImage.open(path) as image:
        info = image.section(".debug_info")
        assert info is not None
        contents = bytearray(image.data(info))
    start = 0
    while start < len(contents):
        end = start + 4 + int.from_bytes(contents[start : start + 4], "little")
        contents[start + 60 : end] = bytes(max(0, end - start - 60))
        start = end
    with (
        when("_work", lambda: overwrite(path, at, bytes(contents)), monkeypatch, call=2),
        pytest.raises(InputError, match=CHANGED),
    ):
        pybtf.encode(path, jobs=1)


def test_names_that_end_no_more(tmp_path: Path) -> None:
    """The last byte of .debug_str was a NUL when the decoding began."""
    w = RawDwarf()
    for number in range(300):
        w.begin()
        int_ = w.base_type()
        for i in range(1000):
            w.die(0x16, (0x03, STRP, w.string(f"name_{number}_{i}".encode())), (0x49, REF4, int_))
        w.die(0x24, (0x0B, DATA1, 4))
        w.end()
    path = tmp_path / "file"
    path.write_bytes(w.kernel())
    at, size = section(path, ".debug_str")
    calls = 0

    def progress(done: int, units: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            assert done < units
            overwrite(path, at, b"x" * size)

    with pytest.raises(InputError, match=CHANGED):
        passes.encode_file(str(path), EncodeOptions(jobs=1), progress)
    assert calls


def test_a_compressed_module_that_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "module.ko.gz"
    path.write_bytes(gzip.compress(kernel().data))
    original = Source.read

    def read(source: Source) -> bytes:
        data = original(source)
        overwrite(path, 4, b"\1")
        return data

    monkeypatch.setattr(Source, "read", read)
    with pytest.raises(InputError, match=CHANGED):
        open_module(str(path))


# -- values of objects ---------------------------------------------------------------------------------


@pytest.mark.parametrize("several", [True, False])
def test_values_that_change_after_they_were_compared(several: bool, tmp_path: Path) -> None:
    """Sizes and ends of strings must not be checked in the mapped file and then read there again."""
    values, addresses = all_units() if several else first_unit()
    wanted, _ = read_back(ONE, "default", values, addresses)
    path = tmp_path / "values"
    path.write_bytes(values)

    def damage() -> None:
        overwrite(path, 4, b"\xff" * (len(values) - 4))

    def pieces() -> Iterator[ObjectValues]:
        yield ObjectValues(addresses, memoryview(MappedFile(str(path))), None if several else payload_digest(values))
        if several:
            damage()

    def compared(data: bytes | bytearray | memoryview) -> bytes:
        found = payload_digest(data)
        damage()
        return found

    options = make_options("default", 1)
    with open_module(str(ONE)) as image:
        given = UnitValues(load(image, options, Timings(), dwarf=False), pieces(), ["values"], 0, compared)
        assert bytes(encode_images([image], Task(options, Report("x"), values=given)).data) == wanted
    assert path.read_bytes() != values


# -- at random moments ---------------------------------------------------------------------------------

FILE = ROOT / "fixtures" / "corruption" / "gcc-O2-dwarf5-exe-kfuncs.elf"
CASES = int(os.environ.get("PYBTF_CHANGES", "150"))


def change_at_random(file: str, folder: str, seed: str, first: int, last: int) -> None:
    """The worker: encodes a file again and again while a thread damages it. Prints each outcome on a line."""
    data = Path(file).read_bytes()
    places = corruption.regions(data)
    path = Path(folder) / f"case{first}.elf"
    path.write_bytes(data)
    # Bytes about symbols and strings are those that could be read twice.
    sound = bytes(pybtf.encode(path, features="default,global_var", jobs=1).data)
    original = passes._encode_images
    for number in range(first, last):
        dice = random.Random(f"{seed}/{number}")
        print(f"start {number}", flush=True)
        path.write_bytes(data)
        time.sleep(0.02)
        versions = [corruption.mutate(data, places, f"{seed}/{number}/{i}") for i in range(3)]
        wait, stop, written = dice.random() * 0.003, threading.Event(), threading.Event()

        def write(
            versions: list[bytes] = versions,
            wait: float = wait,
            stop: threading.Event = stop,
            written: threading.Event = written,
        ) -> None:
            time.sleep(wait)
            with open(path, "r+b") as handle:
                while not stop.is_set():
                    for version in (*versions, data):
                        handle.seek(0)
                        handle.write(version.ljust(len(data), b"\0"))
                        handle.flush()
                        written.set()

        thread = threading.Thread(target=write)

        # How far the encoding is when the file is written to depends on the machine. So every third write waits for it.
        first_write = written if number % 3 == 0 else None

        def hooked(
            *arguments: Any, thread: threading.Thread = thread, first_write: threading.Event | None = first_write
        ) -> Any:
            thread.start()  # all files are open: writes from here on must be noticed
            if first_write:
                first_write.wait()
            return original(*arguments)

        try:
            with mock.patch.object(passes, "_encode_images", hooked):
                made = pybtf.encode(path, features="default,global_var", jobs=1 + number % 2)
            answer = "same" if bytes(made.data) == sound else "WRONG BYTES"
        except InputError as error:
            answer = "changed" if CHANGED in str(error) else f"BAD {error}"
        except Exception as error:
            answer = f"BAD {type(error).__name__}: {error}"
        stop.set()
        thread.join()
        print(f"{number} {answer}", flush=True)


def test_overwritten_at_random_moments(tmp_path: Path) -> None:
    seed = "changing-1"
    arguments = json.dumps([str(FILE), str(tmp_path), seed, 0, CASES])
    code = f"from tests.hostile import test_changing as t; t.change_at_random(*{arguments})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=ROOT,
        check=False,
        timeout=500,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"{lines[-1:]} {done.stderr[-3000:]}"
    answers = [line.split(" ", 1)[1] for line in lines if not line.startswith("start")]
    assert len(answers) == CASES
    assert not [answer for answer in answers if answer not in ("same", "changed")]
    assert set(answers[::3]) == {"changed"}  # how many others there are depends on the load of the machine
