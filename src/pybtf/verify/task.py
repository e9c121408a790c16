"""One file that is to be verified: which bases it may have, what kernels say, and whether it belongs there.

What comes of it has only numbers, texts, lists and dicts: `--json` prints it, and it crosses from worker to worker.
"""

from __future__ import annotations

from pybtf.btf.opening import base_beside
from pybtf.core.accept.accept_layer import Layer
from pybtf.errors import InputError, Place
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import field, record
from pybtf.verify import words
from pybtf.verify.fit import evidence, is_wrong
from pybtf.verify.judge import MODULE, NEWEST, READ_SINCE, USER, VERSIONS, VMLINUX, Judgement, judge
from pybtf.verify.sources import Source, open_source

if TYPE_CHECKING:
    from typing import Any

    from pybtf.verify.distilled import Targets

ACCEPTED, REJECTED, WRONG, NOT_READ, MISSING = "accepted", "rejected", "wrong base", "not read", "missing"
DISTILLED_SINCE = 611


@record()
class Base:
    """The BTF of a vmlinux, judged and resolved once for all that is split from it. `answers`: what kernels say, by
    version.
    """

    path: str
    data: bytes
    pointer: int
    layer: Layer
    little: bool
    release: str | None
    answers: dict[int, int]
    targets: Targets | None = None

    def answer(self, version: int) -> int:
        """What a kernel of this version that reads BTF of modules says of its own; 0 if it accepts."""
        if version < READ_SINCE[MODULE]:
            return 0
        if version not in self.answers:
            self.answers[version] = judge(self.data, VMLINUX, version, little=self.little, pointer=self.pointer).errno
        return self.answers[version]


@record()
class Settings:
    """`versions`: those that are asked about, one or all; none: that of the kernel that the file is or is for, if it
    says so, else the newest. `loader`: None if it follows from the file. `bases`: those that were named. `require`:
    whether a module has to have BTF. `beside`: what was found beside files, by path; it is read once, and is not a base
    of files elsewhere.
    """

    versions: list[int]
    loader: str | None
    bases: list[Base]
    require: bool = False
    beside: dict[str, Base] = field(default_factory=dict)


def version_of(text: str) -> int | None:
    """100 times the major version and the minor; None if the text, as 6.1.0-50-amd64, has none that read BTF."""
    parts = text.removeprefix("v").split("-")[0].split(".")
    if len(parts) < 2 or not all(part.isascii() and part.isdecimal() and len(part) < 4 for part in parts[:2]):
        return None
    version = 100 * int(parts[0]) + int(parts[1])
    return version if version >= VERSIONS[0] and int(parts[1]) < 100 else None


def versions_for(source: Source, settings: Settings, base: Base | None = None) -> list[int]:
    release = (base.release if base is not None else None) or source.release
    return settings.versions or [version_of(release or "") or NEWEST]


def open_base(path: str, versions: list[int]) -> Base:
    """Raises `InputError` if it cannot be read, or its records cannot be told apart."""
    source = open_source(path)
    if source.data is None or source.continues:
        raise InputError(path, "no BTF that stands alone", "the BTF of a kernel, as a base")
    version = versions[0] if len(versions) == 1 else version_of(source.release or "") or NEWEST
    judged = judge(source.data, VMLINUX, version, little=source.little, pointer=source.pointer)
    if judged.layer is None or not judged.layer.whole:
        first = judged.found[0]
        raise InputError(path, f"damaged BTF: {words.plain_text(first)}", "the BTF of a kernel, as a base")
    answers = {version: judged.errno}
    base = Base(path, source.data, source.pointer, judged.layer, source.little, source.release, answers)
    for each in versions:  # before there are workers
        base.answer(each)
    return base


def run(path: str, settings: Settings) -> dict[str, Any]:
    """What is to be said of one file. Raises `InputError`."""
    source = open_source(path)
    loader = settings.loader or (MODULE if settings.bases else source.loader)
    if source.data is None and settings.require and versions_for(source, settings)[-1] >= READ_SINCE[MODULE]:
        return result_of(source, loader, settings, MISSING)
    if source.data is None:
        return result_of(source, loader, settings, ACCEPTED, notes=["no BTF; the module is loaded without it"])
    if loader != MODULE and source.continues:
        loader = settings.loader or MODULE
    if loader == USER and source.completed is not None:
        source.data = source.completed.data
        judged = _judge_all(source, loader, settings, None)
        return _judged(source, settings, judged, notes=source.completed.missing) | {"completed": source.completed.said}
    if loader != MODULE:
        return _judged(source, settings, _judge_all(source, loader, settings, None))
    if source.base is not None:
        from pybtf.verify.distilled import run_distilled

        return run_distilled(source, settings)
    bases = settings.bases or [_base_beside(source, path, settings)]
    return on_bases(source, settings, bases)


def _base_beside(source: Source, path: str, settings: Settings) -> Base:
    try:
        beside = base_beside(path, Place(path))
    except InputError:
        if source.continues:
            raise
        raise InputError(
            source.path,
            "BTF that is not split from a base, and no base is given",
            "that of a module, which is split from its kernel's",
            "Name that kernel with --base FILE, or say who else loads this BTF: --loader vmlinux or --loader user.",
        ) from None
    if beside not in settings.beside:
        settings.beside[beside] = open_base(beside, settings.versions)
    return settings.beside[beside]


