"""Is the BTF of a file reproducible? Encodes it again and again, each time under other circumstances, and compares.

The claim of pybtf is that its output is a function of the input file and of the features. Everything else that may
differ between build machines is changed here, one thing at a time, so that a difference names its cause: see
`circumstances`. Each encoding is a process of its own (`trial.py`). What was recorded or shipped (`Expectation`) is
compared with the first encoding.

With a base, what is compared is split BTF; with the feature distilled_base, it is that and the distilled base, one
after the other, because both go into a module (`divide` takes them apart).

What cannot be changed from here is not tested: another processor, C library or Python.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pybtf.errors import InputError, NothingToEncode, Place, one_line
from pybtf.features import Features
from pybtf.options import available_cpus
from pybtf.scratch import Scratch
from pybtf.support.records import field, record, replace

if TYPE_CHECKING:
    from pybtf.btf import BTF
    from pybtf.btf.compare import Comparison

MAX_TRIED_JOBS = 8
"""Numbers of workers from 1 to this are tried one by one."""

ROUNDS = 2
"""Encodings with disturbed threads, if nobody says how many."""

SLACK = 32 << 20
"""Address space that the trial with little memory gets beyond what the first one needed."""

MARKER = "pybtf-trial:"
"""What the last line of a trial's standard error begins with; JSON follows."""


@record(frozen=True)
class Question:
    """What is to be encoded: the arguments of `pybtf.encode` that decide the bytes."""

    path: str
    features: tuple[str, ...] = ("default",)
    lang: str = ""
    lang_exclude: str = ""
    base: str | None = None
    standalone: bool = False
    force_base: bool = False

    @property
    def distilled(self) -> bool:
        return Features.parse(*self.features).distilled_base

    def to_dict(self) -> dict[str, Any]:
        return {
            "features": list(self.features),
            "lang": self.lang,
            "lang_exclude": self.lang_exclude,
            "base": self.base,
        }


@record(frozen=True)
class Circumstance:
    """One way to run an encoding. What is not set is as in the first run."""

    name: str
    about: str
    jobs: int = 1
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """Variables set, or (None) unset."""
    umask: int | None = None
    folder: bool = False
    """Work in another folder, and name the file relative to it."""
    copy: bool = False
    """Encode a copy of the file, at another path."""
    memory: int | None = None
    """Bytes of address space beyond what the first run needed."""
    shuffle: int | None = None
    """Seed of a disturbance of the scheduler: threads change CPUs and priority at random, the first one also stops."""


@record(frozen=True)
class Trial:
    """What came out under one circumstance: a digest, or what went wrong."""

    name: str
    about: str
    jobs: int
    seconds: float
    sha256: str | None
    problem: str = ""
    same: bool = True
    difference: Comparison | None = None


@record(frozen=True)
class Expectation:
    """What the BTF should be: a SHA-256, or the BTF itself, and where that is from."""

    origin: str
    sha256: str
    data: bytes | None = None


@record()
class Result:
    """All that was found out about one file."""

    question: Question
    sha256: str
    size: int
    input_sha256: str
    base_sha256: str | None = None
    """Of the BTF that the base is, as it is in its file."""
    trials: list[Trial] = field(default_factory=list)
    expectation: Expectation | None = None
    difference: Comparison | None = None
    """To what was expected, if that is at hand and differs."""

    @property
    def reproducible(self) -> bool:
        return all(trial.same for trial in self.trials)

    @property
    def expected(self) -> bool:
        """Whether the first encoding is what was expected; true if nothing was."""
        return self.expectation is None or self.expectation.sha256 == self.sha256

    def to_dict(self) -> dict[str, Any]:
        """As JSON's types; docs/reproduce.md describes it."""
        return {
            "path": self.question.path,
            **self.question.to_dict(),
            "input_sha256": self.input_sha256,
            "base_sha256": self.base_sha256,
            "sha256": self.sha256,
            "size": self.size,
            "reproducible": self.reproducible,
            "expected": self.expectation
            and {"origin": self.expectation.origin, "sha256": self.expectation.sha256, "same": self.expected},
            "difference": self.difference and self.difference.to_dict(),
            "trials": [
                {
                    "name": trial.name,
                    "jobs": trial.jobs,
                    "seconds": round(trial.seconds, 3),
                    "sha256": trial.sha256,
                    "same": trial.same,
                    "problem": trial.problem or None,
                    "difference": trial.difference and trial.difference.to_dict(),
                }
                for trial in self.trials
            ],
        }


