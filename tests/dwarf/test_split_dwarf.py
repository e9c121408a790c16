"""Split DWARF: programs whose units are in `.dwo` files and `.dwp` packages give the BTF that the reference makes from
the same program built without -gsplit-dwarf (tools/golden/dwo_fixtures.py). Missing or damaged files give a message.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import struct
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

import pybtf
from pybtf.dwarf.split import _File
from pybtf.elf.image import ElfImage
from pybtf.errors import InputError, PybtfError
from pybtf.explain.asking import kernel_options, why
from pybtf.explain.detail import encode_in_detail
from pybtf.features import Features
from pybtf.merging.encoding import DONE, encode_object
from pybtf.merging.linked import Sources, merge_file
from pybtf.merging.placing import Placing
from pybtf.options import make_options
from tests.builders.elfwriter import Section, Symbol, bare
from tests.conftest import ROOT, RunCli

HOME = ROOT / "fixtures" / "dwo"
BUILDS = sorted(path.parent for path in HOME.glob("*/program.elf"))
PACKAGES = sorted(HOME.glob("*/*.dwp"))
COLUMNS = {".debug_info.dwo": 1, ".debug_abbrev.dwo": 3, ".debug_loclists.dwo": 5, ".debug_str_offsets.dwo": 6}


def copy(build: Path, to: Path) -> Path:
    """A copy of a program with its `.dwo` files."""
    shutil.copytree(build, to, dirs_exist_ok=True)
    return to / "program.elf"


def sections(path: Path) -> dict[str, bytes]:
    with path.open("rb") as file:
        return {each.name: each.data() for each in ELFFile(file).iter_sections()}


def package(files: list[Path], identities: list[int], more: dict[str, int] | None = None) -> bytes:
    """A package by the rules of DWARF 5, 7.3.5.3: strings are shared, everything else is in parts."""
    columns = {**COLUMNS, **(more or {})}
    whole = dict.fromkeys([*columns, ".debug_str.dwo"], b"")
    rows = []
    for path in files:
        own = sections(path)
        places = {name: (len(whole[name]), len(own.get(name, b""))) for name in columns}
        offsets = own[".debug_str_offsets.dwo"]
        moved = [each + len(whole[".debug_str.dwo"]) for (each,) in struct.iter_unpack("<I", offsets[8:])]
        own[".debug_str_offsets.dwo"] = offsets[:8] + struct.pack(f"<{len(moved)}I", *moved)
        for name in whole:
            whole[name] += own.get(name, b"")
        rows.append(places)
    slots = 8
    signatures, numbers = [0] * slots, [0] * slots
    for number, identity in enumerate(identities, 1):
        at = identity % slots
        while numbers[at]:
            at = (at + 1) % slots
        signatures[at], numbers[at] = identity, number
    numbers_of = f"<{len(columns)}I"
    index = struct.pack("<HHIII", 5, 0, len(columns), len(rows), slots)
    index += struct.pack(f"<{slots}Q{slots}I", *signatures, *numbers) + struct.pack(numbers_of, *columns.values())
    index += b"".join(struct.pack(numbers_of, *(row[name][0] for name in columns)) for row in rows)
    index += b"".join(struct.pack(numbers_of, *(row[name][1] for name in columns)) for row in rows)
    whole[".debug_cu_index"] = index
    return bare([Section(name, data) for name, data in whole.items()])


def identities(files: list[Path]) -> list[int]:
    """The dwo_id of version 5 is in the unit's header."""
    return [struct.unpack_from("<Q", sections(path)[".debug_info.dwo"], 12)[0] for path in files]


@pytest.mark.parametrize("build", BUILDS, ids=lambda path: path.name)
@pytest.mark.parametrize("jobs", [1, 3])
def test_the_btf_is_that_of_the_unsplit_program(build: Path, jobs: int) -> None:
    assert bytes(pybtf.encode(build / "program.elf", jobs=jobs).data) == (build / "unsplit.btf").read_bytes()


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_packages(path: Path, tmp_path: Path) -> None:
    """Beside the program, without any `.dwo`; and named explicitly."""
    program = shutil.copy(path.parent / "program.elf", tmp_path / "program.elf")
    expected = (path.parent / "unsplit.btf").read_bytes()
    shutil.copy(path, tmp_path / "elsewhere")
    assert bytes(pybtf.encode(program, dwp=tmp_path / "elsewhere").data) == expected
    shutil.copy(path, tmp_path / "program.elf.dwp")
    assert bytes(pybtf.encode(program).data) == expected