def _judge_all(source: Source, loader: str, settings: Settings, base: Base | None) -> list[Judgement]:
    assert source.data is not None
    layer = base.layer if base is not None else None
    found = [
        judge(source.data, loader, version, base=layer, little=source.little, pointer=source.pointer)
        for version in versions_for(source, settings, base)
    ]
    if base is not None:
        for each in found:
            each.refused = base.answer(each.version)
    return found


def on_bases(source: Source, settings: Settings, bases: list[Base]) -> dict[str, Any]:
    """Split BTF: what is said of it on the base that it fits, or on that which it fits best."""
    tried = [(base, _judge_all(source, MODULE, settings, base)) for base in bases]
    fitting = [(base, judged) for base, judged in tried if not is_wrong(judged[-1])]
    fits, notes = None, []
    if len(fitting) > 1:
        same = [each for each in fitting if source.release is not None and each[0].release == source.release]
        if len(same) == 1:
            fits = f"fits {len(fitting)} of the bases; for {source.release} it says it was built"
            fitting = same
        else:
            names = ", ".join(base.path for base, _ in fitting)
            notes.append(f"nothing tells which of these it belongs to: {names}")
    elif fitting and len(bases) > 1:
        fits = f"fits {fitting[0][0].path}, and none of the other bases"
    elif not fitting and len(bases) > 1:
        notes.append(f"fits none of the {len(bases)} bases; this is about the nearest")
    base, judged = fitting[0] if fitting else min(tried, key=lambda each: evidence(each[1][-1]))
    if not fitting:
        notes.append(_what_to_name(source, base))
    if judged[-1].refused:
        notes.append(refusal(base.path, judged[-1].refused))
    if fitting and None not in (source.release, base.release) and source.release != base.release:
        notes.append(f"built for {source.release}, and the base is of {base.release}")
    if source.little != base.little:
        notes.append(f"{base.path} has the other byte order")
    return _judged(source, settings, judged, base, notes, wrong=not fitting) | {"fits": fits}


def _what_to_name(source: Source, nearest: Base) -> str:
    """What to do about BTF that fits no base."""
    if not source.continues:
        return "it stands alone, as with pybtf encode --standalone, and is not split from a base: encode it with --base"
    if source.release is not None and source.release == nearest.release:
        wrong = f"the base is of {source.release}, too, but of another build or with other features"
        return f"{wrong}: name the BTF that it was split from, with --base"
    wanted = f"kernel {source.release}, for which" if source.release is not None else "the kernel for which"
    return f"name the BTF of {wanted} it was built, with --base"


def refusal(path: str, errno: int) -> str:
    return f"{path} itself is refused: {words.errno_name(errno)}"


def _judged(
    source: Source,
    settings: Settings,
    judged: list[Judgement],
    base: Base | None = None,
    notes: list[str] | None = None,
    wrong: bool = False,
) -> dict[str, Any]:
    last = judged[-1]
    if not last.read:
        return result_of(source, last.loader, settings, NOT_READ, judged, base) | {"findings": []}
    verdict = WRONG if wrong else REJECTED if last.errno else ACCEPTED
    return result_of(source, last.loader, settings, verdict, judged, base, notes)


def result_of(
    source: Source,
    loader: str,
    settings: Settings,
    verdict: str,
    judged: list[Judgement] | None = None,
    base: Base | None = None,
    notes: list[str] | None = None,
) -> dict[str, Any]:
    last = judged[-1] if judged else None
    errno = last.errno if last is not None else 0
    return {
        "file": source.path,
        "error": None,
        "loader": loader,
        "kernel": words.version_text(last.version if last is not None else versions_for(source, settings, base)[-1]),
        "base": base.path if base is not None else None,
        "types": len(last.layer) - last.layer.first if last is not None and last.layer is not None else 0,
        "verdict": verdict,
        "errno": words.errno_name(errno) if errno else None,
        "consequence": words.consequence(last) if last is not None and errno else None,
        "findings": words.groups(last) if last is not None else [],
        "completed": [],
        "fits": None,
        "notes": notes or [],
        "versions": _versions(judged) if judged is not None and len(judged) > 1 else [],
    }


def _versions(judged: list[Judgement]) -> list[dict[str, Any]]:
    """Rows of a table: versions that say the same are one."""
    rows: list[dict[str, Any]] = []
    for each in judged:
        first = each.first
        text = ""
        if first is not None:
            text = words.one_line(each, first)
        if each.refused:
            text = "its vmlinux is refused"
        if not each.read:
            text = NOT_READ
        row = {"errno": words.errno_name(each.errno) if each.errno else None, "text": text}
        if rows and {key: rows[-1][key] for key in row} == row:
            rows[-1]["to"] = each.version
        else:
            rows.append({"from": words.version_text(each.version), "to": each.version, **row})
    for row, after in zip(rows, [*rows[1:], None], strict=True):
        row["to"] = None if after is None else after["from"]
    return rows
