"""ELF files for `pybtf.encode`: BTF, or an error that names the file. For `tools/fuzz/guided.py`."""

from __future__ import annotations

import functools
import random
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.builders import bad, synthetic
from tools.fuzz import elf_changes, fuzz
from tools.fuzz.subjects import Found, Subject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pybtf.base import Base

SMALL = 10_000
FEATURES = "default,global_var", "all", "default,force_cu_merging", "all,layout"
OBJECT = 1  # the type of an ELF file, in either byte order


def seeds(rng: random.Random) -> Iterator[bytes]:
    """What is small of fixtures/bin, and what is made in memory: sound, odd and damaged in all known ways."""
    files = sorted((fuzz.ROOT / "fixtures" / "bin").glob("*.elf"))
    rng.shuffle(files)
    yield from (path.read_bytes() for path in files if path.stat().st_size <= SMALL)
    bad.load()
    makers = [case.build for case in synthetic.load().values()]
    makers += [case.build for case in bad.BAD.values()]
    for make in (*makers, *bad.ODD.values()):
        data = make()
        if len(data) <= elf_changes.LIMIT:
            yield data


@functools.cache
def base() -> Base:
    from pybtf.base import Base

    return Base.from_file(fuzz.ROOT / "fixtures" / "golden" / "00_kernel_like.gcc-O2-5-exe.usual.btf")


def run(data: bytes, path: Path) -> str:
    """Encodes the file; its bytes choose how. Some are also read as an object for a merge, asked about, or encoded
    without the reduction, which must give the same bytes.
    """
    import pybtf
    from pybtf.elf.image import ElfImage
    from pybtf.errors import InternalError, PybtfError
    from pybtf.features import Features
    from pybtf.merging.objects import object_values
    from tests.builders import btflines
    from tests.builders.everything import told

    choice = zlib.crc32(data)
    features = FEATURES[choice % len(FEATURES)]
    degrade, asked, linked, on_base = (choice >> 8) % 2, (choice >> 9) % 8, (choice >> 12) % 4, (choice >> 14) % 4
    again = (choice >> 16) % 4
    if on_base == 0 and degrade == 0:
        features += ",distilled_base"
    options: dict[str, Any] = {"base": base(), "force_base": True} if on_base == 0 else {"standalone": True}
    options |= {"features": features, "degrade": degrade == 0, "jobs": 1}
    try:
        if linked == 0 and OBJECT in data[16:18]:
            with ElfImage.open(str(path)) as image:
                object_values(image, str(path), Features.parse(), False)
        made = pybtf.encode(path, **options)
        if asked == 0:
            pybtf.why(path, "*", "struct *", lang_exclude="", **options)
        if again == 0:
            with told(without=("reduction",)):
                whole = pybtf.encode(path, **options)
            if bytes(whole.data) != bytes(made.data):
                raise Found("another result without the reduction")
    except InternalError:
        raise
    except PybtfError as error:
        text = str(error)
        if str(path) not in text or "\n" in text:
            raise Found(f"message: {text!r}") from error
        return "refused"
    if on_base == 0:
        list(made.btf)  # reads each type
    elif not btflines.read(bytes(made.data))[0]:
        raise Found("no type")
    return "encoded"


FILES = Subject(
    name="files",
    suffix=".elf",
    build={"PYBTF_SANITIZE": "1", "PYBTF_COVERAGE": "."},
    three=False,
    seeds=seeds,
    change=elf_changes.change,
    run=run,
)
