"""The writers of ELF and DWARF that other tests rely on, checked by independent readers."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from elftools.dwarf.die import DIE
from elftools.dwarf.locationlists import LocationEntry
from elftools.dwarf.ranges import BaseAddressEntry, RangeEntry
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import NoteSection, SymbolTableSection
from elftools.elf.sections import Section as ElfSection

from tests.builders import formsprogram, kernelish, synthetic
from tests.builders.dwarfwriter import END, Die, Dwarf, LocList, RangeList, Unit, die, dwarf
from tests.builders.elfchecks import section
from tests.builders.elfwriter import SHN_ABS, Reloc, Section, Segment, Symbol, elf, note
from tests.conftest import Require

X86 = kernelish.FLAVOURS["x86_64"]

#: Forms whose value pyelftools gives as the intended number or string.
PLAIN_FORMS = {
    "string", "strp", "line_strp", "strx", "strx1", "strx2", "strx3", "strx4",
    "addr", "addrx", "addrx1", "addrx2", "addrx3", "addrx4", "data1", "data2", "data4", "data8",
    "udata", "sdata", "implicit_const", "flag",
}  # fmt: skip


def flat(entry: Die) -> Iterator[Die | None]:
    """The DIE and all DIEs below it; None for each null entry."""
    yield entry
    if entry.children:
        for child in entry.children:
            assert isinstance(child, Die)
            yield from flat(child)
        yield None


def compare(ours: Die | None, theirs: DIE, written: Dwarf) -> None:
    if ours is None:
        assert theirs.is_null()
        return
    assert theirs.tag == f"DW_TAG_{ours.tag}"
    assert theirs.has_children == bool(ours.children)
    if ours.label is not None:
        assert theirs.offset == written.labels[ours.label]
    for name, form, value in ours.attributes:
        found = theirs.attributes[f"DW_AT_{name}"]
        inner = form[-1] if isinstance(form, tuple) else form
        assert found.form == f"DW_FORM_{inner}", (name, form)
        if inner in PLAIN_FORMS and not isinstance(value, LocList):
            expected: Any = value.encode() if isinstance(value, str) else value
            assert found.value == expected, (name, form)
        elif isinstance(value, str):
            assert theirs.get_DIE_from_attribute(f"DW_AT_{name}").offset == written.labels[value], (
                name,
                form,
            )


def check(units: list[Unit], written: Dwarf, data: bytes) -> int:
    info = ELFFile(io.BytesIO(data)).get_dwarf_info()
    count = 0
    for ours, unit in zip(units, info.iter_CUs(), strict=True):
        assert (unit["version"], unit["address_size"]) == (ours.version, ours.address_size)
        assert unit.dwarf_format() == 8 * ours.offset_size
        assert ours.root is not None
        for entry, parsed in zip(flat(ours.root), unit.iter_DIEs(), strict=True):
            compare(entry, parsed, written)
            count += 1
    return count


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_pyelftools_reads_the_variants_back(version: int) -> None:
    """All variants for one machine; for other machines and for 64-bit DWARF only the plain one."""
    checked = 0
    for name, flavour, forms in formsprogram.variants():
        if forms.version != version or not (name.endswith("plain") or name.startswith(f"x86_64-dwarf{version}-32")):
            continue
        if forms.name in ("strx4", ("indirect", "strx1")) or forms.codes == "reversed":
            continue  # pyelftools 0.33 misreads the first two; the last does not change the DIEs
        units = formsprogram.program(flavour, forms)
        written = dwarf(units, little=flavour.little, codes=formsprogram.CODES[forms.codes])
        assert check(units, written, formsprogram.build(flavour, forms)) == 82, name
        checked += 1
    assert checked > 40


def test_readelf_has_no_complaint(require: Require, tmp_path: Path) -> None:
    readelf = require("readelf")
    path = tmp_path / "shown.elf"
    checked = 0
    for name, flavour, forms in formsprogram.variants():
        shown = name.endswith("plain") or name.startswith(("x86_64-dwarf5-32", "ppc-dwarf5-32"))
        if not shown or "indirect" in name or "loclistx" in name:
            continue  # readelf 2.40 does not understand these two
        path.write_bytes(formsprogram.build(flavour, forms))
        dumped = ["-WaS", "--debug-dump=info,abbrev,loc,str,str-offsets,addr"]
        done = subprocess.run([readelf, *dumped, path], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), name
        checked += 1
    assert checked > 20


def test_location_lists_read_back() -> None:
    here, there = [("reg5",)], [("breg1", -8), ("stack_value",)]
    for version, form in ((4, "sec_offset"), (5, "sec_offset"), (5, "loclistx")):
        places = [LocList([(0, 8, here), (8, 16, there)]), LocList([(4, 5, there)])]
        root = die(
            "compile_unit",
            ("low_pc", "addr", 0x1000),
            children=[die("formal_parameter", ("location", form, place)) for place in places],
        )
        written = dwarf([Unit(root, version=version)])
        info = ELFFile(io.BytesIO(kernelish.kernel(written).data)).get_dwarf_info()
        lists = info.location_lists()
        assert lists is not None
        found = []
        for unit in info.iter_CUs():
            for entry in unit.iter_DIEs():
                if "DW_AT_location" in entry.attributes:
                    offset = entry.attributes["DW_AT_location"].value
                    parsed = lists.get_location_list_at_offset(offset, entry)
                    entries = [each for each in parsed if isinstance(each, LocationEntry)]
                    assert len(entries) == len(parsed)
                    found.append([(each.begin_offset, each.end_offset, bytes(each.loc_expr)) for each in entries])
        assert found == [[(0, 8, b"\x55"), (8, 16, b"\x71\x78\x9f")], [(4, 5, b"\x71\x78\x9f")]]


def test_range_lists_read_back() -> None:
    ranges = RangeList([("base_address", 0x1000), (0, 8), ("start_length", 0x2000, 16)])
    root = die("compile_unit", ("low_pc", "addr", 0), ("ranges", "rnglistx", ranges), label="unit")
    info = ELFFile(io.BytesIO(kernelish.kernel([Unit(root, version=5)]).data)).get_dwarf_info()
    (unit,) = info.iter_CUs()
    offset = unit.get_top_DIE().attributes["DW_AT_ranges"].value
    lists = info.range_lists()
    assert lists is not None
    first, second, third = lists.get_range_list_at_offset(offset, unit)
    assert isinstance(first, BaseAddressEntry)
    assert isinstance(second, RangeEntry)
    assert isinstance(third, RangeEntry)
    assert first.base_address == 0x1000
    assert (second.begin_offset, second.end_offset) == (0, 8)
    assert (third.begin_offset, third.end_offset) == (0x2000, 0x2010)


def test_type_unit_points_at_its_type() -> None:
    for version, home in ((4, ".debug_types"), (5, ".debug_info")):
        root = die("type_unit", children=[kernelish.INT, kernelish.point()])
        unit = Unit(root, version=version, section=home, signature=0x1234, type_label="point")
        written = dwarf([unit])
        info = ELFFile(io.BytesIO(kernelish.kernel(written).data)).get_dwarf_info()
        (parsed,) = info.iter_TUs() if version == 4 else info.iter_CUs()
        signature = parsed["signature"] if version == 4 else parsed["type_signature"]
        assert (signature, parsed["type_offset"]) == (0x1234, written.labels["point"])


def test_a_deliberate_lie_is_written() -> None:
    unit = kernelish.unit([kernelish.INT], raw_version=77, raw_length=0x1234, raw_abbrev=5, raw_address_size=3)
    info = dwarf([unit]).sections[".debug_info"]
    assert info[:11] == b"\x34\x12\0\0\x4d\0\5\0\0\0\3"
    right = dwarf([unit._replace(raw_version=None, raw_length=None, raw_abbrev=None, raw_address_size=None)])
    assert info[11:] == right.sections[".debug_info"][11:]


def test_attribute_offsets_are_where_the_values_are() -> None:
    written = dwarf([kernelish.unit(kernelish.standard(X86))])
    at = written.attributes["f", "low_pc"]
    assert written.sections[".debug_info"][at : at + 8] == X86.text.to_bytes(8, "little")


def test_reference_that_does_not_fit_is_refused() -> None:
    far = [
        die("typedef", ("name", "string", "x" * 300)),
        die("typedef", ("type", "ref1", "int")),
        kernelish.INT,
    ]
    with pytest.raises(OverflowError):
        dwarf([kernelish.unit(far)])


def test_unknown_label_is_refused() -> None:
    with pytest.raises(KeyError):
        dwarf([kernelish.unit([die("typedef", ("type", "ref4", "nobody"), label="x")])])


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("bits", [32, 64])
def test_elf_fields_read_back(bits: int, little: bool) -> None:
    sections = [
        Section(".text", b"\x90" * 20, flags=6, address=0x1000, align=16),
        Section(".bss", b"", "NOBITS", 3, 0x2000, 64, align=32),
        Section(".note", note(b"Linux", 0x101, b"\1\0\0\0", little=little), "NOTE"),
        Section(".packed", b"a" * 1000, compress=6),
    ]
    symbols = [
        Symbol("global", 0x1004, 8),
        Symbol("local", 0x2008, 4, "OBJECT", ".bss", "LOCAL"),
        Symbol("absolute", 7, 0, "NOTYPE", SHN_ABS, "WEAK"),
    ]
    relocations = {".text": [Reloc(4, "global", 2, -4)]}
    segments = [Segment([".text", ".bss"])]
    data = elf(sections, symbols, relocations, segments, bits=bits, little=little, machine="EM_PPC", type="ET_DYN").data
    file = ELFFile(io.BytesIO(data))
    assert (file.elfclass, file.little_endian, file["e_machine"], file["e_type"]) == (
        bits, little, "EM_PPC", "ET_DYN")  # fmt: skip
    text, bss, packed = (section(file, name, ElfSection) for name in (".text", ".bss", ".packed"))
    assert (text.data(), text["sh_addr"], text["sh_offset"] % 16) == (b"\x90" * 20, 0x1000, 0)
    assert (bss["sh_type"], bss["sh_size"]) == ("SHT_NOBITS", 64)
    assert packed.compressed
    assert packed.data() == b"a" * 1000
    (found,) = section(file, ".note", NoteSection).iter_notes()
    kind: Any = found["n_type"]  # a number if pyelftools has no name for it
    assert (found["n_name"], kind) == ("Linux", 0x101)
    table = section(file, ".symtab", SymbolTableSection)
    names = [symbol.name for symbol in table.iter_symbols()]
    assert names == ["", "local", "global", "absolute"]
    assert table["sh_info"] == 2
    assert table.get_symbol(1)["st_shndx"] == 2
    assert table.get_symbol(3)["st_shndx"] == "SHN_ABS"
    (relocation,) = section(file, ".rela.text", RelocationSection).iter_relocations()
    assert (relocation["r_offset"], relocation["r_info_sym"], relocation["r_info_type"]) == (4, 2, 2)
    assert relocation["r_addend"] == -4
    (segment,) = file.iter_segments()
    assert (segment["p_vaddr"], segment["p_filesz"], segment["p_memsz"]) == (0x1000, bss["sh_offset"] -
        text["sh_offset"], 0x1040)  # fmt: skip


def test_relocations_put_the_addresses_back() -> None:
    data = kernelish.relocatable().data
    raw = ELFFile(io.BytesIO(data)).get_dwarf_info(relocate_dwarf_sections=False)
    with pytest.raises(Exception):  # noqa: B017, PT011 - the garbage in the fields is garbage to any reader
        [list(unit.iter_DIEs()) for unit in raw.iter_CUs()]
    info = ELFFile(io.BytesIO(data)).get_dwarf_info()
    (unit,) = info.iter_CUs()
    (function,) = (entry for entry in unit.iter_DIEs() if entry.tag == "DW_TAG_subprogram")
    assert function.attributes["DW_AT_low_pc"].value == 0  # relative to its section


def test_sibling_end_is_the_next_die() -> None:
    struct = kernelish.point()
    struct = struct._replace(attributes=(("sibling", "ref_udata", END), *struct.attributes))
    after = die("typedef", ("name", "string", "t"), label="after")
    written = dwarf([kernelish.unit([kernelish.INT, struct, after])])
    info = written.sections[".debug_info"]
    assert info[written.labels["point"] + 1] == written.labels["after"] - written.units[0]


def test_cases_have_names_and_reasons() -> None:
    cases = synthetic.load()
    assert len(cases) > 140
    assert all(case.build()[:4] == b"\x7fELF" for case in cases.values())
