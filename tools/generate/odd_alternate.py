"""Programs of odd_dies.py that share DIEs and names with an alternate file, and what the program `dwz` makes of others.

The reference does not read the forms that DWARF 5 has for such files (`supplement`): there the twin has those of GNU.
"""

from __future__ import annotations

import subprocess
import tempfile
from io import BytesIO
from pathlib import Path
from random import Random

from elftools.elf.elffile import ELFFile

from tests.builders.dwarfwriter import Die, Unit, die, dwarf
from tests.builders.elfwriter import SHF_ALLOC, Section, elf, note
from tools.generate.odd_apart import (
    TYPES,
    Parts,
    Unchanged,
    changed,
    dies,
    homes,
    inner,
    is_reference,
    like,
    references,
    without_chance,
)
from tools.generate.odd_dies import Program
from tools.generate.odd_mending import Mending, value
from tools.generate.odd_values import Attribute

ID = bytes(range(1, 21))
CODE = ("addr", "addrx", "sec_offset", "loclistx", "rnglistx")
GNU, SUP = ("GNU_ref_alt", "GNU_strp_alt"), ("ref_sup4", "strp_sup")


class Shared:
    """Types of a program in the units of an alternate file."""

    def __init__(self, made: Program, rng: Random) -> None:
        self.random, self.made = rng, made
        self.names = rng.choice((0.0, 0.3, 0.8))
        self.lost = rng.choice((0.0, 0.0, 0.0, 0.3))
        rate = rng.choice((0.1, 0.4, 0.8))
        tops = {child.label: child for unit in made.units if unit.root for child in unit.root.children
                if isinstance(child, Die) and child.label}  # fmt: skip
        top_of = {each.label: label for label, top in tops.items() for each in dies(top) if each.label}
        free = {label for label, top in tops.items() if not self.has_code(top)}
        picked = [label for label in tops if label in free and tops[label].tag in TYPES and rng.random() < rate]
        self.moved = {*picked}
        if not picked:
            raise Unchanged("nothing to share")
        while picked:
            for label in references(tops[picked.pop()]):
                top = top_of.get(label)
                if top in free and top not in self.moved and rng.random() >= self.lost:
                    self.moved.add(top)
                    picked.append(top)
        self.moved |= {f"{_start(unit)}_int" for unit in made.units} & free
        apart, rest = self.parted()
        self.count = count = len(apart)
        self.at = homes([*apart, *rest])
        units = []
        for number, unit in enumerate([*apart, *rest]):
            assert unit.root is not None
            root = unit.root if number >= count else changed(unit.root, self.kept_apart)
            units.append(unit._replace(root=root))
        units = Mending(units).units
        if any(self.at[label] >= count for unit in units[:count] if unit.root for label in references(unit.root)):
            raise Unchanged("an `int` that cannot be shared is needed")
        self.apart = [self.near(number, unit) for number, unit in enumerate(units[:count])]
        self.rest = [self.near(number, unit) for number, unit in enumerate(units) if number >= count]

    def has_code(self, top: Die) -> bool:
        return any(inner(form) in CODE for each in dies(top) for _, form, _ in each.attributes)

    def parted(self) -> tuple[list[Unit], list[Unit]]:
        """The units of the alternate file, and those of the file."""
        rng = self.random
        found = [each for unit in self.made.units if unit.root for each in dies(unit.root)]
        # What the reference makes of an array or a bit-field of nothing is chance: then no type is lost.
        whole = any(each.tag == "array_type" or value(each, "bit_size") for each in found)
        apart: list[Unit] = []
        rest: list[Unit] = []
        for unit in self.made.units:
            assert unit.root is not None
            children = [each for each in unit.root.children if isinstance(each, Die)]
            own = [each for each in children if each.label in self.moved]
            parts: list[list[Die]] = [[] for _ in range(rng.choice((1, 1, 2, 4)))]
            for child in own:
                rng.choice(parts).append(child)
            language = [each for each in unit.root.attributes if each[0] == "language"]
            for k, part in enumerate(part for part in parts if part):
                label = f"{_start(unit)}_alt{k}_root"
                tag = "partial_unit" if whole or rng.random() < 0.9 else "compile_unit"
                root = die(tag, *language, children=part, label=label)
                apart.append(unit._replace(root=root, abbrevs=unit.abbrevs if rng.random() < 0.5 else f"alt {k}"))
            stay: list[Die] = [each for each in children if each.label not in self.moved]
            rest.append(unit._replace(root=unit.root._replace(children=stay)))
        rng.shuffle(apart)
        imported = rng.choice((0.0, 0.5, 1.0))
        for units in (apart, rest):
            for number, unit in enumerate(units):
                assert unit.root is not None
                more = [
                    die("imported_unit", ("import", "ref_addr", other.root.label))
                    for other in apart
                    if other.root and other.root.label != unit.root.label
                    if rng.random() < imported or (whole and units is rest and not number)
                ]
                units[number] = unit._replace(root=unit.root._replace(children=[*more, *unit.root.children]))
        return apart, rest

    def kept_apart(self, each: Attribute) -> Attribute | None:
        """Nothing leads from the alternate file to the file."""
        _, form, label = each
        lost = is_reference(form) and isinstance(label, str) and self.at[label] >= self.count
        return None if lost else each

    def near(self, number: int, unit: Unit) -> Unit:
        """With offsets of the section where another unit of the same file is meant."""
        assert unit.root is not None

        def made(each: Attribute) -> Attribute:
            name, form, label = each
            if is_reference(form) and isinstance(label, str) and self.at[label] != number:
                return name, like(form, "ref_addr"), label
            return each

        return unit._replace(root=changed(unit.root, made))

    def file(self, sup: bool) -> bytes:
        """The alternate file. It notes where its labels and names are."""
        flavour = self.made.flavour
        written = dwarf(self.apart, little=flavour.little)
        self.labels = written.labels
        data = dict(written.sections)
        found = [each for unit in self.rest if unit.root for each in dies(unit.root)]
        texts = {text for each in found for name, _, text in each.attributes if name == "name"}
        strings = data.get(".debug_str", b"") or b"\0"
        self.strings = {}
        for text in sorted(texts):
            self.strings[text] = len(strings)
            strings += text.encode() + b"\0"
        data[".debug_str"] = strings
        self.shared = {text for text in sorted(texts) if Random(text).random() < self.names}
        first = (
            Section(".debug_sup", self.sup(True, b""))
            if sup
            else Section(".note.gnu.build-id", note(b"GNU", 3, ID, little=flavour.little), "NOTE", flags=SHF_ALLOC)
        )
        sections = [first, *(Section(name, content) for name, content in data.items())]
        return elf(sections, [], bits=flavour.bits, little=flavour.little, machine=flavour.machine).data

    def sup(self, is_it: bool, name: bytes) -> bytes:
        return self.bytes(5, 2) + bytes([is_it]) + name + b"\0" + bytes([len(ID)]) + ID

    def bytes(self, offset: int, size: int) -> bytes:
        return offset.to_bytes(size, "little" if self.made.flavour.little else "big")

    def units(self, forms: tuple[str, str]) -> list[Unit]:
        """Those of the file, with forms that lead into the alternate one."""
        rng = Random(len(self.strings))
        shaped = []
        for unit in self.rest:
            assert unit.root is not None

            def far(each: Attribute, size: int = unit.offset_size) -> Attribute:
                name, form, content = each
                if is_reference(form) and isinstance(content, str) and self.at[content] < self.count:
                    by = forms[0] if forms == GNU or (size == 4 and rng.random() < 0.8) else "ref_sup8"
                    size = {"ref_sup4": 4, "ref_sup8": 8}.get(by, size)
                    return name, like(form, by), self.bytes(self.labels[content], size)
                if name == "name" and content in self.shared:
                    return name, like(form, forms[1]), self.bytes(self.strings[content], size)
                return each

            shaped.append(unit._replace(root=changed(unit.root, far)))
        return shaped


