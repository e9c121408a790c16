"""Compares what `pybtf why` says about every name in a program with an independent reading of it.

    python -m tools.compare.why_check [--sample N] [--seed S] [--features LIST] FILE|KERNEL...

KERNEL is a name that reference.py knows. Two things are checked. For every function of .symtab, every name of a
DW_TAG_subprogram and every variable at the top level of a unit, `why` must say that it is in BTF exactly if the BTF
that `pybtf encode` writes has a FUNC or VAR of that name. And for each reason, N names are drawn, and the reason is
checked by the functions below, which use the symbols and the DWARF as pyelftools reads them, and nothing of the core.
Likewise the evidence for some reasons: it must have the code, and the place of the parameter that decided.

Finding the DIEs of a kernel takes a minute; the offsets are kept in build/why-check.

Exit status: 1 if one name or one reason is wrong.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import struct
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from elftools.dwarf.dwarf_expr import DWARFExprParser
from elftools.dwarf.locationlists import LocationEntry, LocationExpr, LocationParser
from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile

from tools.judge.reference import kernel

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "why-check"
FUNC, VAR = 12, 14
FIXED = {1: 1, 2: 0, 3: 3, 7: 0, 8: 0, 9: 0, 10: 0, 11: 0, 12: 0, 14: 1, 16: 0, 17: 1, 18: 0}
EACH = {4: 3, 5: 3, 6: 2, 13: 2, 15: 3, 19: 3}
REGISTERS = {"x64": [5, 4, 1, 2, 8, 9], "AArch64": list(range(8))}  # for the two ABIs, by DWARF's numbers
GENERATED = ("__UNIQUE_ID", "__tpstrtab_", "__exitcall_", "__gendwarfksyms_ptr_", "__func_stack_frame_non_standard_")


SIZES = {
    "DW_FORM_flag_present": 0, "DW_FORM_implicit_const": 0, "DW_FORM_data1": 1, "DW_FORM_flag": 1, "DW_FORM_ref1": 1,
    "DW_FORM_strx1": 1, "DW_FORM_addrx1": 1, "DW_FORM_data2": 2, "DW_FORM_ref2": 2, "DW_FORM_strx2": 2,
    "DW_FORM_addrx2": 2, "DW_FORM_strx3": 3, "DW_FORM_data4": 4, "DW_FORM_ref4": 4, "DW_FORM_strx4": 4,
    "DW_FORM_addrx4": 4, "DW_FORM_data8": 8, "DW_FORM_ref8": 8, "DW_FORM_ref_sig8": 8, "DW_FORM_data16": 16,
}  # fmt: skip
OFFSETS = ("DW_FORM_strp", "DW_FORM_line_strp", "DW_FORM_sec_offset", "DW_FORM_ref_addr")
LEBS = (
    "DW_FORM_udata", "DW_FORM_sdata", "DW_FORM_ref_udata", "DW_FORM_strx", "DW_FORM_addrx", "DW_FORM_loclistx",
    "DW_FORM_rnglistx",
)  # fmt: skip


def leb(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned LEB128, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def names_of_btf(path: Path) -> tuple[set[str], set[str]]:
    """The names of functions and variables in raw BTF."""
    data = path.read_bytes()
    header, types, types_size, text, _ = struct.unpack_from("<4x5I", data)
    found: dict[int, set[str]] = {FUNC: set(), VAR: set()}
    at, end = header + types, header + types + types_size
    while at < end:
        name, info, _ = struct.unpack_from("<3I", data, at)
        kind, count = info >> 24 & 31, info & 0xFFFF
        at += 12 + 4 * (FIXED[kind] if kind in FIXED else EACH[kind] * count)
        if kind in found:
            start = header + text + name
            found[kind].add(data[start : data.index(b"\0", start)].decode())
    return found[FUNC], found[VAR]


class Program:
    """Symbols and DIEs of a file, by name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path.open("rb")
        self.elf = ELFFile(self.file)
        # A kernel may keep its relocations, which are already applied.
        self.dwarf: Any = self.elf.get_dwarf_info(relocate_dwarf_sections=self.elf["e_type"] == "ET_REL")
        self.registers = REGISTERS.get(self.elf.get_machine_arch(), [])
        self.symbols: dict[str, list[int]] = defaultdict(list)
        """Addresses of function symbols by their whole name."""
        symtab: Any = self.elf.get_section_by_name(".symtab")
        for symbol in symtab.iter_symbols():
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol.name:
                self.symbols[symbol.name].append(symbol["st_value"])
        self.by_base: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for name, addresses in self.symbols.items():
            self.by_base[name.partition(".")[0]] += [(name, address) for address in addresses]
        self.functions, self.variables = self._index()

    def _index(self) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
        """Offsets of DW_TAG_subprogram and top-level DW_TAG_variable DIEs by name."""
        stat = self.path.stat()
        kept = KEPT / f"{self.path.parent.name}-{stat.st_size}-{stat.st_mtime_ns}.pickle"
        if kept.exists():
            return pickle.loads(kept.read_bytes())  # type: ignore[no-any-return]
        functions: dict[str, list[int]] = defaultdict(list)
        variables: dict[str, list[int]] = defaultdict(list)
        into = {"DW_TAG_subprogram": functions, "DW_TAG_variable": variables}
        for unit in self.dwarf.iter_CUs():
            for offset, tag in self._scan(unit):
                die = unit.get_DIE_from_refaddr(offset)
                name = self.name(die)
                if name:
                    into[tag][name].append(offset)
            unit._dielist, unit._diemap = [], []  # otherwise it keeps all of them
        KEPT.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(pickle.dumps((dict(functions), dict(variables))))
        return dict(functions), dict(variables)

    def _scan(self, unit: Any) -> list[tuple[int, str]]:
        """Offsets of the subprograms and top-level variables of a unit. pyelftools would read all attributes of all
        DIEs. Here, unwanted ones are skipped, mostly by a number of bytes that the abbreviation determines.
        """
        programs: dict[int, tuple[str, bool, int, list[str]]] = {}
        stream = self.dwarf.debug_info_sec.stream
        stream.seek(unit.cu_offset)
        data = stream.read(unit.size)
        at, depth = unit.cu_die_offset - unit.cu_offset, 0
        found = []
        size = len(data)
        while at < size:
            start = at
            code = data[at]
            at += 1
            if code == 0:
                depth -= 1
                continue
            if code & 0x80:
                code, at = leb(data, start)
            program = programs.get(code)
            if program is None:
                program = programs[code] = self._program(unit, code)
            tag, children, fixed, forms = program
            if tag == "DW_TAG_subprogram" or (tag == "DW_TAG_variable" and depth == 1):
                found.append((unit.cu_offset + start, tag))
            at += fixed
            for form in forms:
                at = self._over(unit, data, at, form)
            depth += children
        return found

    def _program(self, unit: Any, code: int) -> tuple[str, bool, int, list[str]]:
        """For an abbreviation: its tag, whether it has children, and its size if all forms have one, else the forms."""
        declaration = unit.get_abbrev_table().get_abbrev(code)
        forms = [str(each[1]) for each in declaration.iter_attr_specs()]
        sizes = [self._size(unit, form) for form in forms]
        whole = None not in sizes
        return (
            declaration["tag"], declaration.has_children(), sum(n or 0 for n in sizes) if whole else 0,
            [] if whole else forms,
        )  # fmt: skip

    def _size(self, unit: Any, form: str) -> int | None:
        word, address = unit.structs.dwarf_format // 8, unit["address_size"]
        return {**SIZES, **dict.fromkeys(OFFSETS, word), "DW_FORM_addr": address}.get(form)

    def _over(self, unit: Any, data: bytes, at: int, form: str) -> int:
        size = self._size(unit, form)
        if size is not None:
            return at + size
        if form == "DW_FORM_string":
            return data.index(b"\0", at) + 1
        number, behind = leb(data, at)
        if form in ("DW_FORM_exprloc", "DW_FORM_block"):
            return behind + number
        if form in ("DW_FORM_block1", "DW_FORM_block2", "DW_FORM_block4"):
            width = int(form[-1])
            order: Any = "little" if self.elf.little_endian else "big"
            return at + width + int.from_bytes(data[at : at + width], order)
        if form in LEBS:
            return behind
        raise SystemExit(f"{self.path}: {form} is not known here")

    # ---- DIEs ----

    def die(self, offset: int) -> Any:
        return self.dwarf.get_DIE_from_refaddr(offset)

    def to(self, die: Any, attribute: str) -> Any:
        return die.get_DIE_from_attribute(attribute) if attribute in die.attributes else None

    def chain(self, die: Any) -> Iterator[Any]:
        while die is not None:
            yield die
            die = self.to(die, "DW_AT_abstract_origin") or self.to(die, "DW_AT_specification")

    def attribute(self, die: Any, name: str) -> Any:
        return next((each.attributes[name].value for each in self.chain(die) if name in each.attributes), None)

    def name(self, die: Any) -> str:
        value = self.attribute(die, "DW_AT_name")
        return value.decode() if value is not None else ""

    def type(self, die: Any) -> Any:
        return next((self.to(each, "DW_AT_type") for each in self.chain(die) if "DW_AT_type" in each.attributes), None)

    def defined(self, name: str) -> list[Any]:
        """Descriptions of a function that are not declarations."""
        dies = [self.die(offset) for offset in self.functions.get(name, ())]
        return [die for die in dies if "DW_AT_declaration" not in die.attributes]

    def params(self, die: Any) -> list[Any]:
        return [child for child in die.iter_children() if child.tag == "DW_TAG_formal_parameter"]

    def spelt(self, die: Any, depth: int = 0) -> str:
        """A type in words that are the same for equal types; const does not count."""
        if die is None:
            return "void"
        if depth > 30:
            return "..."
        tag = die.tag.removeprefix("DW_TAG_")
        if tag == "const_type":
            return self.spelt(self.to(die, "DW_AT_type"), depth)
        if tag in ("structure_type", "union_type", "enumeration_type", "base_type", "typedef"):
            return f"{tag} {self.name(die)}"
        inner = self.spelt(self.to(die, "DW_AT_type"), depth + 1)
        if tag == "array_type":
            bounds = [self.attribute(child, "DW_AT_upper_bound") for child in die.iter_children()]
            return f"array {bounds} of {inner}"
        if tag == "subroutine_type":
            return f"function ({self.spelt_params(die, depth + 1)}) returning {inner}"
        return f"{tag} of {inner}"

    def spelt_params(self, die: Any, depth: int = 0) -> str:
        found = []
        for child in die.iter_children():
            if child.tag == "DW_TAG_formal_parameter":
                found.append(self.spelt(self.type(child), depth))
            elif child.tag == "DW_TAG_unspecified_parameters":
                found.append("...")
        return ", ".join(found)

    def prototype(self, die: Any) -> str:
        return f"{self.spelt(self.type(die))} ({self.spelt_params(die)})"

    def size(self, die: Any) -> int:
        """The size of a type in bytes, or 0 if unknown."""
        while die is not None:
            if die.tag == "DW_TAG_pointer_type":
                return 8
            if "DW_AT_byte_size" in die.attributes:
                return int(die.attributes["DW_AT_byte_size"].value)
            die = self.to(die, "DW_AT_type")
        return 0

    def register(self, die: Any) -> int | None:
        """The register of a parameter at the start of its first location; None if there is no register."""
        for each in self.registers_of(die):
            return each
        return None

    def registers_of(self, die: Any) -> Iterator[int | None]:
        """The registers of all its locations, in order; None for a location that is not a single register."""
        if "DW_AT_location" not in die.attributes:
            return
        attribute = die.attributes["DW_AT_location"]
        unit = die.cu
        parser = LocationParser(self.dwarf.location_lists())
        if attribute.form in ("DW_FORM_exprloc", "DW_FORM_block1"):
            expressions = [attribute.value]
        else:
            entries = parser.parse_from_attribute(attribute, unit["version"], die)
            expressions = [entry.loc_expr for entry in entries if isinstance(entry, LocationEntry | LocationExpr)]
        for expression in expressions:
            operations = DWARFExprParser(unit.structs).parse_expr(expression)
            first = operations[0].op_name if operations else ""
            yield int(first[9:]) if first[9:].isdecimal() and first.startswith("DW_OP_reg") else None

    def starts(self, die: Any) -> set[int]:
        """The start of its code, and of further parts of it."""
        if "DW_AT_low_pc" in die.attributes:
            return {die.attributes["DW_AT_low_pc"].value}
        if "DW_AT_ranges" not in die.attributes:
            return set()
        low = die.cu.get_top_DIE().attributes.get("DW_AT_low_pc")
        base, found = low.value if low is not None else 0, set()
        for entry in self.dwarf.range_lists().get_range_list_at_offset(die.attributes["DW_AT_ranges"].value, die.cu):
            if isinstance(entry, BaseAddressEntry):
                base = entry.base_address
            else:
                found.add(entry.begin_offset + (0 if entry.is_absolute else base))
        return found

    # ---- what a reason says ----

    def no_symbol(self, name: str) -> bool:
        """No symbol is for the whole function; there may be symbols for parts."""
        whole = [symbol for symbol, _ in self.by_base.get(name, ()) if not {"part", "cold"} & set(symbol.split("."))]
        return not whole and bool(self.defined(name))

    def declaration(self, name: str) -> bool:
        return bool(self.functions.get(name)) and not self.defined(name)

    def no_description(self, name: str) -> bool:
        return name in self.by_base and not self.functions.get(name)

    def clone(self, name: str) -> bool:
        return "." in name and name in self.symbols and not self.functions.get(name)

    def padding(self, name: str) -> bool:
        rest = name.removeprefix("__pfx_")
        there = rest in self.by_base or rest in self.symbols
        return rest != name and there and name not in self.functions

    def part(self, name: str) -> bool:
        """The symbol table has it beside the function, and DWARF has no function of this name. (Symbols of arm64's
        hypervisor get a prefix after compilation.)
        """
        stem, dot, rest = name.partition(".")
        split = any(word in rest for word in ("cold", "part"))
        known = stem in self.functions or stem.removeprefix("__kvm_nvhe_") in self.functions
        return bool(dot) and split and known and name in self.symbols and name not in self.functions

    def ambiguous_address(self, name: str) -> bool:
        return len({address for _, address in self.by_base[name]}) > 1 and bool(self.defined(name))

    def inconsistent(self, name: str) -> bool:
        return len({self.prototype(die) for die in self.defined(name)}) > 1

    def optimized(self, name: str) -> bool:
        """A copy at the address of a clone has a parameter that is not in a register at its start."""
        clones = {address for symbol, address in self.by_base[name] if ".constprop" in symbol or ".isra" in symbol}
        copies = [die for die in self.defined(name) if self.attribute(die, "DW_AT_low_pc") in clones]
        return any(self.register(param) is None for die in copies for param in self.params(die))

    def reordered(self, name: str) -> bool:
        """A copy has a parameter in another place than its origin."""
        for die in self.defined(name):
            origin = self.to(die, "DW_AT_abstract_origin")
            if origin is None:
                continue
            own = [self.to(param, "DW_AT_abstract_origin") for param in self.params(die)]
            there = [param.offset for param in self.params(origin)]
            places = [there.index(param.offset) for param in own if param is not None and param.offset in there]
            if places != list(range(len(places))):
                return True
        return False

    def unexpected_register(self, name: str) -> bool:
        """A parameter begins in the wrong register, given that all parameters before it take theirs."""
        for die in self.defined(name):
            if "DW_AT_low_pc" not in die.attributes and "DW_AT_ranges" not in die.attributes:
                continue
            due = 0
            seen = self.params(die)
            for at in range(2):  # in the order of the copy, then in that of the source
                if at:
                    origin = self.to(die, "DW_AT_abstract_origin")
                    if origin is None:
                        break
                    places = {param.attributes["DW_AT_abstract_origin"].value + die.cu.cu_offset: param
                              for param in seen if "DW_AT_abstract_origin" in param.attributes}
                    seen = [places.get(param.offset, param) for param in self.params(origin)]
                due = 0
                for param in seen:
                    size = self.size(self.type(param))
                    for register in list(self.registers_of(param))[:1]:
                        if register is not None and due < len(self.registers) and register != self.registers[due]:
                            return True
                    due += 1 if size > 16 else max(1, (size + 7) // 8)
        return False

    def uncertain_location(self, name: str) -> bool:
        """A parameter beyond the registers is a struct with a member where its type would not be placed."""
        for die in self.defined(name):
            for param in self.params(die)[len(self.registers) :]:
                type = self.type(param)
                if type is not None and type.tag == "DW_TAG_structure_type" and self.packed(type):
                    return True
        return False

    def packed(self, die: Any) -> bool:
        for member in die.iter_children():
            if member.tag == "DW_TAG_member":
                size = min(self.size(self.type(member)), 8)
                if size and (self.attribute(member, "DW_AT_data_member_location") or 0) % size:
                    return True
        return bool(self.size(die) % 2)

    def unnamed_parameter(self, name: str) -> bool:
        return any(not self.name(param) for die in self.defined(name) for param in self.params(die))

    def language(self, name: str) -> bool:
        return any(die.cu.get_top_DIE().attributes["DW_AT_language"].value == 0x1C for die in self.defined(name))

    # ---- what the evidence has ----

    def described(self, name: str) -> set[str]:
        """Addresses of symbols where a description has code."""
        starts = {start for die in self.defined(name) for start in self.starts(die)}
        return {f"{address:#x}" for _, address in self.by_base[name] if address in starts}

    def evidence_unexpected_register(self, name: str, found: dict[str, Any]) -> bool:
        """The first instance has the address of its code, and a place of the parameter in a register."""
        row = found["instances"][0]
        if "parameter" not in row:
            return True
        location = row["parameters"][row["parameter"]]["location"]
        placed = row["found"] is None or location.split(",")[0] == row["found"]
        return placed and (row.get("address") in self.described(name) or not self.described(name))

    def evidence_ambiguous_address(self, name: str, found: dict[str, Any]) -> bool:
        """Each described address has its place."""
        placed = {row["address"] for row in found["addresses"] if "unit" in row}
        return self.described(name) & {row["address"] for row in found["addresses"]} <= placed

    # ---- variables ----

    def address_of(self, die: Any) -> int | None:
        """The fixed address of a variable."""
        attribute = die.attributes.get("DW_AT_location")
        if attribute is None or attribute.form not in ("DW_FORM_exprloc", "DW_FORM_block1"):
            return None
        operations = DWARFExprParser(die.cu.structs).parse_expr(attribute.value)
        return operations[0].args[0] if operations and operations[0].op_name == "DW_OP_addr" else None

    def variable(self, name: str) -> list[Any]:
        return [self.die(offset) for offset in self.variables.get(name, ())]

    def var_section(self, name: str) -> bool:
        percpu: Any = self.elf.get_section_by_name(".data..percpu")
        low = percpu["sh_addr"] if percpu is not None else 0
        high = low + percpu["sh_size"] if percpu is not None else 0
        found = [self.address_of(die) for die in self.variable(name)]
        return any(address is not None and not low <= address < high for address in found)

    def var_no_address(self, name: str) -> bool:
        dies = self.variable(name)
        return bool(dies) and all(self.address_of(die) is None for die in dies)

    def var_declaration(self, name: str) -> bool:
        dies = self.variable(name)
        return bool(dies) and all("DW_AT_declaration" in die.attributes for die in dies)

    def var_generated(self, name: str) -> bool:
        return name.startswith(GENERATED)


def check_of(program: Program, kind: str, reason: str) -> Callable[[str], bool] | None:
    return getattr(program, f"var_{reason}" if kind == "variable" else reason, None)


def command(*arguments: str) -> bytes:
    run = subprocess.run([sys.executable, "-m", "pybtf", *arguments], stdout=subprocess.PIPE, check=False)
    if run.returncode not in (0, 1) or (not run.stdout and "--json" in arguments):
        raise SystemExit(f"pybtf {' '.join(arguments)}: status {run.returncode}")
    return run.stdout


def check(path: Path, sample: int, seed: int, features: str) -> bool:
    options = ["--features", features, "--lang-exclude", "rust"]
    with tempfile.TemporaryDirectory() as folder:
        btf = Path(folder, "btf")
        command("encode", "-q", *options, "--detached", str(btf), str(path))
        functions, variables = names_of_btf(btf)
    answers = {each["name"]: each for each in json.loads(command("why", "--json", *options, "*", str(path)))}
    program = Program(path)
    asked = {*program.symbols, *program.functions, *program.variables}
    missing = sorted(name for name in asked if name not in answers)
    wrong = sorted(name for name, each in answers.items() if each["in_btf"] != (name in functions or name in variables))
    lost = sorted((functions | variables) - answers.keys())
    print(
        f"{path}: {len(program.symbols):,} function symbols, {len(program.functions):,} names of DW_TAG_subprogram, "
        f"{len(program.variables):,} of DW_TAG_variable: {len(asked):,} names; {len(missing):,} without an answer, "
        f"{len(wrong) + len(lost):,} wrong; {len(functions):,} functions and {len(variables):,} variables in BTF"
    )
    for name in [*missing, *wrong, *lost][:10]:
        print(f"  {name}: {answers.get(name, {}).get('verdict')}")
    by_reason: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, each in answers.items():
        if each["reason"] is not None:
            by_reason[each["kind"], each["reason"]].append(name)
    drawn, bad = 0, 0
    for (kind, reason), names in sorted(by_reason.items()):
        holds = check_of(program, kind, reason)
        chosen = random.Random(seed).sample(sorted(names), min(sample, len(names)))
        if holds is None:
            print(f"  {kind} {reason}: {len(names):,} names, not checked")
            continue
        failed = [name for name in chosen if not holds(name)]
        shows = getattr(program, f"evidence_{reason}", None) if kind == "function" else None
        if shows is not None and chosen:
            full = json.loads(command("why", "--json", *options, *chosen, str(path)))
            failed += [each["name"] for each in full if not shows(each["name"], each["evidence"])]
        drawn += len(chosen)
        bad += len(failed)
        print(f"  {kind} {reason}: {len(names):,} names, {len(chosen)} drawn, {len(failed)} wrong {failed[:8]}")
    print(f"  {drawn} reasons checked, {bad} wrong")
    return not (missing or wrong or lost or bad)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--features", default="default")
    parser.add_argument("files", nargs="+")
    given = parser.parse_args()
    good = True
    for name in given.files:
        path = Path(name)
        good &= check(path if path.exists() else kernel(name), given.sample, given.seed, given.features)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
