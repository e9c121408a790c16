"""Findings in words: grouped by rule, with the first few of each, as what JSON has; and lines of text made of that."""

from __future__ import annotations

from itertools import pairwise

from pybtf.btf.kind_numbers import KIND_NAMES
from pybtf.support import TYPE_CHECKING
from pybtf.verify.judge import LOST, MODULE, NEWEST, ODD, REJECTED, UNNOTICED, USER, Judgement, errno_of, severity
from pybtf.verify.rules import ERRNO_NAMES, PARAMETERS, RULES, SPECIAL

if TYPE_CHECKING:
    from typing import Any

Finding = tuple[int, int, int, int]
SHOWN = 3
"""Examples of each rule."""
LONGEST = 80
"""Characters of a name that are shown."""
ORDER = (REJECTED, LOST, UNNOTICED, ODD)


def version_text(version: int) -> str:
    return f"{version // 100}.{version % 100}"


def fields(finding: Finding) -> dict[str, int]:
    code, _, at, value = finding
    return {
        "value": value,
        "at": at + 1 if RULES[code].key in PARAMETERS else at,
        "low": value & 0xFFFFFFFF,
        "high": value >> 32,
    }


def kernel_message(finding: Finding, version: int = NEWEST) -> str:
    """What the kernel writes to its log, without the number of the type and the like; often nothing."""
    most = 128 if version >= 501 else 64
    return RULES[finding[0]].message.format(**fields(finding), most=most)


def plain_text(finding: Finding) -> str:
    rule = RULES[finding[0]]
    if rule.about == SPECIAL:
        from pybtf.verify.special import TEXTS

        return TEXTS.get(finding[3], "a field that the kernel knows, at a place where another is")
    return _singular(rule.text.format(**fields(finding)))


def errno_name(code: int) -> str:
    return ERRNO_NAMES.get(code, str(code))


def groups(judged: Judgement) -> list[dict[str, Any]]:
    """What is wrong, the worst first; of what is equally bad first what the kernel meets first."""
    first = judged.first
    found: dict[int, dict[str, Any]] = {}
    for finding in judged.found:
        code = finding[0]
        rule = RULES[code]
        if code not in found:
            found[code] = {
                "rule": rule.id,
                "severity": severity(rule, judged.loader, judged.version),
                "count": judged.counts.get(code, 1),
                "first": first is finding,
                "errno": errno_name(errno_of(finding)) if errno_of(finding) else None,
                "kernel": kernel_message(finding, judged.version),
                "since": version_text(rule.since),
                "examples": [],
            }
        examples = found[code]["examples"]
        if len(examples) < SHOWN:
            examples.append(_example(judged, finding))
    return sorted(found.values(), key=lambda each: ORDER.index(each["severity"]))


def _example(judged: Judgement, finding: Finding) -> dict[str, Any]:
    id = finding[1]
    layer = judged.layer
    if layer is None or id == 0:
        return {"id": None, "kind": None, "name": None, "text": plain_text(finding)}
    kind = layer.kind(id)
    name = layer.name(id)[: 4 * LONGEST].decode("utf-8", "surrogateescape")[:LONGEST]
    return {
        "id": id,
        "kind": KIND_NAMES[kind] if kind < len(KIND_NAMES) else None,
        "name": name or None,
        "text": plain_text(finding),
    }


def consequence(judged: Judgement) -> str:
    """What happens when the kernel refuses."""
    if judged.loader == USER:
        return "the program has no BTF, and fails if it needs it"
    if judged.loader == MODULE:
        return "the module is not loaded, or without BTF if the kernel was built to allow that"
    return "no BPF program is loaded, and no module that has BTF"


def one_line(judged: Judgement, finding: Finding) -> str:
    """The rule, the type and what is wrong."""
    each = _example(judged, finding)
    return f"{RULES[finding[0]].id}, {_where(each)}{each['text']}"


def _where(example: dict[str, Any]) -> str:
    if example["id"] is None:
        return ""
    name = f" '{example['name']}'" if example["name"] else ""
    return f"[{example['id']}] {example['kind'] or 'record'}{name}: "


def lines(group: dict[str, Any]) -> list[str]:
    """One group as text."""
    said = []
    if group["first"]:
        said.append("the first that the kernel meets")
    if group["severity"] == REJECTED:
        said.append(group["errno"] + (f' "{group["kernel"]}"' if group["kernel"] else ", without a message"))
    head = f"  {group['severity']}, rule {group['rule']}" + (f" ({'; '.join(said)})" if said else "") + ":"
    shown = [head]
    for each in group["examples"]:
        shown.append(f"    {_where(each)}{each['text']}")
    more = group["count"] - len(group["examples"])
    if more > 0:
        shown.append(f"    and {more} more")
    return shown


def _singular(text: str) -> str:
    """The text of a rule, which speaks of several, where it is about one: `1 byte is left`."""
    words = text.split(" ")
    for at, (count, what) in enumerate(pairwise(words), 1):
        if count == "1" and what.rstrip(",;:") in ("bytes", "bits", "elements"):
            words[at] = what.replace("s", "", 1)
            if words[at + 1 : at + 2] in (["are"], ["belong"]):
                words[at + 1] = {"are": "is", "belong": "belongs"}[words[at + 1]]
    return " ".join(words)
