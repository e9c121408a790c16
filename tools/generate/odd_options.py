"""Programs compiled with options that few builds use and that change DWARF, symbols and sections.

A number determines a program of randprog.py or some sources of fixtures/, a compiler, and up to three options, for one
unit or for all. The same number gives the same program if the same compilers are installed. Split DWARF, type units and
`-minimize-addr-in-v5=Form` are not among the options, because pahole cannot do much with these (docs/differences.md).
`tools.compare.differential --options` compares; `tools.compare.merge_compare --options` draws from the same tables.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from random import Random

from tools.generate import randprog
from tools.golden import toolchain

SOURCES = Path(__file__).resolve().parents[2] / "fixtures" / "src"

#: Machines other than x86-64.
MACHINES = ("-m32", "-mx32", "-m32 -mregparm=3")
#: For gcc and clang.
BOTH = (
    "-Os", "-Og", "-O3", "-g1", "-g3", "-fpic", "-fPIE", "-fcommon",
    "-finstrument-functions", "-pg -mfentry", "-fpatchable-function-entry=4,2", "-ffunction-sections -fdata-sections",
    "-fprofile-generate", "-fprofile-arcs -ftest-coverage", "-fsanitize=kernel-address", "-fsanitize=undefined",
    "-fsanitize=thread", "-fsanitize=bounds", "-fsanitize-coverage=trace-pc", "-gdwarf-2", "-gdwarf-3", "-gdwarf64",
    "-gz=zlib", "-fno-eliminate-unused-debug-types", "-gstrict-dwarf",
    "-gcolumn-info", "-ggnu-pubnames", "-fshort-enums", "-fpack-struct=2", "-funsigned-char", "-fno-inline",
    "-finline-functions", "-fno-omit-frame-pointer", "-fstack-protector-all", "-mms-bitfields", "-mno-sse",
    "-mlong-double-64", "-mlong-double-128", "-ftls-model=local-exec", "-fvisibility=hidden",
)  # fmt: skip
GCC = (
    "-fipa-icf", "-fipa-pta", "-fno-ipa-sra", "-fno-ipa-cp", "-fipa-cp-clone", "-fno-partial-inlining", "-fpack-struct",
    "-freorder-blocks-and-partition -ffunction-sections", "-flive-patching=inline-clone", "-fno-toplevel-reorder",
    "-gno-as-locview-support", "-gno-as-loc-support", "-gvariable-location-views=incompat5", "-gstatement-frontiers",
    "-ginline-points -gvariable-location-views", "-gno-inline-points", "-fno-eliminate-unused-debug-symbols",
    "-femit-struct-debug-baseonly", "-femit-struct-debug-reduced", "-femit-class-debug-always",
    "-fvar-tracking-assignments", "-fno-var-tracking", "-fvar-tracking-uninit", "-fno-merge-debug-strings",
    "-gdescribe-dies", "-fno-dwarf2-cfi-asm", "-funsigned-bitfields", "-malign-double", "-maccumulate-outgoing-args",
    "-fsplit-stack", "-fleading-underscore", "-fkeep-inline-functions", "-fkeep-static-functions", "-fgnu89-inline",
    "-fzero-call-used-regs=used-gpr", "-mindirect-branch=thunk-extern", "-fno-section-anchors", "-gbtf", "-gctf",
)  # fmt: skip
CLANG = (
    "-fbasic-block-sections=all", "-fbasic-block-sections=labels", "-funique-internal-linkage-names",
    "-funique-basic-block-section-names -fbasic-block-sections=all", "-fsplit-machine-functions",
    "-fcs-profile-generate", "-fprofile-instr-generate -fcoverage-mapping", "-fsanitize=bounds -fsanitize-trap=bounds",
    "-fsanitize=safe-stack",
    "-gsimple-template-names", "-fstandalone-debug", "-gline-directives-only", "-gembed-source -gdwarf-5",
    "-fdebug-ranges-base-address", "-fforce-dwarf-frame", "-fdebug-info-for-profiling", "-fpseudo-probe-for-profiling",
    "-fsplit-dwarf-inlining", "-fdebug-macro", "-gno-inline-line-tables", "-glldb", "-gsce",
    "-Xclang -debug-info-kind=unused-types", "-Xclang -debug-info-kind=constructor", "-fblocks", "-fxray-instrument",
    "-mretpoline", "-mcmodel=kernel",
    *(f"-mllvm {each}" for each in (
        "-minimize-addr-in-v5=Ranges", "-minimize-addr-in-v5=Expressions",
        "-minimize-addr-in-v5=Disabled", "-experimental-debug-variable-locations",
        "-dwarf-op-convert=Enable", "-dwarf-op-convert=Disable", "-dwarf-linkage-names=Abstract",
        "-dwarf-inlined-strings=Enable", "-no-dwarf-ranges-section", "-use-dwarf-ranges-base-address-specifier",
        "-accel-tables=Dwarf", "-dwarf-sections-as-references=Enable", "-split-dwarf-cross-cu-references",
        "-enable-merge-functions", "-hot-cold-split", "-enable-machine-outliner=always",
    )),
)  # fmt: skip


def draw(rng: Random, compiler: str) -> str:
    """One to three options for a compiler, not those for another machine."""
    own = GCC if compiler.startswith("gcc") else CLANG
    return " ".join(rng.sample((*BOTH, *own), rng.choice([1, 1, 1, 2, 3])))


def program(number: int) -> randprog.Program:
    """The program of a number."""
    rng = Random(f"odd options {number}")
    compiler = rng.choice([name for name in ("gcc", "clang", "clang16", "clang19") if is_here(name)])
    level, dwarf, form = rng.choice(["O0", "O1", "O2", "O2"]), rng.choice("45"), rng.choice(["obj", "exe"])
    build = toolchain.Build(compiler, level, dwarf, form)
    chosen = randprog.generate(number) if rng.random() < 0.5 else of_fixtures(number, rng)
    common = draw(rng, compiler)
    first = rng.randrange(len(chosen.units))
    if rng.random() < 0.1:  # For one unit: no linker takes several without an option.
        build, chosen = replace(build, form="obj"), chosen.only(first)
        common, first = f"{common} {rng.choice(MACHINES)}", 0
    alone = rng.random() < 0.4
    options = [
        f"{given} {common}" if not alone or index == first else given
        for index, given in enumerate(chosen.options or [""] * len(chosen.units))
    ]
    return replace(chosen, builds=[build] * len(chosen.units), options=options)


def is_here(name: str) -> bool:
    """Whether a compiler of toolchain.py is installed."""
    return name in toolchain.COMPILERS and shutil.which(toolchain.COMPILERS[name].argv[0]) is not None


def of_fixtures(number: int, rng: Random) -> randprog.Program:
    """A program of one to four sources, some of them twice."""
    sources = sorted(SOURCES.glob("*.c"))
    picked = [rng.choice(sources) for _ in range(rng.randint(1, 4))]
    units = [path.read_text().splitlines() for path in picked]
    return randprog.Program(number, units, [], [f"-I{SOURCES}"] * len(units))