@pytest.mark.parametrize("build", [each for each in BUILDS if each.name.endswith("5")], ids=lambda path: path.name)
def test_packages_of_version_5(build: Path, tmp_path: Path) -> None:
    program = Path(shutil.copy(build / "program.elf", tmp_path / "program.elf"))
    files = sorted(build.glob("*.dwo"), reverse=True)  # the order of the package is not that of the program
    (tmp_path / "program.elf.dwp").write_bytes(package(files, identities(files)))
    assert bytes(pybtf.encode(program).data) == (build / "unsplit.btf").read_bytes()


@pytest.mark.parametrize("build", BUILDS, ids=lambda path: path.name)
def test_a_missing_file_is_one_message(build: Path, tmp_path: Path, run_cli: RunCli) -> None:
    program = copy(build, tmp_path)
    (tmp_path / "u1.dwo").unlink()
    before = program.read_bytes()
    done = run_cli("encode", program)
    assert done.returncode == 1
    assert program.read_bytes() == before
    assert done.stderr.count("\n") == 1
    assert re.search(r"a skeleton, whose unit is in u1.dwo, with the identity 0x[0-9a-f]{16}", done.stderr)
    assert str(tmp_path / "u1.dwo") in done.stderr
    degraded = run_cli("encode", "--degrade", "--detached", tmp_path / "out", program)
    assert degraded.returncode == 3
    assert "u1.dwo" in degraded.stderr or "skeleton" in degraded.stderr
    names = {type.name for type in pybtf.BTF.from_file(tmp_path / "out")}
    assert {"first", "third"} <= names
    assert "unused" not in names


@pytest.mark.parametrize("build", BUILDS, ids=lambda path: path.name)
def test_a_file_of_another_unit_is_refused(build: Path, tmp_path: Path) -> None:
    program = copy(build, tmp_path)
    shutil.copy(tmp_path / "u2.dwo", tmp_path / "u1.dwo")
    with pytest.raises(InputError, match=r"u1\.dwo has the identity 0x"):
        pybtf.encode(program)
    (tmp_path / "u1.dwo").write_bytes(b"\x7fELF and no more")
    with pytest.raises(InputError, match=r"Not it: .*u1\.dwo"):
        pybtf.encode(program)


def test_a_damaged_package_is_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(PACKAGES[0].parent / "program.elf", tmp_path)
    (tmp_path / "program.elf.dwp").write_bytes(PACKAGES[0].read_bytes()[:300])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"Not it: program\.elf\.dwp: [^;]*; expected [^;]*[^.]\.$"):
        pybtf.encode("program.elf")


def test_a_package_without_the_unit_does_not_hide_the_file(tmp_path: Path) -> None:
    build = HOME / "clang-5"
    program = copy(build, tmp_path)
    files = sorted(build.glob("*.dwo"))[:2]
    (tmp_path / "program.elf.dwp").write_bytes(package(files, identities(files)))
    assert bytes(pybtf.encode(program).data) == (build / "unsplit.btf").read_bytes()
    (tmp_path / "u2.dwo").unlink()
    with pytest.raises(InputError, match=r"program.elf.dwp has no unit with this identity"):
        pybtf.encode(program)


@pytest.mark.parametrize("build", BUILDS, ids=lambda path: path.name)
def test_provenance_has_the_lines_of_split_units(build: Path) -> None:
    _, database = encode_in_detail(str(build / "program.elf"), kernel_options(jobs=1), names=False, places=True)
    connection = sqlite3.connect(":memory:")
    connection.deserialize(database)
    rows = connection.execute(
        "SELECT type.name, file.name, line, unit.name FROM type JOIN file ON file.id = file JOIN unit ON unit.id = unit"
    ).fetchall()
    connection.close()
    lines = {
        (path.name, number): line
        for path in (HOME / "src").iterdir() for number, line in enumerate(path.read_text().splitlines(), 1)
    }  # fmt: skip
    assert len(rows) > 10
    for name, file, line, unit in rows:
        assert name is None or name in lines[Path(file).name, line], (name, file, line)
        assert Path(unit).name in ("u0.c", "u1.c", "u2.c")


