"""The tests of everything that reads files, with a build with ASan and UBSan (that of tools/fuzz/fuzz.py).

    python -m tools.fuzz.sanitized [ARGUMENT...]

ARGUMENTs are pytest's; default: the tests below. Tests of memory limits are left out, because sanitizers need several
times as much memory. Exit status: pytest's.
"""

from __future__ import annotations

import subprocess
import sys

from tools.fuzz import fuzz

#: Readers of ELF, DWARF and BTF, input that changes, and the reduction, whose assumptions are asserted.
TESTS = (
    "abbrev_tables", "alternate", "bad_input", "bounds", "btf_fields", "btf_reader", "builder", "changing",
    "compiler_btf", "containers", "core_relocation", "corruption", "dedup", "degrade", "degrade_merged", "diff",
    "diff_damage", "diff_objects", "diff_rules", "dump", "dwarf_forms", "elf_compressed", "elf_image", "elf_notes",
    "fixtures", "functable", "glance", "glance_functions", "glance_parts", "keeping", "kfuncs", "long_chains",
    "merge_awaited", "merge_blocks", "merge_cache", "merge_digests", "merge_payloads", "merge_sections",
    "merge_values", "min_core", "models", "offsets", "output_check", "read_section", "record_layout", "refuted",
    "relocate", "restore", "rules_locations", "rules_packed", "rules_signature", "show", "show_lines", "show_options",
    "show_pahole", "show_usage", "size", "split", "split_dwarf", "verify", "verify_fit", "verify_fix", "verify_ids",
    "verify_objects", "verify_special", "why", "why_command", "why_words", "wild_types", "without", "worked_example",
)  # fmt: skip


def main() -> int:
    fuzz.build()
    sources = str(fuzz.BUILD / "src")
    environment = {**fuzz.environment(), "PYBTF_SOURCES": sources, "PYBTF_SANITIZED": "1"}
    tests = [str(path) for path in sorted((fuzz.ROOT / "tests").rglob("test_*.py")) if path.stem[5:] in TESTS]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(sys.argv[1:] or tests)]
    return subprocess.run(command, cwd=fuzz.ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
