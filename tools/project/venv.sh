#!/bin/sh
# Makes the virtual environment in which pybtf is built, with what pyproject.toml asks for.
#
#     tools/project/venv.sh PYTHON FOLDER         the environment, and what building and encoding need
#     tools/project/venv.sh PYTHON FOLDER dev     what tests need, into an environment that is there
#
# Debian splits Python: `ensurepip` (pip for new environments) is in python3-venv, the C headers are in python3-dev,
# and a machine with "Python and gcc" may lack both. Then what is missing is taken from Debian's packages into FOLDER,
# without root and without installing anything. If that fails, the message names the packages.
set -eu

python=$1
venv=$2
what=${3:-run}

fail() {
    echo "error: $1" >&2
    exit 1
}

has() { "$python" -c "$1" >/dev/null 2>&1; }

# Writes lines of pyproject.toml to FOLDER/WHAT.txt, and prints the names in them.
wanted() {
    "$venv/bin/python" - "$1" >"$venv/$1.txt" <<'PYTHON' && sed 's/[^a-zA-Z0-9_-].*//' "$venv/$1.txt" | paste -sd ' '
import sys
import tomllib

with open("pyproject.toml", "rb") as file:
    settings = tomllib.load(file)
project = settings["project"]
run = [*settings["build-system"]["requires"], *project["dependencies"]]
print("\n".join(run if sys.argv[1] == "run" else project["optional-dependencies"][sys.argv[1]]))
PYTHON
}

# Fetches and installs; shows pip's output only if it fails.
pip_install() {
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" ||
        fail "pip could not fetch what is missing in $venv (see above); it needs a package index it can reach"
}

# Unpacks Debian packages into FOLDER/debian. A machine may have no lists of packages, and an ordinary user cannot fetch
# them for the system: then they go into a separate folder.
unpack() {
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
    mkdir -p "$venv/debian/apt/lists/partial" "$venv/debian/apt/archives/partial"
    (
        cd "$venv/debian"
        printf 'Dir::State::lists "%s"; Dir::Cache "%s"; APT::Sandbox::User "%s";\n' \
            "$PWD/apt/lists" "$PWD/apt" "$(id -un)" >apt/conf
        export APT_CONFIG="$PWD/apt/conf"
        APT_CONFIG=/dev/null apt-get download "$@" >/dev/null 2>&1 ||
            { apt-get -q update && apt-get -q download "$@"; } >apt/said 2>&1 ||
            { tail -n 5 apt/said | sed 's/^/    /' >&2; exit 1; }
        for deb in ./*.deb; do
            dpkg-deb -x "$deb" . && rm "$deb"
        done
        rm -r apt
    )
}

if [ "$what" = dev ]; then
    echo "setting up $(basename "$venv") for tests: fetching $(wanted dev)"
    pip_install -r "$venv/dev.txt"
    exit
fi

command -v "$python" >/dev/null || fail "$python not found: pybtf needs Python 3.11 or newer (make PYTHON=...); apt-get install python3"
has 'import sys; assert sys.version_info >= (3, 11)' ||
    fail "$("$python" --version) is too old: pybtf needs Python 3.11 or newer (make PYTHON=...)"
mkdir -p "$venv"
compiler=${CC:-gcc}
# shellcheck disable=SC2086 # CC may have options
command -v ${compiler%% *} >/dev/null || fail "no C compiler (${compiler%% *}): apt-get install gcc libc6-dev"
# shellcheck disable=SC2086
printf '#include <stdlib.h>\n#include <pthread.h>\nvoid *probe(void) { return malloc(1); }\n' |
    $compiler -shared -fPIC -x c -o "$venv/probe.so" - 2>"$venv/probe.txt" || {
    sed 's/^/    /' "$venv/probe.txt" >&2
    fail "the C compiler ($compiler) cannot build a library (see above). If a header like stdlib.h is missing: apt-get install libc6-dev"
}
rm "$venv/probe.so" "$venv/probe.txt"

if has 'import ensurepip; ensurepip.version()'; then
    echo "setting up $(basename "$venv") with $("$python" --version)"
    "$python" -m venv "$venv"
else
    echo "setting up $(basename "$venv") with $("$python" --version); no ensurepip here: taking pip out of Debian's package"
    unpack python3-pip-whl || fail "no pip for the virtual environment: apt-get install python3-venv"
    "$python" -m venv --without-pip "$venv"
    wheel=$(echo "$venv"/debian/usr/share/python-wheels/pip-*.whl)
    "$venv/bin/python" "$wheel/pip" install --quiet --no-index --find-links "$(dirname "$wheel")" pip
fi

rm -f "$venv/headers"
if ! has 'import os, sysconfig; assert os.path.exists(sysconfig.get_path("include") + "/Python.h")'; then
    echo "no Python.h here: taking it out of Debian's package"
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    unpack "libpython$version-dev" || fail "Python.h is missing: apt-get install python3-dev"
    # setup.py passes this to the compiler.
    printf '%s\n%s' "$venv/debian/usr/include" "$venv/debian/usr/include/python$version" >"$venv/headers"
fi

echo "fetching what the build and pybtf need: pip $(wanted run)"
# Older versions write commands that import `re`, which takes a third of the time of `pybtf --version`.
pip_install --upgrade 'pip>=25.1'
pip_install -r "$venv/run.txt"
