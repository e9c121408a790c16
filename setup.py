"""Build of the compiled core: every `.py` below `pybtf/core` goes through Cython, and all into one shared library.

`pybtf/core/__init__.py` says why, and finds the modules in it.

Environment: `PYBTF_DEBUG=1` keeps `-g`; `PYBTF_CHECK=1` asserts what the code relies on (core/support/check.pxd);
`PYBTF_SANITIZE=1` builds with ASan and UBSan, and asserts that too, `PYBTF_SANITIZE=thread` with TSan;
`PYBTF_COVERAGE="elf dwarf"` has the code of these folders of the core report where it is (tools/fuzz/guided.py);
`PYBTF_ANNOTATE=1` writes Cython's annotated HTML beside the sources.
"""

import os
import re
import sys
import sysconfig
import tarfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from functools import partial
from gzip import GzipFile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from setuptools.modified import newer

if sys.maxsize >> 32 == 0:
    # Offsets and sizes of files are 64 bits wide, and so are products of hashes.
    raise SystemExit("pybtf needs a 64-bit Python. It runs on 64-bit Linux, and encodes kernels of 32 bits, too.")

CORE = Path("src/pybtf/core")
#: Shows the core's inner rules to tests. It is built only in a checkout.
PROBE = Path("tests/probe/rules_probe.py")
DIRECTIVES = {
    "language_level": "3",
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "infer_types": False,
    "embedsignature": True,
    "annotation_typing": True,
    "freethreading_compatible": True,
}
flags = ["-O3", "-std=gnu11", "-fno-strict-aliasing", "-Wno-unused-function", "-Wno-sign-compare"]
link: list[str] = []
variant = "objects"
if what := os.environ.get("PYBTF_SANITIZE"):
    sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    variant = "sanitized"
    if what == "thread":
        sanitize = ["-fsanitize=thread"]
        variant = "threads"
    flags = ["-O1", "-g", "-std=gnu11", "-fno-strict-aliasing", "-fno-omit-frame-pointer", "-DPYBTF_CHECK", *sanitize]
    link = sanitize
elif os.environ.get("PYBTF_CHECK"):
    flags += ["-g", "-DPYBTF_CHECK"]
elif os.environ.get("PYBTF_DEBUG"):
    flags += ["-g", "-fno-omit-frame-pointer"]
    variant = "debug"
else:
    link = ["-s"]
covered = [CORE / folder for folder in os.environ.get("PYBTF_COVERAGE", "").split()]


def headers():
    """Folders of Python.h where tools/project/venv.sh had to unpack it into the virtual environment."""
    record = Path(sys.prefix, "headers")
    return record.read_text().split("\n") if record.exists() else []


def translate(sources):
    """Have Cython make a `.c` of each source that has changed, or that includes what has. Returns their names.

    The work is shared by forking, with a pipe as the queue. Cython's own `nthreads` starts processes that import
    this file again, and needs semaphores, which are files in /dev/shm.
    """
    from Cython.Build import cythonize

    def run(some):
        modules = [Extension(module_of(Path(source)), [source]) for source in some]
        annotate = bool(os.environ.get("PYBTF_ANNOTATE"))
        # Cython's messages about each module go to standard output, errors to standard error.
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere if "-q" in sys.argv else sys.stdout):
            made = cythonize(modules, include_path=["src"], annotate=annotate, compiler_directives=DIRECTIVES)
        return [source for module in made for source in module.sources]

    newest = max(path.stat().st_mtime for path in CORE.rglob("*.p*"))
    made = [Path(source).with_suffix(".c") for source in sources]
    stale = sum(not path.exists() or path.stat().st_mtime < newest for path in made)
    workers = min(len(os.sched_getaffinity(0)), stale)
    if workers > 1:
        queue, feed = os.pipe()
        children = [fork(work, run, sources, queue, feed) for _ in range(workers)]
        os.close(queue)
        largest = sorted(range(len(sources)), key=lambda index: -Path(sources[index]).stat().st_size)
        os.write(feed, bytes(largest))  # a byte each; a pipe holds 4,096 at least
        os.close(feed)
        statuses = [os.waitpid(child, 0)[1] for child in children]
        if any(statuses):
            raise SystemExit("Cython failed, see above")
    return run(sources)


