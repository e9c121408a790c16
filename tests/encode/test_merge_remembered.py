"""What a cache remembers of a link is used if, and only if, encoding the values again would give the same."""

from __future__ import annotations

import random
import struct
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pybtf.elf.image import ElfImage
from pybtf.errors import PybtfError
from pybtf.merging.cache import Cache
from pybtf.merging.pieces import Piece, digest
from pybtf.merging.remembered import _NUMBERS, Memory, packed, unpacked
from pybtf.options import make_options
from pybtf.pipeline.loaded import ObjectValues, UnitValues, load
from pybtf.pipeline.passes import Task, encode_images
from pybtf.report import Report
from pybtf.support.records import replace
from pybtf.support.timings import Timings
from tests.encode.test_merge_values import HOME, exported

FEATURES = ("default", "+global_var,encode_force", "+true_signature", "var,float,enum64,decl_tag,type_tag")
KERNEL_LIKE = "00_kernel_like.gcc-O2-5-exe.elf"
PROGRAMS = (
    KERNEL_LIKE, "22_prototypes_ambiguous.gcc-O0-5-exe.elf", "32_percpu_zero.gcc-O2-5-exe.elf",
    "38_kfuncs.clang-O2-5-exe.elf", "random_0064.gcc-O0-4-exe.elf",
)  # fmt: skip
FUNC, OBJECT = 2, 1
CODE = 0x10000
"""No program has more code, and none has data so close behind it."""


class Link:
    """A linked program, as values of one object, the addresses in it, and a file with symbols; all can be changed."""

    def __init__(self, name: str, features: str) -> None:
        self.features = features
        self.path = HOME / "bin" / name
        made = exported(self.path, features)
        assert made is not None
        self.values, addresses = made
        self.addresses = array("Q", addresses)
        self.content = bytearray(self.path.read_bytes())
        with ElfImage(name, bytes(self.content)) as image:
            assert image.is64
            assert image.little
            table = next(section for section in image.sections if section.name == ".symtab")
            self.symbols = range(table.offset, table.offset + table.size, 24)
            self.names = next(section.offset for section in image.sections if section.name == ".strtab")
            self.ids = next((s for s in image.sections if s.name == ".BTF_ids"), None)

    def of_type(self, *types: int) -> list[int]:
        """The file offsets of the symbols of these types."""
        return [at for at in self.symbols if self.content[at + 4] & 15 in types]

    def base(self, at: int) -> bytes:
        """The name of a symbol up to its first dot."""
        name = self.names + int.from_bytes(self.content[at : at + 4], "little")
        return bytes(self.content[name : self.content.index(0, name)]).partition(b".")[0]

    def value(self, at: int) -> int:
        found: int = struct.unpack_from("<Q", self.content, at + 8)[0]
        return found

    def move(self, at: int, value: int) -> None:
        struct.pack_into("<Q", self.content, at + 8, value % (1 << 64))

    def grow(self, at: int, by: int) -> None:
        """Makes the code before the function whose symbol is at `at` longer."""
        behind = self.value(at)
        for other in self.of_type(FUNC):
            if self.value(other) >= behind:
                self.move(other, self.value(other) + by)
        moved = range(behind, behind + CODE)
        self.addresses = array("Q", [each + by * (each in moved) for each in self.addresses])

    def piece(self) -> Piece:
        return Piece(0, 1, 0, 0, digest(self.values), b"", len(self.values), 8, "a.o", (), self.addresses)

    def encode(
        self, cache: Path | None = None, jobs: int = 1, lang: str = "", lang_exclude: str = ""
    ) -> tuple[Any, bool]:
        """The BTF and the report, or the error; and whether it was remembered."""
        options = make_options(self.features, jobs, lang=lang, lang_exclude=lang_exclude)
        report = Report("program", jobs=jobs)
        memory = None
        with ElfImage("program", bytes(self.content)) as image:
            given = UnitValues(load(image, options, Timings(), dwarf=False), [], ["values"], len(self.values))
            given = replace(given, pieces=[ObjectValues(memoryview(self.addresses), self.values)])
            if cache is not None:
                kept = Cache(str(cache), little=True)
                memory = Memory(kept, image, [self.piece()], options)
                given = replace(given, recall=memory.recall, remember=memory.remember)
            try:
                encoded = encode_images([image], Task(options, report, values=given))
            except PybtfError as error:
                return str(error), False
            if memory is not None and memory.result is not None:
                assert kept.keep({}, lambda _: b"", memory.result) is None
        facts = {**report.to_dict(), "timings": None, "peak_memory_bytes": None, "jobs": None}
        return (bytes(encoded.data), facts), memory is not None and memory.found


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("features", FEATURES)
def test_the_same_link_is_remembered(cache: Path, name: str, features: str) -> None:
    link = Link(name, features)
    wanted, _ = link.encode()
    assert link.encode(cache) == (wanted, False)
    for jobs in (1, 3):
        assert link.encode(cache, jobs) == (wanted, True)


