"""One BTF before one loader of one kernel: all that is wrong, what the kernel meets first, and what it answers."""

from __future__ import annotations

from pybtf.core.accept.accept_layer import Layer
from pybtf.support.records import record
from pybtf.verify.header import check_header
from pybtf.verify.rules import FIT, GRAPH, NUMBERS, ORDER, RULES, SPECIAL, Rule

USER, VMLINUX, MODULE = LOADERS = ("user", "vmlinux", "module")

READ_SINCE = {USER: 418, VMLINUX: 505, MODULE: 511}
"""The first version in which a loader reads BTF."""

VERSIONS = (418, 500, 501, 502, 504, 505, 506, 511, 512, 513, 516, 517, 519, 600, 601, 602, 603, 604, 609, 611, 615,
            700, 701, 702, 703)  # fmt: skip
"""Versions that changed a rule. Between two of them a kernel answers as the first."""
NEWEST = VERSIONS[-1]

_CHAIN_MISSING = NUMBERS["CHAIN_MISSING"]

REJECTED, LOST, UNNOTICED, ODD = "rejected", "loaded, with losses", "not noticed", "odd"
"""How bad a finding is. Not noticed: a rule that this loader does not apply, so it loads, and is wrong."""


@record()
class Judgement:
    """`found` are findings as the core has them, in the order in which a kernel would meet them.

    `counts`: how often each rule was broken. `layer`: the types, if there were any to look at. `refused`: of
    a module's, what the kernel answers to its own; if it refuses that, it does not look at the module's.
    """

    loader: str
    version: int
    found: list[tuple[int, int, int, int]]
    counts: dict[int, int]
    layer: Layer | None = None
    refused: int = 0

    @property
    def first(self) -> tuple[int, int, int, int] | None:
        """What the kernel names, and stops at; None if it accepts, or does not look."""
        if self.refused:
            return None
        return next(
            (each for each in self.found if severity(RULES[each[0]], self.loader, self.version) == REJECTED), None
        )

    @property
    def errno(self) -> int:
        """What the kernel answers; 0 if it accepts."""
        first = self.first
        return errno_of(first) if first is not None else self.refused

    @property
    def read(self) -> bool:
        """Whether this loader of this version reads BTF at all."""
        return self.version >= READ_SINCE[self.loader]


def errno_of(finding: tuple[int, int, int, int]) -> int:
    rule = RULES[finding[0]]
    return finding[3] if rule.about == SPECIAL else rule.errno


def severity(rule: Rule, loader: str, version: int) -> str:
    """How bad it is that a rule is broken, before this loader of this version."""
    if version < READ_SINCE[loader]:
        return UNNOTICED
    if rule.about == FIT:
        return UNNOTICED
    if rule.about == ORDER or not (rule.errno or rule.about == SPECIAL):
        return LOST
    if rule.about == GRAPH and loader != USER:
        return UNNOTICED
    return REJECTED


def judge(
    data: bytes,
    loader: str = USER,
    version: int = NEWEST,
    *,
    base: Layer | None = None,
    little: bool = True,
    pointer: int = 0,
) -> Judgement:
    """What a kernel of this version and byte order says of raw BTF. `base`: what it is split from.

    `pointer`: the size of pointers; 0 if only the BTF says it.
    """
    header = check_header(data, little, version, loader == USER, base is not None)
    found = header.found
    counts: dict[int, int] = {}
    for code, *_ in found:
        counts[code] = counts.get(code, 0) + 1
    result = Judgement(loader, version, found, counts)
    if header.types is None or header.strings is None:
        return result
    layer = Layer(data, header.types, header.strings, little, version, pointer, base)
    result.layer = layer
    layer.resolve()
    layer.chains()
    if base is not None:
        layer.fit()
    elif loader == VMLINUX and version >= 700:
        layer.order()
    found += layer.findings()
    counts |= layer.counts()
    if loader == USER and counts.pop(_CHAIN_MISSING, 0):  # a reference to nothing, which has been said
        found[:] = [each for each in found if each[0] != _CHAIN_MISSING]
    if loader == USER and version >= 602 and result.first is None:
        from pybtf.verify.special import check_special

        special = check_special(layer, version)
        if special is not None:
            found.append(special)
            counts[special[0]] = 1
    return result
