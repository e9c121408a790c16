"""Each allocation of the core fails once. The outcome is a `MemoryError` or the same bytes, and nothing that was
allocated before is leaked.

A small library replaces malloc, calloc and realloc. It counts the core's allocations and refuses the one with a given
number. Each number has a forked process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.cli import faults
from tests.builders.archives import unpack
from tests.builders.conflicts import program
from tests.builders.conflictswriter import image
from tests.builders.kernelish import INT, kernel, unit
from tests.builders.synthetic import named
from tests.conftest import ROOT, Require, environment
from tests.dwarf.test_containers import type_unit

SHIM = r"""
#include <stddef.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
size_t first, last;    /* the code that is counted */
long countdown = -1;   /* the allocation that fails; 0: it has */
static int refused(size_t from)
{
    return countdown > 0 && from >= first && from < last && __sync_sub_and_fetch(&countdown, 1) == 0;
}
#define FROM ((size_t)__builtin_return_address(0))
void *malloc(size_t n) { return refused(FROM) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t each) { return refused(FROM) ? NULL : __libc_calloc(n, each); }
void *realloc(void *p, size_t n) { return refused(FROM) ? NULL : __libc_realloc(p, n); }
"""

SETUP = """
import ctypes, os, sys
import pybtf
from pybtf.cli import faults

from pathlib import Path
from pybtf.elf.image import ElfImage
from pybtf.features import Features
from pybtf.merging.linked import Sources, merge_file
from pybtf.merging.objects import object_values
from pybtf.options import make_options

what, path, base, *_ = *sys.argv[1:], None


def encoded():
    forced = base is not None
    return bytes(pybtf.encode(path, features="default,global_var", jobs=1, base=base, force_base=forced).data)


def merged():
    return bytes(merge_file(path, make_options("default", 1), Sources((), None, base)).data)


def exported():
    with ElfImage.open(path) as image:
        return object_values(image, path, Features.parse("default"), True).payload


encode = {"encoded": encoded, "merged": merged, "exported": exported}[what]
expected = encode()
shim = ctypes.CDLL(None)
count = ctypes.c_long.in_dll(shim, "countdown")
with open("/proc/self/maps") as maps:
    for line in maps:
        if "_compiled" in line and " r-x" in line:
            first, last = (int(text, 16) for text in line.split()[0].split("-"))
ctypes.c_size_t.in_dll(shim, "first").value = first
ctypes.c_size_t.in_dll(shim, "last").value = last
number, bad = 0, []
"""

OUTCOMES = """
while True:
    number += 1
    child = os.fork()
    if not child:
        count.value = number
        status = 3
        try:
            status = 0 if encode() == expected else 4
        except MemoryError:
            status = 1
        except BaseException as error:
            print(number, repr(error), file=sys.stderr)
        os._exit(16 * (count.value > 0) + status)
    status = os.waitpid(child, 0)[1]
    code = os.waitstatus_to_exitcode(status)
    if code == 16:  # there were not so many
        break
    if code not in (0, 1):
        bad.append((number, code))
print(number - 1, bad)
"""

LEAKS = """
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "abcdefghij"]


shim.mallinfo2.restype = Info
REPEATS, MOST = 10, 1024


def fail():
    count.value = number
    try:
        encode()
    except MemoryError:
        pass
    refused, count.value = count.value == 0, -1
    return refused


def used():
    info = shim.mallinfo2()
    return info.e + info.h  # bytes in mappings of their own, and others


while True:
    number += 1
    if not fail():
        break
    fail()
    before = used()
    for _ in range(REPEATS):
        fail()
    lost = (used() - before) // REPEATS
    if lost > MOST:
        bad.append((number, lost))
print(number - 1, bad)
"""


@pytest.fixture(scope="module")
def shim(require: Require, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    subprocess.run([require("gcc"), "-O1", "-shared", "-fPIC", "-o", folder / "shim.so", folder / "shim.c"], check=True)
    return folder / "shim.so"


def refusals(shim: Path, what: str, *files: Path | str, program: str = OUTCOMES) -> tuple[int, list[Any]]:
    """How many allocations there are, and which of them have a wrong outcome, with the status; with LEAKS, those after
    which memory is leaked, with the bytes.
    """
    argv = [sys.executable, "-c", SETUP + program, what, *map(str, files)]
    done = subprocess.run(
        argv, env={**environment(), "LD_PRELOAD": str(shim)}, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    count, bad = done.stdout.split(" ", 1)
    return int(count), [] if bad.strip() == "[]" else [bad, done.stderr]


def with_type_units(count: int) -> bytes:
    fields: dict[str, Any] = {"section": ".debug_info", "version": 5}
    units = [type_unit(f"s{i}", 1000 + i, **fields) for i in range(count)]
    typedefs = [named("typedef", f"t{i}", ("type", "ref_sig8", 1000 + i)) for i in range(count)]
    return kernel([*units, unit([INT, *typedefs], version=5)]).data


INPUTS: dict[str, Callable[[], bytes]] = {
    "type units": lambda: with_type_units(40),
    "conflicting names": lambda: image(program(44969)),
    "functions": lambda: (ROOT / "fixtures/bin/23_inline.gcc-O2-5-exe.elf").read_bytes(),
    "a module": lambda: image(program(7)),
}


@pytest.mark.parametrize("name", INPUTS)
def test_each_allocation_fails_once(name: str, shim: Path, tmp_path: Path) -> None:
    path, base = tmp_path / "file", tmp_path / "base"
    path.write_bytes(INPUTS[name]())
    base.write_bytes(bytes(pybtf.encode(path).data))
    count, bad = refusals(shim, "encoded", path, *[base] * (name == "a module"))
    assert count > 50
    assert bad == []


@pytest.mark.parametrize("arguments", [("exported", "a.o"), ("merged", "merged"), ("merged", "merged", "cache")])
def test_each_allocation_of_values_fails_once(
    arguments: tuple[str, ...], shim: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a cache, for a link that changes nothing."""
    monkeypatch.chdir(unpack(ROOT / "fixtures/objects/objects.tar.xz", tmp_path) / "x86")
    count, bad = refusals(shim, *arguments)
    assert count > 20
    assert bad == []


@pytest.mark.parametrize("what", ["encoded", "exported"])
def test_nothing_is_lost_when_an_allocation_fails(
    what: str, shim: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker whose next allocation is refused must free what it has: up to megabytes, each time."""
    monkeypatch.chdir(unpack(ROOT / "fixtures/objects/objects.tar.xz", tmp_path) / "x86")
    count, bad = refusals(shim, what, "a.o", program=LEAKS)
    assert count > 20
    assert bad == []


def test_a_file_for_which_there_is_no_memory_is_still_an_elf_file(tmp_path: Path) -> None:
    """In a process with little memory, for a large sparse file."""
    large = tmp_path / "large.o"
    large.write_bytes(b"\x7fELF")
    os.truncate(large, 1 << 40)
    program = f"""
import resource
from pybtf.elf.image import ElfImage
resource.setrlimit(resource.RLIMIT_AS, (1 << 34, 1 << 34))
try:
    ElfImage.open({str(large)!r})
except MemoryError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment()
    )  # fmt: skip
    assert done.stdout == f"{large}: not enough memory to map its 1,099,511,627,776 bytes; see `ulimit -v`\n"


def test_fewer_jobs_do_not_help_where_a_file_cannot_be_mapped() -> None:
    error = MemoryError("x.o: not enough memory to map its 7 bytes; see `ulimit -v`")
    assert faults.explain(error, jobs=2) == (str(error), faults.FAILED)