def circumstances(max_jobs: int | None = None, rounds: int = ROUNDS) -> list[Circumstance]:
    """What is tried after the first encoding, which has one worker: `max_jobs` and `rounds` of disturbed scheduling."""
    most = max_jobs or max(2, available_cpus())
    numbers = [*range(2, min(most, MAX_TRIED_JOBS) + 1), *([most] if most > MAX_TRIED_JOBS else [])]
    many = max(numbers, default=1)
    return [
        *(Circumstance(f"jobs {n}", f"{n} workers", jobs=n) for n in numbers),
        Circumstance("crowd", "three workers for each CPU", jobs=3 * available_cpus()),
        *(
            Circumstance(f"scheduling {seed}", "threads disturbed at random", jobs=max(3, many), shuffle=seed)
            for seed in range(1, rounds + 1)
        ),
        Circumstance("folder", "another working folder, a relative path", jobs=many, folder=True),
        Circumstance("copy", "a copy of the file at another path", jobs=many, copy=True),
        Circumstance(
            "locale", "another locale and time zone", jobs=many,
            environment={"LC_ALL": "tr_TR.UTF-8", "LANG": None, "PYTHONUTF8": "0", "TZ": "Pacific/Kiritimati"},
        ),
        Circumstance("hashing", "another PYTHONHASHSEED", jobs=many, environment={"PYTHONHASHSEED": "4242"}),
        Circumstance("umask", "umask 077", jobs=many, umask=0o077),
        Circumstance(
            "environment", "nearly no environment variables", jobs=many,
            environment={**_without_variables(), "SOURCE_DATE_EPOCH": "1"},
        ),
        Circumstance("little memory", "no more address space than needed", memory=SLACK),
        Circumstance(
            "much memory", "large arenas, filled with a pattern", jobs=many,
            environment={"MALLOC_PERTURB_": "165", "MALLOC_TOP_PAD_": str(64 << 20), "MALLOC_ARENA_MAX": "64"},
        ),
    ]  # fmt: skip


def _without_variables() -> dict[str, None]:
    """All variables unset but those of the dynamic linker, without which Python may not even start."""
    return dict.fromkeys(name for name in os.environ if not name.startswith("LD_"))


def reproduce(
    question: Question,
    plan: Sequence[Circumstance],
    expectation: Expectation | None = None,
    told: Callable[[Trial], None] | None = None,
) -> Result:
    """Encode once, and again under each circumstance of the plan; `told` hears of each trial as it ends.

    Raises `InputError` if the base cannot be read or the first encoding fails: nothing can be said then.
    """
    try:
        os.stat(question.path)  # noqa: PTH116
    except (OSError, ValueError) as error:
        from pybtf.unreadable import unreadable

        raise unreadable(question.path, error, "an ELF file") from None
    with Scratch("pybtf-reproduce-") as place:
        scratch = place.path
        base_sha256 = _base_sha256(question.base)
        first, facts = _run(question, Circumstance("first", "one worker"), place, None)
        data = _data(scratch)
        if first.sha256 is None or data is None:
            path, problem = _whose(question, first.problem)
            raise (NothingToEncode if facts.get("nothing") else InputError)(Place(path), problem)
        result = Result(
            question,
            first.sha256,
            len(data),
            _file_sha256(question.path),
            base_sha256=base_sha256,
            trials=[first],
            expectation=expectation,
        )
        (scratch / "out").rename(scratch / "first")
        if told is not None:
            told(first)
        for each in plan:
            trial, _ = _run(question, each, place, facts)
            trial = _judged(trial, result, scratch)
            result.trials.append(trial)
            if told is not None:
                told(trial)
        if not result.expected and expectation is not None and expectation.data is not None:
            result.difference = explain(question, data, expectation.data, expectation.origin)
    return result