def test_functions_that_have_moved(cache: Path) -> None:
    """All functions after the one that has grown, in the symbols and in the addresses of the objects."""
    link = Link(KERNEL_LIKE, "default")
    wanted, _ = link.encode(cache)
    for at in link.of_type(FUNC)[::9]:
        link.grow(at, 0x30)
        assert link.encode(cache) == (wanted, True)


def change(link: Link, chance: random.Random) -> str:
    """Changes the link in one place. Links differ like this, although no linker makes a single change. Says how."""
    symbols = link.of_type(OBJECT if chance.randrange(4) == 0 else FUNC) or link.of_type(OBJECT)
    at, other = chance.choice(symbols), chance.choice(symbols)
    number = chance.randrange(len(link.addresses)) if link.addresses else None
    what = chance.choice(("place", "zero", "away", "type", "name", "section", "flags", "grow", "of", "none", "next"))
    if what == "place":
        link.move(at, link.value(other))
    elif what == "zero":
        link.move(at, 0)
    elif what == "away":
        link.move(at, link.value(at) + 1)
    elif what == "type":
        link.content[at + 4] &= 0xF0
    elif what == "name":
        link.content[at : at + 4] = link.content[other : other + 4]
    elif what == "section":
        link.content[at + 6 : at + 8] = link.content[other + 6 : other + 8]
    elif what == "flags" and link.ids is not None and link.ids.size:
        link.content[link.ids.offset + chance.randrange(link.ids.size)] ^= 1 << chance.randrange(8)
    elif what == "grow" and link.content[at + 4] & 15 == FUNC:
        link.grow(at, 16)
    elif number is not None and what in ("of", "none", "next"):
        link.addresses[number] = {"of": link.value(at), "none": 0, "next": link.addresses[number] + 1}[what]
    return what


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_remembered_is_what_would_be_made(cache: Path, name: str) -> None:
    """Of all changed links in one cache, none is mistaken for one with other bytes."""
    links = {features: Link(name, features) for features in FEATURES}
    chance = random.Random(name)
    known = 0
    contents: set[bytes] = set()
    for _ in range(300):
        link = links[chance.choice(FEATURES)]
        before = bytes(link.content), link.addresses[:]
        done = [change(link, chance) for _ in range(chance.choice((1, 1, 2, 3)))]
        wanted, _ = link.encode()
        made, remembered = link.encode(cache)
        assert made == wanted, (done, remembered)
        known += remembered
        if not isinstance(wanted, str):
            contents.add(wanted[0])
            assert link.encode(cache) == (wanted, True)
        if chance.randrange(3):
            link.content, link.addresses = bytearray(before[0]), before[1]
    assert known >= 5
    assert len(contents) >= 10


# ---- each fact by itself ------------------------------------------------------------------------------------------


