"""What is printed of a file, and of many."""

from __future__ import annotations

from collections import Counter

from pybtf.errors import counted
from pybtf.support import TYPE_CHECKING
from pybtf.verify.task import ACCEPTED, MISSING, NOT_READ, REJECTED, WRONG
from pybtf.verify.words import lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def text(result: dict[str, Any]) -> list[str]:
    """A file: the verdict, then what is wrong."""
    shown = [f"{result['file']}: {_verdict(result)}"]
    shown += [f"  {note}" for note in (result["fits"], *result["notes"]) if note]
    if result["versions"]:
        shown += _table(result["versions"])
    for group in result["findings"]:
        shown += lines(group)
    return shown


def _verdict(result: dict[str, Any]) -> str:
    kernel = f"kernel {result['kernel']}, loader {result['loader']}"
    done = "; as a loader completes it" if result["completed"] else ""
    on = f" on {result['base']}" if result["base"] else ""
    if result["verdict"] == ACCEPTED:
        return f"accepted{on} ({kernel}; {counted(result['types'], 'type')}{done})"
    if result["verdict"] == NOT_READ:
        return f"not read ({kernel})"
    if result["verdict"] == MISSING:
        return f"has no BTF ({kernel}); it is loaded without it"
    if result["verdict"] == WRONG:
        what = f"refuses it: {result['errno']}" if result["errno"] else "loads it all the same, with wrong types"
        return f"does not belong to {result['base'] or 'this kernel'}; kernel {result['kernel']} {what}"
    return f"rejected{on}: {result['errno']} ({kernel}{done}); {result['consequence']}"


def _table(versions: Sequence[dict[str, Any]]) -> list[str]:
    shown = []
    for row in versions:
        span = f"before {row['to']}" if row["to"] else "and newer"
        answer = f"{row['errno']}: {row['text']}" if row["errno"] else row["text"] or "accepted"
        shown.append(f"  {row['from']:>4} {span:<12} {answer}")
    return shown


def summary(results: Sequence[dict[str, Any]]) -> str:
    """Of many files: how many of each verdict."""
    count: Counter[str] = Counter("error" if each["error"] is not None else each["verdict"] for each in results)
    unnoticed = sum(each["error"] is None and each["verdict"] == WRONG and each["errno"] is None for each in results)
    said = [f"{count[ACCEPTED]:,} accepted"]
    if count[NOT_READ]:
        said.append(f"{count[NOT_READ]:,} not read")
    if count[MISSING]:
        said.append(f"{count[MISSING]:,} without BTF")
    if count[REJECTED]:
        said.append(f"{count[REJECTED]:,} rejected")
    if count[WRONG]:
        said.append(f"{count[WRONG]:,} do not belong to the base ({unnoticed:,} of them a kernel would load)")
    if count["error"]:
        said.append(f"{count['error']:,} cannot be read")
    return f"{len(results):,} files: {', '.join(said)}"
