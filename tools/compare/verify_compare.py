"""Compares what `pybtf verify` says with what the running kernel says: BPF_BTF_LOAD, as root.

    python -m tools.compare.verify_compare [--count N] [--seed S] [--fields] [--large FILE] [--large-count N]
        [--record OUT]

Some of the BTFs are the cases of minimal_btf.py, from both sides of each rule. Most are random: graphs of a few types
whose references, sizes and names are drawn near the limits, damaged minimal cases, and those of randbtf.py, damaged or
not. With --fields, all are from random_fields.py. With --large, as many again are that BTF, of a whole kernel, with a
few words changed. The errnos are compared and, for refused BTF, the kernel's message.

Exit status: 1 if one verdict differs; the input is kept in build/verify-found. --record writes inputs and verdicts for
the tests: fixtures/verify/kernel-VERSION.json, and fields-VERSION.json.
"""

from __future__ import annotations

import argparse
import base64
import ctypes
import json
import os
import platform
import random
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pybtf.btf.files import read_btf
from pybtf.verify.judge import judge
from pybtf.verify.words import kernel_message
from tools.generate import randbtf
from tools.generate.random_fields import fields
from tools.golden.minimal_btf import (
    ARRAY,
    CASES,
    CONST,
    DATASEC,
    DECL_TAG,
    ENUM,
    ENUM64,
    FLOAT,
    FUNC,
    FWD,
    INT,
    PROTO,
    PTR,
    RESTRICT,
    STRUCT,
    TYPE_TAG,
    TYPEDEF,
    UNION,
    VAR,
    VOLATILE,
    Maker,
)
from tools.judge.kernel_load import _load

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "verify-found"
WORDS = (0, 1, 2, 3, 4, 8, 31, 32, 33, 0xFFFF, 0x10000, 0xFFFFF, 0x100000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
LOG = 1 << 16


class Graph:
    """A few types, whose references lead anywhere, but mostly to what may be referred to."""

    def __init__(self, chooser: random.Random) -> None:
        self.random = chooser
        self.made = Maker()
        self.count = chooser.choice((1, 2, 3, 4, 6, 10))
        self.weights = chooser.choice(((1,) * 19, (1, 9, 3, 5, 1, 1, 1, 4, 1, 4, 1, 3, 3, 2, 1, 1, 1, 3, 1)))

    def id(self) -> int:
        last = self.count + 1
        return self.random.choices(
            (self.random.randrange(1, last + 1), 1, 0, last + 1, self.random.choice(WORDS)), (60, 15, 3, 1, 1)
        )[0]

    def name(self, empty: float) -> str | bytes | int:
        draw = self.random.random()
        if draw < empty:
            return 0
        if draw > 0.99:
            return self.random.choice((".x", "a-b", b"\xe9", 1000, 2, "9", b"a\x01", "x" * 513, "bpf_spin_lock"))
        return self.random.choice(("a", "b", "c", "d1", "e_"))

    def size(self) -> int:
        return self.random.choice((0, 1, 2, 3, 4, 7, 8, 8, 12, 16, 16, 24, 32, 64))

    def members(self, flag: bool, union: bool) -> list[tuple[str | bytes | int, int, int]]:
        at = 0
        found = []
        for _ in range(self.random.choice((0, 1, 1, 2, 3))):
            width = self.random.choice((0, 0, 0, 1, 3, 8, 31, 32, 33, 64)) if flag else 0
            found.append((self.name(0.1), self.id(), width << 24 | (0 if union else at)))
            at += self.random.choice((0, 1, 4, 8, 16, 32, 32, 64, 64, 128))
        return found

    def add(self) -> None:
        choose, made = self.random.choice, self.made
        kind = self.random.choices(range(1, 20), self.weights)[0]
        flag = int(self.random.random() < (0.4 if kind in (STRUCT, UNION, ENUM, ENUM64, FWD) else 0.01))
        vlen = int(self.random.random() < 0.01)
        if kind == INT:
            bits = choose((8, 16, 24, 31, 32, 64, 128, 0))
            size = choose((1, 2, 3, 4, 8, 16)) if choose((0, 1)) else max(1, bits // 8)
            word = choose((0, 1, 2, 4, 4, 3)) << 24 | choose((0, 0, 0, 1, 8)) << 16 | bits
            made.add(INT, self.name(0.1), size, word, flag=flag, vlen=vlen)
        elif kind in (PTR, VOLATILE, CONST, RESTRICT):
            made.add(kind, self.name(0.99), self.id(), flag=flag, vlen=vlen)
        elif kind in (TYPEDEF, TYPE_TAG):
            made.add(kind, self.name(0.01), self.id(), flag=flag, vlen=vlen)
        elif kind == ARRAY:
            index = self.id() if self.random.random() < 0.2 else 1
            made.add(kind, self.name(0.99), 0, self.id(), index, choose((0, 1, 2, 3, 1 << 28, 1 << 30)), flag=flag)
        elif kind in (STRUCT, UNION):
            made.struct(self.name(0.2), self.size(), *self.members(bool(flag), kind == UNION), flag=flag, kind=kind)
        elif kind in (ENUM, ENUM64):
            each = (self.name(0.02), 1, 0)[: 3 if kind == ENUM64 else 2]
            count = choose((0, 1, 2))
            made.add(kind, self.name(0.2), choose((1, 2, 4, 4, 8, 8, 3)), *each * count, vlen=count, flag=flag)
        elif kind == FWD:
            made.add(kind, self.name(0.01), int(self.random.random() < 0.02), flag=flag, vlen=vlen)
        elif kind == FUNC:
            made.add(kind, self.name(0.01), self.id(), vlen=choose((0, 1, 1, 2)), flag=flag)
        elif kind == PROTO:
            args = [(self.name(0.1), self.id()) for _ in range(choose((0, 1, 2, 3)))]
            if self.random.random() < 0.2:
                args.append((self.name(0.9), 0))
            made.proto(self.id() if choose((0, 1)) else 0, *args)
        elif kind == VAR:
            made.add(kind, self.name(0.01), self.id(), choose((0, 1, 1, 2)), flag=flag, vlen=vlen)
        elif kind == DATASEC:
            at, entries = 0, []
            for _ in range(choose((0, 1, 2, 3))):
                size = choose((1, 4, 4, 8, 8, 16, 16))
                entries.append((self.id(), at, size))
                at += size + choose((0, 0, 4, -1))
            made.section(choose((at, at + 4, at or 4)), *entries, name=self.name(0.01))
        elif kind == FLOAT:
            made.add(kind, self.name(0.1), choose((2, 4, 8, 8, 12, 16, 10)), flag=flag, vlen=vlen)
        elif kind == DECL_TAG:
            made.add(kind, self.name(0.01), self.id(), choose((-1, -1, -1, 0, 1, 2, -2)), flag=flag, vlen=vlen)

    def make(self) -> bytes:
        for _ in range(self.count):
            self.add()
        return self.made.make()


def damaged(chooser: random.Random, source: bytes, most: int = 4) -> bytes:
    """Some words or bytes changed."""
    data = bytearray(source)
    for _ in range(chooser.randrange(1, most)):
        if len(data) < 28 or chooser.random() < 0.1:
            data[chooser.randrange(len(data))] = chooser.randrange(256)
            continue
        at = 4 * chooser.randrange(1, len(data) // 4)
        old = int.from_bytes(data[at : at + 4], "little")
        kind = chooser.randrange(1, 20) << 24 | chooser.randrange(4)
        new = chooser.choice(
            (chooser.randrange(12), chooser.choice(WORDS), old + 1, old - 1, old ^ 1 << chooser.randrange(32), kind)
        )
        data[at : at + 4] = (new & 0xFFFFFFFF).to_bytes(4, "little")
    return bytes(data)


def plain(chooser: random.Random) -> bytes:
    """Random BTF of this machine's byte order and size of pointers."""
    while True:
        made = randbtf.RandomBtf(chooser.randrange(1 << 30))
        if made.order == "<" and made.pointer == 8:
            return made.make()


def small(chooser: random.Random) -> bytes:
    draw = chooser.random()
    if draw > 0.95:
        return fields(chooser)
    if draw < 0.6:
        data = Graph(chooser).make()
        return damaged(chooser, data, 3) if draw < 0.1 else data
    if draw < 0.8:
        return damaged(chooser, chooser.choice([each.data for each in CASES if len(each.data) < 20_000]))
    return damaged(chooser, plain(chooser)) if draw < 0.9 else plain(chooser)


def near(chooser: random.Random, source: bytes) -> bytes:
    """A kernel's BTF with a few words of its types changed to other words of it, or to nearby ids."""
    data = bytearray(source)
    header, type_off, type_len = struct.unpack_from("<III", data, 4)
    start = header + type_off
    for _ in range(chooser.choice((1, 1, 1, 2, 4))):
        at = start + 4 * chooser.randrange(type_len // 4)
        old = int.from_bytes(data[at : at + 4], "little")
        there = start + 4 * chooser.randrange(type_len // 4)
        other = int.from_bytes(data[there : there + 4], "little")
        new = chooser.choice(
            (other, other, chooser.randrange(100_000), old + 1, old - 1, old ^ 1 << chooser.randrange(32))
        )
        data[at : at + 4] = (new & 0xFFFFFFFF).to_bytes(4, "little")
    return bytes(data)


def asked(chooser: random.Random, count: int, large: str | None, large_count: int) -> Iterator[bytes]:
    """The cases and random BTFs."""
    for each in CASES:
        yield each.data
    for _ in range(count):
        yield small(chooser)
    if large is not None:
        source = read_btf(large)[0]
        yield source
        for _ in range(large_count):
            yield near(chooser, source)


def version() -> int:
    major, minor = platform.release().split(".")[:2]
    return 100 * int(major) + int("".join(c for c in minor if c.isdigit()))


def message(data: bytes) -> str:
    log = ctypes.create_string_buffer(LOG)
    _load(data, log)
    return log.value.decode("latin-1")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fields", action="store_true", help="only such as are about fields that kernels know by name")
    parser.add_argument("--large", help="BTF of a kernel")
    parser.add_argument("--large-count", type=int, default=1000)
    parser.add_argument("--record", help="write the answers to the first 500 distinct rules and cases")
    options = parser.parse_args()
    if _load(CASES[0].data, None) in (1, 13, 38) or os.geteuid():
        print("skipped: this process may not load BTF")
        return 0
    running = version()
    chooser = random.Random(options.seed)
    verdicts: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    differ = said = 0
    recorded: list[list[str | int]] = []
    KEPT.mkdir(parents=True, exist_ok=True)
    all_ = asked(chooser, options.count, options.large, options.large_count)
    if options.fields:
        all_ = (fields(chooser) for _ in range(options.count))
    for number, data in enumerate(all_):
        code = _load(data, None)
        mine = judge(data, "user", running, pointer=8)
        verdicts["accepted" if code == 0 else f"errno {code}"] += 1
        first = mine.first
        if first is not None:
            rules[minimal_rule(first[0])] += 1
        if mine.errno != code:
            differ += 1
            path = KEPT / f"{options.seed}-{number}.btf"
            path.write_bytes(data)
            print(f"{path}: the kernel says {code}, pybtf {mine.errno} {first}")
        elif first is not None and len(data) < 20_000:
            expected = kernel_message(first, running)
            text = message(data)
            if expected not in text:
                said += 1
                if said <= 20:
                    (KEPT / f"said-{options.seed}-{number}.btf").write_bytes(data)
                    print(f"{number}: the kernel's words differ: {text.strip().splitlines()[-1:]} for {expected!r}")
        late = first is None or minimal_rule(first[0]) == "SPECIAL"
        if options.record and len(data) < 2000 and len(recorded) < 500 and (late or not options.fields):
            recorded.append([base64.b64encode(zlib.compress(data, 9)).decode(), code])
    if options.record:
        Path(options.record).write_text(json.dumps({"version": running, "cases": recorded}, indent=0) + "\n")
    print(f"{sum(verdicts.values())} BTFs on {platform.release()}: {differ} verdicts differ, {said} messages")
    print(", ".join(f"{count} {what}" for what, count in verdicts.most_common()))
    print(f"{len(rules)} rules: " + ", ".join(f"{rule} {count}" for rule, count in sorted(rules.items())))
    return 1 if differ else 0


def minimal_rule(code: int) -> str:
    from pybtf.verify.rules import RULES

    return RULES[code].key


if __name__ == "__main__":
    sys.exit(main())
