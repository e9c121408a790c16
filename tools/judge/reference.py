"""Finds or fetches the references (pahole 1.32 and bpftool of Debian sid) and kernels with DWARF.

    python -m tools.judge.reference pahole                print the command that runs the reference
    python -m tools.judge.reference bpftool               print the command that runs bpftool, which judges `pybtf dump`
    python -m tools.judge.reference kernel 6.1-amd64      print the path of that kernel's vmlinux
    python -m tools.judge.reference kernel sid/loong64/linux-image-loong64-dbg       of any other of Debian's
    python -m tools.judge.reference judges                fetch both, and print a folder for PATH that has `bpftool`
    python -m tools.judge.reference versions              print what is there, as JSON

Nothing is installed. apt is pointed at a private folder (lists, cache, an empty package database) under
`.cache/` of the checkout, or `$PYBTF_CACHE`, with one source line: the requested suite on the mirror that this
machine's own apt configuration names. apt checks packages as usual against the Debian archive keys of this machine; an
unsigned or unknown mirror is a failure, not a warning. Packages are unpacked with `dpkg-deb -x`, and the reference runs
with the C library of its own suite.

`PYBTF_REFERENCE`, `PYBTF_BPFTOOL` (commands) and `PYBTF_KERNELS` (a folder with NAME/vmlinux, NAME/modules) are used
instead, if set.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
ARCHIVE_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

REFERENCE_SUITE = "sid"
REFERENCE_PACKAGES = (
    "pahole", "libdwarves1", "libelf1t64", "libdw1t64", "libbpf1", "libc6", "zlib1g", "libzstd1",
    "liblzma5", "libbz2-1.0",
)  # fmt: skip
KBUILD_LIBRARIES = ("libelf1t64", "libc6", "zlib1g", "libzstd1", "libssl3t64")
BPFTOOL_PACKAGES = ("bpftool", "libelf1t64", "libc6", "zlib1g", "libzstd1", "libcap2", "libssl3t64")


@dataclass(frozen=True)
class Kernel:
    """A kernel of Debian: `package` depends on the newest image with debug data."""

    suite: str
    arch: str
    package: str


KERNELS = {
    "6.1-amd64": Kernel("bookworm", "amd64", "linux-image-cloud-amd64-dbg"),
    "6.12-amd64": Kernel("trixie", "amd64", "linux-image-cloud-amd64-dbg"),
    "6.12-arm64": Kernel("trixie", "arm64", "linux-image-cloud-arm64-dbg"),
    "6.12-s390x": Kernel("trixie", "s390x", "linux-image-s390x-dbg"),
    "6.12-armhf": Kernel("trixie", "armhf", "linux-image-armmp-dbg"),
    "6.12-riscv64": Kernel("trixie", "riscv64", "linux-image-riscv64-dbg"),
    "6.12-ppc64el": Kernel("trixie", "ppc64el", "linux-image-powerpc64le-dbg"),
    "6.1-full-amd64": Kernel("bookworm", "amd64", "linux-image-amd64-dbg"),
    "6.12-full-amd64": Kernel("trixie", "amd64", "linux-image-amd64-dbg"),
    "6.1-i386-pae": Kernel("bookworm", "i386", "linux-image-686-pae-dbg"),
    # sid changes: `package.json` beside a kernel says which version was fetched.
    "sid-amd64": Kernel("sid", "amd64", "linux-image-cloud-amd64-dbg"),
    "sid-full-amd64": Kernel("sid", "amd64", "linux-image-amd64-dbg"),
    "sid-arm64-16k": Kernel("sid", "arm64", "linux-image-arm64-16k-dbg"),
    "sid-armhf-lpae": Kernel("sid", "armhf", "linux-image-armmp-lpae-dbg"),
}


class Unavailable(Exception):
    """The reference or a kernel is not available; the text says why."""


def known(name: str) -> Kernel:
    """One of KERNELS, or any other kernel of Debian: SUITE/ARCHITECTURE/PACKAGE.

    :raises Unavailable: it is neither.
    """
    parts = name.split("/")
    if name in KERNELS:
        return KERNELS[name]
    if len(parts) == 3 and all(re.fullmatch(r"[\w][\w.+-]*", part) for part in parts):
        return Kernel(*parts)
    raise Unavailable(f"no kernel is called {name}; there are {', '.join(KERNELS)}, and SUITE/ARCHITECTURE/PACKAGE")


def cache_root() -> Path:
    """The private folder for everything that the tools fetch or compute."""
    return Path(os.environ.get("PYBTF_CACHE") or CHECKOUT / ".cache").absolute()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One fetch at a time per folder, even between processes."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _run(argv: Sequence[str], env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    """Standard output of a command; Unavailable with its message (without addresses) if it fails."""
    try:
        done = subprocess.run(argv, env=env, cwd=cwd, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Unavailable(f"{argv[0]}: {error.strerror}") from error
    if done.returncode:
        lines = done.stderr.splitlines()
        lines = [line for line in lines if line.startswith("E:")] or lines
        words = re.sub(r"\S+://\S+", "(mirror)", " ".join(lines[:3])) or f"exit status {done.returncode}"
        raise Unavailable(f"{argv[0]}: {words}")
    return done.stdout


def mirror() -> str:
    """The address of the Debian archive in this machine's apt configuration."""
    rows = _run(["apt-get", "indextargets", "--format", "$(LABEL)|$(REPO_URI)"]).splitlines()
    targets = [row.partition("|")[::2] for row in rows]
    ours = [uri for label, uri in targets if label == "Debian"]
    # Before the first `apt-get update` the label is not known.
    ours += [uri for label, uri in targets if label != "Debian" and "security" not in uri]
    if not ours:
        raise Unavailable("apt names no package mirror on this machine")
    return ours[0]


