"""Runs pybtf on processors that this machine does not have: compiles the core for them, and runs tests under qemu.

    python -m tools.project.other_hosts                                 arm64 and s390x; root only
    python -m tools.project.other_hosts s390x --tests tests/btf

s390x is big-endian, arm64 has unsigned characters. A host is a folder with Debian 12 of that architecture, whose
packages are unpacked but not configured, kept in `.cache` or `$PYBTF_CACHE`. The C files are those of `make build`,
because Cython writes the same for all. The cross compilers are Debian's, and so are Python and the packages in the
host, which are older than those of `make build`:

    apt-get install mmdebstrap binfmt-support qemu-user-static gcc-aarch64-linux-gnu gcc-s390x-linux-gnu

Linux must start qemu for programs of those processors: `update-binfmts --enable`, with binfmt_misc mounted.
Tests that need a compiler or another program fail there, so by default only the others run. Mounts belong to a separate
namespace. The exit status is 1 if a test fails or a host cannot be made.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tools.judge.reference import CHECKOUT, Unavailable, cache_root
from tools.project.fresh_machine import debian

SUITE, PYTHON = "bookworm", "python3.11"
PACKAGES = (
    "python3", f"lib{PYTHON}-dev", "python3-click", "python3-pyelftools", "python3-xxhash", "python3-pytest",
    "python3-hypothesis", "coreutils", "dash",
)  # fmt: skip
TESTS = (
    "tests/encode/test_fixtures.py", "tests/btf/test_btf_reader.py", "tests/btf/test_btf_writer.py",
    "tests/elf/test_read_section.py", "tests/commands/test_decode.py",
)  # fmt: skip
FLAGS = ("-O1", "-std=gnu11", "-fno-strict-aliasing", "-fPIC", "-w")
CORE, PROBE = "src/pybtf/core", "tests/probe"


@dataclass(frozen=True)
class Host:
    arch: str
    triplet: str

    @property
    def root(self) -> Path:
        return cache_root() / "hosts" / self.arch

    def compiled(self, library: str) -> Path:
        """The place where Python looks for a library of the core there."""
        return self.root / "pybtf" / f"{library}.{PYTHON.replace('python3.', 'cpython-3')}-{self.triplet}.so"


HOSTS = {host.arch: host for host in (Host("arm64", "aarch64-linux-gnu"), Host("s390x", "s390x-linux-gnu"))}

INSIDE = """
set -eu
cd "$ROOT"
mkdir -p dev proc tmp
mount --bind /dev dev
mount -t proc proc proc
mount -t tmpfs -o mode=1777 tmpfs tmp
exec chroot . /usr/bin/env -C /pybtf -i PATH=/usr/bin LC_ALL=C.UTF-8 HOME=/tmp PYTHONDONTWRITEBYTECODE=1 \
    PYTHONPATH=/pybtf/src /usr/bin/python3 -m pytest -q -p no:cacheprovider $TESTS
"""


def run(argv: Sequence[str | Path], what: str) -> None:
    """Runs a command; raises `Unavailable` with the last lines of its output if it fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Unavailable(f"{what}: {error}") from error
    if done.returncode:
        raise Unavailable(f"{what}: " + " ".join(done.stderr.splitlines()[-3:]))


def make(host: Host) -> None:
    """Makes the host's folder if it does not exist."""
    debian(host.root, SUITE, PACKAGES, "--variant=extract", f"--arch={host.arch}")
    for name in ("bin", "lib", "lib64", "sbin"):
        if not (host.root / name).exists() and (host.root / "usr" / name).exists():
            (host.root / name).symlink_to(f"usr/{name}")


def compile_one(host: Host, source: Path) -> Path:
    made = CHECKOUT / "build" / "hosts" / host.arch / f"{source.relative_to(CHECKOUT)}.o".replace("/", "_")
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        made.parent.mkdir(parents=True, exist_ok=True)
        include = host.root / "usr/include"
        headers = [f"-I{include / PYTHON}", "-idirafter", str(include)]
        compiler = f"{host.triplet}-gcc"
        run([compiler, *FLAGS, *headers, "-c", source, "-o", f"{made}.part"], f"{compiler} {source.name}")
        Path(f"{made}.part").rename(made)
    return made


def fill(host: Host) -> None:
    """Adds the files of the last commit, and the libraries compiled from the C files of `make build`."""
    shutil.rmtree(host.root / "pybtf", ignore_errors=True)
    (host.root / "pybtf").mkdir()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=CHECKOUT, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-x", "-C", host.root / "pybtf"], input=archive, check=True)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for folder, library in ((CORE, "_compiled"), (PROBE, "rules_probe")):
            sources = sorted((CHECKOUT / folder).rglob("*.c"))
            if not sources:
                raise Unavailable(f"{folder} has no C files: run make build")
            objects = list(pool.map(partial(compile_one, host), sources))
            run([f"{host.triplet}-gcc", "-shared", *objects, "-o", host.compiled(f"{folder}/{library}")], "the link")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("hosts", nargs="*", metavar="HOST", help=" ".join(HOSTS))
    parser.add_argument("--tests", default=" ".join(TESTS), help="what pytest is given")
    options = parser.parse_args()
    if unknown := {*options.hosts} - {*HOSTS}:
        parser.error(f"unknown: {', '.join(unknown)}")
    if os.geteuid():
        print("other_hosts: only root can mount and change roots", file=sys.stderr)
        return 1
    failed = []
    for arch in options.hosts or HOSTS:
        host = HOSTS[arch]
        print(f"== {arch}", flush=True)
        try:
            make(host)
            fill(host)
        except Unavailable as reason:
            print(f"{arch}: {reason}", flush=True)
            failed.append(arch)
            continue
        env = {**os.environ, "ROOT": str(host.root), "TESTS": options.tests}
        argv = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-c", INSIDE]
        if subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, check=False).returncode:
            failed.append(arch)
    print(f"other_hosts: {', '.join(failed)} failed" if failed else "other_hosts: all good", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
