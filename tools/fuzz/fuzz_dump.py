"""Long runs of random damage to BTF for the commands that read it, with sanitizers. See docs/fuzzing.md.

    python -m tools.fuzz.fuzz_dump [--seconds N | --count N] [--seed S] [--workers N] [--case N]

Builds like fuzz.py, then damages random BTF (randbtf.py). It is dumped in all formats, also as split BTF and with
chosen types; shown, drawn, summed up, searched for duplicates, de-duplicated, sorted, reduced, used for decoding bytes,
and compared, until the time is up or so many cases are done. For a crash, a sanitizer report, an exception that is not
an InputError or a case that takes longer than 10 s, the number is printed and the input kept in build/fuzz-found; the
exit status is then 1.
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator, Sequence

from tools.fuzz import cases
from tools.fuzz.cases import damaged
from tools.generate import randbtf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pybtf.btf.reader import BTF

EFFORT = 1 << 20


def look_at(data: bytes) -> Iterator[str]:
    """Shows all types, even those after one that is refused; draws; looks for duplicates; adds up sizes."""
    from pybtf.btf.duplicates import duplicates
    from pybtf.btf.kind_numbers import STRUCT, UNION
    from pybtf.btf.reader import BTF
    from pybtf.core.btf.type_view import View
    from pybtf.core.show.show_graph import TypeGraph
    from pybtf.core.show.show_types import Shower
    from pybtf.errors import InputError
    from pybtf.pictures.layout_svg import layout_svg
    from pybtf.pictures.treemap import treemap

    try:
        btf = BTF.from_bytes(data)
        view = View(data, "x")
    except InputError:
        return
    chooser = random.Random(data)

    def shower() -> Shower:
        """A shower with a set of options of show."""
        return Shower(view, *(chooser.random() < 0.3 for _ in range(5)))

    one = shower()
    for id in range(1, len(view)):
        try:
            one.text(id)
            one.type_name(id)
            if (of := one.behind(id)) and view.kind(of) in (STRUCT, UNION):
                one.sums(of)
                one.members(of)
            if view.kind(id) == STRUCT:
                one.packable(id)
                one.reorganized(id, chooser.random() < 0.5)
        except InputError:
            one = shower()
    yield "shown"
    for pointers in (False, True):
        with contextlib.suppress(InputError):
            Shower(view).users([chooser.randrange(1, len(view))] if len(view) > 1 else [], pointers)
    with contextlib.suppress(InputError):
        plain = Shower(view)
        structs = plain.composites()
        layout_svg(view, plain, chooser.sample(structs, min(2, len(structs))), chooser.random() < 0.5)
        yield "drawn"
    treemap(view, "x", chooser.random() < 0.5)
    graph = TypeGraph(view)
    assert sum(graph.records()) == view.sizes()[1]
    assert max(graph.retained() or [0], default=0) <= view.sizes()[1]
    graph.strings()
    yield "sizes"
    with contextlib.suppress(InputError):
        duplicates(btf)
        yield "duplicates"
    with contextlib.suppress(InputError):
        list(btf)
        yield "all types read"
    yield from make_of(btf, data)


def make_of(btf: BTF, data: bytes) -> Iterator[str]:
    """Appends it to itself and de-duplicates that; reduces it, as the kernel and as the program; decodes."""
    from pybtf.btf.builder import Builder
    from pybtf.btf.core_relocation import Relocator, Target
    from pybtf.btf.ext import Relocation, RelocationKind
    from pybtf.btf.min_core import MinCore
    from pybtf.btf.value_text import as_text
    from pybtf.btf.values import Values
    from pybtf.errors import InputError

    chooser = random.Random(data)
    try:
        builder = Builder()
        builder.append(btf)
        builder.dedup()
        builder.to_btf()
        yield "de-duplicated"
        split = Builder(btf)
        split.append(btf)
        if chooser.random() < 0.05:  # a base has room for a kernel's module, which is slow with a sanitizer
            split.distill()
            yield "distilled"
        for sorted in (split, Builder.of(btf)):
            sorted.sort()
            ids = sorted.sort()
            assert ids.tolist() == list(range(sorted.first_id, sorted.next_id))
        yield "sorted"
    except InputError:
        pass
    relocator, needs = Relocator(btf, Target(btf)), MinCore(btf)
    for _ in range(20):
        way = ":".join(["0", *(str(chooser.randrange(4)) for _ in range(chooser.randrange(4)))])
        kind = chooser.choice(list(RelocationKind))
        relocation = Relocation("x", 0, chooser.randrange(btf.end_id), way, kind)
        with contextlib.suppress(InputError):
            needs.keep(relocation, relocator.resolve(relocation).found)
    with contextlib.suppress(InputError):  # about records that are read only now
        needs.to_bytes()
        yield "min-core"
    values = Values(btf, 16)
    for _ in range(20):
        try:
            id = chooser.randrange(btf.end_id)
            for _ in as_text("x", values.of(id, chooser.randbytes(chooser.choice((0, 4, 64, 4096))))):
                pass
        except InputError:
            pass
    yield "decoded"


def compare(data: bytes, other: bytes) -> Iterator[str]:
    """Reports what changed between two BTFs, and that nothing did between one and itself."""
    from pybtf.core.btf.type_view import View
    from pybtf.differences.compare import Differences
    from pybtf.differences.text import lines, markdown, to_dict
    from pybtf.errors import InputError

    try:
        old, new = View(data, "x"), View(other, "y")
    except InputError:
        return
    try:
        found = Differences(old, new, names=len(data) % 2 == 0)
        lines(found.changes, found.declaration, True)
        markdown(found.changes, found.declaration)
        for change in found.changes:
            to_dict(change, found.declaration)
    except InputError:
        pass
    assert not Differences(old, View(data, "x")).changes
    yield "compared"


def sources(chooser: random.Random) -> list[bytes]:
    return [randbtf.RandomBtf(chooser.randrange(1 << 30)).make() for _ in range(100)]


def make(chooser: random.Random, sources: Sequence[bytes]) -> bytes:
    return damaged(chooser, chooser.choice(sources))


def dump(chooser: random.Random, data: bytes, sources: Sequence[bytes]) -> Iterator[str]:
    """Prints it in all formats."""
    from pybtf.core.btf.type_view import View
    from pybtf.core.dump.dump_header import dump_header
    from pybtf.core.dump.dump_types import dump_types
    from pybtf.errors import InputError

    try:
        base = chooser.choice(sources) if chooser.random() < 0.2 else None
        view = View(data, "x", View(base, "base") if base is not None and len(data) % 8 == 0 else base)
    except InputError:
        yield "refused"
        return
    chosen = [chooser.randrange(1, len(view))] if len(view) > 1 and chooser.random() < 0.2 else []
    for sort in (True, False):
        with contextlib.suppress(InputError):
            # If damage makes a header long, half a second of it rarely shows more than a hundredth.
            if chooser.random() < 0.01:
                dump_header(view, chosen, sort)
            else:
                dump_header(view, chosen, sort, EFFORT)
            yield "headers"
    with contextlib.suppress(InputError):
        dump_types(view, len, chosen)
        dump_types(view, len, chosen, True, chooser.random() < 0.5)
        yield "raw and JSON"


def run(chooser: random.Random, data: bytes, sources: Sequence[bytes]) -> Iterator[str]:
    """One case: everything that reads BTF."""
    yield from dump(chooser, data, sources)
    yield from look_at(data)
    yield from compare(data, damaged(chooser, data) if chooser.random() < 0.5 else chooser.choice(sources))


FUZZER = cases.Fuzzer("dump", sources, make, run)

if __name__ == "__main__":
    sys.exit(cases.main(FUZZER, "tools.fuzz.fuzz_dump", __doc__))
