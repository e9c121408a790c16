"""Random DWARF with many oddities at a time, in one to three units, as no compiler writes it.

A seed decides which of the `ODDITIES` of odd_values.py a program has and how often; everything else is plain.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.builders.dwarfwriter import Die, Unit, die, dwarf
from tests.builders.elfwriter import SHF_ALLOC, SHF_WRITE, Section, Symbol, btf_ids
from tests.builders.kernelish import Flavour, kernel
from tools.generate.odd_functions import Functions
from tools.generate.odd_mending import Mending
from tools.generate.odd_values import FUNCTIONS, Attribute

UNBUILDABLE = (OverflowError, ValueError)
"""What `Program.build` raises where a value does not fit its form."""


class Program(NamedTuple):
    """A kernel whose DWARF is odd."""

    units: list[Unit]
    flavour: Flavour
    symbols: list[Symbol]
    sections: list[Section]

    def build(self) -> bytes:
        """The ELF file."""
        units = dwarf(self.units, little=self.flavour.little)
        return kernel(units, self.flavour, extra_sections=self.sections, symbols=self.symbols).data


class Maker(Functions):
    """Draws a whole program."""

    def unit(self, number: int) -> Unit:
        self.number = number
        self.depth = 0
        self.current = ""
        self.pointing = False
        self.version = self.versions[number]
        self.of_function = {}
        children: list[Die] = [
            die(
                "base_type",
                ("name", "string", "int"),
                ("byte_size", "data1", 4),
                ("encoding", "data1", 5),
                label=f"u{number}_int",
            )
        ]
        for label in self.notes[number]:
            link = (
                [("GNU_annotation", "ref4", self.random.choice(self.notes[number][: self.notes[number].index(label)]))]
                if self.maybe(0.3) and label != self.notes[number][0]
                else []
            )
            children.append(
                die(
                    0x6001,
                    ("name", "string", self.pick("btf_decl_tag", "btf_type_tag")),
                    ("const_value", "string", self.pick("n1", "n2")),
                    *link,
                    label=label,
                )
            )
        if "unspecified" in self.on:
            self.nulls[number] = [self.label()]
            children.append(self.unspecified(self.nulls[number][0]))
        for label in self.planned[number]:
            self.current = label
            children.append(self.a_die(label))
        self.current = ""
        for _ in range(self.pick(1, 2, 3, 5)):
            children.append(self.function())
        for _ in range(self.pick(0, 1, 2, 4)):
            children.append(self.variable())
        if self.odd("namespaces") or self.odd("modules"):
            cut = self.random.randrange(1, len(children))
            tag = self.pick(
                "namespace",
                "namespace",
                "module",
                "lexical_block",
                "common_block",
                "dwarf_procedure",
                "partial_unit",
                "subprogram",
                "structure_type",
                "union_type",
                "class_type",
            )
            children[cut:] = [
                die(tag, *self.name(), *self.pick([], [("export_symbols", "flag", 1)]), children=children[cut:])
            ]
        if self.odd("rare"):
            children.append(
                die(
                    self.pick(
                        "imported_declaration",
                        "imported_module",
                        "constant",
                        "label",
                        "template_alias",
                        "dwarf_procedure",
                        "entry_point",
                        "namelist",
                    ),
                    *self.name(),
                    *self.type_(),
                )
            )
        if self.odd("shuffled"):
            self.random.shuffle(children)
        tag = "compile_unit"
        if self.odd("partial"):
            tag = "partial_unit" if number else "compile_unit"
        if "partial" in self.on and number == 0:
            for other in range(1, len(self.types)):
                if self.maybe(0.5):
                    children.insert(
                        self.pick(0, len(children)), die("imported_unit", ("import", "ref_addr", f"u{other}_root"))
                    )
        language = self.pick(1, 2, 4, 0x1C, 0x1D, 0x21, 0x2B, 0x8001, 0x13, 8) if self.odd("languages") else 12
        producer = (
            self.pick("clang version 17", "GNU AS 2.40", "GNU GIMPLE 12.2.0 -flto", "rustc", "")
            if self.odd("producers")
            else "GNU C11 12.2.0"
        )
        root: list[Attribute] = [
            ("name", "string", f"{number}.c"),
            ("language", "data2" if language > 255 else "data1", language),
            ("producer", "string", producer),
        ]
        if self.maybe(0.7):
            root.append(("low_pc", "addr", self.pick(0, self.flavour.text)))
        return Unit(
            die(tag, *root, children=children, label=f"u{number}_root"),
            version=self.version,
            offset_size=8 if self.odd("dwarf64") and self.version > 2 else 4,
            address_size=self.flavour.address_size,
            abbrevs="" if self.odd("shared") else f"t{number}",
        )

    def make(self) -> Program:
        count = self.pick(1, 1, 2, 3)
        self.versions = [
            self.pick(2, 3, 4, 5) if "versions" in self.on else 5 - self.random.randrange(2) for _ in range(count)
        ]
        if "versions" not in self.on:
            self.versions = [self.versions[0]] * count
        for n in range(count):
            self.planned.append([f"u{n}_t{k}" for k in range(self.pick(2, 5, 8, 14))])
            for label in self.planned[n]:
                self.kinds[label] = self.pick("struct", "other", "other")
            self.types.append([f"u{n}_int", *self.planned[n]])
            self.notes.append([f"u{n}_n{k}" for k in range(3)] if "gnu_annotations" in self.on else [])
            self.all_functions.append([])
            self.all_parameters.append([])
            self.all_variables.append([])
        units = [self.unit(n) for n in range(count)]
        sections: list[Section] = []
        if "sections" in self.on:
            p = self.flavour.percpu
            sections += [
                Section(".data", bytes(64), flags=SHF_ALLOC | SHF_WRITE, address=p + 0x1000, align=16),
                Section(".bss", b"", type="NOBITS", size=64, flags=SHF_ALLOC | SHF_WRITE, address=p + 0x2000, align=16),
            ]
        if "kfuncs" in self.on:
            entries: list[tuple[str, int, int]] = []
            for n in range(self.pick(1, 2)):
                entries.append((f"__BTF_ID__set8__set{n}", self.pick(0, 1, 2), self.pick(0, 1, 1)))
                for k in range(self.pick(0, 1, 3)):
                    entries.append(
                        (f"__BTF_ID__func__{self.pick(*FUNCTIONS)}__{n}{k}", 0, self.pick(0, 1, 0x42, 1 << 20, 255))
                    )
            made, more = btf_ids(entries, address=self.flavour.percpu + 0x4000, little=self.flavour.little)
            sections.append(made)
            self.symbols += more
        defined = {each.name for each in sections} | {".text", ".data..percpu"}
        symbols = [s for s in self.symbols if not isinstance(s.section, str) or s.section in defined]
        return Program(Mending(units).units, self.flavour, symbols, sections)


def program(seed: int) -> Program:
    """The program of a seed; the same seed gives the same program."""
    return Maker(seed).make()
