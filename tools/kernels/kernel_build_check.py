#!/usr/bin/env python3
"""Builds Linux with `PAHOLE=pybtf-pahole`, compares all BTF with pahole's, boots the kernel and checks its BTF there.

    python -m tools.kernels.kernel_build_check                      all versions that there are
    python -m tools.kernels.kernel_build_check --jobs 4 7.2
    python -m tools.kernels.kernel_build_check --llvm=-19 6.12      by clang-19, ld.lld-19 and llvm-objcopy-19
    python -m tools.kernels.kernel_build_check --llvm=-19 --lto thin --net 6.12
    python -m tools.kernels.kernel_build_check --work FOLDER 6.12   keep sources and builds in FOLDER, to continue there

For each version, in this order:

1. the source package of Debian is fetched (see reference.py) and unpacked;
2. a kernel with BTF and more than ten modules is configured (tinyconfig and `kernel_build/fragment.config`) and built,
   and an out-of-tree module (`kernel_build/external`). PAHOLE is `kernel_build/recorder.sh`, which keeps the input of
   each encoding and runs the program under test;
3. pahole 1.32 repeats each of these encodings: same arguments, same base, a copy of the same input. All BTF must be the
   same, byte for byte. `-j` is left out, because pahole's output then depends only on its input;
4. the kernel is booted under qemu, and all modules are loaded. The BTF that it shows for itself and for each module
   must be that in the files. (For a module with a distilled base it shows the relocated BTF, so only its existence is
   checked.)

While make runs, the threads of the program under test are counted: there may never be more than make's jobs.

Needs make, gcc (or clang, lld and llvm), bc, bison, flex, libelf-dev, libssl-dev, cpio, kmod, qemu-system-x86,
busybox-static. Object files in FOLDER are reused; everything that concerns BTF is always made again. Exit status: 1 if
anything is wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from elftools.elf.elffile import ELFFile

from tools.judge import reference
from tools.kernels import kernel_boot

SUITES = {"6.1": "bookworm", "6.12": "trixie", "7.2": "sid", "7.3": "trixie-backports"}
"""Debian's release by version of the kernel."""

HOME = Path(__file__).resolve().parent / "kernel_build"
PARAMETERS = {"i2c_stub": "chip_addr=0x50"}
"""Modules that do not load without."""

REPRODUCIBLE = {
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
    "KBUILD_BUILD_VERSION": "1",  # otherwise each build counts, and the number is in the type of `linux_banner`
    "KBUILD_BUILD_USER": "check",
    "KBUILD_BUILD_HOST": "check",
}

NOT_PASSED_ON = ("MAKEFLAGS", "MAKELEVEL", "PAHOLE", "PAHOLE_FLAGS", "PAHOLE_LANG_EXCLUDE")


class Failed(Exception):
    """The check cannot continue."""


@dataclass
class Place:
    """The places of files for one version, or for one of several builds of it."""

    version: str
    folder: Path
    name: str = ""

    @property
    def source(self) -> Path:
        return self.folder / "source"

    @property
    def build(self) -> Path:
        return self.folder / (self.name or "build")

    @property
    def external(self) -> Path:
        return self._named("external")

    @property
    def records(self) -> Path:
        return self._named("records")

    @property
    def log(self) -> Path:
        return self._named("make.log")

    def _named(self, what: str) -> Path:
        return self.folder / (f"{self.name}-{what}" if self.name else what)

    def modules(self) -> list[Path]:
        names = (self.build / "modules.order").read_text().split()
        return [(self.build / name).with_suffix(".ko") for name in names] + sorted(self.external.glob("*.ko"))


@dataclass
class Settings:
    jobs: int
    program: Path
    cc: str
    variables: tuple[str, ...] = ()
    """More of make's variables: `LLVM=-19`."""
    fragments: tuple[Path, ...] = (HOME / "fragment.config",)
    """What is added to tinyconfig."""
    pahole: Path = HOME / "recorder.sh"
    """What make is given as PAHOLE; it runs `program`."""


# Sources