def outcome(program: Path) -> str:
    try:
        pybtf.encode(program, jobs=1)
    except PybtfError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("build", BUILDS, ids=lambda path: path.name)
def test_damage_is_a_message(build: Path, tmp_path: Path) -> None:
    """Any byte of a `.dwo` or package may be damaged: the outcome is a message or BTF."""
    program = copy(build, tmp_path)
    draw = Random(20261122)
    targets = [tmp_path / "u0.dwo"]
    if build.name.endswith("5"):
        files = sorted(build.glob("*.dwo"))
        (tmp_path / "made.dwp").write_bytes(package(files, identities(files)))
        targets.append(tmp_path / "made.dwp")
    targets += sorted(tmp_path.glob("*dwp.dwp"))
    for target in targets:
        whole = target.read_bytes()
        used = tmp_path / "program.elf.dwp" if target.suffix == ".dwp" else target
        for _ in range(120):
            damaged = bytearray(whole)
            for _ in range(draw.randint(1, 8)):
                damaged[draw.randrange(64, len(damaged))] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
            used.write_bytes(damaged[: draw.choice((len(damaged), draw.randrange(64, len(damaged))))])
            assert "\n" not in outcome(program)
        used.unlink()
        if used == target:
            target.write_bytes(whole)


def test_indexes_are_checked(tmp_path: Path) -> None:
    """Counts and rows that lie: a message that names the index."""
    build = HOME / "gcc-5"
    program = Path(shutil.copy(build / "program.elf", tmp_path / "program.elf"))
    files = sorted(build.glob("*.dwo"))
    whole = package(files, identities(files))
    path = tmp_path / "program.elf.dwp"
    path.write_bytes(whole)
    with ElfImage.open(path) as image:
        assert len(_File(image).units) == 3
    at = whole.index(struct.pack("<HHIII", 5, 0, 4, 3, 8))
    for offset, value in ((0, 3), (4, 99), (8, 9), (12, 0xFFFFFFFF), (12, 1 << 28), (16 + 64, 77)):
        damaged = bytearray(whole)
        for slot in range(8) if offset == 80 else range(1):
            struct.pack_into("<I", damaged, at + offset + 4 * slot, value)
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"debug_cu_index"):
            pybtf.encode(program)
    slots = struct.unpack_from("<8I", whole, at + 16 + 64)
    twice = bytearray(whole)
    struct.pack_into("<I", twice, at + 16 + 64 + 4 * slots.index(0), 2)  # another slot with the same row
    path.write_bytes(twice)
    with pytest.raises(InputError, match=r"debug_cu_index: row 2 in two slots"):
        pybtf.encode(program)
    rows = at + 16 + 12 * 8 + 16
    for column in range(4):
        damaged = bytearray(whole)
        struct.pack_into("<I", damaged, rows + 4 * column, 0x7FFFFFF0)
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"\.debug_\w+\.dwo"):
            pybtf.encode(program)


