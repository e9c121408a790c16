"""Build of the compiled core: every `.py` in `pybtf/core` goes through Cython, and all into one shared library.

`pybtf/core/__init__.py` says why, and finds the modules in it.

Environment: `PYBTF_DEBUG=1` keeps `-g`; `PYBTF_SANITIZE=1` builds with ASan and UBSan; `PYBTF_ANNOTATE=1`
writes Cython's annotated HTML beside the sources.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer

CORE = Path("src/pybtf/core")
flags = ["-O3", "-std=gnu11", "-fno-strict-aliasing", "-Wno-unused-function", "-Wno-sign-compare"]
link: list[str] = []
if os.environ.get("PYBTF_SANITIZE"):
    sanitize = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-fno-sanitize-recover=undefined"]
    flags = ["-O1", "-g", "-std=gnu11", "-fno-strict-aliasing", *sanitize]
    link = sanitize
elif os.environ.get("PYBTF_DEBUG"):
    flags += ["-g", "-fno-omit-frame-pointer"]
else:
    link = ["-s"]


class BuildCore(build_ext):
    """Compiles those of the sources that have changed, several at a time, and links."""

    def build_extension(self, ext):
        with ThreadPoolExecutor(self.parallel or 1) as pool:  # setup.cfg says how many
            objects = list(pool.map(partial(self._compiled, ext), ext.sources))
        sources, ext.sources, ext.extra_objects = ext.sources, [], objects
        self.force = True  # always link: what has no source any more is not to stay
        super().build_extension(ext)
        ext.sources = sources

    def _compiled(self, ext, source):
        """The object file of one source, made if it is not there or older."""
        (made,) = self.compiler.object_filenames([source], output_dir=self.build_temp)
        if self.force or newer(source, made):
            self.compiler.compile(
                [source], output_dir=self.build_temp, include_dirs=ext.include_dirs, debug=self.debug,
                extra_postargs=ext.extra_compile_args,
            )  # fmt: skip
        return made


modules = cythonize(
    [
        Extension(f"pybtf.core.{path.stem}", [str(path)])
        for path in sorted(CORE.glob("*.py"))
        if path.name != "__init__.py"
    ],
    nthreads=os.cpu_count() or 1,
    annotate=bool(os.environ.get("PYBTF_ANNOTATE")),
    include_path=["src"],
    compiler_directives={
        "language_level": "3",
        "boundscheck": False,
        "wraparound": False,
        "cdivision": True,
        "initializedcheck": False,
        "infer_types": False,
        "embedsignature": True,
        "annotation_typing": False,
        "freethreading_compatible": True,
    },
)
sources = [source for module in modules for source in module.sources]

setup(
    cmdclass={"build_ext": BuildCore},
    ext_modules=[
        Extension("pybtf.core._compiled", sources, extra_compile_args=flags, extra_link_args=link),
    ],
)