def respell(link: Link, at: int) -> None:
    """Changes the last letter of the base name of a symbol, and of all symbols that share its text."""
    name = link.names + int.from_bytes(link.content[at : at + 4], "little")
    end = link.content.index(0, name)
    dot = link.content.find(b".", name, end)
    link.content[(dot if dot > name else end) - 1] ^= 1


def spellings(link: Link) -> Iterator[None]:
    for at in link.of_type(FUNC):
        respell(link, at)
        yield


def spellings_of_objects(link: Link) -> Iterator[None]:
    """A variable moves to the start of its section, where only a symbol of its name counts; then the symbol is renamed.
    """
    for at in link.of_type(OBJECT):
        if link.value(at) in link.addresses:
            number = link.addresses.index(link.value(at))
            link.addresses[number] = 0
            yield
            respell(link, at)
            yield
            respell(link, at)
            link.addresses[number] = link.value(at)


NOWHERE = 0x7777_0001
"""No symbol is there, and no section."""


def pairs(link: Link) -> Iterator[tuple[int, int]]:
    """Two symbols of one name, where no object has code at the first."""
    functions = link.of_type(FUNC)
    for at in functions:
        for other in functions:
            if at != other and link.base(at) == link.base(other):
                link.addresses = array("Q", [NOWHERE if each == link.value(at) else each for each in link.addresses])
                yield at, other


def one_place(link: Link) -> Iterator[None]:
    """A symbol moves to the place of another with its name."""
    for at, other in pairs(link):
        was = link.value(at)
        yield
        link.move(at, link.value(other))
        yield
        link.move(at, was)


def zero(link: Link) -> Iterator[None]:
    """A symbol moves to address 0, where there is no code."""
    for at, _ in pairs(link):
        link.move(at, NOWHERE + 8)
        yield
        link.move(at, 0)
        yield


def kfuncs(link: Link) -> Iterator[None]:
    """No kfunc has flags; then there are no kfuncs."""
    assert link.ids is not None
    words = range(link.ids.offset, link.ids.offset + link.ids.size, 8)
    for at in words[1:]:
        link.content[at + 4 : at + 8] = bytes(4)
    yield
    for at in words:
        link.content[at + 4] ^= 1
        yield
        link.content[at + 4] ^= 1


def flags_of_kfuncs(link: Link) -> Iterator[None]:
    assert link.ids is not None
    for at in range(link.ids.offset, link.ids.offset + link.ids.size, 8):
        link.content[at + 5] ^= 0x10
        yield
        link.content[at + 5] ^= 0x10


def code(link: Link) -> Iterator[None]:
    """The code of a function is where another symbol of its name is, or where there is no symbol."""
    for number, was in enumerate(link.addresses):
        for at in link.of_type(FUNC):
            if link.value(at) == was:
                for other in link.of_type(FUNC):
                    if link.base(other) == link.base(at):
                        link.addresses[number] = link.value(other)
                        yield
        link.addresses[number] = NOWHERE
        yield
        link.addresses[number] = was


def no_code(link: Link) -> Iterator[None]:
    """A function has code where there is no symbol; then it has no code."""
    for number, was in enumerate(link.addresses):
        link.addresses[number] = NOWHERE
        yield
        link.addresses[number] = 0
        yield
        link.addresses[number] = was


def offsets(link: Link) -> Iterator[None]:
    for number in range(len(link.addresses)):
        link.addresses[number] += 1
        yield
        link.addresses[number] -= 1


def features(link: Link) -> Iterator[None]:
    """The same values, and another choice among them."""
    for link.features in ("+true_signature", "float,enum64,decl_tag,type_tag,var", "encode_force"):
        yield