def test_offsets_of_abbreviations_beyond_64_bits(tmp_path: Path) -> None:
    """The sum with the start of the file's abbreviations wraps around to a valid offset."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.c").write_text(f"struct {name} {{ int x; }} {name}; int f{name}(void) {{ return 0; }}\n")
    flags = "-g -gdwarf-5 -gdwarf64 -gsplit-dwarf -nostdlib -Wl,-e,fa -o program a.c b.c"
    subprocess.run(["gcc", *flags.split()], cwd=tmp_path, check=True)
    program = tmp_path / "program"
    assert outcome(program) == ""
    path = next(tmp_path.glob("*b.dwo"))
    own, data = sections(path), bytearray(path.read_bytes())
    at = data.index(own[".debug_info.dwo"])
    assert struct.unpack_from("<QHBBQ", data, at + 4)[1:] == (5, 5, 8, 0)
    for offset in (2**64 - 1, 2**64 - len(own[".debug_abbrev.dwo"]), 2**63):
        struct.pack_into("<Q", data, at + 16, offset)
        path.write_bytes(data)
        assert "an abbreviation table that starts past the end of the section" in outcome(program)


def test_the_other_half_alone(tmp_path: Path, run_cli: RunCli) -> None:
    done = run_cli("encode", "--detached", tmp_path / "out", HOME / "gcc-5" / "u0.dwo")
    assert done.returncode == 1
    assert "one half of split DWARF" in done.stderr


def test_a_program_may_name_its_package(tmp_path: Path, run_cli: RunCli) -> None:
    build = HOME / "clang-5"
    program = Path(shutil.copy(build / "program.elf", tmp_path / "program.elf"))
    for path in build.glob("*.dwp"):
        done = run_cli("encode", "--dwp", path, "--detached", tmp_path / "out", program)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "out").read_bytes() == (build / "unsplit.btf").read_bytes()
    done = run_cli("encode", "--dwp", tmp_path / "none", "--detached", tmp_path / "out", program)
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (None, "is a folder; expected an ELF file"),
        (b"", "expected an ELF file"),
        (b"no package", "a text file; expected an ELF file"),
        (bare([], machine=183), "is for another kind of machine; expected that of "),
    ],
)
def test_a_package_that_is_not_needed_is_one_all_the_same(
    content: bytes | None, found: str, tmp_path: Path, run_cli: RunCli
) -> None:
    whole = ROOT / "fixtures" / "bin" / "04_integers.gcc-O0-4-exe.elf"
    package = tmp_path / "package"
    if content is None:
        package.mkdir()
    else:
        package.write_bytes(content)
    done = run_cli("encode", "--dwp", package, "--detached", tmp_path / "out", whole)
    assert done.returncode == 1
    assert done.stderr.startswith(f"pybtf: error: {package}: ")
    assert found in done.stderr
    assert done.stderr.count(str(package)) == 1
    sound = next(path for path in PACKAGES if path.parent.name == "clang-5")
    assert run_cli("encode", "--dwp", sound, "--detached", tmp_path / "out", whole).returncode == 0


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("version", [4, 5])
def test_an_object_that_is_linked_twice(compiler: str, version: int, tmp_path: Path) -> None:
    """Its copies have skeletons of the same unit, but different addresses."""
    if not (shutil.which(compiler) and shutil.which("ld")):
        pytest.skip(f"no {compiler}")
    used = "static __attribute__((used))"
    source = f"struct s {{ int a; }}; {used} int g(struct s *s) {{ return s->a; }} {used} struct s v[3];"
    (tmp_path / "x.c").write_text(source)
    (tmp_path / "y.c").write_text("struct { char c; } y; int f(char c) { return y.c + c; }")
    made = {}
    for split in ([], ["-gsplit-dwarf"]):
        for name in "xy":
            command = [compiler, "-w", "-g", f"-gdwarf-{version}", *split, "-c", f"{name}.c", "-o", f"{name}.o"]
            subprocess.run(command, cwd=tmp_path, check=True)
        shutil.copy(tmp_path / "x.o", tmp_path / "z.o")
        subprocess.run(["ld", "-e", "0", "x.o", "y.o", "z.o", "-o", "program"], cwd=tmp_path, check=True)
        made[bool(split)] = pybtf.encode(tmp_path / "program", features="+global_var")
    assert made[True].report.units.kept == made[False].report.units.kept == 3
    assert bytes(made[True].data) == bytes(made[False].data)


def test_parts_do_not_overlap(tmp_path: Path) -> None:
    build = HOME / "gcc-5"
    program = Path(shutil.copy(build / "program.elf", tmp_path / "program.elf"))
    files = sorted(build.glob("*.dwo"))
    whole = package(files, identities(files))
    rows = whole.index(struct.pack("<HHIII", 5, 0, 4, 3, 8)) + 16 + 12 * 8 + 16
    damaged = bytearray(whole)
    size = struct.unpack_from("<I", whole, rows + 16 * 3)[0]
    struct.pack_into("<I", damaged, rows + 16 * 3, size + 40)  # the first part overlaps the second
    (tmp_path / "program.elf.dwp").write_bytes(damaged)
    with pytest.raises(InputError, match="parts that overlap"):
        pybtf.encode(program)


@pytest.mark.parametrize(
    ("column", "shift", "message"),
    [
        (".debug_str_offsets.dwo", 0, r"a part of units with different parts of \.debug_abbrev\.dwo"),
        (".debug_str_offsets.dwo", 4, "parts that overlap"),
        (".debug_abbrev.dwo", 1, "parts that overlap"),
    ],
)
def test_parts_of_other_units(column: str, shift: int, message: str, tmp_path: Path) -> None:
    """A unit must not silently get the names of another unit."""
    build = HOME / "gcc-5"
    program = Path(shutil.copy(build / "program.elf", tmp_path / "program.elf"))
    files = sorted(build.glob("*.dwo"))
    damaged = bytearray(package(files, identities(files)))
    at = damaged.index(struct.pack("<HHIII", 5, 0, 4, 3, 8)) + 16 + 12 * 8 + 16 + 4 * list(COLUMNS).index(column)
    for row in (at, at + 16 * 3):  # offsets, then sizes
        (value,) = struct.unpack_from("<I", damaged, row)
        struct.pack_into("<I", damaged, row + 16, value + (shift if row == at else 0))
    (tmp_path / "program.elf.dwp").write_bytes(damaged)
    with pytest.raises(InputError, match=rf"\.dwp: {column}\S*: {message}"):
        pybtf.encode(program)


@pytest.mark.parametrize("name", [b"\xb0\x42", b"\xb0\xc2\x00"])
def test_a_unit_that_names_another_file_is_never_taken_for_all_there_is(name: bytes, tmp_path: Path) -> None:
    """DW_AT_GNU_dwo_name, and the same number in a longer LEB128, which a search for its bytes does not find."""
    abbrev = b"\x01\x11\x00" + name + b"\x08\x00\x00\x00"
    unit = struct.pack("<HIB", 4, 0, 8) + b"\x01other.dwo\x00"
    path = tmp_path / "program"
    info = struct.pack("<I", len(unit)) + unit
    sections = [Section(".debug_info", data=info), Section(".debug_abbrev", data=abbrev)]
    path.write_bytes(bare(sections, [Symbol("f", section=1)]))
    with pytest.raises(PybtfError, match=r"other\.dwo"):
        pybtf.encode(path)


@pytest.mark.parametrize("build", BUILDS, ids=lambda path: path.name)
def test_why_names_the_places_of_split_units(build: Path, run_cli: RunCli) -> None:
    done = run_cli("why", "first", "struct private", build / "program.elf")
    assert done.returncode == 0
    assert re.search(r"taken from (./|/src/)?u0\.c:6", done.stdout)
    assert re.search(r"described: (./|/src/)?u1\.c:2", done.stdout)


def told(path: Path, *names: str) -> list[dict[str, Any]]:
    """What `why` says, without ids and without the places that differ when units are split."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(each) for key, each in value.items() if key not in ("die", "file", "line", "id")}
        if isinstance(value, list):
            return [plain(each) for each in value]
        return re.sub(r"0x[0-9a-f]+|\[\d+\]", "", value) if isinstance(value, str) else value

    return [plain(each.to_dict()) for each in why(path, *names)]


