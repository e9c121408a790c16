"""What `encode` also notes on request: names in the report (`--report-detail`), and where types and functions are from
(`--provenance`).
"""

from __future__ import annotations

from pybtf.btf import BTF
from pybtf.core.run import Run
from pybtf.dwarf.sections import DebugSections
from pybtf.elf.image import ElfImage
from pybtf.encoded import Encoded
from pybtf.explain.asking import with_base
from pybtf.explain.inquiry import Inquiry
from pybtf.options import EncodeOptions
from pybtf.pipeline.passes import encode_file
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from pybtf.pipeline.passes import Progress


def encode_in_detail(
    path: str, options: EncodeOptions, progress: Progress | None = None, *, names: bool = True, places: bool = False
) -> tuple[Encoded, bytes]:
    """As `encode_file`; with `names` the report gets those of all functions and variables by reason. With `places`, the
    database of where types and functions are from (provenance.py) comes with it, else nothing.
    """
    options, below, timings = with_base(options)
    found: dict[str, dict[str, list[str]]] = {}
    database = b""

    def inspect(run: Run, image: ElfImage, sections: DebugSections, data: bytes, base_data: bytes | None) -> None:
        nonlocal database
        inquiry = Inquiry(run, image, sections, data, options, BTF.from_bytes(base_data) if base_data else below)
        for kind in ("function", "variable") if names else ():
            found[f"{kind}s"] = {reason or "in_btf": names for reason, names in inquiry.by_reason(kind).items()}
        if places:
            from pybtf.explain.provenance import provenance

            with timings.pass_("provenance"):
                database = provenance(inquiry, data)

    encoded = encode_file(path, options, progress, timings, inspect, track_dies=places)
    if names:
        encoded.report.detail = found
    return encoded, database
