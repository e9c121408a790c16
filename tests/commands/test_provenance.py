"""`pybtf encode --provenance`, and what `show`, `duplicates` and `diff` make of it, checked with pyelftools."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from random import Random
from struct import pack
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

import pybtf
from pybtf.btf.provenance import APPLICATION, TABLES, Provenance, Source
from pybtf.dwarf.line_files import LineFiles, _Table
from pybtf.errors import InputError, OutputError
from pybtf.explain.asking import kernel_options, with_base
from pybtf.explain.detail import encode_in_detail
from pybtf.explain.inquiry import Inquiry
from pybtf.pipeline.passes import encode_file
from tests.builders import dwarfwriter, kernelish
from tests.builders.rawdwarf import DATA1, REF4, SEC_OFFSET, STRING, UDATA, RawDwarf
from tests.builders.synthetic import named, typedef
from tests.conftest import ROOT, RunCli, environment

BIN = ROOT / "fixtures" / "bin"
GOLDEN = ROOT / "fixtures" / "golden"  # of files that can be encoded
FILES = sorted(path for path in BIN.glob("*.elf") if (GOLDEN / f"{path.stem}.usual.btf").exists())
# pyelftools does not relocate these, misreads their line tables, or has no type units and alternate files.
BEYOND = ("riscv64", "33_globals", "47_dwarf64", "47_compressed_gnu", "47_type_units", "59_dwz_alternate")
READABLE = [path for path in FILES if not any(each in path.stem for each in BEYOND)]
TAGS = {
    "STRUCT": ("structure_type", "class_type"), "UNION": ("union_type",), "ENUM": ("enumeration_type",),
    "ENUM64": ("enumeration_type",), "TYPEDEF": ("typedef",), "INT": ("base_type",), "FLOAT": ("base_type",),
    "VAR": ("variable",), "FUNC": ("subprogram",), "FWD": ("structure_type", "union_type", "class_type"),
    "PTR": ("pointer_type",), "CONST": ("const_type",), "VOLATILE": ("volatile_type",), "ARRAY": ("array_type",),
    "RESTRICT": ("restrict_type",), "FUNC_PROTO": ("subroutine_type", "subprogram"),
}  # fmt: skip


def made(path: Path, jobs: int = 1, **options: Any) -> tuple[pybtf.Encoded, bytes]:
    wanted = kernel_options(options.pop("features", "default"), jobs, **options)
    return encode_in_detail(str(path), wanted, names=False, places=True)


OPEN: list[sqlite3.Connection] = []


def opened(database: bytes) -> sqlite3.Connection:
    """An open database, until the end of the test."""
    connection = sqlite3.connect(":memory:")
    OPEN.append(connection)
    connection.deserialize(database)
    return connection


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


class Independent:
    """What pyelftools says about DIEs."""

    def __init__(self, path: Path) -> None:
        self.dwarf = ELFFile(BytesIO(path.read_bytes())).get_dwarf_info()
        self.units = list(self.dwarf.iter_CUs())

    def die(self, offset: int) -> tuple[Any, Any]:
        unit = next(each for each in self.units if each.cu_offset <= offset < each.cu_offset + each.size)
        return unit, unit.get_DIE_from_refaddr(offset)

    def place(self, die: Any) -> tuple[str, int]:
        for _ in range(16):
            if "DW_AT_decl_file" in die.attributes:
                break
            origin = next((a for a in ("DW_AT_abstract_origin", "DW_AT_specification") if a in die.attributes), None)
            if origin is None:
                return "", 0
            die = die.get_DIE_from_attribute(origin)
        program = self.dwarf.line_program_for_CU(die.cu)
        assert program is not None
        header = program.header
        number = die.attributes["DW_AT_decl_file"].value - (header.version < 5)
        line = die.attributes["DW_AT_decl_line"].value if "DW_AT_decl_line" in die.attributes else 0
        return header.file_entry[number].name.decode(), line


def text(die: Any) -> str:
    return die.attributes["DW_AT_name"].value.decode() if "DW_AT_name" in die.attributes else ""


@pytest.mark.parametrize("path", READABLE[::3], ids=lambda path: path.stem)
def test_what_is_said_is_what_the_dwarf_says(path: Path) -> None:
    encoded, database = made(path)
    db = opened(database)
    independent = Independent(path)
    joined = "LEFT JOIN file ON file.id = x.file LEFT JOIN unit ON unit.id = x.unit"
    rows = db.execute(f"SELECT x.*, file.name, unit.name FROM type AS x {joined} ORDER BY x.id").fetchall()
    assert [row[0] for row in rows] == list(range(encoded.btf.first_id, encoded.btf.end_id))
    assert [(row[1], row[2] or "") for row in rows] == [(type.kind.name, type.name) for type in encoded.btf]
    for id, kind, name, _, at, _, line, definitions, declarations, file, unit_name in rows:
        if at is None:
            assert kind in ("DATASEC", "DECL_TAG", "INT", "TYPE_TAG"), id
            assert (definitions, declarations) == (0, 0)
            continue
        unit, die = independent.die(at)
        assert die.tag.removeprefix("DW_TAG_") in TAGS.get(kind, (die.tag.removeprefix("DW_TAG_"),)), id
        if name and kind in ("STRUCT", "UNION", "ENUM", "TYPEDEF", "FWD"):
            assert text(die) == name
        assert (unit_name or "") == text(unit.get_top_DIE())
        expected = independent.place(die)
        assert ((file or "").rpartition("/")[2], line or 0) == (expected[0].rpartition("/")[2], expected[1])
        assert definitions or declarations or kind in ("DECL_TAG", "FUNC_PROTO")


@pytest.mark.parametrize("path", FILES[:12], ids=lambda path: path.stem)
def test_all_definitions_are_counted(path: Path) -> None:
    """Each name of a top-level struct or union has, over all types, as many definitions as the DWARF has."""
    encoded, database = made(path)
    seen: Counter[str] = Counter()
    declared: Counter[str] = Counter()
    for unit in Independent(path).dwarf.iter_CUs():
        for die in unit.get_top_DIE().iter_children():
            if die.tag in ("DW_TAG_structure_type", "DW_TAG_union_type") and text(die):
                (declared if "DW_AT_declaration" in die.attributes else seen)[text(die)] += 1
    assert not encoded.report.units.left_out
    rows = opened(database).execute(
        "SELECT name, sum(definitions), sum(declarations) FROM type "
        "WHERE kind IN ('STRUCT', 'UNION', 'FWD') AND name NOT NULL GROUP BY name"
    )
    found = {name: (definitions, declarations) for name, definitions, declarations in rows}
    for name in {*seen, *declared} & set(found):
        assert found[name][0] >= seen[name]
        assert found[name][1] >= declared[name]


@pytest.mark.parametrize("path", FILES[::9], ids=lambda path: path.stem)
def test_functions_have_the_reasons_of_why(path: Path) -> None:
    _, database = made(path)
    reasons: dict[str, list[str]] = {}
    for name, reason in opened(database).execute("SELECT name, coalesce(reason, '') FROM function ORDER BY name"):
        reasons.setdefault(reason, []).append(name)
    found: dict[str, list[str]] = {}

    def look(run: Any, image: Any, sections: Any, data: bytes, _: bytes | None) -> None:
        found.update(Inquiry(run, image, sections, data, options, below).by_reason("function"))

    options, below, timings = with_base(kernel_options(jobs=1))
    encode_file(str(path), options, None, timings, look)
    assert reasons == {reason: names for reason, names in found.items() if names}


def test_the_bytes_do_not_depend_on_the_workers_and_the_btf_not_on_the_question() -> None:
    for path in (BIN / "everything.elf", *FILES[:3]):
        if path.is_file():
            first, database = made(path)
            assert made(path, jobs=4)[1] == database
            assert bytes(first.data) == bytes(pybtf.encode(path, lang_exclude="rust").data)


def test_a_file_that_would_be_too_large_is_told_as_others_are(tmp_path: Path) -> None:
    """Sorting the names needs no extra file, which would have the same limit."""
    names = [f"{number:05}{'x' * 100_000}" for number in range(40)]
    dies = [kernelish.INT, *[typedef(name, "int") for name in names]]
    (tmp_path / "elf").write_bytes(kernelish.kernel([kernelish.unit(dies)]).data)
    command = [sys.executable, "-m", "pybtf", "encode", "-q", "--provenance", "p", "--detached", "btf", "elf"]
    done = subprocess.run(
        ["sh", "-c", f"ulimit -f 1; exec {shlex.join(command)}"], cwd=tmp_path, env=environment(), check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    what = "the file would be larger than the limit for this process or filesystem. See `ulimit -f`."
    assert (done.returncode, done.stderr) == (1, f"pybtf: error: p: cannot be written: {what}\n")


def test_a_large_origin_is_read_a_hundred_times_not_thousands_of_times(tmp_path: Path) -> None:
    """After that, places of declarations that lead to it are left out: such a file is made to be slow."""
    w = RawDwarf()
    head = pack("<BBBbBB", 1, 1, 1, -5, 14, 1) + b"\0" + b"a.c\0\0\0\0" + b"\0"
    w.sections[".debug_line"] = pack("<IHI", 6 + len(head), 4, len(head)) + head
    w.info += pack("<IHIB", 0, 4, 0, 8)
    w.die(0x11, (0x03, STRING, "a.c"), (0x13, DATA1, 12), (0x10, SEC_OFFSET, 0), children=True)
    origin = w.die(0x13, (0x03, STRING, "o"), (0x3A, DATA1, 1), (0x3B, DATA1, 7), *[(0x77, UDATA, 1)] * 50_000)
    for number in range(2000):
        w.die(0x13, (0x03, STRING, f"s{number}"), (0x0B, DATA1, 4), (0x47, REF4, origin))
    w.end()
    path = tmp_path / "large.elf"
    path.write_bytes(w.kernel())
    _, database = made(path)
    lines = [line for (line,) in opened(database).execute("SELECT line FROM type WHERE kind = 'STRUCT' ORDER BY id")]
    assert len(lines) == 2001
    assert lines[:50] == [7] * 50
    assert not any(lines[200:])


@pytest.mark.parametrize(
    ("error", "raised", "message"),
    [
        (sqlite3.OperationalError("out of memory"), MemoryError, "^$"),
        (sqlite3.OperationalError("disk I/O error"), OutputError, "--provenance: the database cannot be made: disk"),
    ],
)
def test_errors_of_sqlite_are_no_bugs(
    error: Exception, raised: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(sqlite3, "connect", fail)
    with pytest.raises(raised, match=message):
        made(FILES[0])


def conflicting(folder: Path, run_cli: RunCli) -> tuple[Path, Path]:
    """A BTF with several definitions of a name, and its database."""
    for path in FILES:
        btf, database = folder / "a.btf", folder / "a.provenance"
        done = run_cli("encode", "-q", "--detached", btf, "--provenance", database, path)
        if done.returncode == 0 and run_cli("duplicates", btf).stdout:
            return btf, database
    raise AssertionError("no fixture has a conflict")


def test_show_duplicates_and_diff_name_source_lines(tmp_path: Path, run_cli: RunCli) -> None:
    btf, database = conflicting(tmp_path, run_cli)
    rows = json.loads(run_cli("duplicates", "--json", "--provenance", database, btf).stdout)
    both = rows[0]["sources"]
    assert len(both) >= 2
    assert all(each["unit"] and each["die"] and each["line"] for each in both)
    plain = run_cli("duplicates", "--provenance", database, btf).stdout
    assert all(f"{each['file']}:{each['line']}" in plain for each in both)
    name = rows[0]["name"]
    shown = run_cli("show", "--provenance", database, name, btf)
    assert shown.stdout.startswith("/* "), shown
    listed = json.loads(run_cli("show", "--json", "--provenance", database, name, btf).stdout)
    assert listed[0]["source"]["line"] > 0
    for arguments in (["show"], ["show", "--sizes"]):
        for line in run_cli(*arguments, "--provenance", database, btf).stdout.splitlines():
            assert line.count("\t") == (1 if len(arguments) == 1 else 3)
    other = tmp_path / "b.btf"
    done = run_cli("encode", "-q", "--detached", other, READABLE[-1])
    assert done.returncode == 0
    changes = json.loads(run_cli("diff", "--json", "--old-provenance", database, btf, other).stdout)["changes"]
    assert any(each["source"]["old"] for each in changes)
    assert all(each["source"]["new"] is None for each in changes)
    assert "    at " in run_cli("diff", "--old-provenance", database, btf, other).stdout
    assert "  - at `" in run_cli("diff", "--markdown", "--old-provenance", database, btf, other).stdout


def test_duplicates_take_the_dwarf_as_well(tmp_path: Path, run_cli: RunCli) -> None:
    btf, database = conflicting(tmp_path, run_cli)
    of = next(path for path in FILES if bytes(pybtf.encode(path).data) == btf.read_bytes())
    one = run_cli("duplicates", "--provenance", database, btf)
    other = run_cli("duplicates", "--dwarf", of, btf)
    assert one.stdout == other.stdout != run_cli("duplicates", btf).stdout
    wrong = run_cli("duplicates", "--dwarf", READABLE[-1], btf)
    assert wrong.returncode == 1
    assert "another BTF" in wrong.stderr


def test_the_dwarf_with_and_without_its_units_in_rust(tmp_path: Path, run_cli: RunCli) -> None:
    """Whether `encode` left them out or not, both are found. If they are left out, it does not matter what in them
    cannot be encoded.
    """
    elf, btf = tmp_path / "vmlinux", tmp_path / "btf"
    c = kernelish.unit(kernelish.standard(kernelish.FLAVOURS["x86_64"]))

    def rust(*children: dwarfwriter.Die) -> dwarfwriter.Unit:
        of = (("name", "string", "lib.rs"), ("language", "data1", 0x1C), ("producer", "string", "rustc"))
        struct = named("structure_type", "s", ("byte_size", "data1", 1))
        return dwarfwriter.Unit(dwarfwriter.die("compile_unit", *of, children=[struct, *children]))

    bad = dwarfwriter.die("reference_type")
    for units, left_out, places in (
        ([c, rust()], "", ["unit.c", "lib.rs"]), ([c, rust()], "rust", ["unit.c"]), ([rust()], "", ["lib.rs"]),
        ([c, rust(bad)], "rust", ["unit.c"]),
    ):  # fmt: skip
        elf.write_bytes(kernelish.kernel(units).data)
        pybtf.encode(elf, lang_exclude=left_out).write(btf)
        found = json.loads(run_cli("size", "--by", "unit", "--json", "--dwarf", elf, btf).stdout)["units"]
        assert [row["name"] for row in found if row["name"] != "(not known)"] == places
        assert run_cli("duplicates", "--dwarf", elf, btf).returncode == 0
    other = run_cli("size", "--by", "unit", "--features", "float", "--dwarf", elf, btf)
    assert other.returncode == 1
    assert "encoded as another BTF" in other.stderr


def test_sizes_by_where_types_are_from(tmp_path: Path, run_cli: RunCli) -> None:
    """The sums agree with the database's rows, counted in another way; nothing is lost."""
    btf, database = conflicting(tmp_path, run_cli)
    of = next(path for path in FILES if bytes(pybtf.encode(path).data) == btf.read_bytes())
    records = json.loads(run_cli("size", "--by", "kind", "--json", btf).stdout)["types"]
    with contextlib.closing(sqlite3.connect(database)) as connection:
        rows = connection.execute(
            "SELECT unit.name, file.name FROM type LEFT JOIN unit ON unit.id = unit LEFT JOIN file ON file.id = file"
        ).fetchall()
    units = Counter(unit or "(not known)" for unit, _ in rows)
    folders = Counter(str(Path(file or unit).parent) if file or unit else "(not known)" for unit, file in rows)
    for by, counts in (("unit", units), ("folder", folders)):
        asked = ["size", "--by", by, "--count", "1000", "--json"]
        found = json.loads(run_cli(*asked, "--provenance", database, btf).stdout)[f"{by}s"]
        assert {row["name"]: row["number"] for row in found} == counts
        assert sum(row["bytes"] for row in found) == sum(row["bytes"] for row in records)
        assert run_cli(*asked, "--dwarf", of, btf).stdout == run_cli(*asked, "--provenance", database, btf).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["encode", "--provenance", "", "a"], ["encode", "--combine", "--provenance", "x", "a", "b"],
        ["encode", "--detached-dir", "d", "--provenance", "x", "a"], ["encode", "--provenance", "a", "a"],
        ["encode", "--provenance", "x", "--detached", "x", "a"], ["show", "--contains", "a", "--provenance", "x", "a"],
        ["duplicates", "--provenance", "x", "--dwarf", "y", "a"], ["duplicates", "--features", "var", "a"],
        ["size", "--by", "unit", "a"], ["size", "--by", "kind", "--dwarf", "a", "a"],
        ["size", "--provenance", "x", "a"], ["size", "--by", "folder", "--dwarf", "x", "--against", "b", "a"],
    ],
)  # fmt: skip
def test_what_does_not_go_together(arguments: list[str], tmp_path: Path, run_cli: RunCli) -> None:
    done = run_cli(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done


def test_the_database_must_be_that_of_the_btf(tmp_path: Path, run_cli: RunCli) -> None:
    btf, database = conflicting(tmp_path, run_cli)
    other = tmp_path / "other.btf"
    other.write_bytes(bytes(pybtf.encode(FILES[0], features="float").data))
    advice = "Use the BTF and the database that one encode --provenance run wrote."
    for file, words in ((database, advice), (btf, "another kind of file"), (tmp_path / "none", "no such file")):
        done = run_cli("show", "--provenance", file, other)
        assert done.returncode == 1
        assert words in done.stderr


def test_damaged_databases_end_with_a_message(tmp_path: Path) -> None:
    encoded, whole = made(BIN / "everything.elf" if (BIN / "everything.elf").is_file() else FILES[0])
    data = bytes(encoded.data)
    path = tmp_path / "damaged"
    draw = Random(17)
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(draw.randint(1, 40)):
            damaged[draw.randrange(100, len(damaged))] = draw.randrange(256)
        path.write_bytes(damaged[: draw.choice((len(damaged), draw.randrange(100, len(damaged))))])
        try:
            with Provenance(str(path), data, "btf") as found:
                for id in range(1, encoded.btf.end_id, 7):
                    source = found.type(id)
                    assert source is None or isinstance(source.place, str)
        except InputError:
            pass


def test_a_database_of_another_make_is_refused(tmp_path: Path) -> None:
    """Views that never end, values of other sorts, other formats."""
    encoded, whole = made(FILES[0])
    data = bytes(encoded.data)
    path = tmp_path / "made"

    def tried(*changes: str) -> Source | None:
        connection = opened(whole)
        for change in changes:
            connection.execute(change)
        connection.commit()
        path.write_bytes(connection.serialize())
        with Provenance(str(path), data, "btf") as found:
            return found.type(1)

    assert tried() is not None
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS id, 'a' AS name FROM c"
    for changes in (
        ["UPDATE about SET value = 2 WHERE key = 'format'"],
        ["DROP TABLE unit"],
        ["DROP TABLE unit", f"CREATE VIEW unit AS {endless}"],
        ["UPDATE type SET line = 'seven'"],
        ["UPDATE unit SET name = x'00ff'", "UPDATE type SET unit = 1, line = 0.5"],
    ):
        with pytest.raises(InputError):
            tried(*changes)


@pytest.mark.parametrize("computed", [False, True])
def test_a_database_has_no_more_text_than_bytes(computed: bool, tmp_path: Path) -> None:
    """Computed columns must not have any size, and a long name must not count once for each type that has it."""
    path = tmp_path / "made"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    for table, columns in TABLES.items():
        if computed and table == "file":
            columns = "id INTEGER PRIMARY KEY, name TEXT AS (hex(zeroblob(400000000)))"
        connection.execute(f"CREATE TABLE {table} ({columns})")
    about = [("format", 1), ("btf_sha256", sha256(b"").hexdigest())]
    connection.executemany("INSERT INTO about VALUES (?, ?)", about)
    connection.execute("INSERT INTO file (id) VALUES (1)" if computed else "INSERT INTO file VALUES (1, 'a.c')")
    connection.execute("INSERT INTO unit VALUES (1, 0, ?)", ["u" * 1_000_000])
    rows = [(id,) for id in range(1, 5001)]
    connection.executemany("INSERT INTO type VALUES (?, 'INT', 'n', 1, 0, 1, 7, 1, 0)", rows)
    connection.commit()
    connection.close()
    code = (
        "import sys, resource; from pybtf.btf.provenance import Provenance\n"
        "with Provenance(sys.argv[1], b'', 'x') as found:\n"
        "    if sys.argv[2:]: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "    for of in (lambda: found.type(1).file, lambda: len(found.units_and_files())):\n"
        "        try: print(of())\n"
        "        except Exception as error: print(error)\n"
    )
    limited = [] if os.environ.get("PYBTF_SANITIZED") else ["limited"]  # sanitizers need terabytes of address space
    command = [sys.executable, "-c", code, str(path), *limited]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert (done.returncode, done.stderr) == (0, "")
    damaged = f"{path}: a damaged database (string or blob too big); expected a whole one"
    assert done.stdout.splitlines() == ([damaged] * 2 if computed else ["a.c", "5000"])


def test_the_tables_are_documented() -> None:
    page = (ROOT / "docs" / "provenance.md").read_text()
    for table, columns in TABLES.items():
        assert f"`{table}`" in page
        for column in columns.split(", "):
            assert f"`{column.split()[0]}`" in page, (table, column)


def test_damaged_line_tables_have_no_names() -> None:
    """Whatever the bytes are, the result is a text, and no exception."""
    draw = Random(5)
    for path in FILES[:6]:
        with path.open("rb") as file:
            found = {each.name.removeprefix(".debug_"): each.data() for each in ELFFile(file).iter_sections()}
        contents: dict[str, bytes | bytearray] = {
            name: found[name] for name in ("line", "line_str", "str") if name in found
        }
        if "line" not in contents:
            continue
        for _ in range(300):
            line = bytearray(contents["line"])
            for _ in range(draw.randint(0, 6)):
                line[draw.randrange(min(len(line), 200))] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
            files = LineFiles(contents | {"line": line[: draw.randrange(1, len(line) + 1)]}, little=True)
            for offset in (0, draw.randrange(len(line) + 10)):
                for number in (0, 1, 2, 5, 1 << 40, -1):
                    assert isinstance(files.name(offset, number), str)


@pytest.mark.parametrize("damaged", [True, False])
def test_line_tables_that_overlap(damaged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each extends over the next ones, nearly to the end of the section: only a few are read at all. A damaged one is
    read once, however many others are asked for afterwards.
    """
    count = 40
    sizes: list[int] = []
    read = _Table.read

    def counted(self: _Table) -> None:
        sizes.append(self.size)
        read(self)

    monkeypatch.setattr(_Table, "read", counted)
    head = b"\1\1\1\0" + b"\4\0" + b"\1\1\1\0" + bytes([1] * 6)  # no two zeros in a row, which would end a list
    size = 0x10101
    line = head * count + b"a\0" * (size // 2 - 8 * count) + (b"a\0" if damaged else b"\0\0") * (10 * count)
    files = LineFiles({"line": line}, little=True)
    for _ in range(2):
        for number in range(count):
            files.name(16 * number, 1)
    assert len(sizes) == (4 if damaged else 8)
    assert min(sizes) > 0.9 * len(line)


@pytest.mark.parametrize("little", [True, False])
def test_old_and_new_line_tables(little: bool) -> None:
    """Written by hand: versions 3 and 5, the latter with texts in the table and with blocks that are skipped."""
    order = "little" if little else "big"

    def table(version: int, middle: bytes, rest: bytes) -> bytes:
        body = version.to_bytes(2, order) + middle + len(rest).to_bytes(4, order) + rest  # type: ignore[arg-type]
        return len(body).to_bytes(4, order) + body  # type: ignore[arg-type]

    old = table(3, b"", bytes([1, 1, 0, 1, 2, 0]) + b"inc\0\0" + b"a.c\0\0\0\0" + b"b.h\0\1\0\0" + b"\0")
    formats = bytes([3, 1, 0x08, 2, 0x0B, 5, 0x09])
    new = table(
        5, bytes([8, 0]),
        bytes([1, 1, 1, 0, 1, 1]) + bytes([1, 1, 0x08, 2]) + b"/work\0sub\0"
        + formats + bytes([2]) + b"a.c\0\0\2xy" + b"b.h\0\1\0",
    )  # fmt: skip
    files = LineFiles({"line": old + new}, little=little)
    assert [files.name(0, n) for n in range(4)] == ["", "a.c", "inc/b.h", ""]
    assert [files.name(len(old), n) for n in range(3)] == ["a.c", "sub/b.h", ""]
