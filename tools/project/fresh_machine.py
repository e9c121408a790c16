"""Runs both commands of the README on machines that have only what it asks for; prints a table of the results.

    python -m tools.project.fresh_machine                       bookworm, trixie and sid, all cases; root only
    python -m tools.project.fresh_machine trixie --tests tests/commands/test_cli.py
    python -m tools.project.fresh_machine --cases root,missing sid

A machine is a folder with a minimal Debian, made once by mmdebstrap (apt-get install mmdebstrap) and kept in `.cache`
or `$PYBTF_CACHE`. Each case has its own layer on it, with a clone of this checkout's HEAD, and leaves nothing: all
mounts belong to a namespace of the case, which ends with it in any event.

The cases:

- `user`, `root`: `make encode`, then `make test`, in a clean clone. The user's machine has no lists of packages; root's
  has them.
- `root` continues with contrib/debian/build-deb, and installs and runs the package with Debian's own packages.
- `missing`: one of the packages that the README names is removed. One message must name it.

pip and apt use this machine's configuration: its files, certificates and folders of packages are visible there.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.judge.reference import ARCHIVE_KEYS, CHECKOUT, Unavailable, cache_root, locked, mirror

SUITES = ("bookworm", "trixie", "sid")
INSTALLED = ("git", "python3", "gcc", "libc6-dev", "make")
CASES = ("user", "root", "missing")
PACKAGE_STEPS = ("build-deb", "install the package", "run the package")
WHAT_APT_MAY_NEED = re.compile(r"Acquire::(Check|http|Retries)")
USER = "somebody"
HOME = f"/home/{USER}"


def told(argv: Sequence[str]) -> str:
    """Standard output of a command on this machine; Unavailable if there is no such command."""
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unavailable(f"{argv[0]}: {error}") from error


def base(suite: str) -> Path:
    """The folder of a minimal machine; it is made if it does not exist."""
    folder = cache_root() / "fresh" / suite
    return debian(folder, suite, INSTALLED, "--variant=minbase", "--skip=cleanup/apt/lists")


def debian(folder: Path, suite: str, packages: Sequence[str], *how: str) -> Path:
    """The folder, with Debian in it; mmdebstrap makes it with these options if it does not exist."""
    with locked(folder.parent):
        if folder.exists():
            return folder
        if shutil.which("mmdebstrap") is None:
            raise Unavailable("mmdebstrap is not installed: apt-get install mmdebstrap")
        stage = folder.with_suffix(".part")
        shutil.rmtree(stage, ignore_errors=True)
        options = [line for line in told(["apt-config", "dump"]).splitlines() if WHAT_APT_MAY_NEED.match(line)]
        keys = f"[signed-by={ARCHIVE_KEYS}] " if ARCHIVE_KEYS.exists() else ""
        argv = [
            "mmdebstrap", "--quiet", *how,
            f"--include={','.join(packages)}", *(f"--aptopt={line}" for line in options),
            suite, str(stage), f"deb {keys}{mirror()} {suite} main",
        ]  # fmt: skip
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            words = re.sub(r"\S+://\S+", "(mirror)", " ".join(done.stderr.splitlines()[-3:]))
            raise Unavailable(f"mmdebstrap {suite}: {words}")
        stage.rename(folder)
    return folder


def lent() -> list[Path]:
    """Files and folders of this machine that pip's configuration and the network need there."""
    paths = {Path("/etc/resolv.conf"), Path("/etc/hosts"), Path("/etc/pip.conf"), Path("/etc/xdg/pip")}
    words = told([sys.executable, "-m", "pip", "config", "list"])
    for found in re.findall(r"(?:file://)?(/[^\s'\"]+)", re.sub(r"https?://\S+", "", words)):
        # An index is a folder of links to files beside it.
        paths.add(Path(found).parent if Path(found).name == "simple" else Path(found))
    return sorted(path for path in paths if path.exists())


SETUP = """
set -eu
mount -t overlay overlay -o "lowerdir=$BASE,upperdir=$WORK/upper,workdir=$WORK/work" "$WORK/root"
cd "$WORK/root"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=1777 tmpfs tmp
mkdir -p dev/pts
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts dev/pts
rm -f dev/ptmx
ln -s pts/ptmx dev/ptmx
for path in $LENT; do
    if [ -d "$path" ]; then mkdir -p ".$path"; else mkdir -p ".$(dirname "$path")"; rm -f ".$path"; : >".$path"; fi
    mount --bind "$path" ".$path"
done
exec chroot . /bin/sh -eu -c "$INSIDE"
"""