def fetch(place: Place) -> None:
    """Fetches the source package and unpacks it; complete or not at all."""
    if place.source.exists():
        return
    stage = place.folder / "source.part"
    shutil.rmtree(stage, ignore_errors=True)
    package = f"linux-source-{place.version}"
    apt = reference.PrivateApt(SUITES[place.version], "amd64")
    (deb,) = apt.download([package], stage / "debs")
    unpack = 'dpkg-deb --fsys-tarfile "$1" | tar -xO "./usr/src/$2.tar.xz" | tar -xJ -C "$3"'
    subprocess.run(["bash", "-o", "pipefail", "-c", unpack, "unpack", deb, package, stage], check=True)
    (stage / package).rename(place.source)
    shutil.rmtree(stage)


# Builds


def make(place: Place, settings: Settings, *arguments: str) -> None:
    """Runs make, with its output in the log. Raises Failed with the end of the log."""
    variables = [f"O={place.build}", f"PAHOLE={settings.pahole}", *([f"CC={settings.cc}"] if settings.cc else [])]
    argv = ["make", "-s", f"-j{settings.jobs}", "-C", str(place.source), *variables, *settings.variables, *arguments]
    environment = {name: value for name, value in os.environ.items() if name not in NOT_PASSED_ON}
    environment |= REPRODUCIBLE | {"KBC_RECORDS": str(place.records), "KBC_PROGRAM": str(settings.program)}
    with open(place.log, "a") as log:
        log.write(f"+ {shlex.join(argv)}\n")
        log.flush()
        status = _call(argv, environment, log)
    if status:
        end = "\n".join(place.log.read_text().splitlines()[-15:])
        raise Failed(f"make {' '.join(arguments)} ended with status {status}:\n{end}")


def _call(argv: list[str], environment: dict[str, str], log: IO[str]) -> int:
    """The exit status of a command. If this process is interrupted, everything that the command started is ended, too.
    Otherwise make's children would continue and write to the same folder as those of the next make.
    """
    with subprocess.Popen(
        argv, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0
    ) as process:
        try:
            return process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise


def configure(place: Place, settings: Settings) -> None:
    """Writes .config; Failed if Kconfig drops any line of the fragments about options that this version has."""
    fragment = "".join(path.read_text() for path in settings.fragments)
    make(place, settings, "tinyconfig")
    config = place.build / ".config"
    config.write_text(config.read_text() + fragment)
    make(place, settings, "olddefconfig")
    have = set(config.read_text().splitlines())
    missing = [line for line in fragment.splitlines() if "CONFIG_" in line and line not in have]
    known = {
        words[1]
        for path in (place.source.rglob("Kconfig*") if missing else ())
        for words in map(str.split, path.read_text(errors="replace").splitlines())
        if len(words) == 2 and words[0] in ("config", "menuconfig")
    }
    missing = [line for line in missing if line.strip("# ").removeprefix("CONFIG_").split("=")[0].split()[0] in known]
    if missing:
        raise Failed(f"Kconfig has dropped {', '.join(missing)}")


def forget_btf(place: Place) -> None:
    """Removes all files that contain BTF, so that they are made again."""
    shutil.rmtree(place.records, ignore_errors=True)
    place.records.mkdir(parents=True)
    shutil.rmtree(place.external, ignore_errors=True)
    shutil.copytree(HOME / "external", place.external)
    for pattern in ("vmlinux", "vmlinux.unstripped", ".tmp_vmlinux*"):
        for path in place.build.glob(pattern):
            path.unlink()
    for path in place.build.rglob("*.ko"):
        path.unlink()


class Watch:
    """Counts threads of the program under test while make runs; `most` is the highest number seen."""

    def __init__(self) -> None:
        self.most = 0
        self.samples = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        quiet = 0.0
        while not self._end.wait(0.02 if quiet < 2 else 0.25):  # often while there is something to see
            now = sum(self._threads())
            quiet = 0.0 if now else quiet + 0.02
            self.samples += bool(now)
            self.most = max(self.most, now)

    def _threads(self) -> Iterator[int]:
        """For each process that encodes, how many threads are running or waiting for the disk."""
        for process in os.scandir("/proc"):
            if not process.name.isdecimal():
                continue
            try:
                command = Path(process.path, "cmdline").read_bytes()
                if b"pybtf.pahole\0-J" not in command and b"pybtf-pahole\0-J" not in command:
                    continue
                states = [Path(task, "stat").read_text() for task in Path(process.path, "task").iterdir()]
            except OSError:  # has ended
                continue
            yield sum(state.rpartition(")")[2].split()[0] in "RD" for state in states)


