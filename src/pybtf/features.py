"""Feature names: what `--features` accepts and what it switches on.

The names, their order and the way lists are read are pahole's, so that a kernel's list can be handed over
unchanged. A list is read like this: a leading `+` adds the default set and is dropped; the rest is split at
commas; empty elements vanish; `default` and `all` stand for sets; everything else must be the exact name of a
feature. Several lists add up. Giving any list switches off all that it does not name: `--features var` is not
"the default and var". (Source: observed behaviour of pahole 1.32, `--btf_features_strict`.)
"""

from __future__ import annotations

from pybtf.arguments import check_text
from pybtf.errors import UsageError, quoted, unknown
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import cached_property, record, replace

if TYPE_CHECKING:
    from collections.abc import Iterable


@record(frozen=True)
class Features:
    """Which features are on: one flag each, in the order of pahole's table."""

    encode_force: bool = False
    """Skip variables BTF cannot name or type, instead of failing."""
    var: bool = False
    """Per-CPU variables and their DATASEC."""
    float: bool = False
    """Floating-point types as FLOAT; without it they become INT."""
    decl_tag: bool = False
    """Declaration tags (`btf_decl_tag`)."""
    type_tag: bool = False
    """Type tags on pointers (`btf_type_tag`)."""
    enum64: bool = False
    """ENUM64 for enumerations wider than 32 bits; without it their values are truncated."""
    optimized_func: bool = False
    """Accepted for compatibility; no effect in 1.32 (Q16)."""
    consistent_func: bool = False
    """Leave out functions whose units disagree about the prototype."""
    decl_tag_kfuncs: bool = False
    """Declaration tags on the kfuncs that `.BTF_ids` lists."""
    reproducible_build: bool = False
    """Accepted for compatibility; the output is always reproducible (Q16)."""
    distilled_base: bool = False
    """With a base: also a minimal copy of what is used of it, in `.BTF.base`."""
    global_var: bool = False
    """Global variables of all sections."""
    attributes: bool = False
    """Type tags for the address spaces of kfunc arguments."""
    true_signature: bool = False
    """Functions with the signature of the optimised code."""
    layout: bool = False
    """Accepted for compatibility; no effect with the library pahole uses (Q1)."""
    force_cu_merging: bool = False
    """Treat all units of the file as one."""

    @classmethod
    def parse(cls, *lists: str) -> Features:
        """The union of comma-separated `lists` (at least one; none at all means the default set).

        Raises `UsageError`, naming the features there are, for an unknown name, and for a list of commas alone. An
        empty one switches everything off.
        """
        for text in lists:
            check_text(text, "a list of features", "text: 'var,float'")
            if text and not text.strip(","):
                raise UsageError(f"the list of features {quoted(text)} names none; '' switches all of them off")
        on = [name for text in lists or ("default",) for name in names_in(text)]
        for name in on:
            if name not in NAMES:
                away = name[0] == "-" and name[1:] in NAMES
                hint = ": no list takes a feature away; name those that are to be on" if away else ""
                raise unknown("feature", name, (*NAMES, *_SETS), hint=hint)
        return cls(**dict.fromkeys(on, True))

    def names(self) -> list[str]:
        """`on`, as a list."""
        return list(self.on)

    def for_kernel(self, version: str) -> Features:
        """Those of these features whose kinds of types a kernel knows. `version`: `5.15`, `6.1.0-50-amd64`.

        Raises `UsageError` for what is not a version, or one before 5.4, the first that reads BTF of kernels.
        """
        if not isinstance(version, str):
            raise UsageError(f"{version!r} is not a kernel version; expected text such as '5.15'")
        parts = version.removeprefix("v").split("-")[0].split(".")
        if len(parts) < 2 or not all(part.isascii() and part.isdecimal() and len(part) < 4 for part in parts[:2]):
            raise UsageError(f"{version!r} is not a kernel version; expected two numbers, as in 5.15")
        kernel = int(parts[0]), int(parts[1])
        if kernel < (5, 4):
            raise UsageError(f"a kernel {version} does not read all BTF that pybtf makes; expected 5.4 or newer")
        return replace(self, **{name: False for name in self.on if kernel < SINCE.get(name, (0, 0))})

    @cached_property
    def on(self) -> tuple[str, ...]:
        """The names of the features that are on, in table order; found out once."""
        return tuple([name for name in NAMES if getattr(self, name)])

    def __str__(self) -> str:
        return ",".join(self.names())


NAMES = tuple(Features.__annotations__)
"""All feature names, in table order."""

DEFAULT = NAMES[: NAMES.index("decl_tag_kfuncs") + 1]
"""What `default` and a leading `+` switch on."""

ALL = tuple([name for name in NAMES if name not in ("distilled_base", "layout", "force_cu_merging")])
"""What `all` switches on, as in pahole (Q16)."""

SINCE = {
    "float": (5, 13), "decl_tag": (5, 16), "decl_tag_kfuncs": (5, 16), "type_tag": (5, 17), "enum64": (6, 0),
    "distilled_base": (6, 11), "attributes": (6, 15),
}  # fmt: skip
"""The first kernel that takes what a feature adds; the others add nothing that 5.4 does not know. test_degrade.py
asks `pybtf verify`, whose rules are those of kernels."""

SHAPING = ("float", "enum64", "decl_tag", "type_tag", "true_signature", "attributes")
"""The features that change unit values. All others are asked for when the values of objects are merged."""

_SETS = {"default": DEFAULT, "all": ALL}


def notes(*lists: str) -> list[str]:
    """What to tell people about lists that may not mean what they look like: at most one sentence."""
    on = {name for text in lists for name in names_in(text)}
    if not on or not on.isdisjoint(DEFAULT):
        return []
    names = ",".join(sorted(on, key=NAMES.index))
    what = f"the list of features names none of the {len(DEFAULT)} default ones, which are therefore off"
    return [f"{what}; +{names} adds to them"]


def names_in(text: str) -> Iterable[str]:
    """The names in a list, sets replaced by what they stand for. Names that are unknown come as they are."""
    if text.startswith("+"):
        yield from DEFAULT
        text = text[1:]
    for element in text.split(","):
        if element in _SETS:
            yield from _SETS[element]
        elif element:
            yield element
