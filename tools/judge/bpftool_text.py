"""BTF read from the text of `bpftool btf dump file FILE format raw`, for tools that check pybtf without its readers."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from functools import cached_property

from tools.judge import reference

HEAD = re.compile(r"\[(\d+)\] (\w+) '(.*?)'(?: (.*))?$")
ROW = re.compile(r"\t'(.*?)' (.*)$")
SECTION_ROW = re.compile(r"\ttype_id=(\d+) offset=(\d+) size=(\d+)")
WORD = re.compile(r"(\w+)=(\S+?),?(?: |$)")
QUALIFIERS = {"CONST": "const", "VOLATILE": "volatile", "RESTRICT": "restrict"}
KINDS = {
    "STRUCT": "struct", "UNION": "union", "ENUM": "enum", "ENUM64": "enum", "TYPEDEF": "typedef", "FUNC": "function",
    "VAR": "variable", "FWD": "forward", "INT": "number", "FLOAT": "number", "DATASEC": "section",
}  # fmt: skip
POINTER = 8


@dataclass
class Record:
    """A type: its kind, its name, the words after it, and its rows, each a name and words."""

    id: int
    kind: str
    name: str
    words: dict[str, str]
    rows: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def number(self, word: str) -> int:
        return int(self.words.get(word, "0"))


@dataclass
class Member:
    """A member with its place, in bits from the start of the outermost struct."""

    path: str
    type: int
    offset: int
    bits: int


class Dump:
    """The types of one file."""

    def __init__(self, path: str) -> None:
        run = subprocess.run(
            [*reference.bpftool(), "btf", "dump", "file", path, "format", "raw"], capture_output=True, check=True
        )
        self.types: dict[int, Record] = {}
        record = Record(0, "VOID", "", {})
        for line in run.stdout.decode("utf-8", "surrogateescape").splitlines():
            head = HEAD.match(line)
            if head:
                name = "" if head[3] == "(anon)" else head[3]
                record = Record(int(head[1]), head[2], name, dict(WORD.findall(head[4] or "")))
                self.types[record.id] = record
            elif row := ROW.match(line):
                record.rows.append(("" if row[1] == "(anon)" else row[1], dict(WORD.findall(row[2]))))
            elif entry := SECTION_ROW.match(line):
                record.rows.append(("", dict(zip(("type_id", "offset", "size"), entry.groups(), strict=True))))
        self._deep: dict[int, str] = {}

    @cached_property
    def named(self) -> dict[tuple[str, str], list[Record]]:
        """By the word under which it is listed, and its name."""
        found: dict[tuple[str, str], list[Record]] = {}
        for each in self.types.values():
            if each.kind in KINDS and (each.name or KINDS[each.kind] == "enum"):
                found.setdefault((KINDS[each.kind], each.name), []).append(each)
        return found

    @cached_property
    def tags(self) -> dict[int, list[tuple[int, str]]]:
        found: dict[int, list[tuple[int, str]]] = {}
        for each in self.types.values():
            if each.kind == "DECL_TAG":
                found.setdefault(each.number("type_id"), []).append((each.number("component_idx"), each.name))
        return {id: sorted(rows) for id, rows in found.items()}

    @cached_property
    def places(self) -> dict[int, tuple[str, int]]:
        """By the id of a variable: its section and its size there."""
        return {
            int(words["type_id"]): (each.name, int(words["size"]))
            for each in self.types.values()
            if each.kind == "DATASEC"
            for _, words in each.rows
        }

    # -- texts -----------------------------------------------------------------------------------------------

    def declare(self, id: int, inner: str = "") -> str:
        """`inner` declared with the type, as in C."""
        record = self.types.get(id)
        if record is None:
            return f"void {inner}".rstrip() if not inner.startswith("*") else f"void {inner}"
        kind, to = record.kind, record.number("type_id")
        if kind == "PTR":
            return self.declare(to, f"*{inner}")
        if kind in QUALIFIERS or kind == "TYPE_TAG":
            word = QUALIFIERS.get(kind, f"btf_type_tag({record.name})")
            target, words = to, [word]
            while target in self.types and (
                self.types[target].kind in QUALIFIERS or self.types[target].kind == "TYPE_TAG"
            ):
                one = self.types[target]
                words.append(QUALIFIERS.get(one.kind, f"btf_type_tag({one.name})"))
                target = one.number("type_id")
            if target in self.types and self.types[target].kind == "PTR":
                return self.declare(
                    self.types[target].number("type_id"), f"*{' '.join(words)}{' ' if inner else ''}{inner}"
                )
            return f"{' '.join(words)} {self.declare(target, inner)}"
        if kind == "ARRAY":
            return self.declare(to, f"{bracketed(inner)}[{record.words['nr_elems']}]")
        if kind == "FUNC_PROTO":
            return self.declare(record.number("ret_type_id"), f"{bracketed(inner)}({self.parameters(record, False)})")
        keyword = {"STRUCT": "struct ", "UNION": "union ", "ENUM": "enum ", "ENUM64": "enum "}.get(kind, "")
        if kind == "FWD":
            keyword = record.words["fwd_kind"] + " "
        base = keyword + (record.name or "{...}")
        if not inner or inner.startswith("["):
            return base + inner
        return f"{base}{inner}" if inner.startswith("(") and not inner.startswith("(*") else f"{base} {inner}"

    def parameters(self, proto: Record, names: bool) -> str:
        words = []
        for name, row in proto.rows:
            id = int(row["type_id"])
            words.append("..." if not name and id == 0 else self.declare(id, name if names else ""))
        return ", ".join(words) or "void"

    def size(self, id: int) -> int:
        record = self.types.get(id)
        if record is None:
            return 0
        if record.kind == "PTR":
            return POINTER
        if record.kind == "ARRAY":
            return record.number("nr_elems") * self.size(record.number("type_id"))
        if "size" in record.words:
            return record.number("size")
        return self.size(record.number("type_id")) if record.kind in ("TYPEDEF", "VAR", "TYPE_TAG", *QUALIFIERS) else 0

    # -- meanings --------------------------------------------------------------------------------------------

    def deep(self, id: int) -> str:
        """A reference to the type, in full if it has no name."""
        record = self.types.get(id)
        if record is None:
            return "void"
        if id not in self._deep:
            self._deep[id] = self._deep_of(record)
        return self._deep[id]

    def _deep_of(self, record: Record) -> str:
        kind = {"ENUM64": "ENUM"}.get(record.kind, record.kind)
        if kind == "FWD":
            kind = record.words["fwd_kind"].upper()
        if record.name and kind != "TYPE_TAG":
            return f"{kind} {record.name}"
        if kind in ("STRUCT", "UNION", "ENUM"):
            return f"{kind} {{{self.said(record)}}}"
        if kind == "ARRAY":
            return f"[{record.words['nr_elems']}]{self.deep(record.number('type_id'))}"
        if kind == "FUNC_PROTO":
            rows = ", ".join(self.deep(int(row["type_id"])) for _, row in record.rows)
            return f"({rows}){self.deep(record.number('ret_type_id'))}"
        return f"{kind} {record.name} {self.deep(record.number('type_id'))}"

    def said(self, record: Record) -> str:
        """Everything that is said about a type, except ids."""
        match record.kind:
            case "STRUCT" | "UNION":
                rows = [
                    (
                        name,
                        row["bits_offset"],
                        row.get("bitfield_size"),
                        self.deep(int(row["type_id"])),
                        self.size(int(row["type_id"])),
                    )
                    for name, row in record.rows
                ]
                text = f"{record.words['size']} {rows}"
            case "ENUM" | "ENUM64":
                values = [(name, row["val"].removesuffix("ULL").removesuffix("LL")) for name, row in record.rows]
                text = f"{record.words['size']} {record.words['encoding']} {values}"
            case "TYPEDEF":
                text = self.deep(record.number("type_id"))
            case "FUNC":
                proto = self.types[record.number("type_id")]
                parameters = [(name, self.deep(int(row["type_id"]))) for name, row in proto.rows]
                text = f"{record.words['linkage']} {self.deep(proto.number('ret_type_id'))} {parameters}"
            case "VAR":
                id = record.number("type_id")
                text = f"{record.words['linkage']} {self.deep(id)} {self.size(id)} {self.places.get(record.id)}"
            case "DATASEC":
                text = record.words["size"]
            case _:
                text = str(sorted(record.words.items()))
        return f"{text} {self.tags.get(record.id, '')}"

    # -- members ---------------------------------------------------------------------------------------------

    def members(self, record: Record, path: str = "", offset: int = 0) -> list[Member]:
        """All members, including those of nameless structs and unions inside."""
        found = []
        for name, row in record.rows:
            id, at = int(row["type_id"]), offset + int(row["bits_offset"])
            inner, arrays = self.types.get(id), ""
            while inner is not None and (inner.kind in QUALIFIERS or inner.kind == "ARRAY"):
                arrays += "[]" if inner.kind == "ARRAY" else ""
                inner = self.types.get(inner.number("type_id"))
            looked_into = inner is not None and inner.kind in ("STRUCT", "UNION") and not inner.name
            if name or arrays or not looked_into:
                found.append(Member(path + name, id, at, int(row.get("bitfield_size", "0"))))
            if looked_into and inner is not None:
                below = f"{path}{name}{arrays}." if name or arrays else path
                found += self.members(inner, below, at)
        return found


def bracketed(inner: str) -> str:
    return f"({inner})" if inner.startswith("*") else inner
