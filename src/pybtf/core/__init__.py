"""The compiled core: everything that runs once per DIE, type, string or symbol.

These modules exist only compiled. An import that fails here means that the package was not built.
"""

try:
    from . import probe as probe
except ImportError as error:  # pragma: no cover - only in an unbuilt tree
    raise ImportError(
        "pybtf's compiled core is missing. It is built when the package is installed: run `make build` in a "
        "checkout, or `pip install .`. There is no slower pure-Python fallback."
    ) from error
