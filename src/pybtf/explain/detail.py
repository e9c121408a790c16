"""What `encode` also notes on request: names in the report (`--report-detail`), and where types and functions are from
(`--provenance`).
"""

from __future__ import annotations

from ..core.run import Run
from ..dwarf.sections import DebugSections
from ..elf.image import ElfImage
from ..encoded import Encoded
from ..options import EncodeOptions
from ..pipeline.passes import encode_file
from .asking import with_base
from .inquiry import Inquiry

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..pipeline.passes import Progress


def encode_in_detail(
    path: str, options: EncodeOptions, progress: Progress | None = None, *, names: bool = True, places: bool = False
) -> tuple[Encoded, bytes]:
    """As `encode_file`; with `names` the report gets those of all functions and variables by reason. With `places`, the
    database of where types and functions are from (provenance.py) comes with it, else nothing.
    """
    options, below, timings = with_base(options)
    found: dict[str, dict[str, list[str]]] = {}
    database = b""

    def inspect(run: Run, image: ElfImage, sections: DebugSections, data: bytes) -> None:
        nonlocal database
        inquiry = Inquiry(run, image, sections, data, options, below)
        for kind in ("function", "variable") if names else ():
            found[f"{kind}s"] = {reason or "in_btf": names for reason, names in inquiry.by_reason(kind).items()}
        if places:
            from .provenance import provenance

            with timings.pass_("provenance"):
                database = provenance(inquiry, data)

    encoded = encode_file(path, options, progress, timings, inspect, track_dies=places)
    if names:
        encoded.report.detail = found
    return encoded, database