@pytest.mark.parametrize(
    ("build", "packed"),
    [*((build, False) for build in BUILDS), *((build, True) for build in BUILDS if build.name.endswith("5"))],
    ids=lambda value: getattr(value, "name", "package" if value else "files"),
)
def test_why_shows_prototypes_of_split_units(build: Path, packed: bool, tmp_path: Path) -> None:
    """Prototypes are as in the source, with what the compiler did to the parameters and who calls a function."""
    program = Path(shutil.copy(build / "program.elf", tmp_path / "program.elf"))
    files = sorted(build.glob("*.dwo"))
    if packed:
        (tmp_path / "program.elf.dwp").write_bytes(package(files, identities(files)))
    else:
        for file in files:
            shutil.copy(file, tmp_path)
    local, inlined = told(program, "local", "inlined")
    caller = inlined["evidence"]["inlined"]["by"][0]
    assert (caller["function"], Path(caller["unit"]).name) == ("third", "u2.c")
    if build.name.startswith("clang"):
        assert "int local(struct list *l, int a, int b)" in local["verdict"]
        return
    (row,) = local["evidence"]["instances"]
    assert row["prototype"] == "int local(int b, int a, struct list *l)"
    assert row["in_the_source"] == "int local(struct list *l, int a, int b)"
    assert [each["name"] for each in row["parameters"]] == ["b", "a", "l"]
    assert row["parameters"][0]["location"] == "replaced by a constant"