def module_of(source):
    return ".".join(source.with_suffix("").parts[source.parts[0] == "src" :])


def fork(work, *arguments):
    """The id of a child that does `work` and nothing else."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work(*arguments)
        status = 0
    except BaseException as error:
        print(error, file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def work(run, sources, queue, feed):
    """Take numbers of sources until there are no more."""
    os.close(feed)
    while number := os.read(queue, 1):
        run([sources[number[0]]])


class BuildCore(build_ext):
    """Translates and compiles those of the sources that have changed, several at a time, and links."""

    def finalize_options(self):
        if self.build_temp is None:  # else an editable install has one that is new each time
            self.build_temp = f"build/{variant}.{sysconfig.get_config_var('SOABI')}"
        super().finalize_options()

    def build_extensions(self):
        """One after the other, in this thread: what forks must not have more. Each is compiled by several."""
        self.check_extensions_list(self.extensions)
        for ext in self.extensions:
            self.build_extension(ext)

    def build_extension(self, ext):
        sources = ext.sources
        translated = translate(sources)
        with ThreadPoolExecutor(self.parallel or 1) as pool:  # setup.cfg says how many
            objects = list(pool.map(partial(self._compiled, ext), translated))
        ext.sources, ext.extra_objects = [], objects
        self.force = True  # always link: what has no source any more is not to stay
        super().build_extension(ext)
        ext.sources = sources

    def _compiled(self, ext, source):
        """The object file of one source, made if it is not there or older."""
        (made,) = self.compiler.object_filenames([source], output_dir=self.build_temp)
        extra = ["-fsanitize-coverage=trace-pc"] if any(map(Path(source).is_relative_to, covered)) else []
        if self.force or newer(source, made):
            self.compiler.compile(
                [source], output_dir=self.build_temp, include_dirs=ext.include_dirs, debug=self.debug,
                extra_postargs=[*ext.extra_compile_args, *extra],
            )  # fmt: skip
        return made


class BuildPackages(build_py):
    """Leaves out the sources of the core, which are compiled and never run."""

    def find_package_modules(self, package, folder):
        found = super().find_package_modules(package, folder)
        return [each for each in found if package != "pybtf.core" or each[1] == "__init__"]

    def get_package_dir(self, package):
        return package.replace(".", "/") if package.startswith("tests") else super().get_package_dir(package)


class PackSources(sdist):
    """An archive that depends on names and contents alone, and on SOURCE_DATE_EPOCH: not on times, owners and umask."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        if format != "gztar":
            return super().make_archive(base_name, format, root_dir, base_dir, owner, group)
        epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or Path("CHANGELOG.md").stat().st_mtime)

        def plain(member):
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mtime = epoch
            return member

        made = f"{base_name}.tar.gz"
        with (
            open(made, "wb") as file,
            GzipFile("", "wb", fileobj=file, mtime=epoch) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            for path in sorted([Path(base_dir), *Path(base_dir).rglob("*")]):
                archive.add(path, recursive=False, filter=plain)
        return made


def description():
    """The README for an index, which has no other file of the repository: pictures go, links become names of files."""
    text = Path("README.md").read_text()
    text = re.sub(r"!\[[^\]]*\]\((?!https?:)[^)]*\)\n*", "", text)
    return re.sub(r"\[([^\]]*)\]\((?!https?:|#)([^)]*)\)", named, text)


def named(link):
    return link[1] if link[1] == link[2] else f"{link[1]} ({link[2]})"


def extension(name, sources):
    return Extension(
        name,
        [str(path) for path in sources],
        include_dirs=headers(),
        extra_compile_args=flags,
        extra_link_args=link,
    )


extensions = [
    extension("pybtf.core._compiled", (path for path in sorted(CORE.rglob("*.py")) if path.name != "__init__.py"))
]
if "--inplace" in sys.argv and PROBE.exists():
    extensions.append(extension(module_of(PROBE), [PROBE]))

setup(
    long_description=description(),
    long_description_content_type="text/markdown",
    cmdclass={"build_ext": BuildCore, "build_py": BuildPackages, "sdist": PackSources},
    ext_modules=extensions,
)