def with_alternate(made: Program, rng: Random) -> Parts:
    done = Shared(made, rng)
    other = done.file(False)
    return Parts(done.units(GNU), sections=[_link()], beside={"alt.debug": other})


def with_supplement(made: Program, rng: Random) -> Parts:
    done = Shared(without_chance(made), rng)
    files = {"sup.debug": done.file(True), "alt.debug": done.file(False)}
    away = made.flavour.percpu + 0x8000  # so that no variable is in it
    link = Section(".debug_sup", done.sup(False, b"sup.debug"), address=away)
    return Parts(done.units(SUP), done.units(GNU), [link], [_link()._replace(address=away)], files)


def _start(unit: Unit) -> str:
    """What all labels of a unit start with."""
    assert unit.root is not None
    return str(unit.root.label).partition("_")[0]


def _link() -> Section:
    return Section(".gnu_debugaltlink", b"alt.debug\0" + ID)


def dwz(data: bytes, other: bytes | None = None) -> tuple[bytes, dict[str, bytes]]:
    """What `dwz` makes of a file, or of two; and the file that both of them share. `Unchanged` if that is nothing."""
    with tempfile.TemporaryDirectory(prefix="odd-dwz-") as name:
        folder = Path(name)
        paths = [folder / "odd.elf", *([folder / "other.elf"] if other else [])]
        for path, content in zip(paths, (data, other or b""), strict=False):
            path.write_bytes(content)
        more = ["-m", "alt.debug", "-M", "alt.debug"] if other else []
        limits = ["-L", "none", "-l", "none"]
        argv = ["dwz", *limits, *more, *(path.name for path in paths)]
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=30, check=False)
        made = paths[0].read_bytes()
        shared = {path.name: path.read_bytes() for path in folder.glob("alt.debug")}
        if made == data or (other and not shared):
            raise Unchanged(f"dwz: {done.stderr.strip()}")
        if other and ELFFile(BytesIO(shared["alt.debug"])).get_section_by_name(".debug_info") is None:
            raise Unchanged("only strings are shared: the reference does not read them")
        return made, shared