def texts_of_values(link: Link) -> Iterator[None]:
    """Other values of the same size, with the same functions."""
    for at in range(len(link.values) - 200, len(link.values), 16):
        was = link.values
        if was[at] and was[at] ^ 1:
            link.values = was[:at] + bytes([was[at] ^ 1]) + was[at + 1 :]
            yield
            link.values = was


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        (spellings, KERNEL_LIKE),
        (spellings_of_objects, "32_percpu_zero.gcc-O2-5-exe.elf"),
        (one_place, "22_prototypes_ambiguous.gcc-O0-5-exe.elf"),
        (zero, "22_prototypes_ambiguous.gcc-O0-5-exe.elf"),
        (kfuncs, "38_kfuncs.clang-O2-5-exe.elf"),
        (flags_of_kfuncs, "38_kfuncs.clang-O2-5-exe.elf"),
        (code, KERNEL_LIKE),
        (no_code, "22_prototypes.gcc-O0-5-exe.elf"),
        (offsets, "32_percpu_zero.gcc-O2-5-exe.elf"),
        (features, KERNEL_LIKE),
        (texts_of_values, KERNEL_LIKE),
    ],
)
def test_one_thing_is_different(cache: Path, changes: Callable[[Link], Iterator[None]], name: str) -> None:
    """Whatever changes the BTF is part of what is remembered, even if a real link would differ elsewhere, too."""
    link = Link(name, "+true_signature" if changes is no_code else "default")
    last, _ = link.encode(cache)
    different = 0
    for _ in changes(link):
        made, _ = link.encode(cache)
        wanted, _ = link.encode()
        assert made == wanted
        if isinstance(wanted, tuple) and isinstance(last, tuple):
            different += wanted[0] != last[0]
        last = wanted
    assert different


def test_languages(cache: Path) -> None:
    link = Link(KERNEL_LIKE, "default")
    wanted, _ = link.encode(cache)
    fewer, remembered = link.encode(cache, lang_exclude="c99,c11")
    assert not remembered
    assert fewer != wanted
    assert fewer == link.encode(lang_exclude="c99,c11")[0]
    assert link.encode(cache) == (wanted, True)
    assert link.encode(cache, lang="c99,c11") == (wanted, False)
    assert link.encode(cache, lang="c99,c11") == (wanted, True)
    assert link.encode(cache, lang="rust") == link.encode(lang="rust") != (wanted, True)


def test_what_is_damaged_is_not_used() -> None:
    facts: dict[str, Any] = dict.fromkeys(_NUMBERS, 7)
    facts |= {"counts": {"partial": 1}, "fates": {}, "kinds": {4: 9}, "conflicts": ["list", "a\udc80\n"]}
    key = b"k" * 16
    kept = b"".join(packed(key, facts, b"BTF"))
    assert unpacked(key, kept) == (facts, b"BTF")
    assert unpacked(b"K" * 16, kept) is None
    for at in range(len(kept)):
        assert unpacked(key, kept[:at]) is None
        assert unpacked(key, kept[:at] + bytes([kept[at] ^ 1]) + kept[at + 1 :]) is None
    for body in (b"", b"\0\0\0", struct.pack("<I", 9) + b"7\0" * 4, struct.pack("<I", 2) + b"\xff\0" + kept[20:]):
        assert unpacked(key, digest(key, body) + body) is None


def test_a_cache_that_is_written_anew_meanwhile(cache: Path) -> None:
    """The place of one result may then hold the result of another link."""
    keys = b"1" * 16, b"2" * 16
    facts: dict[str, Any] = dict.fromkeys(_NUMBERS, 7)
    facts |= {"counts": {}, "fates": {}, "kinds": {}, "conflicts": []}
    made = [(key, packed(key, facts, b"BTF of %c" % key[0])) for key in keys]
    assert Cache(str(cache), little=True).keep({}, lambda _: b"", made[0]) is None
    opened = Cache(str(cache), little=True)
    cache.unlink()
    assert Cache(str(cache), little=True).keep({}, lambda _: b"", made[1]) is None
    kept = opened.result(keys[0])
    assert kept == b"".join(made[1][1])
    assert unpacked(keys[0], kept) is None
    assert unpacked(keys[1], kept) == (facts, b"BTF of 2")