def _judged(trial: Trial, result: Result, scratch: Path) -> Trial:
    """The trial with its verdict, and with where the difference is if there is one."""
    if trial.sha256 == result.sha256:
        return trial
    data = _data(scratch)
    difference = None
    if data is not None:
        difference = explain(result.question, (scratch / "first").read_bytes(), data)
    return replace(trial, same=False, difference=difference)


def _whose(question: Question, problem: str) -> tuple[str, str]:
    """Which file a message is about, as it was named, and the message without that."""
    for path in filter(None, (question.path, question.base)):
        for name in (path, os.path.abspath(path)):  # noqa: PTH100
            if problem.startswith(f"{one_line(name)}: "):
                return path, problem.removeprefix(f"{one_line(name)}: ")
    return question.path, problem


def explain(question: Question, a: bytes, b: bytes, other: str = "the other BTF") -> Comparison:
    """Where two BTFs of a file differ, with the unit that the first differing type is from; `other` is what messages
    call the second.

    Raises `InputError` if one of them is malformed.
    """
    from pybtf.btf import BTF
    from pybtf.btf.compare import compare

    names = ("this encoding", other)
    if question.distilled:
        (a, below_a), (b, below_b) = divide(a, names[0]), divide(b, names[1])
        base_a = BTF.from_bytes(below_a, name=f"{names[0]}: base")
        base_b = BTF.from_bytes(below_b, name=f"{names[1]}: base")
        if below_a != below_b:
            return compare(base_a, base_b)
        base: BTF | None = base_a
    else:
        base = BTF.from_file(question.base) if question.base is not None else None
    left, right = BTF.from_bytes(a, base, name=names[0]), BTF.from_bytes(b, base, name=names[1])
    found = compare(left, right)
    if found.types is None:
        return found
    unit = _unit(question.path, left, right, found.types.id)
    return replace(found, types=replace(found.types, unit=unit))


def divide(data: bytes, name: str) -> tuple[bytes, bytes]:
    """Split BTF, and the distilled base that follows it. Raises `InputError` if the first has no sound header."""
    from pybtf.btf.header import read_header

    header = read_header(data, Place(name))
    end = max(header.section(part)[1] for part in ("type", "str", "layout"))
    return data[:end], data[end:]


def _unit(path: str, a: BTF, b: BTF, id: int) -> str | None:
    """The unit that defines the type with this id, or something near it that has a name."""
    from pybtf.btf.compare import nearest_named
    from pybtf.dwarf.whence import defining_unit

    for btf in (a, b):
        if btf.first_id <= id < btf.end_id and (named := nearest_named(btf, id)) is not None:
            unit = defining_unit(path, named.kind.name, named.name)
            if unit is not None:
                return unit
    return None


def _data(scratch: Path) -> bytes | None:
    try:
        return (scratch / "out").read_bytes()
    except FileNotFoundError:
        return None


def _base_sha256(path: str | None) -> str | None:
    from pybtf.btf.files import read_btf

    return None if path is None else sha256(read_btf(path)[0]).hexdigest()


def _file_sha256(path: str) -> str:
    digest = sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


# One encoding, in a process of its own