@contextmanager
def scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="case-", dir=cache_root() / "fresh"))
    try:
        for name in ("upper", "work", "root"):
            (folder / name).mkdir()
        yield folder
    finally:
        shutil.rmtree(folder)


class Machine:
    """One case on one suite."""

    def __init__(self, suite: str, log: Path) -> None:
        self.base = base(suite)
        self.log = log

    def run(self, inside: str, keep: Path | None = None) -> tuple[int, float]:
        """Runs a shell script there, as root; returns the status and the total CPU seconds. Keeps /srv/deb."""
        settings = {name: text for name, text in os.environ.items() if name.startswith("PIP_")}
        proxies = {name: text for name, text in os.environ.items() if name.lower().endswith("_proxy")}
        with scratch() as work:
            env = {
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root",
                **settings, **proxies, "BASE": str(self.base), "WORK": str(work), "INSIDE": inside,
                "LENT": " ".join(map(str, lent())),
            }  # fmt: skip
            (work / "upper/srv").mkdir()
            bundle = str(work / "upper/srv/checkout.git")
            subprocess.run(["git", "clone", "--quiet", "--bare", "--no-hardlinks", CHECKOUT, bundle], check=True)
            before = os.times()
            argv = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-c", SETUP]
            with self.log.open("w") as log:
                done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
            after = os.times()
            if keep is not None and (work / "upper/srv/deb").is_dir():
                shutil.copytree(work / "upper/srv/deb", keep)
            return done.returncode, sum(after[2:4]) - sum(before[2:4])


def as_user(script: str) -> str:
    """`script` for an ordinary user, who may write in the home folder and in /tmp."""
    return (
        f"useradd --create-home {USER}; export HOME={HOME} USER={USER}; cd {HOME}\n"
        f"exec setpriv --reuid={USER} --regid={USER} --clear-groups /bin/sh -eu -c {shlex.quote(script)}"
    )


CLONE = "git clone --quiet file:///srv/checkout.git pybtf; cd pybtf\n"
MARK = "== "


def both_commands(tests: str) -> str:
    return (
        "git config --global --add safe.directory '*'\n"
        f"{CLONE}echo '{MARK}make encode'; make encode\n"
        f"echo '{MARK}nothing but what encoding needs'; ! ls .venv/bin | grep -x -e mypy -e ruff -e pytest\n"
        f"echo '{MARK}make test'; make test TESTS='{tests}'\n"
        f"echo '{MARK}clean tree'; test -z \"$(git status --porcelain)\"\n"
    )


def package() -> str:
    """Continues in the clone of `both_commands`."""
    example = "00_kernel_like.gcc-O2-5-exe"
    return (
        f"echo '{MARK}build-deb'; apt-get -qy install --no-install-recommends dpkg-dev\n"
        f"mkdir /srv/deb; contrib/debian/build-deb /srv/deb\n"
        f"echo '{MARK}install the package'; apt-get -qy install --no-install-recommends /srv/deb/pybtf_*.deb\n"
        f"echo '{MARK}run the package'; cp fixtures/bin/{example}.elf fixtures/golden/{example}.usual.btf /tmp; cd /\n"
        "export PYTHONHOME=/nowhere PYTHONPATH=/nowhere\n"
        "pybtf-pahole --check; /usr/lib/pybtf/bin/pahole --version\n"
        f"pybtf encode --features {USUAL} --detached /tmp/out.btf /tmp/{example}.elf\n"
        f"cmp /tmp/out.btf /tmp/{example}.usual.btf\n"
    )


USUAL = "encode_force,var,float,enum64,decl_tag,type_tag,optimized_func,consistent_func,decl_tag_kfuncs"
MISSING = {
    "gcc": ("rm -f /usr/bin/gcc*", "apt-get install gcc libc6-dev"),
    "libc6-dev": ("dpkg --remove --force-depends libc6-dev", "apt-get install libc6-dev"),
    "python3": ("rm -f /usr/bin/python3*", "apt-get install python3"),
    "make": ("rm -f /usr/bin/make", "make: not found"),
}
"""How it is taken away, and what is to be said."""
SHORT = (
    "tests/commands/test_cli.py tests/elf/test_elf_image.py tests/commands/test_process.py"
    " tests/commands/test_progress.py tests/encode/test_fixtures.py"
)


