"""What the Python API says of arguments that are of another kind than it takes; errors in pools of processes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, cast

import pytest

import pybtf
from pybtf.errors import NoSuchTypeError, Place, PybtfError
from tests.encode.test_split import base_path, module

BASE = str(base_path("gcc"))
MODULE = str(module("gcc", "reuse"))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: pybtf.encode(MODULE, base=cast("Any", pybtf.BTF.from_file(BASE))),
            "base is of the type BTF; expected the name of a file, or a pybtf.Base",
        ),
        (
            lambda: pybtf.BTF.from_bytes(base_path("gcc").read_bytes(), base=cast("Any", BASE)),
            "base is of the type str; expected a pybtf.BTF, as from BTF.from_file",
        ),
        (
            lambda: pybtf.encode_many(MODULE, base=BASE),
            "encode_many takes a sequence of paths, and this is one path; expected [path]",
        ),
    ],
)
def test_arguments_of_another_kind(call: Callable[[], object], said: str) -> None:
    with pytest.raises(PybtfError) as caught:
        call()
    assert (str(caught.value), caught.value.exit_code) == (said, 2)


@pytest.mark.parametrize(
    "error",
    [
        pybtf.UsageError("text"),
        pybtf.InputError(Place("file", ".BTF", 8), "this", "that", "Do it."),
        pybtf.ModuleWithoutBaseError("x.ko"),
        NoSuchTypeError("none"),
    ],
)
def test_errors_are_the_same_in_another_process(error: PybtfError) -> None:
    """A pool of processes pickles them; one that it cannot restore breaks the pool."""
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.args, vars(copy)) == (type(error), str(error), error.args, vars(error))
