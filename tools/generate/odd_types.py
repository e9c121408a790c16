"""Types for odd_dies.py: sizes, places, bits, values, bounds and children as no compiler writes them."""

from __future__ import annotations

from tests.builders.dwarfwriter import Die, die
from tools.generate.odd_values import Attribute, Values


class Types(Values):
    """Draws types. Functions and variables among their children are drawn by a class that knows them."""

    def function(self) -> Die:
        raise NotImplementedError

    def parameters(self, real: bool = True, origins: list[str] | None = None) -> list[Die]:
        raise NotImplementedError

    def base(self, label: str) -> Die:
        name, size, encoding = self.pick(
            ("int", 4, 5),
            ("char", 1, 6),
            ("unsigned char", 1, 8),
            ("long", 8, 5),
            ("_Bool", 1, 2),
            ("double", 8, 4),
            ("unsigned int", 4, 7),
            ("short", 2, 5),
            ("__int128", 16, 5),
            ("long double", 16, 4),
        )
        more: list[Attribute] = []
        if self.odd("bases"):
            encoding = self.pick(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 15, 16, 17, 18, 0x80)
        if self.odd("bases"):
            size = self.pick(0, 1, 2, 3, 4, 6, 8, 10, 12, 16, 32, 64)
        if self.odd("bases"):
            more.append(("bit_size", "data1", self.pick(0, 1, 7, 8, 12, 31, 33)))
        if self.odd("bases"):
            more.append((self.pick("data_bit_offset", "bit_offset"), "data1", self.pick(0, 1, 4, 8)))
        if self.odd("bases"):
            more.append(("endianity", "data1", self.pick(1, 2)))
        enc = [] if self.odd("bases") and self.maybe(0.2) else [("encoding", "data1", encoding)]
        return die(
            "base_type",
            *self.name(name),
            *([("byte_size", "data1", size)] if not self.odd("sizes") else self.size(size)),
            *enc,
            *more,
            *self.note(),
            label=label,
            children=self.tags(),
        )

    def place(self, at: int) -> list[Attribute]:
        if self.odd("placeless"):
            return []
        if not self.odd("places"):
            return [self.number_("data_member_location", at)]
        block = "exprloc" if self.version > 3 else "block1"
        return [
            (
                "data_member_location",
                block,
                self.pick(
                    [("plus_uconst", at)],
                    [("const1u", at)],
                    [("constu", at), ("plus",)],
                    [("lit3",)],
                    b"",
                    [("plus_uconst", at), ("plus_uconst", 1)],
                    [("consts", at)],
                    [("const4u", at)],
                    [("dup",), ("plus_uconst", at)],
                ),
            )
        ]

    def bits(self, at: int) -> list[Attribute]:
        r = self.random.randrange(6)
        size = ("bit_size", "data1", self.pick(0, 1, 3, 8, 17, 31, 32, 33, 64))
        if r == 0:
            return [size, self.number_("data_bit_offset", self.pick(0, 1, 8, 31, 33, 64, 100, 200))]
        if r == 1:
            return [
                ("byte_size", "data1", self.pick(0, 1, 2, 3, 4, 8, 16)),
                size,
                ("bit_offset", "data1", self.pick(0, 1, 3, 12, 29, 31, 60)),
                *self.place(at),
            ]
        if r == 2:
            return [size, ("bit_offset", "data1", self.pick(0, 5, 29)), *self.place(at)]
        if r == 3:
            return [size, *self.place(at)]
        if r == 4:
            return [size, ("data_bit_offset", "data1", self.pick(0, 3, 40)), *self.place(at)]
        return [
            ("data_bit_offset", "data1", self.pick(0, 8, 32, 3)),
            ("bit_offset", self.pick("data1", "sdata"), self.pick(0, 3, 28)),
        ]

    def member(self, n: int, at: int) -> Die:
        where = self.bits(at) if self.odd("bits") else self.place(at)
        name = self.name(f"m{n}") if self.maybe(0.9) else []
        static: list[Attribute] = []
        if self.odd("statics"):
            static = [
                *self.pick(
                    [("external", "flag", 1)],
                    [("declaration", "flag", 1)],
                    [("external", "flag", 1), ("declaration", "flag", 1)],
                ),
                *self.pick([], [("const_value", "data1", 3)]),
            ]
            if self.maybe(0.5):
                where = []
        more = [(self.pick("artificial", "mutable", "accessibility"), "data1", 1)] if self.odd("rare") else []
        return die("member", *name, *self.type_(), *where, *static, *more, *self.note(), children=self.tags())

    def members(self, union: bool = False) -> list[Die]:
        made = []
        for n in range(self.pick(0, 1, 2, 2, 3, 4)):
            if self.odd("inside"):
                made.append(self.inside())
            made.append(self.member(n, 0 if union else 8 * n))
        if self.odd("inheritance"):
            made.insert(
                self.pick(0, len(made)),
                die(self.pick("inheritance", "friend"), *self.type_(), *self.place(self.pick(0, 4))),
            )
        if self.odd("statics"):
            made.append(
                die(
                    "variable",
                    *self.name(),
                    *self.type_(),
                    ("external", "flag", 1),
                    ("declaration", "flag", 1),
                    label=self.variable_label(),
                )
            )
        return made + self.tags()

    def inside(self) -> Die:
        """Something among members."""
        kind = self.pick("type", "type", "function", "template", "variant", "import", "label")
        if kind == "type":
            return self.a_die(self.label())
        if kind == "function":
            return self.function()
        if kind == "template":
            return die(
                self.pick(
                    "template_type_param",
                    "template_value_param",
                    "GNU_template_template_param",
                    "GNU_template_parameter_pack",
                ),
                *self.name(),
                *self.type_(),
            )
        if kind == "variant":
            return die(
                "variant_part",
                children=[self.member(9, 0), die("variant", ("discr_value", "data1", 1), children=[self.member(8, 8)])],
            )
        if kind == "import":
            return die(self.pick("imported_declaration", "imported_module"), self.reference("import", self.a_type()))
        return die("label", *self.name(), ("low_pc", "addr", self.flavour.text))

    def struct(self, label: str) -> Die:
        tag = self.pick(
            "structure_type",
            "structure_type",
            "structure_type",
            "union_type",
            *(("class_type",) if "rare" in self.on else ()),
        )
        declared = self.declared()
        more: list[Attribute] = []
        if self.odd("rare"):
            more = [
                self.pick(
                    ("alignment", "data1", 16),
                    ("calling_convention", "data1", 5),
                    ("export_symbols", "flag", 1),
                    ("bit_size", "data1", 13),
                )
            ]
        if self.odd("origins"):
            more.append(self.reference(self.pick("specification", "abstract_origin", "signature"), self.a_type()))
        children = self.members(tag == "union_type") if not declared or self.maybe(0.2) else []
        size = self.size(self.pick(0, 4, 8, 24, 32, 40)) if not declared or self.maybe(0.3) else []
        return die(tag, *self.a_name_or_none(), *size, *declared, *more, *self.note(), label=label, children=children)

    def enum_value(self) -> list[Attribute]:
        if not self.odd("enums"):
            return [self.number_("const_value", self.random.randrange(100), "enum_forms")]
        if self.maybe(0.1):
            return []
        value = self.pick(
            -1,
            -128,
            -129,
            -(1 << 31),
            -(1 << 31) - 1,
            -(1 << 63),
            127,
            128,
            255,
            256,
            32768,
            65535,
            65536,
            (1 << 31) - 1,
            1 << 31,
            (1 << 32) - 1,
            1 << 32,
            (1 << 63) - 1,
            1 << 63,
            (1 << 64) - 1,
        )
        forms = ["data1", "data2", "data4", "data8", "sdata", "udata"]
        if self.version == 5:
            forms += ["data16", "implicit_const"]
        if self.odd("enum_forms"):
            forms += ["block1", "flag", "addr"] + (["exprloc"] if self.version > 3 else [])
        form = self.pick(*forms)
        if form in ("block1", "exprloc"):
            return [("const_value", form, self.pick(b"\1", b"\xff\xff", b"\x08\x05", bytes(8), bytes(16), b""))]
        if form == "implicit_const" and value >= 1 << 63:
            value -= 1 << 64
        if form == "udata" and value < 0:
            value += 1 << 64
        return [("const_value", self.form(form), value)]

    def enum(self, label: str) -> Die:
        declared = self.declared()
        size = self.size(self.pick(4, 4, 1, 2, 8) if "enums" in self.on else 4)
        more: list[Attribute] = [self.reference("type", self.a_type())] if self.maybe(0.4) else []
        if self.maybe(0.4):
            more.append(("encoding", "data1", self.pick(5, 7, 2, 8, 6)))
        if self.odd("enums"):
            more.append(("enum_class", "flag", 1))
        children: list[Die] = []
        if not declared or self.maybe(0.3):
            for n in range(self.pick(0, 1, 2, 3, 5)):
                children.append(
                    die(
                        "enumerator",
                        *self.name(f"E{label}{n}" if self.maybe(0.8) else None),
                        *self.enum_value(),
                        children=self.tags() if self.odd("rare") else (),
                    )
                )
                if self.odd("inside") and self.maybe(0.3):
                    children.append(
                        self.pick(self.function, lambda: self.a_die(self.label()), lambda: self.member(0, 0))()
                    )
        return die(
            "enumeration_type",
            *self.a_name_or_none(),
            *size,
            *declared,
            *more,
            *self.note(),
            label=label,
            children=children + self.tags(),
        )

    def bound(self) -> list[Attribute]:
        what = self.pick("upper_bound", "count")
        if not self.odd("bounds"):
            return [(what, "data1", self.random.randrange(5))]
        made: list[Attribute] = []
        if self.maybe(0.3):
            made.append(("lower_bound", self.pick("data1", "sdata"), self.pick(0, 1, 3)))
        choice = self.random.randrange(8)
        block = "exprloc" if self.version > 3 else "block1"
        if choice == 0:
            return made
        if choice == 1:
            return [*made, (what, block, [("fbreg", -20), ("deref",)])]
        if choice == 2 and self.all_variables[self.number]:
            return [*made, self.reference(what, self.random.choice(self.all_variables[self.number]))]
        if choice == 3:
            return [*made, ("upper_bound", "data1", 3), ("count", "data1", self.pick(0, 9))]
        if choice == 4:
            return [*made, (what, block, self.pick([("const1u", 7)], [("lit3",)], [("constu", 300)], b""))]
        form = self.pick(
            "data1",
            "data2",
            "data4",
            "data8",
            "udata",
            "sdata",
            *(("implicit_const", "data16") if self.version == 5 else ()),
        )
        value = self.pick(0, -1, 1, 255, 65535, (1 << 31), (1 << 32) - 1, 1 << 32, (1 << 63) - 1)
        return [
            *made,
            (
                what,
                form,
                value
                if form in ("sdata", "implicit_const") or value >= 0
                else (1 << 64) + value
                if form == "udata"
                else value,
            ),
        ]

    def array(self, label: str) -> Die:
        nulls, self.nulls = self.nulls, {}
        made = self.an_array(label)
        self.nulls = nulls
        return made

    def an_array(self, label: str) -> Die:
        dims: list[Die] = []
        for _ in range(self.pick(1, 1, 2, 3, 0) if self.odd("arrays") else 1):
            tag = (
                self.pick("subrange_type", "generic_subrange", "enumeration_type", "subrange_type")
                if self.odd("dimensions")
                else "subrange_type"
            )
            dims.append(
                die(
                    tag,
                    *(self.type_() if self.maybe(0.7) else []),
                    *self.bound(),
                    *(self.name() if self.odd("dimensions") else []),
                    *(self.size(4) if self.odd("dimensions") else []),
                    label=self.label() if self.odd("dimensions") else None,
                    children=[die("enumerator", *self.name(), *self.enum_value())] if tag == "enumeration_type" else (),
                )
            )
        more: list[Attribute] = []
        if self.odd("strides"):
            more.append(
                (
                    self.pick(
                        "byte_stride",
                        "bit_stride",
                        "byte_size",
                        "bit_size",
                        "ordering",
                        "rank",
                        "data_location",
                        "allocated",
                    ),
                    "data1",
                    self.pick(0, 1, 4, 12),
                )
            )
        if self.odd("strides") and self.version > 1:
            more.append((self.pick("GNU_vector", "artificial", "declaration"), "flag", 1))
        if self.odd("arrays"):
            more += self.name()
        if self.odd("inside"):
            dims.insert(self.pick(0, len(dims)), self.a_die(self.label()))
        return die(
            "array_type",
            *(self.type_() or [self.reference("type", f"u{self.number}_int")]),
            *more,
            *self.note(),
            label=label,
            children=dims + self.tags(),
        )

    def pointer(self, label: str) -> Die:
        more: list[Attribute] = [("byte_size", "data1", self.flavour.address_size)]
        if self.odd("sizes"):
            more = self.pick(
                [], [("byte_size", "data1", 4)], [("byte_size", "data1", 2)], [("address_class", "data1", 1)]
            )
        name = self.name() if self.odd("rare") else []
        self.pointing = True
        types = [] if self.maybe(0.15) else self.type_()
        self.pointing = False
        return die("pointer_type", *name, *more, *types, *self.note(), label=label, children=self.tags())

    def qualifier(self, label: str) -> Die:
        tag = self.pick("const_type", "volatile_type", "restrict_type")
        if self.odd("impossible") and self.maybe(0.2):
            tag = self.pick("atomic_type", "immutable_type", "shared_type", "packed_type")
        return die(
            tag,
            *([] if self.maybe(0.1) else self.type_()),
            *(self.name() if self.odd("rare") else []),
            *self.note(),
            label=label,
            children=self.tags(),
        )

    def typedef(self, label: str) -> Die:
        return die(
            "typedef",
            *self.name(),
            *([] if self.maybe(0.1) else self.type_()),
            *self.declared(),
            *(self.size(4) if self.odd("rare") else []),
            *self.note(),
            label=label,
            children=self.tags(),
        )

    def prototype(self, label: str) -> Die:
        return die(
            "subroutine_type",
            *([] if self.maybe(0.3) else self.type_()),
            ("prototyped", "flag", 1),
            *(self.name() if self.odd("rare") else []),
            *self.note(),
            label=label,
            children=self.parameters(False),
        )

    def unspecified(self, label: str) -> Die:
        return die(
            "unspecified_type",
            *self.name("decltype(nullptr)" if self.maybe(0.4) else None),
            *(self.size(8) if self.odd("sizes") else []),
            *self.note(),
            label=label,
            children=self.tags(),
        )

    def impossible(self, label: str) -> Die:
        tag = self.pick(
            "string_type",
            "set_type",
            "file_type",
            "subrange_type",
            "ptr_to_member_type",
            "reference_type",
            "rvalue_reference_type",
            "coarray_type",
            "dynamic_type",
            "generic_subrange",
            "thrown_type",
            "template_alias",
            "condition",
            "shared_type",
            "namelist",
        )
        return die(
            tag,
            *self.name(),
            *self.type_(),
            *self.size(4),
            *(self.bound() if tag == "subrange_type" else []),
            label=label,
        )

    def a_die(self, label: str) -> Die:
        if self.odd("unspecified") and self.maybe(0.3) and label not in self.kinds:
            return self.unspecified(label)
        if self.odd("impossible") and self.maybe(0.1) and label not in self.kinds:
            return self.impossible(label)
        if self.kinds.get(label) == "struct":
            return self.struct(label)
        usual = [
            self.base,
            self.enum,
            *[self.array] * 2,
            *[self.pointer] * 2,
            self.qualifier,
            self.typedef,
            self.prototype,
        ]
        if label not in self.kinds:
            usual += [*[self.struct] * 3, self.typedef]
        return self.random.choice(usual)(label)
