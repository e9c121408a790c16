"""pybtf: BTF from DWARF, byte for byte as pahole 1.32 makes it.

    import pybtf

    encoded = pybtf.encode("vmlinux", jobs=2)
    encoded.write("vmlinux.btf")
    print(encoded.report.functions.kept, encoded.btf.by_name("task_struct"))

Everything is imported when it is first used: `import pybtf` itself costs next to nothing.
"""

from pybtf._version import __version__ as __version__

# Known to type checkers under this name; `typing` itself would be the slowest import of all.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pybtf.api import encode as encode
    from pybtf.base import Base as Base
    from pybtf.batch import Outcome as Outcome
    from pybtf.batch import encode_many as encode_many
    from pybtf.btf import BTF as BTF
    from pybtf.btf import Builder as Builder
    from pybtf.differences.compare import Differences as Differences
    from pybtf.differences.model import Change as Change
    from pybtf.differences.task import diff as diff
    from pybtf.encoded import Encoded as Encoded
    from pybtf.errors import EncodeError as EncodeError
    from pybtf.errors import InputError as InputError
    from pybtf.errors import InternalError as InternalError
    from pybtf.errors import ModuleWithoutBaseError as ModuleWithoutBaseError
    from pybtf.errors import NoSuchTypeError as NoSuchTypeError
    from pybtf.errors import NothingToEncode as NothingToEncode
    from pybtf.errors import OutputError as OutputError
    from pybtf.errors import Place as Place
    from pybtf.errors import PybtfError as PybtfError
    from pybtf.errors import UsageError as UsageError
    from pybtf.errors import WrongBaseError as WrongBaseError
    from pybtf.explain.asking import Answer as Answer
    from pybtf.explain.asking import why as why
    from pybtf.features import Features as Features
    from pybtf.report import Report as Report

_HOMES = {
    "encode": "api",
    "encode_many": "batch",
    "diff": "differences.task",
    "Differences": "differences.compare",
    "Change": "differences.model",
    "Base": "base",
    "BTF": "btf",
    "Builder": "btf",
    "Encoded": "encoded",
    "EncodeError": "errors",
    "InputError": "errors",
    "InternalError": "errors",
    "ModuleWithoutBaseError": "errors",
    "NoSuchTypeError": "errors",
    "NothingToEncode": "errors",
    "OutputError": "errors",
    "Place": "errors",
    "PybtfError": "errors",
    "UsageError": "errors",
    "WrongBaseError": "errors",
    "Features": "features",
    "Outcome": "batch",
    "Report": "report",
    "Answer": "explain.asking",
    "why": "explain.asking",
}

__all__ = [
    "__version__",
    *_HOMES,
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