# Comparison


def section(path: Path, name: str) -> bytes | None:
    """A section's bytes as pyelftools sees them, or None if there is none. pybtf's own reader is not used."""
    with open(path, "rb") as handle:
        found = ELFFile(handle).get_section_by_name(name)
        return None if found is None else bytes(found.data())


@dataclass
class Record:
    """One encoding that the build requests."""

    folder: Path

    @property
    def arguments(self) -> list[str]:
        return (self.folder / "arguments").read_text().splitlines()

    @property
    def cwd(self) -> str:
        return (self.folder / "cwd").read_text().strip()

    @property
    def name(self) -> str:
        return Path(self.arguments[-1]).name

    @property
    def detached(self) -> bool:
        return any(argument.startswith("--btf_encode_detached=") for argument in self.arguments)

    def result(self, output: Path) -> dict[str, bytes | None]:
        """What was written, by section."""
        if self.detached:
            return {".BTF": output.read_bytes() if output.exists() else None}
        return {name: section(output, name) for name in (".BTF", ".BTF.base")}

    def by_reference(self) -> dict[str, bytes | None]:
        """What pahole writes for the same command line."""
        with tempfile.TemporaryDirectory(prefix="pybtf-kbc-") as folder:
            copy, out = Path(folder) / self.name, Path(folder) / "out"
            shutil.copyfile(self.folder / "input", copy)
            arguments = [argument for argument in self.arguments[:-1] if not argument.startswith("-j")]
            arguments = [f"--btf_encode_detached={out}" if "_detached=" in each else each for each in arguments]
            done = subprocess.run(
                [*reference.pahole(), *arguments, str(copy)],
                cwd=self.cwd,
                env={**os.environ, "LLVM_OBJCOPY": "objcopy"},
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise Failed(f"{self.name}: pahole ended with status {done.returncode}: {done.stderr.strip()}")
            return self.result(out if self.detached else copy)


def by_module(place: Place) -> list[Record]:
    """The encodings that a build requests, by the name of the file."""
    return sorted((Record(folder) for folder in place.records.iterdir()), key=lambda record: record.name)


def compare(place: Place) -> list[str]:
    """Repeats all recorded encodings with pahole. Prints a line for each; returns the names of those that differ."""
    records = by_module(place)
    names = {record.name for record in records}
    wrong = [f"{path.name}: was never encoded" for path in place.modules() if path.name not in names]
    for record in records:
        ours, theirs = record.result(record.folder / "output"), record.by_reference()
        sizes = ", ".join(f"{name} {len(data)} bytes" for name, data in ours.items() if data is not None)
        if ours == theirs and ours[".BTF"]:
            print(f"  {record.name}: the same as pahole's: {sizes}")
        else:
            wrong.append(f"{record.name}: differs from pahole's ({record.folder})")
    return wrong


# In the running kernel


def look(place: Place, *others: Path) -> list[str]:
    """Boots the kernel with its modules and others; returns what is wrong there."""
    modules = [*place.modules(), *others]
    archive = kernel_boot.initramfs(place.build / "usr/gen_init_cpio", modules, PARAMETERS, place.folder)
    seen = kernel_boot.boot(place.build / "arch/x86/boot/bzImage", archive)
    (place.folder / "console.log").write_text("\n".join(seen.console) + "\n")
    print(f"  booted {seen.release}, loaded {len(seen.modules)} modules")
    wrong = [f"the kernel says: {line}" for line in seen.complaints()]
    if seen.vmlinux != digest(section(place.build / "vmlinux", ".BTF")):
        wrong.append("/sys/kernel/btf/vmlinux is not what is in vmlinux")
    for module in modules:
        name = kernel_boot.name_of(module)
        shown = seen.modules.get(name, "was not tried")
        if " " in shown:
            wrong.append(f"{module.name}: {shown}")
        elif section(module, ".BTF.base") is None and shown != digest(section(module, ".BTF")):
            wrong.append(f"{module.name}: /sys/kernel/btf/{name} is not what is in the file")
    return wrong


def digest(data: bytes | None) -> str:
    return hashlib.sha256(data or b"").hexdigest()


def check(place: Place, settings: Settings) -> list[str]:
    """Checks everything for one version; returns what is wrong."""
    place.folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()

    def say(text: str) -> None:
        print(f"{place.version}: [{time.monotonic() - started:.0f} s] {text}", flush=True)

    fetch(place)
    forget_btf(place)
    place.log.unlink(missing_ok=True)
    say("configuring and building, with PAHOLE=pybtf-pahole")
    configure(place, settings)
    with Watch() as watch:
        make(place, settings, "bzImage", "modules")
        make(place, settings, f"M={place.external}", "modules")
    threads = f"{watch.most} threads of pybtf-pahole ran at once under make -j{settings.jobs}"
    say(f"built; at most {threads}, by {watch.samples} looks")
    wrong = [threads] if watch.most > settings.jobs else []
    wrong += compare(place)
    say("compared; booting")
    wrong += look(place)
    say("failed" if wrong else "all as it should be")
    return wrong


def run(parser: argparse.ArgumentParser, versions: Sequence[str], check: Callable[[str], list[str]]) -> int:
    """Checks these versions, or all, and prints what is wrong; returns the exit status."""
    if unknown := set(versions) - set(SUITES):
        parser.error(f"no kernel {', '.join(unknown)}; there are {', '.join(SUITES)}")
    failures = 0
    try:
        for version in versions or SUITES:
            for line in check(version):
                failures += 1
                print(f"{version}: WRONG: {line}")
    except (Failed, reference.Unavailable, kernel_boot.BootFailed, subprocess.CalledProcessError) as reason:
        print(f"cannot go on: {reason}", file=sys.stderr)
        return 1
    return 1 if failures else 0


def default_program(folder: Path, name: str = "pybtf-pahole", module: str = "pybtf.pahole") -> Path:
    """An executable that runs a module of this checkout."""
    program = folder / "bin" / name
    program.parent.mkdir(parents=True, exist_ok=True)
    source = shlex.quote(str(reference.CHECKOUT / "src"))
    program.write_text(f'#!/bin/sh\nPYTHONPATH={source} exec {shlex.quote(sys.executable)} -m {module} "$@"\n')
    program.chmod(0o755)
    return program


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", help="of the kernel: " + " ".join(SUITES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="of make")
    parser.add_argument("--work", type=Path, help="folder for sources and builds (default: in the tools' cache)")
    parser.add_argument("--program", type=Path, help="the program under test (default: this checkout)")
    parser.add_argument("--cc", default="", help="the compiler, if not gcc")
    parser.add_argument("--llvm", default="", help="what make is given as LLVM: -19 is clang-19 and ld.lld-19")
    parser.add_argument("--lto", choices=("thin", "full"), help="link-time optimisation; with --llvm")
    parser.add_argument("--net", action="store_true", help="a larger kernel, with network")
    options = parser.parse_args()
    if options.lto and not options.llvm:
        parser.error("--lto is clang's: give --llvm, too")
    work = (options.work or reference.cache_root() / "kernel-build").absolute()
    program = options.program.absolute() if options.program else default_program(work)
    variables = (f"LLVM={options.llvm}",) if options.llvm else ()
    more = ["net"] * options.net + [f"{options.lto}lto"] * bool(options.lto)
    fragments = [HOME / f"{each}.config" for each in ("fragment", *more)]
    settings = Settings(options.jobs, program, options.cc, variables, tuple(fragments))
    name = "-".join(["llvm"] * bool(options.llvm) + more)
    return run(parser, options.versions, lambda version: check(Place(version, work / version, name), settings))


if __name__ == "__main__":
    sys.exit(main())
