"""The compiled core: everything that runs once per DIE, type, string or symbol.

These modules exist only compiled. An import that fails here means that the package was not built.

All of them are in one shared library, `_compiled` (setup.py), so that their base names must differ: C has one function
for each, `PyInit_NAME`. Python looks for each module in a file of its own, and mapping so many libraries takes longer
than encoding two kernel modules, and costs time again at each fork. So this file tells it where they are.
"""

import sys

# importlib.machinery has these names from there, and takes a millisecond to import.
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import ExtensionFileLoader, PathFinder


class _InLibrary:
    """Finds the modules of this package."""

    def __init__(self, library: str) -> None:
        self._library = library

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if not name.startswith(f"{__name__}."):
            return None
        if name in _PACKAGES:
            return ModuleSpec(name, _Folder(), is_package=True)  # type: ignore[arg-type]
        spec = ModuleSpec(name, ExtensionFileLoader(name, self._library), origin=self._library)
        spec.has_location = True
        return spec


FOLDERS = (
    "support", "btf", "model", "elf", "strings", "dwarf", "classes", "functions", "values", "dedup", "encode",
    "reduction", "dump", "show", "accept", "diff",
)  # fmt: skip
_PACKAGES = {f"{__name__}.{folder}" for folder in FOLDERS}


class _Folder:
    """Makes a package that is nothing but a name. A file `__init__.py` for each would be opened at each start."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: object) -> None:
        pass


_found = PathFinder.find_spec(f"{__name__}._compiled", __path__)
if _found is None or _found.origin is None:  # pragma: no cover - only in an unbuilt tree
    raise ImportError(
        "pybtf's compiled core is missing. It is built when the package is installed: run `make build` in a "
        "checkout, or `pip install .`. There is no slower pure-Python fallback."
    )
sys.meta_path.insert(0, _InLibrary(_found.origin))