def _run(
    question: Question, how: Circumstance, place: Scratch, known: dict[str, Any] | None
) -> tuple[Trial, dict[str, Any]]:
    """One trial. The BTF is in `out`, in the scratch folder, if there is one. Facts are what the process told; `known`
    are those of the first trial.
    """
    needed = int(known.get("address_space", 0)) if known is not None else 0
    companions = known.get("companions", ()) if known is not None else ()
    scratch = place.path
    out = scratch / "out"
    out.unlink(missing_ok=True)
    folder = scratch / "another folder"
    folder.mkdir(exist_ok=True)
    with _input(question.path, companions, how, scratch) as path:
        task = {
            **question.to_dict(),
            "path": os.path.relpath(path, folder) if how.folder else path,
            "base": question.base and os.path.abspath(question.base),  # noqa: PTH100
            "standalone": question.standalone,
            "force_base": question.force_base,
            "out": str(out),
            "jobs": how.jobs,
            "umask": how.umask,
            "shuffle": how.shuffle,
            "companions": known is None,
            "address_space": needed + how.memory if how.memory is not None and needed else None,
        }
        started = time.monotonic()
        command = [sys.executable, "-m", "pybtf.reproduce.trial", json.dumps(task)]
        done = place.run(command, _environment(how.environment), folder if how.folder else None)
    seconds = time.monotonic() - started
    facts = _facts(done.stderr)
    data = _data(scratch) if done.returncode == 0 else None
    digest = sha256(data).hexdigest() if data is not None else None
    problem = "" if digest else _problem(done.returncode, done.stderr)
    return Trial(how.name, how.about, how.jobs, seconds, digest, problem, digest is not None), facts


def _facts(stderr: bytes) -> dict[str, Any]:
    for line in reversed(stderr.decode("utf-8", "backslashreplace").splitlines()):
        if line.startswith(MARKER):
            facts: dict[str, Any] = json.loads(line.removeprefix(MARKER))
            return facts
    return {}


def _problem(status: int, stderr: bytes) -> str:
    problem = str(_facts(stderr).get("problem", ""))
    if problem:
        return problem
    lines = [line for line in stderr.decode("utf-8", "backslashreplace").splitlines() if line.strip()]
    end = f"ended by signal {-status}" if status < 0 else f"ended with status {status}"
    # What Python cannot start for comes first, an exception last.
    fatal = [line for line in lines if line.startswith("Fatal Python error: ")]
    return ": ".join([end, *(fatal or lines)[-1:]])


class _input:
    """The file to be encoded under a circumstance; a copy is removed at the end.

    Other files that its DWARF is in are looked for by its own name and from its own folder. So if there are any, the
    copy stands in a tree that has all of them at the paths they have, from its root on.
    """

    def __init__(self, path: str, companions: Sequence[str], how: Circumstance, scratch: Path) -> None:
        self.path = os.path.abspath(path)  # noqa: PTH100
        self.companions = companions
        self.tree = scratch / "a copy, at älso another path" if how.copy else None

    def __enter__(self) -> str:
        if self.tree is None:
            return self.path
        self.tree.mkdir()
        try:
            return self._copy(str(self.tree))
        except OSError as error:
            raise InputError(
                Place(str(self.tree)),
                f"the copy cannot be made: {error.strerror}",
                f"room for {os.path.getsize(self.path):,} bytes",  # noqa: PTH202
                "Name a folder that has it in TMPDIR, or leave the copy out: --skip copy.",
            ) from error

    def _copy(self, tree: str) -> str:
        if not self.companions:
            return shutil.copyfile(self.path, f"{tree}/file.elf")
        real = os.path.realpath(self.path)
        os.makedirs(os.path.dirname(tree + real))  # noqa: PTH103, PTH120
        shutil.copyfile(real, tree + real)
        links = [(tree + real, self.path), *((each, each) for each in map(os.path.abspath, self.companions))]
        for there, path in links:
            link = tree + path
            if not os.path.lexists(link):
                os.makedirs(os.path.dirname(link), exist_ok=True)  # noqa: PTH103, PTH120
                os.symlink(there, link)  # noqa: PTH211
        return tree + self.path

    def __exit__(self, *_: object) -> None:
        if self.tree is not None:
            shutil.rmtree(self.tree, ignore_errors=True)


def _environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    """This process's environment with the changes, and with this pybtf importable from any folder."""
    environment = {**os.environ, **changes}
    home = str(Path(__file__).resolve().parents[2])
    path = [home, *(each for each in sys.path if each)]
    return {
        **{name: value for name, value in environment.items() if value is not None},
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(os.path.abspath(each) for each in path)),  # noqa: PTH100
    }
