"""Does split BTF belong to this base? Nothing ties the two together: ids and offsets go on where those of the base end.

On another base it means something else. A kernel notices that only by accident, when a name is invalid or an id too
large. No encoder writes what is looked for here: functions without a prototype, an index that is not an integer,
members without a size, references to variables; one is enough. Names that begin in the middle of a string of the base,
and members over each other, may come from an unusual encoder, so two of these are needed.
"""

from __future__ import annotations

from pybtf.verify.judge import Judgement
from pybtf.verify.rules import NUMBERS

PROOFS = tuple(
    NUMBERS[key]
    for key in (
        "REF_MISSING", "REF_KIND", "REF_FUNC", "ELEM", "INDEX", "VAR_TYPE", "SEC_NOT_VAR", "SEC_VAR_TYPE",
        "TAG_TARGET", "MEMBER_TYPE", "RETURN", "ARG", "FUNC_TARGET", "CHAIN", "CHAIN_MISSING",
    )
)  # fmt: skip
SIGNS = tuple(NUMBERS[key] for key in ("MIDDLE", "OVERLAP", "MEMBER_EXCEEDS"))
ENOUGH = 2


def is_wrong(judged: Judgement) -> bool:
    """Whether split BTF that was judged on a base that is sound belongs to another one."""
    counts = judged.counts
    return any(code in counts for code in PROOFS) or sum(counts.get(code, 0) for code in SIGNS) >= ENOUGH


def evidence(judged: Judgement) -> int:
    """How much speaks against the base."""
    return sum(judged.counts.get(code, 0) for code in PROOFS + SIGNS)
