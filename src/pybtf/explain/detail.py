"""The report with names: what `encode --report-detail` adds."""

from __future__ import annotations

from ..core.run import Run
from ..dwarf.sections import DebugSections
from ..elf.image import ElfImage
from ..encoded import Encoded
from ..options import EncodeOptions
from ..pipeline import Progress, encode_file
from .asking import with_base
from .inquiry import Inquiry


def encode_in_detail(path: str, options: EncodeOptions, progress: Progress | None = None) -> Encoded:
    """As `encode_file`; the report gets the names of all functions and variables by reason."""
    options, below, timings = with_base(options)
    found: dict[str, dict[str, list[str]]] = {}

    def look(run: Run, image: ElfImage, sections: DebugSections, data: bytes) -> None:
        inquiry = Inquiry(run, image, sections, data, options, below)
        for kind in ("function", "variable"):
            found[f"{kind}s"] = {reason or "in_btf": names for reason, names in inquiry.by_reason(kind).items()}

    encoded = encode_file(path, options, progress, timings, look)
    encoded.report.detail = found
    return encoded
