"""Findings in words."""

from __future__ import annotations

from .rules import PARAMETERS, RULES

Finding = tuple[int, int, int, int]


def fields(finding: Finding) -> dict[str, int]:
    code, _, at, value = finding
    return {
        "value": value,
        "at": at + 1 if RULES[code].key in PARAMETERS else at,
        "low": value & 0xFFFFFFFF,
        "high": value >> 32,
    }


def kernel_message(finding: Finding) -> str:
    """What the kernel writes to its log, without the number of the type and the like; often nothing."""
    return RULES[finding[0]].message.format(**fields(finding))