def reachable() -> bool:
    """Whether the Debian archive answers; if so, a failed fetch has another reason."""
    try:
        with urllib.request.urlopen(f"{mirror().rstrip('/')}/dists/", timeout=30):
            return True
    except (Unavailable, OSError, ValueError):
        return False


class PrivateApt:
    """apt for one suite and architecture, with all its state in a folder of its own."""

    def __init__(self, suite: str, arch: str) -> None:
        self.folder = cache_root() / "apt" / f"{suite}-{arch}"
        for name in ("lists/partial", "cache/archives/partial", "state"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "state/status").touch()
        keys = f"[signed-by={ARCHIVE_KEYS}] " if ARCHIVE_KEYS.exists() else ""
        (self.folder / "sources.list").write_text(f"deb {keys}{mirror()} {suite} main\n")
        settings = {
            "Dir::State": self.folder / "state",
            "Dir::State::lists": self.folder / "lists",
            "Dir::State::status": self.folder / "state/status",
            "Dir::Cache": self.folder / "cache",
            "Dir::Etc::sourcelist": self.folder / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "APT::Architecture": arch,
            "Acquire::Languages": "none",
            "APT::Update::Error-Mode": "any",
        }
        lines = [f'{key} "{value}";' for key, value in settings.items()]
        lines.append(f'APT::Architectures {{ "{arch}"; }};')
        if os.geteuid() == 0:
            lines.append('APT::Sandbox::User "root";')  # the user _apt may not write to this folder
        (self.folder / "apt.conf").write_text("\n".join(lines) + "\n")
        self.env = {**os.environ, "APT_CONFIG": str(self.folder / "apt.conf"), "LC_ALL": "C"}
        self._call("apt-get", "-q", "update")

    def _call(self, *argv: str, cwd: Path | None = None) -> str:
        return _run(argv, self.env, cwd)

    def resolve(self, package: str) -> str:
        """The package with debug data that a meta package depends on, or the package itself if it is no meta package.
        """
        found = self.depends(package, r"(\S+-dbg)\b")
        return found[0] if found else package

    def depends(self, package: str, pattern: str) -> list[str]:
        """The pattern's group for each package that `package` depends on."""
        return re.findall(f"Depends: {pattern}", self._call("apt-cache", "depends", package))

    def download(self, packages: Sequence[str], folder: Path) -> list[Path]:
        """Downloads verified .deb files of these packages into `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        self._call("apt-get", "-q", "download", *packages, cwd=folder)
        return sorted(folder.glob("*.deb"))


def _package_version(deb: Path) -> tuple[str, str]:
    name, version = _run(["dpkg-deb", "-f", str(deb), "Package", "Version"]).splitlines()
    return name.partition(": ")[2], version.partition(": ")[2]


def _fetch_packages(packages: Sequence[str], target: Path) -> None:
    """Unpacks packages of the reference's suite into `target`; complete or not at all."""
    stage = target.with_suffix(".part")
    shutil.rmtree(stage, ignore_errors=True)
    versions = {}
    for deb in PrivateApt(REFERENCE_SUITE, "amd64").download(packages, stage / "debs"):
        name, version = _package_version(deb)
        versions[name] = version
        _run(["dpkg-deb", "-x", str(deb), str(stage)])
    shutil.rmtree(stage / "debs")
    (stage / "versions.json").write_text(json.dumps(versions, indent=2) + "\n")
    stage.rename(target)


