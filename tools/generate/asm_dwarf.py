"""A small DWARF assembler: trees of DIEs in, GNU assembler source out.

It is for the generators and experiments in this folder, which need DWARF that no compiler would write.
Addresses and references are labels, so the assembler and the linker do the arithmetic, and the output can be
linked like any object. Everything that the reference might read is explicit; nothing is added.

    unit = Die("compile_unit", producer="GNU C11", name="a.c", language=Data(12))
    integer = unit.add(Die("base_type", name="int", encoding=Data(5), byte_size=Data(4)))
    function = unit.add(Die("subprogram", name="f", low_pc=Addr("f")))
    function.add(Die("formal_parameter", name="a", type=integer))
    text = assemble([unit], functions=["f"])

"""

from __future__ import annotations

from dataclasses import dataclass, field

TAGS = {
    "array_type": 0x01,
    "class_type": 0x02,
    "enumeration_type": 0x04,
    "formal_parameter": 0x05,
    "member": 0x0D,
    "pointer_type": 0x0F,
    "compile_unit": 0x11,
    "structure_type": 0x13,
    "subroutine_type": 0x15,
    "typedef": 0x16,
    "union_type": 0x17,
    "unspecified_parameters": 0x18,
    "inheritance": 0x1C,
    "subrange_type": 0x21,
    "base_type": 0x24,
    "const_type": 0x26,
    "enumerator": 0x28,
    "subprogram": 0x2E,
    "variable": 0x34,
    "volatile_type": 0x35,
    "restrict_type": 0x37,
    "interface_type": 0x38,
    "atomic_type": 0x47,
    "inlined_subroutine": 0x1D,
    "lexical_block": 0x0B,
}

ATTRIBUTES = {
    "sibling": 0x01,
    "location": 0x02,
    "name": 0x03,
    "byte_size": 0x0B,
    "bit_offset": 0x0C,
    "bit_size": 0x0D,
    "low_pc": 0x11,
    "high_pc": 0x12,
    "language": 0x13,
    "inline": 0x20,
    "const_value": 0x1C,
    "producer": 0x25,
    "prototyped": 0x27,
    "upper_bound": 0x2F,
    "abstract_origin": 0x31,
    "calling_convention": 0x36,
    "count": 0x37,
    "data_member_location": 0x38,
    "declaration": 0x3C,
    "encoding": 0x3E,
    "external": 0x3F,
    "specification": 0x47,
    "type": 0x49,
    "data_bit_offset": 0x6B,
    "alignment": 0x88,
    "loclists_base": 0x8C,
    "addr_base": 0x73,
    "virtuality": 0x4C,
}


@dataclass(frozen=True)
class Data:
    """A constant: DW_FORM_udata, or DW_FORM_sdata if negative."""

    value: int


@dataclass(frozen=True)
class Addr:
    """DW_FORM_addr of an assembler expression."""

    symbol: str


@dataclass(frozen=True)
class Expr:
    """DW_FORM_exprloc (DW_FORM_block in DWARF 2 and 3)."""

    data: bytes


@dataclass(frozen=True)
class Raw:
    """Any form number and any assembler directives."""

    form: int
    directives: str


@dataclass(frozen=True)
class LocList:
    """DW_FORM_sec_offset of a list of expressions, each valid somewhere in the unit's text. Entries that are not bytes
    are lines of assembler, inserted as they are.
    """

    entries: tuple[bytes | str, ...]
    terminated: bool = True


@dataclass(eq=False)
class Die:
    """A DIE. Attributes keep their order; a string is DW_FORM_string, True is a flag, a Die is a
    DW_FORM_ref4."""

    tag: str
    attributes: dict[str, object] = field(default_factory=dict)
    children: list[Die] = field(default_factory=list)
    label: str = ""

    def __init__(self, tag: str, /, **attributes: object) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children = []
        self.label = ""

    def add(self, child: Die) -> Die:
        self.children.append(child)
        return child


def byte_lines(data: bytes) -> str:
    """Bytes as assembler directives."""
    return f"\t.byte {','.join(str(b) for b in data)}\n" if data else ""


Shape = tuple[int, bool, tuple[tuple[int, int], ...]]  # tag, children, (attribute, form)...