def last_step(log: Path) -> str:
    steps = [line.removeprefix(MARK) for line in log.read_text(errors="replace").splitlines() if line.startswith(MARK)]
    return steps[-1] if steps else "the start"


def counted(log: Path) -> str:
    """pytest's final line, and the failed tests."""
    said = log.read_text(errors="replace")
    found = re.findall(r"^=+ (.*\b(?:passed|failed|error)\b.*) in [\d.]+s.*$", said, re.M)
    return "; ".join(["", *found[-1:], *re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.M)])


def commands(suite: str, case: str, tests: str, logs: Path) -> Iterator[tuple[str, bool, str]]:
    """What was tried, whether it succeeded, and the details."""
    log = logs / f"{suite}-{case}.log"
    keep = logs / f"{suite}-deb"
    shutil.rmtree(keep, ignore_errors=True)
    scope = "all tests" if tests == "tests" else f"of tests: {tests.replace('tests/', '').replace('.py', '')}"
    script = both_commands(tests)
    if case == "user":
        script = "rm -rf /var/lib/apt/lists/*\n" + as_user(script)
    else:
        script += package()
    status, seconds = Machine(suite, log).run(script, keep)
    reached = last_step(log)
    where = f"status {status} at {reached}; " if status and reached not in PACKAGE_STEPS else ""
    yield f"make encode, make test ({scope})", not where, f"{where}{seconds:.0f} CPU s{counted(log)}"
    if case == "user" or where:
        return
    unmet = re.findall(r"Depends: (\S+ \([^)]*\)) but", log.read_text(errors="replace"))
    words = f"status {status} at {reached}" if status else "as root, with dependencies from Debian"
    yield "contrib/debian/build-deb, install, run", status == 0, ", ".join([words, *unmet])
    if shutil.which("lintian") is None:
        yield "lintian", False, "not installed here: apt-get install lintian"
        return
    for deb in keep.glob("*.deb"):
        argv = ["lintian", "--allow-root", "--fail-on", "error", str(deb)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        said = done.stdout.splitlines()
        errors = [line for line in said if line.startswith("E:")]
        yield "lintian", done.returncode == 0, "; ".join([f"{len(said)} remarks, {len(errors)} errors", *errors])


def taken_away(suite: str, logs: Path) -> Iterator[tuple[str, bool, str]]:
    for name, (how, words) in MISSING.items():
        machine = Machine(suite, logs / f"{suite}-without-{name}.log")
        get = "git config --global --add safe.directory '*'\n" + CLONE
        status, _ = machine.run(f"{get}{how}\necho '{MARK}make encode'; make encode")
        said = machine.log.read_text(errors="replace").partition(f"{MARK}make encode\n")[2]
        rows = [line for line in said.splitlines() if words in line]
        well = status != 0 and len(rows) == 1
        yield f"make encode without {name}", well, rows[0] if rows else f"see {machine.log.name}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=" ".join(SUITES))
    parser.add_argument("--cases", default=",".join(CASES), help="of " + ",".join(CASES))
    parser.add_argument("--tests", default="tests", help="what `make test` runs as a user; root runs a few files")
    options = parser.parse_args()
    cases = options.cases.split(",")
    if unknown := {*options.suites} - {*SUITES} | {*cases} - {*CASES}:
        parser.error(f"unknown: {', '.join(unknown)}")
    if os.geteuid():
        print("fresh_machine: only root can mount and change roots", file=sys.stderr)
        return 1
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit("fresh_machine: ended"))  # ends everything that was started
    logs = CHECKOUT / "build" / "fresh"
    logs.mkdir(parents=True, exist_ok=True)
    failed = 0
    print("| machine | case | what | | |\n|---|---|---|---|---|", flush=True)
    for suite in options.suites or SUITES:
        try:
            for case in cases:
                if case == "missing":
                    rows = taken_away(suite, logs)
                else:
                    rows = commands(suite, case, options.tests if case == "user" else SHORT, logs)
                for what, well, words in rows:
                    failed += not well
                    print(f"| {suite} | {case} | {what} | {'good' if well else 'FAILED'} | {words} |", flush=True)
        except Unavailable as reason:
            print(f"skipped: {suite}: {reason}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