def pahole() -> list[str]:
    """The start of a command line that runs the reference.

    :raises Unavailable: PYBTF_REFERENCE does not name it, and it is not fetched and cannot be fetched.
    """
    if named := os.environ.get("PYBTF_REFERENCE"):
        return shlex.split(named)
    return _program("reference", REFERENCE_PACKAGES, "usr/bin/pahole")


def bpftool() -> list[str]:
    """The start of a command line that runs bpftool. Raises like `pahole`; PYBTF_BPFTOOL names another one."""
    if named := os.environ.get("PYBTF_BPFTOOL"):
        return shlex.split(named)
    return _program("bpftool", BPFTOOL_PACKAGES, "usr/sbin/bpftool")


def resolve_btfids() -> list[str]:
    """The start of a command line that runs resolve_btfids, which sorts BTF since 7.0. Raises like `pahole`."""
    if named := os.environ.get("PYBTF_RESOLVE_BTFIDS"):
        return shlex.split(named)
    return _program("kbuild", _kbuild_packages, "usr/lib/linux-kbuild-*/tools/bpf/resolve_btfids/resolve_btfids")


def _kbuild_packages() -> Sequence[str]:
    """The tools of the newest kernel; their package is named after its version."""
    headers = PrivateApt(REFERENCE_SUITE, "amd64").depends("linux-headers-amd64", r"linux-headers-(\S+)-amd64")
    return (f"linux-kbuild-{headers[0]}", *KBUILD_LIBRARIES)


def judges() -> Path:
    """A folder with commands that tests look for on the PATH: bpftool. Fetches pahole, too. Raises like `pahole`."""
    pahole()
    folder = cache_root() / "judges"
    folder.mkdir(parents=True, exist_ok=True)
    command = folder / "bpftool"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(bpftool())} "$@"\n')
    command.chmod(0o755)
    return folder


def _program(folder: str, packages: Sequence[str] | Callable[[], Sequence[str]], path: str) -> list[str]:
    """Runs a program of these packages, which are fetched into a folder of the cache, with the loader of its own suite.

    `path` may be a pattern.
    """
    root = cache_root() / folder
    with locked(cache_root()):
        if not root.exists():
            _fetch_packages(packages() if callable(packages) else packages, root)
    found = sorted(root.glob(path))
    if not found:
        raise Unavailable(f"no {path} in {root}")
    loader = root / "usr/lib64/ld-linux-x86-64.so.2"
    libraries = root / "usr/lib/x86_64-linux-gnu"
    return [str(loader), "--library-path", str(libraries), str(found[-1])]


def bpftool_version() -> str:
    """The first line of `bpftool version`."""
    return _run([*bpftool(), "version"]).splitlines()[0]


def pahole_versions() -> dict[str, str]:
    """The reference's own version, and the versions of its packages if it was fetched."""
    answer = {"version": _run([*pahole(), "--version"]).strip()}
    record = cache_root() / "reference" / "versions.json"
    if not os.environ.get("PYBTF_REFERENCE") and record.exists():
        answer.update(json.loads(record.read_text()))
    return answer