class _Assembler:
    def __init__(self, version: int, address_size: int) -> None:
        self.version = version
        self.address = ".quad" if address_size == 8 else ".long"
        self.address_size = address_size
        self.abbrevs: dict[Shape, int] = {}
        self.info: list[str] = []
        self.lists: list[str] = []
        self.labels = 0

    def label(self) -> str:
        self.labels += 1
        return f".Ld{self.labels}"

    def name_all(self, die: Die) -> None:
        die.label = self.label()
        for child in die.children:
            self.name_all(child)

    def list_entry(self, entry: bytes | str, place: int) -> str:
        if isinstance(entry, str):
            return entry
        if self.version >= 5:
            head = f"\t.byte 4\n\t.uleb128 {place}\n\t.uleb128 {place + 1}\n\t.uleb128 {len(entry)}\n"
        else:
            head = f"\t{self.address} {place}\n\t{self.address} {place + 1}\n\t.2byte {len(entry)}\n"
        return head + byte_lines(entry)

    def location_list(self, value: LocList) -> str:
        label = self.label()
        self.lists.append(f"{label}:\n")
        self.lists += [self.list_entry(entry, place) for place, entry in enumerate(value.entries)]
        if value.terminated:
            self.lists.append("\t.byte 0\n" if self.version >= 5 else f"\t{self.address} 0, 0\n")
        return label

    def form(self, value: object, unit: Die) -> tuple[int, str]:
        """The form of a value and the directives that write it."""
        if isinstance(value, str):
            return 0x08, f'\t.string "{value}"\n'
        if value is True:
            return (0x19, "") if self.version >= 4 else (0x0C, "\t.byte 1\n")
        if isinstance(value, Data):
            return (0x0F, f"\t.uleb128 {value.value}\n") if value.value >= 0 else (0x0D, f"\t.sleb128 {value.value}\n")
        if isinstance(value, Addr):
            return 0x01, f"\t{self.address} {value.symbol}\n"
        if isinstance(value, Expr):
            form = 0x18 if self.version >= 4 else 0x09
            return form, f"\t.uleb128 {len(value.data)}\n" + byte_lines(value.data)
        if isinstance(value, LocList):
            form = 0x17 if self.version >= 4 else 0x06
            return form, f"\t.long {self.location_list(value)}\n"
        if isinstance(value, Raw):
            return value.form, value.directives
        if isinstance(value, Die):
            return 0x13, f"\t.long {value.label} - {unit.label}header\n"
        raise TypeError(f"no form for {value!r}")

    def die(self, die: Die, unit: Die) -> None:
        written = [(ATTRIBUTES[name], *self.form(value, unit)) for name, value in die.attributes.items()]
        shape = (TAGS[die.tag], bool(die.children), tuple((at, form) for at, form, _ in written))
        code = self.abbrevs.setdefault(shape, len(self.abbrevs) + 1)
        self.info.append(f"{die.label}:\t.uleb128 {code}\n" + "".join(text for _, _, text in written))
        for child in die.children:
            self.die(child, unit)
        if die.children:
            self.info.append("\t.byte 0\n")

    def unit(self, unit: Die) -> None:
        self.name_all(unit)
        head = f"{unit.label}header:\n\t.long {unit.label}end - 1f\n1:\t.2byte {self.version}\n"
        if self.version >= 5:
            head += f"\t.byte 1, {self.address_size}\n\t.long .Labbrevs\n"
        else:
            head += f"\t.long .Labbrevs\n\t.byte {self.address_size}\n"
        self.info.append(head)
        self.die(unit, unit)
        self.info.append(f"{unit.label}end:\n")

    def abbrev_text(self) -> str:
        text = ".Labbrevs:\n"
        for (tag, children, attributes), code in self.abbrevs.items():
            text += f"\t.uleb128 {code}\n\t.uleb128 {tag}\n\t.byte {int(bool(children))}\n"
            for at, form in attributes:
                text += f"\t.uleb128 {at}\n\t.uleb128 {form}\n"
            text += "\t.byte 0, 0\n"
        return text + "\t.byte 0\n"

    def lists_text(self) -> str:
        if self.version < 5:
            return '\t.section .debug_loc,"",@progbits\n' + "".join(self.lists)
        return (
            '\t.section .debug_loclists,"",@progbits\n'
            "\t.long 2f - 1f\n1:\t.2byte 5\n"
            f"\t.byte {self.address_size}, 0\n\t.long 0\n" + "".join(self.lists) + "2:\n"
        )


def assemble(
    units: list[Die], functions: list[str], *, version: int = 5, address_size: int = 8, extra: str = ""
) -> str:
    """Assembler source with the DWARF of `units` and one STT_FUNC symbol of 16 bytes per name in `functions`.

    A name given as "NAME@OTHER" is a second symbol at the address of OTHER. `extra` goes to the end.
    """
    assembler = _Assembler(version, address_size)
    for unit in units:
        assembler.unit(unit)
    text = "\t.text\n.Ltext:\n"
    for name in functions:
        if "@" in name:
            alias, target = name.split("@")
            text += f"\t.type {alias}, %function\n\t.set {alias}, {target}\n"
        else:
            text += f"\t.balign 16\n\t.type {name}, %function\n{name}:\n\t.skip 16, 0x90\n\t.size {name}, 16\n"
    text += '\t.section .debug_abbrev,"",@progbits\n' + assembler.abbrev_text()
    text += '\t.section .debug_info,"",@progbits\n' + "".join(assembler.info)
    if assembler.lists:
        text += assembler.lists_text()
    return text + extra + '\t.section .note.GNU-stack,"",@progbits\n'
