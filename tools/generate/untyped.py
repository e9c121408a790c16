"""The twin of a linked file with type units: the same DIEs in the same order, in units that the reference can read.

Units become compile units, references by signature become offsets, and a DIE that only has a signature is replaced by
what it means. The order is pybtf's: the first unit that is not a type unit, the others, those of `.debug_types`.
"""

from __future__ import annotations

import io
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

from tests.builders.dwarfwriter import Die, Raw, Unit, die, dwarf

NEAR = ("ref1", "ref2", "ref4", "ref8", "ref_udata")
TEXTS = ("string", "strp", "line_strp", "strx", "strx1", "strx2", "strx3", "strx4")
RAW = ("sec_offset", "addr", "addrx", "addrx1", "addrx2", "addrx3", "addrx4", "loclistx", "rnglistx")
ALTERNATE = ("GNU_ref_alt", "GNU_strp_alt")


class _Reader:
    """Units of a file, as the builders represent them. A label is the section and the offset."""

    def __init__(self, elf: ELFFile) -> None:
        debug = elf.get_dwarf_info(relocate_dwarf_sections=False, follow_links=False)
        self.own = list(debug.iter_CUs())
        self.types = list(debug.iter_TUs()) if debug.has_debug_types() else []
        self.order: Any = "little" if elf.little_endian else "big"
        self.signatures: dict[int, str] = {}
        for home, units in (("i", self.own), ("t", self.types)):
            for unit in units:
                if self.is_type_unit(unit):
                    identity = unit.header.get("type_signature", unit.header.get("signature"))
                    self.signatures.setdefault(identity, f"{home}{unit.cu_offset + unit.header.type_offset}")
        self.aliases: dict[str, str | None] = {}
        for home, units in (("i", self.own), ("t", self.types)):
            for unit in units:
                for each in unit.iter_DIEs():
                    signature = each.attributes.get("DW_AT_signature")
                    if signature is not None and signature.form == "DW_FORM_ref_sig8":
                        self.aliases[f"{home}{each.offset}"] = self.signatures.get(signature.value)

    def is_type_unit(self, unit: Any) -> bool:
        return bool(unit.get_top_DIE().tag == "DW_TAG_type_unit")

    def units(self) -> list[Unit]:
        made = [self.unit("i", unit) for unit in self.own]
        main = next((n for n, unit in enumerate(self.own) if not self.is_type_unit(unit)), 0)
        made.insert(0, made.pop(main))
        made += [self.unit("t", unit) for unit in self.types]
        producer = [each for each in made[0].root.attributes if each[0] == "producer"] if made[0].root else []
        return [self.with_producer(unit, producer) for unit in made]

    def with_producer(self, unit: Unit, producer: list[Any]) -> Unit:
        root = unit.root
        if root is None or root.tag != "type_unit":
            return unit
        return unit._replace(root=root._replace(tag="compile_unit", attributes=(*root.attributes, *producer)))

    def unit(self, home: str, unit: Any) -> Unit:
        self.home, self.current = home, unit
        size = 8 if unit.dwarf_format() == 64 else 4
        root = self.die(unit.get_top_DIE())
        head = unit.header
        return Unit(root, head.version, size, head.address_size, abbrevs=f"{home}{unit.cu_offset}", bases=False)

    def die(self, it: Any) -> Die:
        label = f"{self.home}{it.offset}"
        tag = it.tag.removeprefix("DW_TAG_") if isinstance(it.tag, str) else it.tag
        children = [self.die(child) for child in it.iter_children()]
        if label in self.aliases:
            return die("namespace", children=children, label=label)
        found = [self.attribute(each) for each in it.attributes.values()]
        return die(tag, *(each for each in found if each), children=children, label=label, has_children=it.has_children)

    def attribute(self, each: Any) -> Any:
        form = each.form.removeprefix("DW_FORM_")
        name = each.name.removeprefix("DW_AT_") if isinstance(each.name, str) else each.name
        label: str | None = None
        if form in NEAR:
            label = f"{self.home}{self.current.cu_offset + each.raw_value}"
        elif form == "ref_addr":
            label = f"i{each.raw_value}"
        elif form == "ref_sig8":
            label = self.signatures.get(each.raw_value)
            if label is None:
                return None
        if label is not None:
            if label not in self.aliases:
                return name, "ref4" if form in NEAR else "ref_addr", label  # the offset may be larger than it was
            target = self.aliases[label]
            return (name, "ref_addr", target) if target else None
        if form in TEXTS:
            return name, "string", each.value
        if form in RAW:
            return name, form, Raw(each.raw_value)
        if form in ALTERNATE:
            return name, form, each.raw_value.to_bytes(self.current.structs.dwarf_format // 8, self.order)
        if form.startswith("block") or form == "exprloc":
            return name, form, bytes(each.raw_value)
        return name, form, each.value if form in ("sdata", "implicit_const", "flag_present") else each.raw_value


def without_type_units(path: Path, out: Path) -> None:
    """Writes the twin of a file if that has type units."""
    elf = ELFFile(io.BytesIO(path.read_bytes()))
    reader = _Reader(elf)
    if not reader.signatures:
        return
    written = dwarf(reader.units(), little=elf.little_endian).sections
    with tempfile.TemporaryDirectory(prefix="untyped-") as name:
        argv = ["objcopy", "--remove-section=.debug_types"]
        for section in (".debug_info", ".debug_abbrev"):
            (Path(name) / section).write_bytes(written[section])
            argv.append(f"--update-section={section}={name}/{section}")
        subprocess.run([*argv, str(path), str(out)], check=True, capture_output=True)