def _extract_vmlinux(deb: Path, stage: Path) -> Path:
    """Takes the only kernel image out of a package, without unpacking its thousands of modules to disk."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE) as source:
        taken = subprocess.run(
            ["tar", "-x", "-C", str(stage), "--wildcards", "*/vmlinux*"], stdin=source.stdout, check=False
        )
    images = [path for path in stage.rglob("vmlinux*") if path.is_file() and not path.is_symlink()]
    if taken.returncode or source.returncode or not images:
        raise Unavailable(f"{deb.name}: no vmlinux could be taken out of it")
    return max(images, key=lambda path: path.stat().st_size)


def _fetch_kernel(kernel: Kernel, target: Path) -> None:
    """Puts vmlinux and a record of its package into `target`; complete or not at all."""
    stage = target.with_name(target.name + ".part")
    shutil.rmtree(stage, ignore_errors=True)
    apt = PrivateApt(kernel.suite, kernel.arch)
    (deb,) = apt.download([apt.resolve(kernel.package)], stage / "debs")
    name, version = _package_version(deb)
    image = _extract_vmlinux(deb, stage)
    image.rename(stage / "vmlinux.new")
    for rest in stage.iterdir():
        if rest.is_dir():
            shutil.rmtree(rest)
    (stage / "vmlinux.new").rename(stage / "vmlinux")
    (stage / "package.json").write_text(json.dumps({"package": name, "version": version}) + "\n")
    stage.rename(target)


def kernel(name: str) -> Path:
    """The vmlinux of a kernel by its name; see `known`.

    :raises Unavailable: the name is unknown, or the kernel is missing and cannot be fetched.
    """
    wanted, name = known(name), name.replace("/", "_")
    if named := os.environ.get("PYBTF_KERNELS"):
        path = Path(named) / name / "vmlinux"
        if path.is_file():
            return path
        raise Unavailable(f"PYBTF_KERNELS is set, but has no {name}/vmlinux")
    target = cache_root() / "kernels" / name
    with locked(cache_root() / "kernels"):
        if not target.exists():
            _fetch_kernel(wanted, target)
    return target / "vmlinux"


def package(name: str) -> dict[str, str]:
    """The `package` that a kernel comes from, and its `version`. Raises like `kernel`."""
    return dict(json.loads(kernel(name).with_name("package.json").read_text()))


def _fetch_modules(kernel: Kernel, target: Path) -> None:
    """Puts the modules of a kernel's package into `target`; complete or not at all."""
    stage = target.with_name(target.name + ".part")
    shutil.rmtree(stage, ignore_errors=True)
    apt = PrivateApt(kernel.suite, kernel.arch)
    (deb,) = apt.download([apt.resolve(kernel.package)], stage / "debs")
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE) as source:
        taken = subprocess.run(["tar", "-x", "-C", str(stage), "--wildcards", "*.ko"], stdin=source.stdout, check=False)
    if taken.returncode or source.returncode:
        raise Unavailable(f"{deb.name}: no modules could be taken out of it")
    shutil.rmtree(stage / "debs")
    stage.rename(target)


def modules(name: str) -> list[Path]:
    """The modules of a kernel with their DWARF, by name.

    :raises Unavailable: the name is unknown, or the modules are missing and cannot be fetched.
    """
    wanted, name = known(name), name.replace("/", "_")
    if named := os.environ.get("PYBTF_KERNELS"):
        folder = Path(named) / name / "modules"
    else:
        folder = cache_root() / "modules" / name
        with locked(cache_root() / "modules"):
            if not folder.exists():
                _fetch_modules(wanted, folder)
    found = sorted(folder.rglob("*.ko"), key=lambda path: (path.name, path))
    if not found:
        raise Unavailable(f"no modules in {folder}")
    return found


def shipped(name: str) -> list[Path]:
    """Some modules of a kernel as users get them: dummy.ko and those of net/sched.

    :raises Unavailable: as in `modules`.
    """
    target = cache_root() / "shipped" / name.replace("/", "_")
    with locked(cache_root() / "shipped"):
        if not target.exists():
            _fetch_shipped(known(name), package(name)["package"].removesuffix("-dbg"), target)
    return sorted(path for path in target.rglob("*.ko*") if path.is_file())


def _fetch_shipped(kernel: Kernel, image: str, target: Path) -> None:
    """Takes them out of the image's package, or out of that with its modules."""
    stage = target.with_name(target.name + ".part")
    shutil.rmtree(stage, ignore_errors=True)
    apt = PrivateApt(kernel.suite, kernel.arch)
    for each in (image, image.replace("-image-", "-modules-")):
        (deb,) = apt.download([each], stage / "debs" / each)
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE) as source:
            wanted = ["tar", "-x", "-C", str(stage), "--wildcards", "*/net/dummy.ko*", "*/net/sched/*"]
            taken = subprocess.run(wanted, stdin=source.stdout, capture_output=True, check=False)
        if taken.returncode == 0:
            break
    else:
        raise Unavailable(f"{image}: no modules could be taken out of it")
    shutil.rmtree(stage / "debs")
    stage.rename(target)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["pahole", "bpftool", "judges", "kernel", "versions"])
    parser.add_argument("name", nargs="?", help="a kernel: SUITE/ARCHITECTURE/PACKAGE, or " + " ".join(KERNELS))
    options = parser.parse_args()
    if (options.what == "kernel") != bool(options.name):
        parser.error("a name goes with `kernel`, and only with it")
    try:
        if options.what == "pahole":
            print(shlex.join(pahole()))
        elif options.what == "bpftool":
            print(shlex.join(bpftool()))
        elif options.what == "judges":
            print(judges())
        elif options.what == "kernel":
            print(kernel(options.name))
        else:
            print(json.dumps(pahole_versions(), indent=2))
    except Unavailable as reason:
        print(f"cannot fetch: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
