"""Makes fixtures/synthetic: what the reference writes for the files that the tests build in memory.

    python -m tools.golden.synthetic_golden            ask the reference for everything, write goldens and manifest
    python -m tools.golden.synthetic_golden NAME...    ask for these cases only; the others stay as they are
    python -m tools.golden.synthetic_golden --check    only say what would change
    python -m tools.golden.synthetic_golden --write-inputs FOLDER
                                                put the input files into FOLDER, to look at

The manifest has, for each case, the SHA-256 of the input, the features, and the outcome:

* `btf`: the reference wrote NAME.btf;
* `error`: it wrote nothing, or stopped decoding half-way; its message is kept. pybtf must fail.

A case on which the reference crashes or hangs does not belong here: the tool stops at it. The forms of one logical
program (tests/builders/formsprogram.py) share one golden file per byte order. The tool checks that the reference agrees
for every single variant, and stores one digest over all inputs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from tests.builders import formsprogram, synthetic
from tools.judge import oracle, reference

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "fixtures" / "synthetic"

#: Printed on stderr when the reference gives up on a unit: what follows is missing from the output.
GAVE_UP = "error decoding cu"


def ask(case: synthetic.Case) -> oracle.Answer:
    with tempfile.TemporaryDirectory(prefix="pybtf-golden-") as folder:
        path = Path(folder) / "input.elf"
        case.write(path)
        try:
            answer = oracle.run(path, case.features, options=case.options, timeout=20)
        except subprocess.TimeoutExpired:
            return oracle.Answer(None, -1, "hangs")
    return answer


def one_case(case: synthetic.Case) -> tuple[dict[str, Any], bytes | None]:
    answer = ask(case)
    if answer.status < 0:
        sys.exit(f"{case.name}: the reference ends with status {answer.status} {answer.stderr}")
    broken = answer.data is None or GAVE_UP in answer.stderr
    entry: dict[str, Any] = {
        "features": case.features,
        "input_sha256": case.digest(),
        "outcome": "error" if broken else "btf",
    }
    if broken:
        entry["reference_says"] = answer.stderr.strip().splitlines()
    return entry, None if broken else answer.data


def forms() -> tuple[dict[str, Any], dict[str, bytes]]:
    """The digest of all variants, and the golden file of each byte order."""
    goldens: dict[str, bytes] = {}
    digests: dict[str | int, Any] = {}
    total = 0
    rows = list(formsprogram.variants())
    with ThreadPoolExecutor(2) as pool:
        builds = [partial(formsprogram.build, flavour, variant) for _, flavour, variant in rows]
        answers = pool.map(lambda build: ask(synthetic.Case("form", build, "default")), builds)
        for (name, flavour, variant), answer in zip(rows, answers, strict=True):
            order = "le" if flavour.little else "be"
            if answer.data is None or answer.data != goldens.setdefault(order, answer.data):
                sys.exit(f"{name}: the reference does not write what it writes for the others: {answer.stderr}")
            total += 1
            if variant.compress is None:  # zlib's output may change with its version
                digest = digests.setdefault(flavour.machine, hashlib.sha256())
                digest.update(formsprogram.build(flavour, variant))
    return {
        "variants": total,
        "features": "default",
        "input_sha256": {machine: digest.hexdigest() for machine, digest in digests.items()},
    }, {f"forms-{order}.btf": data for order, data in goldens.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="NAME")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write-inputs", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.write_inputs:
        options.write_inputs.mkdir(parents=True, exist_ok=True)
        for case in synthetic.load().values():
            (options.write_inputs / f"{case.name}.elf").write_bytes(case.build())
        return 0
    manifest: dict[str, Any] = {"reference": reference.pahole_versions(), "cases": {}}
    files: dict[str, bytes] = {}
    known = json.loads((HOME / "manifest.json").read_text()) if options.cases else {}
    if known:
        manifest["forms"] = known["forms"]
    else:
        manifest["forms"], files = forms()
    for case in synthetic.load().values():
        if known and case.name not in options.cases:
            if case.name in known["cases"]:
                manifest["cases"][case.name] = known["cases"][case.name]
            continue
        manifest["cases"][case.name], golden = one_case(case)
        if golden is not None:
            files[f"{case.name}.btf"] = golden
    files["manifest.json"] = (json.dumps(manifest, indent=1) + "\n").encode()
    HOME.mkdir(parents=True, exist_ok=True)
    changed = [name for name, data in files.items() if not (HOME / name).exists() or (HOME / name).read_bytes() != data]
    kept = {f"{name}.btf" for name in known.get("cases", ())} | ({"forms-le.btf", "forms-be.btf"} if known else set())
    stale = [path for path in HOME.iterdir() if path.name not in files and path.name not in kept]
    for name in changed:
        print(("would change: " if options.check else "wrote: ") + name)
    for path in stale:
        print(f"stale: {path.name}")
    if options.check:
        return 1 if changed or stale else 0
    for path in stale:
        path.unlink()
    for name in changed:
        (HOME / name).write_bytes(files[name])
    errors = sum(entry["outcome"] == "error" for entry in manifest["cases"].values())
    print(f"{len(manifest['cases'])} cases ({errors} errors), {manifest['forms']['variants']} variants of forms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
