"""Compares the stubs of the compiled core with the compiled modules: names, parameters, defaults, what is final.

    python -m tools.project.stubs

mypy believes the `.pyi` files, because it cannot read the library. Its stubtest imports each module and compares. The
exit status is that of stubtest.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
SOURCES = CHECKOUT / "src"

ALLOWED = (
    # Names that only type checkers need.
    r"pybtf\.core\.fates\.Trace",
    r"pybtf\.core\.run\.(Buffer|FaultInfo|LossInfo|ObjectValues)",
    r"pybtf\.core\.values\.index_pieces\.T",
    # Python has this method from 3.12 on; before, only C knows the buffer protocol.
    r".*\.__buffer__",
)


def modules() -> list[str]:
    """The modules of the core that have a stub."""
    stubs = sorted(SOURCES.glob("pybtf/core/**/*.pyi"))
    return [".".join(stub.relative_to(SOURCES).with_suffix("").parts) for stub in stubs]


def main() -> int:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as allowed:
        allowed.write("\n".join(ALLOWED))
        allowed.flush()
        options = ["--ignore-missing-stub", "--ignore-disjoint-bases", "--ignore-unused-allowlist", "--concise"]
        settings = ["--allowlist", allowed.name, "--mypy-config-file", str(CHECKOUT / "pyproject.toml")]
        command = [sys.executable, "-m", "mypy.stubtest", *modules(), *options, *settings]
        return subprocess.run(command, cwd=CHECKOUT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
