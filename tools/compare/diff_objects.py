"""Compares `pybtf diff --object` with what libbpf says about the relocations on both kernels.

    python -m tools.compare.diff_objects                             compile fixtures/diff and record what bpftool says
    python -m tools.compare.diff_objects OLD.btf NEW.btf OBJECT...   compare on these kernels

For each relocation, `bpftool -d gen min_core_btf` prints what it finds on a kernel: the member and its offset, the
value of an enumerator, or nothing. The statements follow from the answers for both kernels: which relocations find
nothing any more, which found nothing before, and what the offsets and values were and are. Recording needs clang and
llvm-strip.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pybtf.btf.ext import read_object
from pybtf.btf.opening import open_btf
from pybtf.differences.objects import diff_objects
from tools.judge import reference

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "diff"
KINDS = {
    "byte_off": "offset", "byte_sz": "size", "field_exists": "exists", "signed": "signed", "lshift_u64": "left shift",
    "rshift_u64": "right shift", "local_type_id": "local type id", "target_type_id": "type id", "type_exists": "exists",
    "type_size": "size", "type_matches": "matches", "enumval_exists": "exists", "enumval_value": "value",
}  # fmt: skip
ASKED = re.compile(r"libbpf: prog '(.*?)': relo #(\d+): <(\w+)> \[\d+\] (.*)")
FOUND = re.compile(r"libbpf: prog '(.*?)': relo #(\d+): matching candidate #\d+ <\w+> \[\d+\] (.*)")
PLACE = re.compile(r" \([\d:]+(?: @ offset ([\d.]+))?\)$")
VALUE = re.compile(r" = (-?\d+)$")

Answers = dict[tuple[str, str], "int | str | None"]


class Failed(Exception):
    """There is no answer to compare with."""


def answers(kernel: str, program: str) -> Answers:
    """By what is asked for and its target: the offset or value that libbpf finds, `found`, or None. Raises Failed."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*reference.bpftool(), "-d", "gen", "min_core_btf", kernel, f"{folder}/out", program]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        reason = run.stderr.strip()[-300:]
        raise Failed(f"bpftool, asked about {program} on {kernel}: status {run.returncode}: {reason}")
    names: dict[tuple[str, str], tuple[str, str]] = {}
    found: Answers = {}
    for line in (run.stdout + run.stderr).splitlines():
        if asked := FOUND.match(line):
            kind, about = names[asked[1], asked[2]]
            place, value = PLACE.search(asked[3]), VALUE.search(asked[3])
            answer: int | str = "found"
            if kind == "offset" and place and place[1]:
                answer = int(float(place[1]))
            elif kind == "value" and value:
                answer = int(value[1])
            found[kind, about] = answer
        elif asked := ASKED.match(line):
            about = VALUE.sub("", PLACE.sub("", asked[4])).replace("::", ".")
            names[asked[1], asked[2]] = KINDS[asked[3]], about
            if KINDS[asked[3]] != "local type id":
                found.setdefault((KINDS[asked[3]], about), None)
    return found


def told(program: str, old: str, new: str) -> dict[tuple[str, str], tuple[str, int | None, int | None]]:
    (found,) = diff_objects([program], open_btf(old), open_btf(new))
    return {(each.kind, each.field): (each.what, each.old, each.new) for each in found.outcomes}


def faults(
    before: Answers, after: Answers, said: dict[tuple[str, str], tuple[str, int | None, int | None]]
) -> list[str]:
    """Statements that do not follow from the answers."""
    wrong = []
    for key in before.keys() | after.keys() | said.keys():
        left, right = before.get(key), after.get(key)
        what, old, new = said.get(key, ("", None, None))
        if left is None and right is None:
            expected = {""}
        elif left is None or right is None:
            expected = {"changed"} if key[0] in ("exists", "matches") else {"broken" if right is None else "found"}
        elif isinstance(left, int) and left != right:
            expected = {"changed"}
        else:  # facts that libbpf does not print may differ; for an offset, the member's size
            expected = {"", "changed"}
        values = [(left, old), (right, new)]
        if what not in expected or (what and any(isinstance(a, int) and a != b for a, b in values)):
            wrong.append(f"{key}: {left} and {right}, said is {what or 'nothing'} {old} -> {new}")
    return wrong


def compiled(source: Path) -> Path:
    """An object without DWARF and without the name of this folder."""
    out = source.with_suffix(".o")
    command = ["clang", "--target=bpfel", "-O2", "-g", "-fdebug-compilation-dir=.", "-w", "-c", source.name]
    subprocess.run([*command, "-o", out.name], cwd=FOLDER, check=True)
    subprocess.run([shutil.which("llvm-strip") or "llvm-strip-14", "-g", out.name], cwd=FOLDER, check=True)
    return out


def record() -> None:
    kernels = []
    for name in ("old", "new"):
        made = compiled(FOLDER / f"{name}.c")
        path = FOLDER / f"{name}.btf"
        path.write_bytes(read_object(made)[0].data)
        made.unlink()
        kernels.append(str(path))
    rows = {}
    for source in sorted(FOLDER.glob("[0-9]*.c")):
        program = compiled(source)
        sides = [answers(kernel, str(program)) for kernel in kernels]
        rows[source.stem] = [[*key, sides[0].get(key), sides[1].get(key)] for key in sides[0]]
    (FOLDER / "libbpf.json").write_text(json.dumps(rows, indent=1) + "\n")


def main() -> int:
    if len(sys.argv) == 1:
        record()
        kernels = [str(FOLDER / "old.btf"), str(FOLDER / "new.btf")]
        programs = sorted(map(str, FOLDER.glob("*.o")))
    else:
        kernels, programs = sys.argv[1:3], sys.argv[3:]
    count = 0
    for program in programs:
        try:
            sides = [answers(kernel, program) for kernel in kernels]
        except Failed as failed:
            print(failed)
            count += 1
            continue
        wrong = faults(sides[0], sides[1], told(program, *kernels))
        count += len(wrong)
        print(f"{program}: {len(sides[0])} facts asked for, {len(wrong)} told wrongly", *wrong, sep="\n  ")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
