"""Options for looking at types that only `pybtf-pahole` has: pahole's text (fixtures/show/options, show_golden.py)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf.pahole.main import main as pahole
from tests.conftest import ROOT
from tools.golden.minimal_btf import ARRAY, CONST, INT, PTR, RESTRICT, TYPEDEF, Maker

FOLDER = ROOT / "fixtures" / "show" / "options"

Run = Callable[..., str]


@pytest.mark.parametrize(
    ("recorded", "options"),
    [
        ("arrays.flat", "--flat_arrays"),
        ("arrays.flexible", "--with_flexible_array -s"),
        ("attributes.not-aligned", "--suppress_aligned_attribute --suppress_force_paddings"),
        ("packed.not-packed", "--suppress_packed"),
        ("nameless.all", "-a"),
        ("nameless.prefix", "-a -q -y n"),
        ("nameless.sizes", "-a -s"),
        ("nameless.methods", "-m"),
        ("nameless.nested", "-a -A"),
        ("nameless.by-name", "-a -A -q --sort"),
        ("alike.definitions", "-T"),
        ("order.definitions", "-T -s -H 2"),
        ("biggest.all", "-l"),
        ("biggest.inside", "-l -E -C inside,by_typedef,twice"),
        ("order.biggest", "-l -R -S -C a2,b2"),
    ],
)
def test_whole_files_as_pahole_prints_them(recorded: str, options: str, run: Run) -> None:
    path = FOLDER / f"{recorded.partition('.')[0]}.btf"
    assert run(pahole, "-F", "btf", *options.split(), path) == (FOLDER / f"{recorded}.txt").read_text()


def test_methods_of_some_structs(run: Run) -> None:
    """Recorded from pahole, with these options."""
    path = FOLDER / "nameless.btf"
    assert run(pahole, "-F", "btf", "-m", "-t", ",", "-y", "n", path) == "named,2\n"
    assert run(pahole, "-F", "btf", "-m", "-s", "-H", "1", path) == "all\t3\n"
    assert run(pahole, "-F", "btf", "-m", "-P", path) == "all\t3\n"
    assert run(pahole, "-F", "btf", "-m", "--unions", path) == ""


def test_the_separator_of_what_could_be_smaller(run: Run) -> None:
    """Recorded from pahole, with these options."""
    path = FOLDER / "order.btf"
    assert run(pahole, "-F", "btf", "-P", "-t", ":", "-H", "3", path) == "b2:56:40:16\n"
    assert run(pahole, "-F", "btf", "-t", "", "-P", "-H", "3", path) == "b2\x0056\x0040\x0016\n"


def test_names_that_a_file_lists(run: Run, refused: Callable[..., str], tmp_path: Path) -> None:
    path, names = FOLDER / "order.btf", tmp_path / "names"
    names.write_bytes(b"b2\n\na2")
    for option in ("-C", "-i", "-f"):
        listed = run(pahole, "-F", "btf", option, f"a1,file://{names},b1", path)
        assert listed == run(pahole, "-F", "btf", option, "a1,b2,a2,b1", path)
    assert run(pahole, "-F", "btf", "-s", "-C", f"file://{names}", path).startswith("b2\t")
    assert "gone: no such file" in refused(pahole, "-F", "btf", "-C", f"file://{tmp_path}/gone", path)


def test_verbose_with_reorganized_structs(run: Run) -> None:
    """The moves, without the struct after each; for `-P`, the structs instead of the lines. Compared with pahole."""
    path = FOLDER / "order.btf"
    moves = [
        line
        for line in run(pahole, "-F", "btf", "-R", "-S", "-C", "b2", path).splitlines()
        if line.startswith("/* Moving ")
    ]
    assert moves
    reorganized = run(pahole, "-F", "btf", "-R", "-C", "b2", path)
    assert run(pahole, "-F", "btf", "-R", "-V", "-C", "b2", path) == "\n".join([*moves, "", reorganized])
    end = "\n} __attribute__((__packed__));   /* saved 24 bytes! */\n"
    assert run(pahole, "-F", "btf", "-R", "-V", "-C", "s54", FOLDER / "random.btf").endswith(end)
    listed = [line.split("\t")[0] for line in run(pahole, "-F", "btf", "-P", path).splitlines()]
    shown = run(pahole, "-F", "btf", "-P", "-V", path)
    assert [line.split()[1] for line in shown.splitlines() if line.startswith("struct ")] == listed


@pytest.mark.parametrize("options", ["-q -V", "-V -q", "-EqV", "-V --quiet"])
def test_quiet_and_verbose_in_any_order(options: str, run: Run) -> None:
    """As in pahole, there are no comments, wherever -q is."""
    text = run(pahole, "-F", "btf", *options.split(), "-C", "b2", FOLDER / "order.btf")
    assert text.startswith("struct b2 {")
    assert "/*" not in text


def test_definitions_and_lines(run: Run) -> None:
    """Only lines that are requested after `-T` are printed. Recorded from pahole, except for the last."""
    path = FOLDER / "order.btf"
    assert run(pahole, "-Fbtf", "-s", "-T", "-t", ",", "-H", "2", "-x", "a", path) == "b2,1\n"
    assert run(pahole, "-Fbtf", "-T", "-z", "1", "-H", "2", "-y", "b", path) == "b2\nb2\t1\n"
    assert run(pahole, "-Fbtf", "-T", "-R", "-E", "-H", "3", path) == "b2\t1\n"
    assert run(pahole, "-Fbtf", "-T", "-P", "-H", "3", path) == "b2\t56\t40\t16\nb2\t1\n"
    assert run(pahole, "-Fbtf", "-T", "-s", "--sort", "-y", "both", FOLDER / "alike.btf") == (
        "both\t4\t0\nboth\t4\t0\nboth\t1\nboth\t1\n"
    )
    assert run(pahole, "-Fbtf", "-T", "-m", FOLDER / "nameless.btf") == "all\t3\nnamed\t2\n"
    assert run(pahole, "-Fbtf", "-m", "-T", FOLDER / "nameless.btf") == "named\t1\nall\t1\nonly_here\t1\n"


@pytest.mark.parametrize("named", [["-C", "a"], ["-i", "a"], ["-f", "a"]])
def test_definitions_are_those_of_all_types(named: list[str], refused: Run) -> None:
    message = "-T: it counts for all structs, and some types are named; expected neither -C, -i nor -f"
    assert message in refused(pahole, "-Fbtf", "-T", *named, FOLDER / "order.btf", status=1)


def test_the_file_that_has_a_type(run: Run, refused: Run) -> None:
    """Named once for all names. pahole ends with 0 even if a type is missing, and says that all after the first are."""
    path = FOLDER / "order.btf"
    for options in (["-C", "a1"], ["-C", "a1,a9"], ["-E", "-R", "-s", "-C", "a1"], ["-i", "a3"], ["-f", "a3"]):
        assert run(pahole, "-F", "btf", "-u", *options, path) == f"{path}\n"
    assert "no type is called 'zz'" in refused(pahole, "-F", "btf", "-u", "-C", "zz", path, status=1)
    assert run(pahole, "-Fbtf", "-u", "-s", path) == run(pahole, "-Fbtf", "-s", path)


def test_how_many_members_a_struct_has_of_another(run: Run, tmp_path: Path) -> None:
    """Recorded from pahole."""
    path = tmp_path / "x.btf"
    made = Maker().struct("b", 4, ("x", 1, 0)).struct("a", 8, ("x", 2, 0), ("y", 2, 32))
    path.write_bytes(made.struct("c", 4, ("x", 2, 0)).make())
    assert run(pahole, "-V", "-i", "b", path) == "a: 2\nc: 1\n"
    assert run(pahole, "-i", "b", path) == "a\nc\n"


def test_restrict_pointers_are_not_the_biggest_members(run: Run, tmp_path: Path) -> None:
    """Recorded from pahole."""
    path = tmp_path / "x.btf"
    made = Maker().add(PTR, "", 1).add(RESTRICT, "", 2).add(CONST, "", 3).add(TYPEDEF, "r", 4)
    made.add(ARRAY, "", 0, 5, 1, 2)
    made.struct("a", 40, ("p", 3, 0), ("t", 5, 64), ("c", 1, 128), ("v", 6, 192))
    made.struct("b", 48, ("s", 7, 0), ("q", 2, 320)).add(INT, "long int", 8, 1 << 24 | 64)
    path.write_bytes(made.make())
    text = run(pahole, "-F", "btf", "-l", path)
    assert [line.split(": ")[1] for line in text.splitlines() if "biggest" in line] == ["c 16 4 */", "q 40 8 */"]


@pytest.mark.parametrize(
    "option",
    [
        "-d", "-M", "-A", "--first_obj_only", "--fixup_silly_bitfields", "--kabi_prefix=a", "--classes_as_structs",
        "--skip_emitting_atomic_typedefs", "--skip_encoding_btf_vars", "--skip_encoding_btf_enum64",
        "--skip_encoding_btf_decl_tag", "--skip_encoding_btf_type_tag",
    ],
)  # fmt: skip
def test_options_without_influence_on_what_is_printed(option: str, run: Run) -> None:
    """As in pahole."""
    for name, options in (("members", []), ("order", ["-R", "-C", "b2"]), ("members", ["-f", "in"])):
        path = FOLDER / f"{name}.btf"
        assert run(pahole, "-F", "btf", option, *options, path) == run(pahole, "-F", "btf", *options, path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-F", "btf", "-D", "x"], "option -D of pahole is not supported: BTF does not say where a type is declared"),
        (["-F", "btf", "-w", "4"], "option -w of pahole is not supported: where members would lie then, BTF does not"),
        (["-F", "btf", "-Z"], "option -Z of pahole has nothing to do with BTF"),
        (["-F", "btf", "-X", "x"], "option -X of pahole is not supported: to leave out units"),
        (["-J", "--first_obj_only"], "option --first_obj_only of pahole is not supported: one file is encoded at"),
        (["-J", "--kabi_prefix=a"], "option --kabi_prefix of pahole is not supported: no kernel build uses it"),
        (["-J", "-T"], "option -T of pahole has nothing to do with encoding BTF"),
    ],
)
def test_what_is_not_offered(arguments: list[str], message: str, refused: Run) -> None:
    assert message in refused(pahole, *arguments, FOLDER / "order.btf", status=64)
