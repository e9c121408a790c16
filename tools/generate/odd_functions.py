"""Functions and variables for odd_dies.py, with their parameters, blocks, locations and symbols."""

from __future__ import annotations

from typing import Any

from tests.builders.dwarfwriter import Die, LocList, RangeList, die
from tests.builders.elfwriter import Symbol
from tools.generate.odd_types import Types
from tools.generate.odd_values import FUNCTIONS, SUFFIXES, Attribute


class Functions(Types):
    """Draws functions and variables, and a symbol for most of them."""

    def location(self) -> list[Attribute]:
        if not self.odd("locations") and self.maybe(0.6):
            return (
                [("location", "exprloc" if self.version > 3 else "block1", [(f"reg{self.pick(5, 4, 1, 2)}",)])]
                if self.maybe(0.7)
                else []
            )
        if self.odd("lists"):
            text = self.flavour.text
            entries: list[tuple[Any, ...]] = []
            for _ in range(self.pick(0, 1, 1, 2, 3)):
                expression = self.pick(
                    b"\x55",
                    b"\x54",
                    b"",
                    b"\xa3\x01\x55\x9f",
                    b"\x91\x6c",
                    b"\x30\x9f",
                    b"\x55\x93\x04\x93\x04",
                    b"\x70\x00",
                )
                start = self.pick(0, 16, 32)
                entries.append((start, start + self.pick(0, 4, 16), expression))
            if self.version == 5 and self.maybe(0.4):
                entries = [
                    (self.pick("start_length", "start_end"), text, 16 if self.maybe(0.5) else text + 16, b"\x55")
                ] + [("offset_pair", *e) for e in entries]
                if self.maybe(0.3):
                    entries.append(("default_location", b"\x54"))
            form = (
                self.pick("sec_offset", "loclistx")
                if self.version == 5
                else "sec_offset"
                if self.version == 4
                else "data4"
            )
            return [("location", form, LocList(entries))]
        block = "exprloc" if self.version > 3 else "block1"
        return [
            (
                "location",
                block,
                self.pick(
                    [("fbreg", -20)],
                    b"",
                    [("lit3",), ("stack_value",)],
                    [("reg5",), ("piece", 4), ("reg4",), ("piece", 4)],
                    [("breg5", 0)],
                    [("regx", 5)],
                    [("regx", 40)],
                    [("entry_value", [("reg5",)]), ("stack_value",)],
                    [("GNU_entry_value", [("reg5",)]), ("stack_value",)],
                    [("breg5", 8), ("deref",), ("stack_value",)],
                    [("piece", 8)],
                    [("call_frame_cfa",)],
                    [("reg0",)],
                    [("addr", self.flavour.percpu)],
                    [("breg5", 0), ("stack_value",)],
                    [("reg5",), ("stack_value",)],
                ),
            )
        ]

    def parameters(self, real: bool = True, origins: list[str] | None = None) -> list[Die]:
        made: list[Die] = []
        for n in range(self.pick(0, 1, 1, 2, 3, 7 if "many" in self.on else 2)):
            attributes: list[Attribute] = []
            if origins and self.maybe(0.9):
                attributes.append(
                    self.reference(
                        "abstract_origin",
                        origins[min(n, len(origins) - 1)] if self.maybe(0.9) else self.random.choice(origins),
                    )
                )
                if self.odd("origins"):
                    attributes += self.type_()
            else:
                attributes += self.name(f"p{n}") if real or self.maybe(0.2) else []
                attributes += self.type_()
            if real:
                attributes += self.location()
                if self.odd("optimized"):
                    attributes.append(("const_value", self.pick("data1", "sdata"), 3))
                if self.odd("rare"):
                    attributes.append((self.pick("artificial", "variable_parameter", "is_optional"), "flag", 1))
            label = self.label()
            if real:
                self.all_parameters[self.number].append(label)
            made.append(die("formal_parameter", *attributes, *self.note(), label=label, children=self.tags()))
        if self.maybe(0.15):
            made.insert(len(made) if self.maybe(0.8) else 0, die("unspecified_parameters"))
        if self.odd("blocks"):
            self.depth += 1
            made.insert(self.pick(0, len(made)), self.block())
            self.depth -= 1
        return made

    def block(self) -> Die:
        if self.maybe(0.2):
            return die(
                self.pick(
                    "call_site",
                    "GNU_call_site",
                    "label",
                    "imported_declaration",
                    "GNU_formal_parameter_pack",
                    "common_block",
                    "try_block",
                ),
                children=[self.variable()] if self.maybe(0.4) else (),
            )
        tag = self.pick("lexical_block", "lexical_block", "inlined_subroutine", "with_stmt", "catch_block")
        origin = (
            [self.reference("abstract_origin", self.random.choice(self.all_functions[self.number]))]
            if tag == "inlined_subroutine" and self.all_functions[self.number]
            else []
        )
        return die(
            tag,
            *origin,
            children=[
                self.pick(
                    self.variable,
                    self.variable,
                    self.function,
                    lambda: self.a_die(self.label()),
                    self.block if self.maybe(0.3) else self.variable,
                )()
                for _ in range(self.pick(0, 1, 2))
            ],
        )

    def function(self) -> Die:
        self.depth += 1
        if self.depth > 3:
            self.depth -= 1
            return self.typedef(self.label())
        name = self.pick(*FUNCTIONS)
        address = self.flavour.text + 16 * self.random.randrange(1, 12)
        attributes: list[Attribute] = []
        origins = None
        functions = self.all_functions[self.number]
        pool = self.random.choice(self.all_functions) if self.odd("across") else functions
        if pool and self.maybe(0.3 if "origins" in self.on else 0.05):
            other = self.random.choice(pool)
            attributes.append(self.reference(self.pick("abstract_origin", "abstract_origin", "specification"), other))
            origins = self.of_function.get(other)
            if self.odd("origins"):
                attributes += self.name(name)
        else:
            attributes += self.name(name)
        if self.maybe(0.8):
            attributes.append(("external", "flag", 1))
        if self.maybe(0.7):
            attributes += self.type_()
        if self.maybe(0.8):
            if self.odd("linkage") and self.version > 2:
                attributes.append(
                    self.pick(
                        ("entry_pc", "addr", address),
                        ("ranges", "sec_offset" if self.version > 3 else "data4", RangeList([(16, 32), (48, 64)])),
                        ("high_pc", "data4", 16),
                    )
                )
            else:
                attributes += [
                    (
                        "low_pc",
                        self.form(self.pick("addr", "addrx") if self.version == 5 and self.odd("rare") else "addr"),
                        address,
                    ),
                    ("high_pc", "data4", 16),
                ]
            suffix = self.pick(*SUFFIXES) if self.odd("suffixes") else ""
            kind, section, bind, size = "FUNC", ".text", self.pick("GLOBAL", "GLOBAL", "LOCAL"), 16
            where: Any = section
            if self.odd("symbols"):
                kind = self.pick("FUNC", "NOTYPE", "OBJECT", 10, "TLS")
                where = self.pick(".text", 0xFFF1, 0xFFF2, 0, ".data..percpu")
                bind = self.pick("GLOBAL", "LOCAL", "WEAK")
                size = self.pick(0, 16)
                if self.maybe(0.2):
                    address += 4
            if self.maybe(0.95):
                self.symbols.append(Symbol(name + suffix, address, size, kind, where, bind))
        if self.odd("linkage"):
            attributes.append(
                (
                    self.pick("linkage_name", "MIPS_linkage_name") if self.version > 3 else "MIPS_linkage_name",
                    "string",
                    self.pick(*FUNCTIONS) + self.pick("", "", *SUFFIXES),
                )
            )
        if self.odd("origins"):
            attributes.append(("inline", "data1", self.pick(0, 1, 2, 3)))
        attributes += self.declared()
        if self.maybe(0.8):
            attributes.append(("prototyped", "flag", 1))
        if self.odd("optimized"):
            attributes.append(("calling_convention", "data1", self.pick(1, 3, 5)))
        label = self.label()
        before = len(self.all_parameters[self.number])
        children = self.parameters(True, origins)
        self.of_function[label] = self.all_parameters[self.number][before:]
        functions.append(label)
        if self.odd("nested"):
            children.append(self.pick(self.function, lambda: self.a_die(self.label()), self.block, self.variable)())
        self.depth -= 1
        return die("subprogram", *attributes, *self.note(), label=label, children=children + self.tags())

    def variable(self) -> Die:
        f = self.flavour
        base = f.percpu
        if self.odd("sections"):
            base = self.pick(f.percpu, f.text, f.percpu + 0x1000, f.percpu + 0x2000, 0)
        address = base + self.pick(0, 4, 8, 8, 16, 24, 63, 64, 65 if "sections" in self.on else 32)
        attributes: list[Attribute] = []
        mine = self.all_variables[self.number]
        name = self.pick("v", "w", "counter", "x")
        if mine and self.maybe(0.3 if "variables" in self.on else 0.05):
            attributes.append(
                self.reference(self.pick("specification", "specification", "abstract_origin"), self.random.choice(mine))
            )
            if self.odd("variables"):
                attributes += self.name(name)
        else:
            attributes += self.name(name)
        if self.maybe(0.9):
            attributes += self.type_()
        if self.maybe(0.7):
            attributes.append(("external", "flag", 1))
        attributes += self.declared()
        if self.maybe(0.85):
            block = "exprloc" if self.version > 3 else "block1"
            expression: Any = [("addr", address)]
            if self.odd("variables"):
                expression = self.pick(
                    [("addr", address), ("plus_uconst", 4)],
                    [("addr", address), ("stack_value",)],
                    [("const8u", address)],
                    [("addr", address), ("piece", 4)],
                    b"",
                    [("const8u", address), ("form_tls_address",)],
                    [("lit3",)],
                    [("addr", address), ("lit4",), ("plus",)],
                    *([[("addrx", address)]] if self.version == 5 else []),
                )
            attributes.append(("location", block, expression))
            if self.maybe(0.9):
                section = (
                    ".data..percpu"
                    if base == f.percpu
                    else ".text"
                    if base == f.text
                    else ".data"
                    if base == f.percpu + 0x1000
                    else ".bss"
                    if base
                    else 0xFFF1
                )
                kind = self.pick("OBJECT", "NOTYPE", "TLS", "FUNC") if self.odd("symbols") else "OBJECT"
                if self.odd("symbols"):
                    section = self.pick(section, 0xFFF1, 0xFFF2, ".data..percpu")
                self.symbols.append(
                    Symbol(
                        name,
                        address,
                        self.pick(0, 4, 8, 16) if self.odd("symbols") else 8,
                        kind,
                        section,
                        self.pick("GLOBAL", "LOCAL", "WEAK"),
                    )
                )
        if self.odd("variables"):
            attributes.append(
                self.pick(
                    ("const_value", "data1", 3),
                    ("artificial", "flag", 1),
                    ("linkage_name" if self.version > 3 else "MIPS_linkage_name", "string", "x"),
                )
            )
        return die("variable", *attributes, *self.note(), label=self.variable_label(), children=self.tags())