SOURCES = {
    "x.c": """
struct fwd; struct inner { int a[9]; };
typedef int (*cb_t)(struct fwd *, const char *const *, unsigned long (*)[4]);
static __attribute__((noinline)) int stat(struct fwd *f, int unused) { return f != 0; }
int two(struct fwd *a, cb_t c) { return stat(a, 3); }
int large(struct inner v, volatile int *p) { *p = v.a[3]; return 0; }
extern int decl(struct fwd *, const struct inner *);
int calls(long a, long b, long c)
{
	long r = 0;
	for (int i = 0; i < a; i++)
		r += decl((void *)b, (void *)c);
	b = decl(0, 0);
	return r + b + c;
}
""",
    "y.c": """
struct fwd { int q; };
struct inner { int a[9]; } given;
static __attribute__((noinline)) int stat(const struct inner *i) { return i->a[1]; }
int decl(struct fwd *a, const void *b) { return a != 0; }
int two(int);
int main(void) { return stat(&given); }
""",
}


@pytest.mark.parametrize("types", ["", "-fdebug-types-section"], ids=["plain", "type-units"])
@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_why_says_the_same_of_split_units(compiler: str, version: int, types: str, tmp_path: Path) -> None:
    if not (shutil.which(compiler) and shutil.which("ld")):
        pytest.skip(f"no {compiler}")
    for name, text in SOURCES.items():
        (tmp_path / name).write_text(text)
    command = [compiler, "-w", "-g", f"-gdwarf-{version}", "-c", *filter(None, [types])]
    made = {}
    for level in ("-O0", "-O2"):
        for split in ([], ["-gsplit-dwarf"]):
            for name in SOURCES:
                subprocess.run([*command, level, *split, name, "-o", f"{name[0]}.o"], cwd=tmp_path, check=True)
            subprocess.run(["ld", "-e", "main", "x.o", "y.o", "-o", "program"], cwd=tmp_path, check=True)
            names = ("two", "stat", "large", "calls", "decl", "main", "struct fwd", "cb_t")
            made[bool(split)] = told(tmp_path / "program", *names)
        assert made[True] == made[False]
        text = json.dumps(made[True])
        assert "int two(struct fwd *a, cb_t c)" in text
        assert "int stat(const struct inner *i)" in text


HALVED = """
extern void oops(int) __attribute__((cold, noreturn));
extern int use(int);
__attribute__((noinline)) static int halved(int a)
{
	int r = use(a);
	if (__builtin_expect(r < 0, 0)) { use(3); use(r * 7); oops(r); }
	return r + use(r);
}
int other(int a) { return halved(a) + use(a); }
int main(void) { return halved(3) + other(4); }
int use(int a) { return a; }
"""
BESIDE = """
int use(int);
__attribute__((noinline)) static int halved(int a) { return use(a) * use(a + 1); }
int second(int a) { return halved(a) + 1; }
void oops(int a) { for (;;) ; }
"""


