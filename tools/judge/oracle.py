"""Runs the reference on one input, and keeps its answers by content.

An answer depends only on the bytes of the input and of the base, the features, the options and the version of the
reference (which is deterministic with `reproducible_build`). So answers are kept in the cache under a digest of these,
and each is asked for once.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.judge import reference

USUAL = (
    "encode_force,var,float,enum64,decl_tag,type_tag,optimized_func,consistent_func,decl_tag_kfuncs,reproducible_build"
)


@dataclass(frozen=True)
class Answer:
    """What the reference did: the BTF that it wrote (None: nothing), its exit status and its messages."""

    data: bytes | None
    status: int
    stderr: str


def clean_environment() -> dict[str, str]:
    """The environment without variables that change the reference's output, make it use the network, or make pybtf
    compile its own modules in every run.
    """
    drop = ("PAHOLE_LANG_EXCLUDE", "DEBUGINFOD_URLS", "LLVM_OBJCOPY", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if name not in drop} | {"LC_ALL": "C"}


def command(features: str, out: str, source: str, jobs: int = 1, options: Sequence[str] = ()) -> list[str]:
    """The command line of the reference that encodes `source` into the file `out`."""
    argv = [*reference.pahole(), "-J", f"-j{jobs}", f"--btf_features={features}"]
    return [*argv, *options, f"--btf_encode_detached={out}", source]


def run(
    path: Path,
    features: str,
    jobs: int = 1,
    options: Mapping[str, object] | None = None,
    timeout: float | None = None,
    more: Sequence[Path] = (),
) -> Answer:
    """Asks the reference, without the cache. `options` are long options by name, such as `lang_exclude`; `more` are
    further files for the same BTF.
    """
    extra = [f"--{name}={value}" for name, value in (options or {}).items()]
    with tempfile.TemporaryDirectory(prefix="pybtf-ref-") as folder:
        out = Path(folder) / "out.btf"
        argv = [*command(features, str(out), path.name, jobs, extra), *(str(each.absolute()) for each in more)]
        done = subprocess.run(
            argv,
            cwd=path.parent,
            env=clean_environment(),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
        data = out.read_bytes() if out.exists() else None
    return Answer(data, done.returncode, done.stderr.replace(f"{folder}/", ""))


@functools.cache
def version_key() -> str:
    """Identifies the reference: its version and its packages' versions, as one digest."""
    return hashlib.sha256(json.dumps(reference.pahole_versions()).encode()).hexdigest()[:16]


@functools.lru_cache(maxsize=4096)
def _digest(path: Path, _size: int, _mtime: int) -> str:
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def digest(path: Path) -> str:
    """SHA-256 of a file, remembered while its size and time stay the same."""
    seen = path.stat()
    return _digest(path, seen.st_size, seen.st_mtime_ns)


def ask(path: Path, features: str, options: Mapping[str, str] | None = None, base: Path | None = None) -> Answer:
    """The reference's answer, from the cache if it was asked before. `base` is for --btf_base."""
    question: list[object] = [digest(path), features, sorted((options or {}).items()), version_key()]
    if base is not None:
        question.append(digest(base))
        options = {**(options or {}), "btf_base": str(base.absolute())}
    jobs = 2 if path.stat().st_size > 1 << 24 else 1
    return _remembered(question, lambda: run(path, features, jobs, options))


def run_in_place(path: Path, features: str, base: Path, beside: Sequence[Path] = ()) -> list[Answer]:
    """Asks the reference to put BTF into a copy of an ELF file; returns `.BTF` and `.BTF.base`. Files `beside` it, such
    as an alternate file, are copied, too.
    """
    from elftools.elf.elffile import ELFFile

    with tempfile.TemporaryDirectory(prefix="pybtf-ref-") as folder:
        for each in beside:
            shutil.copy(each, folder)
        copy = shutil.copyfile(path, Path(folder) / path.name)
        argv = [*reference.pahole(), "-J", f"--btf_features={features}", f"--btf_base={base.absolute()}", copy.name]
        done = subprocess.run(
            argv, cwd=folder, env=clean_environment(), capture_output=True, text=True, errors="replace", check=False
        )
        with open(copy, "rb") as handle:
            elf = ELFFile(handle)
            found = [elf.get_section_by_name(name) for name in (".BTF", ".BTF.base")]
            data = [None if section is None or done.returncode else section.data() for section in found]
    return [Answer(each, done.returncode, done.stderr) for each in data]


def ask_in_place(path: Path, features: str, base: Path) -> dict[str, bytes]:
    """Like `run_in_place`, but from the cache if it was asked before; returns the sections."""
    question = [digest(path), features, "in place", version_key(), digest(base)]
    answers: list[Answer] = []

    def one(index: int) -> Answer:
        if not answers:
            answers.extend(run_in_place(path, features, base))
        return answers[index]

    split = _remembered([*question, ".BTF"], lambda: one(0))
    below = _remembered([*question, ".BTF.base"], lambda: one(1))
    named = {".BTF": split.data, ".BTF.base": below.data}
    return {name: data for name, data in named.items() if data is not None}


def _remembered(question: list[object] | list[str], work: Callable[[], Answer]) -> Answer:
    """The answer to a question, from the cache if it is there."""
    key = hashlib.sha256(json.dumps(question).encode()).hexdigest()
    folder = reference.cache_root() / "answers" / key[:2]
    record, kept = folder / f"{key}.json", folder / f"{key}.btf"
    if record.exists():
        facts = json.loads(record.read_text())
        data = kept.read_bytes() if facts["wrote"] else None
        return Answer(data, facts["status"], facts["stderr"])
    answer = work()
    folder.mkdir(parents=True, exist_ok=True)
    if answer.data is not None:
        _write(kept, answer.data)
    facts = {"wrote": answer.data is not None, "status": answer.status, "stderr": answer.stderr}
    _write(record, json.dumps(facts).encode())
    return answer


def _write(path: Path, data: bytes) -> None:
    """Writes a file that other processes see complete or not at all."""
    stage = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    stage.write_bytes(data)
    stage.replace(path)
