"""ELF files for `pybtf.encode`: BTF, or an error that names the file. For `tools/fuzz/guided.py`."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from pathlib import Path

from tests.builders import bad, synthetic
from tools.fuzz import elf_changes, fuzz
from tools.fuzz.subjects import Found, Subject

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


def run(data: bytes, path: Path) -> str:
    """Encodes the file; its bytes choose how. Some are also encoded as an object for a merge, or asked about."""
    import pybtf
    from pybtf.elf.image import ElfImage
    from pybtf.errors import InternalError, PybtfError
    from pybtf.features import Features
    from pybtf.merging.objects import object_values
    from tests.builders import btflines

    choice = zlib.crc32(data)
    features = FEATURES[choice % len(FEATURES)]
    degrade, asked, linked = (choice >> 8) % 2 == 0, (choice >> 9) % 8 == 0, (choice >> 12) % 4 == 0
    try:
        if linked and OBJECT in data[16:18]:
            with ElfImage.open(str(path)) as image:
                object_values(image, str(path), Features.parse(), False)
        made = pybtf.encode(path, features=features, jobs=1, degrade=degrade, standalone=True)
        if asked:
            pybtf.why(path, "*", "struct *", features=features, lang_exclude="", jobs=1)
    except InternalError:
        raise
    except PybtfError as error:
        text = str(error)
        if str(path) not in text or "\n" in text:
            raise Found(f"message: {text!r}") from error
        return "refused"
    if not btflines.read(bytes(made.data))[0]:
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
