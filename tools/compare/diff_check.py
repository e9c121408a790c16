"""Checks what `pybtf diff` says against bpftool's and pahole's texts of both sides.

    python -m tools.compare.diff_check OLD.btf NEW.btf [--count N] [--seed S] [--dwarf VMLINUX]

The texts are read by tools/judge/bpftool_text.py, which uses nothing from pybtf. It checks

- for each name of each kind: whether it is added, removed, changed or the same, by all that bpftool prints about it;
- N statements about members, enumerators and parameters, drawn at random: places, types, sizes, values on both sides;
- the offsets among these, if `pahole -C` prints such a member;
- how far 40 types reach, by following all references in the text;
- that each side compared with itself gives nothing, and swapping the sides swaps what is added and removed;
- with --dwarf, that encoding this file gives OLD.

The exit status is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tools.judge import reference
from tools.judge.bpftool_text import Dump, Member, Record

SHOWN = 20
REACHES = 40
KINDS = ("struct", "union", "enum", "typedef", "function", "variable", "forward", "number", "section")
ROOT = Path(__file__).resolve().parents[2]


class Failures:
    """What is wrong; the first failures are printed."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, text: str) -> None:
        self.count += 1
        if self.count <= SHOWN:
            print(f"WRONG {text}", flush=True)


def pybtf(*arguments: str) -> str:
    command = [sys.executable, "-m", "pybtf", "diff", *arguments]
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"}
    run = subprocess.run(command, capture_output=True, check=True, env=environment)
    return run.stdout.decode("utf-8", "surrogateescape")


def check_all(old: Dump, new: Dump, changes: list[dict[str, Any]], wrong: Failures) -> int:
    """Every name: decided by the number of definitions without an equal on the other side."""
    told: dict[tuple[str, str], Counter[str]] = {}
    for change in changes:
        details = change.get("details", [])
        if any(each["what"] in ("defined", "declared") for each in details):
            # One statement covers two: a definition and a declaration.
            defined = details[0]["what"] == "defined"
            told.setdefault((change["kind"], change["name"]), Counter())["added" if defined else "removed"] += 1
            told.setdefault(("forward", change["name"]), Counter())["removed" if defined else "added"] += 1
            continue
        told.setdefault((change["kind"], change["name"]), Counter())[change["what"]] += 1
    keys = {key for key in {*old.named, *new.named} if key[0] in KINDS}
    for key in sorted(keys):
        left = Counter(old.said(each) for each in old.named.get(key, []))
        right = Counter(new.said(each) for each in new.named.get(key, []))
        gone, come = sum((left - right).values()), sum((right - left).values())
        counts = told.get(key, Counter())
        if key == ("enum", ""):  # the text does not say which of them became which
            fine = counts["changed"] + counts["removed"] == gone and counts["changed"] + counts["added"] == come
        else:
            both = min(gone, come)
            fine = (counts["changed"], counts["removed"], counts["added"]) == (both, gone - both, come - both)
        if not fine:
            wrong.add(f"{' '.join(key)}: {gone} are gone and {come} new, told is {dict(counts)}")
    for change in changes:
        if change["kind"] == "function":
            sides = [(old, change["old_id"]), (new, change["new_id"])]
            tagged = any((-1, "bpf_kfunc") in dump.tags.get(id, []) for dump, id in sides if id is not None)
            if tagged != change.get("kfunc", False):
                wrong.add(f"function {change['name']}: is a kfunc: {tagged}")
    for key in told.keys() - keys:
        wrong.add(f"{' '.join(key)}: there is none")
    return len(keys)


