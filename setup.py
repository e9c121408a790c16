"""Build of the compiled core: every `.py` in `pybtf/core` that is listed here goes through Cython.

Environment: `PYBTF_DEBUG=1` keeps `-g`; `PYBTF_SANITIZE=1` builds with ASan and UBSan; `PYBTF_ANNOTATE=1`
writes Cython's annotated HTML beside the sources.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

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

modules = [
    Extension(f"pybtf.core.{path.stem}", [str(path)], extra_compile_args=flags, extra_link_args=link)
    for path in sorted(CORE.glob("*.py"))
    if path.name != "__init__.py"
]

setup(
    ext_modules=cythonize(
        modules,
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
)
