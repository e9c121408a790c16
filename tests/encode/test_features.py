"""Feature lists, compared with what pahole 1.32 does with the same text under `--btf_features_strict`.

The expectations were determined from the reference's output for a small object, one list at a time.
"""

from __future__ import annotations

import dataclasses
import re

import pytest

from pybtf.cli import manual
from pybtf.core import codes
from pybtf.errors import UsageError
from pybtf.features import ALL, DEFAULT, NAMES, SHAPING, SINCE, Features
from pybtf.pahole import main
from tests.conftest import ROOT

# `pahole --supported_btf_features` prints these, in this order; `layout` is accepted, but not listed.
SUPPORTED = (
    "encode_force,var,float,decl_tag,type_tag,enum64,optimized_func,consistent_func,decl_tag_kfuncs,"
    "reproducible_build,distilled_base,global_var,attributes,true_signature,force_cu_merging"
)


def on(*lists: str) -> set[str]:
    return set(Features.parse(*lists).names())


def test_table_is_the_references() -> None:
    assert [name for name in NAMES if name != "layout"] == SUPPORTED.split(",")


def test_the_answer_to_builds_is_the_references() -> None:
    assert main.FEATURES == SUPPORTED


def test_every_feature_is_described() -> None:
    page = manual.COMMANDS["encode"].split("Known are")[1].split("and `default`")[0]
    assert set(re.findall(r"\w+", page)) == set(NAMES)
    rows = re.findall(r"^  \| `(\w+)` \| *(yes)? *\| *(yes)? *\|", (ROOT / "docs" / "cli.md").read_text(), re.MULTILINE)
    assert {name: (bool(default), bool(all)) for name, default, all in rows} == {
        name: (name in DEFAULT, name in ALL) for name in NAMES
    }


def test_tables_of_features_name_features() -> None:
    assert {*SINCE, *SHAPING} <= set(NAMES)
    assert set(codes.OPTIONS) - set(NAMES) == {"variables", "degrade"}


def test_sets() -> None:
    assert set(DEFAULT) == set(SUPPORTED.split(",")[:9])
    assert set(ALL) == set(NAMES) - {"distilled_base", "force_cu_merging", "layout"}


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ((), set(DEFAULT)),
        (("",), set()),
        (("var",), {"var"}),
        (("var,,float,",), {"var", "float"}),
        (("default",), set(DEFAULT)),
        (("float,default",), set(DEFAULT)),
        (("default,global_var",), {*DEFAULT, "global_var"}),
        (("+",), set(DEFAULT)),
        (("+global_var",), {*DEFAULT, "global_var"}),
        (("+default",), set(DEFAULT)),
        (("all",), set(ALL)),
        (("global_var,all",), set(ALL)),
        (("all,layout",), {*ALL, "layout"}),
        (("layout",), {"layout"}),
        (("var", "float"), {"var", "float"}),
        (("var", "+global_var"), {*DEFAULT, "global_var"}),
    ],
)
def test_lists(lists: tuple[str, ...], expected: set[str]) -> None:
    assert on(*lists) == expected


@pytest.mark.parametrize(
    "text", ["foo", "VAR", " var", "var, float", "var,+global_var", "++float", "-float", "float+", "all "]
)
def test_unknown_names_are_refused_and_the_known_ones_named(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Features.parse(text)
    assert "unknown feature" in str(caught.value)
    for name in (*NAMES, "default", "all"):
        assert name in str(caught.value)


@pytest.mark.parametrize("lists", [(",",), (",,",), ("var", ",")])
def test_commas_alone_are_no_list(lists: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="names none; '' switches all of them off"):
        Features.parse(*lists)


def test_lists_of_any_length() -> None:
    """The reference cuts lists at 1024 bytes and then misreads the cut name; pybtf takes the whole list."""
    assert on("var," * 1000 + "float") == {"var", "float"}


def test_frozen_and_printed_in_table_order() -> None:
    features = Features.parse("global_var,float,var")
    assert str(features) == "var,float,global_var"
    with pytest.raises(dataclasses.FrozenInstanceError):
        features.var = False  # type: ignore[misc]