class Checker:
    """One statement at a time."""

    def __init__(self, old: Dump, new: Dump, paths: tuple[str, str], wrong: Failures) -> None:
        self.dumps = (old, new)
        self.paths = paths
        self.wrong = wrong
        self.by_pahole = 0

    def definitions(self, change: dict[str, Any]) -> tuple[Record, Record]:
        pair = tuple(dump.types[change[key]] for dump, key in zip(self.dumps, ("old_id", "new_id"), strict=True))
        assert all(each.name == change["name"] for each in pair)
        if change["kind"] == "typedef":
            pair = tuple(dump.types[each.number("type_id")] for dump, each in zip(self.dumps, pair, strict=True))
        return pair[0], pair[1]

    def check(self, change: dict[str, Any], detail: dict[str, Any]) -> str | None:
        """Why a statement is wrong, or None."""
        if detail["what"].startswith("tag "):
            return self.tag(change, detail)
        if detail["what"] in ("defined", "declared", "regrouped"):
            return None  # this is already checked with the names
        if change["kind"] == "function":
            return self.function(change, detail)
        if change["kind"] in ("variable", "number", "section"):
            return self.whole(change, detail)
        if change["kind"] == "typedef" and detail["what"] == "type":
            return self.whole(change, detail)
        left, right = self.definitions(change)
        if left.kind.startswith("ENUM"):
            return self.enum(left, right, detail)
        return self.composite(change, left, right, detail)

    def tag(self, change: dict[str, Any], detail: dict[str, Any]) -> str | None:
        value = detail["new"] or detail["old"]
        row = (value.get("number", -1), value["name"])
        there = [
            row in dump.tags.get(change[key], []) for dump, key in zip(self.dumps, ("old_id", "new_id"), strict=True)
        ]
        return None if there == [detail["new"] is None, detail["old"] is None] else f"tags are there: {there}"

    def whole(self, change: dict[str, Any], detail: dict[str, Any]) -> str | None:
        for side, (key, id) in enumerate((("old", "old_id"), ("new", "new_id"))):
            dump, value = self.dumps[side], detail[key]
            record = dump.types[change[id]]
            match detail["what"]:
                case "type":
                    found: Any = dump.declare(record.number("type_id"))
                    expected = value["type"]
                case "size":
                    found = dump.places.get(record.id, ("", 0))[1] or dump.size(record.id)
                    expected = value["size"]
                case "section":
                    found, expected = dump.places.get(record.id, ("", 0))[0], value["name"]
                case "linkage":
                    found, expected = record.words["linkage"], value["value"]
                case "bits":
                    found, expected = record.number("nr_bits"), value["value"]
                case "encoding":
                    found = {"(none)": 0, "SIGNED": 1, "CHAR": 2, "BOOL": 4}.get(record.words["encoding"])
                    expected = value["value"]
                case _:
                    return "what is that?"
            if found != expected:
                return f"{key}: {found}"
        return None

    def function(self, change: dict[str, Any], detail: dict[str, Any]) -> str | None:
        protos = [
            dump.types[dump.types[change[key]].number("type_id")]
            for dump, key in zip(self.dumps, ("old_id", "new_id"), strict=True)
        ]
        if detail["what"] == "linkage":
            return self.whole(change, detail)
        for side, key in enumerate(("old", "new")):
            value, dump, proto = detail[key], self.dumps[side], protos[side]
            if detail["what"] == "return":
                if dump.declare(proto.number("ret_type_id")) != value["type"]:
                    return f"{key}: returns {dump.declare(proto.number('ret_type_id'))}"
                continue
            if value is None:
                if detail["what"] == "added" and len(protos[0].rows) >= len(protos[1].rows) + 8:
                    return "there were more"
                continue
            if not 0 < value["number"] <= len(proto.rows):
                return f"{key}: there is no such parameter"
            name, row = proto.rows[value["number"] - 1]
            if name != value.get("name", detail.get("path")) and not (side == 0 and not name):
                return f"{key}: parameter {value['number']} is {name!r}"
            type = dump.declare(int(row["type_id"])) if name or int(row["type_id"]) else "..."
            if "type" in value and type != value["type"]:
                return f"{key}: {type}"
        return None

    def enum(self, left: Record, right: Record, detail: dict[str, Any]) -> str | None:
        values = [{name: int(row["val"].rstrip("UL")) for name, row in each.rows} for each in (left, right)]
        old, new, path = detail["old"], detail["new"], detail.get("path", "")
        match detail["what"]:
            case "size":
                fine = (left.number("size"), right.number("size")) == (old["size"], new["size"])
            case "signed":
                fine = left.words["encoding"] != right.words["encoding"]
            case "added":
                fine = path not in values[0] and values[1][path] == new["value"]
            case "removed":
                fine = path not in values[1] and values[0][path] == old["value"]
            case "renamed":
                fine = path not in values[1] and new["name"] not in values[0]
                fine = fine and values[0][path] == old["value"] == new["value"] == values[1][new["name"]]
            case "changed":
                fine = (values[0][path], values[1][path]) == (old["value"], new["value"])
            case "shifted":
                fine = all(values[1][name] - values[0][name] == new["by"] for name in new["members"])
            case _:
                fine = False
        return None if fine else f"{[each.get(path) for each in values]}"

    def composite(self, change: dict[str, Any], left: Record, right: Record, detail: dict[str, Any]) -> str | None:
        members = [
            {each.path: each for each in dump.members(record)}
            for dump, record in zip(self.dumps, (left, right), strict=True)
        ]
        old, new, path = detail["old"], detail["new"], detail.get("path", "")
        match detail["what"]:
            case "size":
                sizes = left.number("size"), right.number("size")
                return None if sizes == (old["size"], new["size"]) else str(sizes)
            case "added":
                return (
                    f"it was there: {members[0][path]}"
                    if path in members[0]
                    else self.place(change, 1, members[1].get(path), new)
                )
            case "removed":
                return (
                    f"it is there: {members[1][path]}"
                    if path in members[1]
                    else self.place(change, 0, members[0].get(path), old)
                )
            case "renamed":
                if path in members[1] or new["name"] in members[0]:
                    return "both names are there"
                return self.place(change, 0, members[0].get(path), old) or self.place(
                    change, 1, members[1].get(new["name"]), new
                )
            case "moved" | "changed":
                why = self.place(change, 0, members[0].get(path), old) or self.place(
                    change, 1, members[1].get(path), new
                )
                if (
                    why is None
                    and detail["what"] == "moved"
                    and old["offset"] * 8 + old.get("bit", 0) == new["offset"] * 8 + new.get("bit", 0)
                ):
                    return "it did not move"
                return why
            case "shifted":
                by = new["bits"] if "bits" in new else 8 * new["by"]
                for name in new["members"]:
                    one, other = members[0][name], members[1][name]
                    if other.offset - one.offset != by or one.bits != other.bits:
                        return f"{name}: {one} {other}"
                    if self.dumps[0].declare(one.type) != self.dumps[1].declare(other.type):
                        return f"{name}: other type"
                return None
        return "what is that?"

    def place(self, change: dict[str, Any], side: int, member: Member | None, value: dict[str, Any]) -> str | None:
        """Whether a member is where the statement says."""
        if member is None:
            return "there is no such member"
        dump = self.dumps[side]
        found = (member.offset, member.bits, dump.declare(member.type), dump.size(member.type))
        said = (8 * value["offset"] + value.get("bit", 0), value.get("bits", 0), value["type"], value["size"])
        if found != said:
            return f"side {side}: {found}"
        return self.pahole(change, side, member)

    def pahole(self, change: dict[str, Any], side: int, member: Member) -> str | None:
        """The same from pahole's text, for members of structs without the special places of bit-fields."""
        if member.bits or not re.fullmatch(r"\w+", member.path) or change["kind"] not in ("struct", "union"):
            return None
        if len(self.dumps[side].named[change["kind"], change["name"]]) > 1:
            return None
        run = subprocess.run(
            [*reference.pahole(), "-F", "btf", "-C", change["name"], self.paths[side]], capture_output=True, check=False
        )
        text = run.stdout.decode("utf-8", "surrogateescape")
        line = re.search(rf"[ *(]{member.path}(?:\[\d+\])*\)?(?:\([^\n]*\))?; +/\* +(\d+) +\d+", text)
        if line is None:
            return None
        self.by_pahole += 1
        return None if 8 * int(line[1]) == member.offset else f"pahole: {line[0]}"


