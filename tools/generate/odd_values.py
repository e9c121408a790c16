"""Values of attributes for odd_dies.py: names, references, numbers, tags and notes, in forms that no compiler uses."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.builders.dwarfwriter import Die, die
from tests.builders.elfwriter import Symbol
from tests.builders.kernelish import FLAVOURS, Flavour

Attribute = tuple[Any, ...]
NAMES = ("a", "b", "c", "d", "e")
FUNCTIONS = ("f", "g", "h", "k")
SUFFIXES = ("", "", "", "", ".isra.0", ".constprop.0", ".part.0", ".cold", ".llvm.123", ".isra.0.constprop.1", ".")
ODDITIES = (
    "sizes", "bases", "placeless", "places", "bits", "statics", "inside", "annotations", "gnu_annotations", "enums",
    "enum_forms", "bounds", "dimensions", "arrays", "strides", "unspecified", "rare", "impossible", "nameless",
    "declared", "across", "indirect", "strings", "references", "nested", "namespaces", "suffixes", "locations", "lists",
    "origins", "variables", "sections", "symbols", "kfuncs", "dwarf64", "versions", "languages", "partial", "producers",
    "shared", "flavours", "modules", "cycles", "optimized", "inheritance", "linkage", "shuffled", "many", "voids",
    "blocks",
)  # fmt: skip


class Values:
    """What is drawn so far, and values that fit it. Each list of lists has one list per unit."""

    def __init__(self, seed: int) -> None:
        self.random = Random(f"odd dies {seed}")
        r = self.random
        self.on = set(r.sample(ODDITIES, r.choice((3, 5, 8, 14))))
        self.rate = r.choice((0.1, 0.25, 0.5))
        self.count = 0
        self.flavour: Flavour = FLAVOURS[r.choice(list(FLAVOURS)) if "flavours" in self.on else "x86_64"]
        self.types: list[list[str]] = []
        self.all_parameters: list[list[str]] = []
        self.all_functions: list[list[str]] = []
        self.all_variables: list[list[str]] = []
        self.notes: list[list[str]] = []
        self.symbols: list[Symbol] = []
        self.versions: list[int] = []
        self.planned: list[list[str]] = []  # labels of types, in order
        self.kinds: dict[str, str] = {}  # of planned types: "struct" or "other"
        self.nulls: dict[int, list[str]] = {}  # unspecified types by unit
        self.of_function: dict[str, list[str]] = {}  # its parameters
        self.number = 0  # of the unit
        self.version = 5
        self.depth = 0  # of functions and blocks
        self.current = ""  # the planned type that is being drawn
        self.pointing = False

    def odd(self, what: str) -> bool:
        """Whether something is odd in this way."""
        return what in self.on and self.random.random() < self.rate

    def maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def form(self, form: str) -> Any:
        """The form, perhaps with DW_FORM_indirect."""
        return ("indirect", form) if self.odd("indirect") and form != "implicit_const" else form

    def name(self, text: str | None = None) -> list[Attribute]:
        if self.odd("nameless") and self.maybe(0.3):
            return [("name", "string", "")] if self.maybe(0.4) else []
        form = "string"
        if self.odd("strings"):
            form = self.pick(
                "strp", "string", *(("line_strp", "strx", "strx1", "strx2", "strx4") if self.version == 5 else ())
            )
        text = self.pick(*NAMES) if text is None else text
        if self.odd("strings") and self.maybe(0.3):
            text = self.pick("struct", "a b", "a.b", "ä", "1", "a::b", "a-b", "x" * 200, "int", "void", ".a", "_")
        return [("name", self.form(form), text)]

    def reference(self, attribute: str, label: str) -> Attribute:
        form = self.pick("ref2", "ref4", "ref8", "ref_udata") if self.odd("references") else "ref4"
        if not label.startswith(f"u{self.number}_") or (self.odd("across") and self.maybe(0.3)):
            form = "ref_addr"
        return attribute, self.form(form), label

    def a_type(self) -> str:
        """The label of a type: an earlier one, except through a pointer or with the oddity `cycles`."""
        pool: list[str] = self.types[self.number]
        if self.odd("across") and len(self.types) > 1:
            pool = self.random.choice(self.types)
        if self.odd("cycles") and self.maybe(0.3):
            return self.random.choice(pool)
        home = self.types[self.number]
        at = home.index(self.current) if self.current in home else len(home)
        pool = pool[: max(at, 1)]
        if self.pointing:
            pool = pool + [label for label in home if self.kinds.get(label) == "struct"]
        return self.random.choice(pool)

    def type_(self) -> list[Attribute]:
        if self.odd("voids"):
            return []
        if self.odd("unspecified") and self.nulls.get(self.number) and self.maybe(0.5):
            return [self.reference("type", self.random.choice(self.nulls[self.number]))]
        return [self.reference("type", self.a_type())]

    def number_(self, attribute: str, value: int, odd: str = "sizes") -> Attribute:
        if not self.odd(odd):
            return attribute, self.form("data1" if 0 <= value < 256 else "udata" if value >= 0 else "sdata"), value
        forms = ["data2", "data4", "data8", "udata", "sdata"] + (["implicit_const"] if self.version == 5 else [])
        if self.version == 5 and self.maybe(0.2):
            forms += ["data16"]
        form = self.pick(*forms)
        return (
            attribute,
            self.form(form),
            value if form in ("sdata", "implicit_const") or value >= 0 else value & 0xFFFF,
        )

    def size(self, usual: int) -> list[Attribute]:
        if not self.odd("sizes"):
            return [("byte_size", "data1", usual)]
        if self.maybe(0.2):
            return []
        if self.maybe(0.1):
            return [("bit_size", "data1", self.pick(1, 8, 12, 31))]
        return [self.number_("byte_size", self.pick(0, 1, 2, 3, 4, 5, 8, 16, 255))]

    def tags(self) -> list[Die]:
        if not self.odd("annotations"):
            return []
        return [
            die(
                0x6000,
                ("name", "string", self.pick("btf_decl_tag", "btf_type_tag", "other")),
                ("const_value", "string", self.pick("t1", "t2", "a b")),
            )
            for _ in range(self.pick(1, 1, 2, 3))
        ]

    def note(self) -> list[Attribute]:
        if not self.odd("gnu_annotations") or not self.notes[self.number]:
            return []
        return [("GNU_annotation", "ref4", self.random.choice(self.notes[self.number]))]

    def declared(self) -> list[Attribute]:
        return (
            [("declaration", self.pick("flag", "flag_present") if self.version > 3 else "flag", 1)]
            if self.odd("declared")
            else []
        )

    def a_name_or_none(self) -> list[Attribute]:
        return [] if self.maybe(0.2) else self.name()

    def label(self) -> str:
        self.count += 1
        return f"u{self.number}_{self.count}x"

    def variable_label(self) -> str:
        label = self.label()
        if not self.depth:
            self.all_variables[self.number].append(label)
        return label
