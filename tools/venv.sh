#!/bin/sh
# Makes the virtual environment pybtf is built and tested in, with what pyproject.toml asks for.
#
#     tools/venv.sh PYTHON FOLDER
#
# Debian splits Python: `ensurepip` (pip for new environments) is in python3-venv, the C headers are in python3-dev,
# and a machine with "Python and gcc" may lack both. What is missing is then taken out of Debian's packages into
# FOLDER, without root and without installing anything. Where that fails, the message names the packages.
set -eu

python=$1
venv=$2

fail() {
    echo "error: $1" >&2
    exit 1
}

has() { "$python" -c "$1" >/dev/null 2>&1; }

# The files of Debian packages, unpacked below $venv/debian.
unpack() {
    mkdir -p "$venv/debian"
    (cd "$venv/debian" && apt-get download "$@" >/dev/null 2>&1 && for deb in ./*.deb; do
        dpkg-deb -x "$deb" . && rm "$deb"
    done)
}

command -v "$python" >/dev/null || fail "$python not found: pybtf needs Python 3.11 or newer (make PYTHON=...)"
has 'import sys; assert sys.version_info >= (3, 11)' ||
    fail "$("$python" --version) is too old: pybtf needs Python 3.11 or newer (make PYTHON=...)"
command -v "${CC:-gcc}" >/dev/null || fail "no C compiler: apt-get install gcc"

mkdir -p "$venv"
if has 'import ensurepip; ensurepip.version()'; then
    "$python" -m venv "$venv"
else
    echo "no ensurepip here: taking pip out of Debian's package"
    unpack python3-pip-whl || fail "no pip for the virtual environment: apt-get install python3-venv"
    "$python" -m venv --without-pip "$venv"
    wheel=$(echo "$venv"/debian/usr/share/python-wheels/pip-*.whl)
    "$venv/bin/python" "$wheel/pip" install --quiet --no-index --find-links "$(dirname "$wheel")" pip
fi

if ! has 'import os, sysconfig; assert os.path.exists(sysconfig.get_path("include") + "/Python.h")'; then
    echo "no Python.h here: taking it out of Debian's package"
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    unpack "libpython$version-dev" || fail "Python.h is missing: apt-get install python3-dev"
    # The Makefile hands this to the compiler.
    echo "$venv/debian/usr/include:$venv/debian/usr/include/python$version" >"$venv/cpath"
fi

"$venv/bin/python" - >"$venv/requirements.txt" <<'END'
import tomllib

with open("pyproject.toml", "rb") as file:
    settings = tomllib.load(file)
project = settings["project"]
lists = [settings["build-system"]["requires"], project["dependencies"], *project["optional-dependencies"].values()]
print("\n".join(line for each in lists for line in each))
END
# Older ones write commands that import `re`, which takes a third of the time of `pybtf --version`.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$venv/requirements.txt"