@pytest.mark.parametrize(("version", "packed"), [(4, False), (5, False), (5, True)])
def test_where_a_function_of_two_pieces_is(version: int, packed: bool, tmp_path: Path) -> None:
    """It has ranges only: in the linked file with DWARF 4, beside the split unit with DWARF 5."""
    if not (shutil.which("gcc") and shutil.which("ld")):
        pytest.skip("no gcc")
    (tmp_path / "a.c").write_text(HALVED)
    (tmp_path / "b.c").write_text(BESIDE)
    command = ["gcc", "-O2", "-fno-ipa-cp", "-ffreestanding", f"-gdwarf-{version}", "-gsplit-dwarf", "-c"]
    subprocess.run([*command, "a.c", "b.c"], cwd=tmp_path, check=True)
    subprocess.run(["ld", "-e", "main", "b.o", "a.o", "-o", "program"], cwd=tmp_path, check=True)
    if packed:
        files = [tmp_path / "a.dwo", tmp_path / "b.dwo"]
        (tmp_path / "program.dwp").write_bytes(package(files, identities(files), {".debug_rnglists.dwo": 8}))
        for file in files:
            file.unlink()
    (found,) = why(tmp_path / "program", "halved")
    assert b"\0halved.cold\0" in (tmp_path / "program").read_bytes()
    assert found.reason == "ambiguous_address"
    assert (found.evidence or {})["descriptions"]["compiled"] == 2
    assert [Path(row.get("unit", "")).name for row in (found.evidence or {})["addresses"]] == ["b.c", "a.c"]


@pytest.mark.parametrize("split", ["both", "one", "joined"])
@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_values_of_split_objects(compiler: str, version: int, split: str, tmp_path: Path) -> None:
    """The merged BTF is that of the linked DWARF, and no longer needs any `.dwo`. `one`: the other unit is not split;
    `joined`: both units are in one object before it gets its values.
    """
    if not (shutil.which(compiler) and shutil.which("ld")):
        pytest.skip(f"no {compiler}")

    def run(*command: str) -> None:
        subprocess.run(command, cwd=tmp_path, check=True)

    objects = ["x.o", "y.o"]
    for name, text in SOURCES.items():
        (tmp_path / name).write_text(text)
        flags = ["-gsplit-dwarf"] if name == "x.c" or split == "both" else []
        run(compiler, "-w", "-g", "-O2", f"-gdwarf-{version}", "-c", *flags, name, "-o", f"{name[0]}.o")
    if split == "joined":
        run("ld", "-r", "y.o", "x.o", "-o", "both.o")
        objects = ["both.o"]
    run("ld", "-e", "main", *objects, "-o", "plain")
    features = Features.parse("+global_var")
    wanted = bytes(pybtf.encode(tmp_path / "plain", features="+global_var").data)
    for name in objects:
        assert encode_object(str(tmp_path / name), features, Placing(strip=True, inline=True)).what == DONE
    run("ld", "-e", "main", *objects, "-o", "program")
    for dwo in tmp_path.glob("*.dwo"):
        dwo.unlink()
    merged = merge_file(str(tmp_path / "program"), make_options("+global_var", 1), Sources())
    assert bytes(merged.data) == wanted


def test_nothing_is_left_of_a_skeleton_without_its_file(tmp_path: Path, run_cli: RunCli) -> None:
    """With --degrade, the message names that as the reason, and not a language."""
    if not shutil.which("gcc"):
        pytest.skip("no gcc")
    (tmp_path / "x.c").write_text(SOURCES["x.c"])
    subprocess.run(["gcc", "-w", "-g", "-gsplit-dwarf", "-c", "x.c"], cwd=tmp_path, check=True)
    (tmp_path / "x.dwo").unlink()
    done = run_cli("encode", "--degrade", "--detached", tmp_path / "x.btf", tmp_path / "x.o")
    assert done.returncode == 1
    assert "Left out: unit with a skeleton, whose contents are in the file x.dwo." in done.stderr
    assert "--lang" not in done.stderr


def test_no_values_without_the_split_unit(tmp_path: Path, run_cli: RunCli) -> None:
    if not shutil.which("gcc"):
        pytest.skip("no gcc")
    (tmp_path / "x.c").write_text(SOURCES["x.c"])
    subprocess.run(["gcc", "-w", "-g", "-gsplit-dwarf", "-c", "x.c"], cwd=tmp_path, check=True)
    (tmp_path / "x.dwo").unlink()
    before = (tmp_path / "x.o").read_bytes()
    done = run_cli("object", tmp_path / "x.o")
    assert done.returncode == 1
    assert "a skeleton, whose unit is in x.dwo" in done.stderr
    assert (tmp_path / "x.o").read_bytes() == before