def check_reach(dump: Dump, change: dict[str, Any]) -> str | None:
    """Follows all references backwards, first by value, then through pointers to prototypes."""
    users: dict[int, list[int]] = check_reach.__dict__.setdefault("users", {})
    if not users:
        for each in dump.types.values():
            references = [each.number(word) for word in ("type_id", "ret_type_id") if word in each.words]
            if each.kind in ("STRUCT", "UNION", "FUNC_PROTO"):
                references += [int(row["type_id"]) for _, row in each.rows]
            for id in set(references):
                users.setdefault(id, []).append(each.id)
    seen = {(change["old_id"], "value")}
    queue = list(seen)
    types, variables, functions = set(), set(), set()
    for id, way in queue:
        for user in users.get(id, ()):
            record = dump.types[user]
            step = None
            if record.kind == "PTR":
                step = "pointer"
            elif record.kind in ("CONST", "VOLATILE", "RESTRICT", "TYPEDEF", "TYPE_TAG", "ARRAY"):
                step = way
            elif record.kind in ("STRUCT", "UNION") and way == "value":
                step = "value"
                if record.name:
                    types.add(user)
            elif record.kind == "VAR" and way == "value":
                variables.add(user)
            elif record.kind == "FUNC_PROTO":
                functions |= {each for each in users.get(user, ()) if dump.types[each].kind == "FUNC"}
            if step is not None and (user, step) not in seen:
                seen.add((user, step))
                queue.append((user, step))
    types.discard(change["old_id"])
    said = change["reach"]
    found = len(types), len(variables), len(functions)
    return None if found == (said["types"], said["variables"], said["functions"]) else f"{found}, said is {said}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dwarf", help="what OLD was encoded from")
    options = parser.parse_args()
    wrong = Failures()
    changes = json.loads(pybtf("--json", options.old, options.new))["changes"]
    old, new = Dump(options.old), Dump(options.new)
    names = check_all(old, new, changes, wrong)
    print(f"{names:,} names of {len(KINDS)} kinds: {wrong.count} told wrongly", flush=True)
    chooser = random.Random(options.seed)
    checker = Checker(old, new, (options.old, options.new), wrong)
    statements: dict[tuple[str, str], list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for change in changes:
        for detail in change.get("details", []):
            statements.setdefault((change["kind"], detail["what"]), []).append((change, detail))
    # Some of each sort, and the rest from all.
    chosen = [pair for rows in statements.values() for pair in chooser.sample(rows, min(3, len(rows)))]
    every = [pair for rows in statements.values() for pair in rows]
    chosen += chooser.sample(every, min(len(every), max(0, options.count - len(chosen))))
    for change, detail in chosen:
        why = checker.check(change, detail)
        if why is not None:
            wrong.add(f"{change['kind']} {change['name']} {detail}: {why}")
    print(
        f"{len(chosen)} of {len(every):,} statements, {checker.by_pahole} places by pahole: {wrong.count} wrong so far"
    )
    reaching = chooser.sample([each for each in changes if each.get("reach") and each["old_id"]], REACHES)
    for change in reaching:
        why = check_reach(old, change)
        if why is not None:
            wrong.add(f"reach of {change['kind']} {change['name']}: {why}")
    print(f"reach of {len(reaching)} types: {wrong.count} wrong so far", flush=True)
    for path in (options.old, options.new):
        if pybtf(path, path):
            wrong.add(f"{path} differs from itself")
    back = json.loads(pybtf("--json", options.new, options.old))["changes"]
    swap = {"added": "removed", "removed": "added", "changed": "changed"}
    one = Counter((each["what"], each["kind"], each["name"]) for each in changes)
    other = Counter((swap[each["what"]], each["kind"], each["name"]) for each in back)
    if one != other:
        wrong.add(f"swapped: {list(((one - other) + (other - one)).items())[:5]}")
    parts: tuple[Counter[tuple[str, ...]], ...] = (Counter(), Counter())
    for rows, counter in ((changes, parts[0]), (back, parts[1])):
        for each in rows:
            for detail in each.get("details", []):
                if detail["what"] in ("added", "removed") and detail.get("path"):
                    what = detail["what"] if counter is parts[0] else swap[detail["what"]]
                    counter[what, each["kind"], each["name"], detail["path"]] += 1
    if parts[0] != parts[1]:
        wrong.add(f"swapped: {list(((parts[0] - parts[1]) + (parts[1] - parts[0])).items())[:5]}")
    if options.dwarf:
        text = pybtf("--dwarf", options.dwarf, options.old)
        if text:
            wrong.add(f"the DWARF says otherwise: {text[:200]}")
    print(f"with itself, swapped{', from DWARF' if options.dwarf else ''}: {wrong.count} wrong in all")
    return 1 if wrong.count else 0


if __name__ == "__main__":
    sys.exit(main())
