"""Messages of the Python API for arguments of a wrong kind; errors in process pools."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, cast

import pytest

import pybtf
from pybtf.btf.core_relocation import Relocator
from pybtf.btf.min_core import MinCore
from pybtf.btf.types import Enum, Enumerator, Member, Param, Ptr, SectionVar, Struct
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


BTF: Any = pybtf.BTF.from_file(BASE)
PYBTF: Any = pybtf
NO_FILE = "expected the name of a file"
ID = "expected the id of a type"
TYPES = "pybtf.btf.types"


def builder() -> Any:
    made = pybtf.Builder()
    made.add_int("int", 4, 1)
    return made


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: PYBTF.encode(None), f"path is of the type NoneType; {NO_FILE}"),
        (lambda: PYBTF.encode(3), f"path is of the type int; {NO_FILE}"),
        (lambda: PYBTF.encode(""), f"path is empty; {NO_FILE}"),
        (lambda: PYBTF.BTF.from_file(b""), f"path is empty; {NO_FILE}"),
        (lambda: PYBTF.encode(MODULE, base=""), f"base is empty; {NO_FILE}"),
        (lambda: builder().add_int("i", "4"), "size is of the type str; expected a number"),
        (lambda: builder().add_float("f", 4.0), "size is of the type float; expected a number"),
        (lambda: builder().add_enum("e", "4"), "size is of the type str; expected a number"),
        (lambda: PYBTF.encode("\ud800"), "path is '\\ud800', which no file can be called"),
        (lambda: PYBTF.encode(MODULE, base=BASE, dwp=[BASE]), f"dwp is of the type list; {NO_FILE}"),
        (
            lambda: PYBTF.encode(MODULE, lang=["c"]),
            "lang is of the type list; expected a list of languages, as text: 'c,rust'",
        ),
        (
            lambda: PYBTF.encode(MODULE, lang_exclude=b"c"),
            "lang_exclude is of the type bytes; expected a list of languages, as text: 'c,rust'",
        ),
        (
            lambda: PYBTF.encode(MODULE, features=b"var"),
            "features is of the type bytes; expected a list of features, as text, or a pybtf.Features",
        ),
        (
            lambda: PYBTF.encode(MODULE, features=[1]),
            "a list of features is of the type int; expected text: 'var,float'",
        ),
        (
            lambda: PYBTF.encode(MODULE, base=BASE, progress=True),
            "progress is of the type bool; expected a function: progress(done, total)",
        ),
        (lambda: PYBTF.encode_many(3), "paths is of the type int; expected a sequence of paths"),
        (lambda: PYBTF.encode_many([None]), f"path is of the type NoneType; {NO_FILE}"),
        (
            lambda: PYBTF.encode_many([], progress=1),
            "progress is of the type int; expected a function: progress(done, total)",
        ),
        (lambda: PYBTF.why(MODULE, ["a"]), "a name is of the type list; expected text: pybtf.why(path, name, name)"),
        (lambda: PYBTF.why(3, "a"), f"path is of the type int; {NO_FILE}"),
        (
            lambda: PYBTF.diff(3, BTF),
            "what is to be compared is of the type int; expected the name of a file, or a pybtf.BTF",
        ),
        (lambda: PYBTF.diff(BASE, BASE, base=BTF), f"base is of the type BTF; {NO_FILE}"),
        (lambda: PYBTF.diff(BTF, BTF).declaration("a"), "change is of the type str; expected a pybtf.Change"),
        (lambda: PYBTF.encode(MODULE, base=BASE).write(3), f"path is of the type int; {NO_FILE}"),
        (lambda: PYBTF.encode(MODULE, base=BASE).embed(None), f"path is of the type NoneType; {NO_FILE}"),
        (lambda: PYBTF.encode(MODULE, base=BASE).report.add_digests(""), "data is of the type str; expected bytes"),
        (lambda: PYBTF.Base.from_file(3), f"path is of the type int; {NO_FILE}"),
        (lambda: PYBTF.Base.from_bytes(BASE), "data is of the type str; expected bytes"),
        (lambda: PYBTF.Base.from_bytes(BTF.data, 3), "name is of the type int; expected text"),
        (lambda: PYBTF.BTF.from_file(3), f"path is of the type int; {NO_FILE}"),
        (lambda: PYBTF.BTF.from_file(BASE, section=3), "section is of the type int; expected text"),
        (lambda: PYBTF.BTF.from_bytes(1 << 80), "data is of the type int; expected bytes"),
        (lambda: PYBTF.BTF.from_bytes(b"", name=None), "name is of the type NoneType; expected text"),
        (lambda: BTF.type("int"), f"id is of the type str; {ID}"),
        (lambda: BTF.kind_of(None), f"id is of the type NoneType; {ID}"),
        (lambda: BTF.references("1"), f"id is of the type str; {ID}"),
        (lambda: BTF.size_of(1.0), f"id is of the type float; {ID}"),
        (lambda: BTF.c_name("int"), f"id is of the type str; {ID}"),
        (lambda: BTF.c_name(1, b"a"), "declarator is of the type bytes; expected text"),
        (lambda: BTF.by_name(b"int"), "name is of the type bytes; expected text"),
        (lambda: BTF.by_name("int", "int"), "kind is of the type str; expected a pybtf.btf.Kind"),
        (lambda: BTF.by_name("int", 1 << 80), f"{1 << 80} is not a kind of type; expected a pybtf.btf.Kind"),
        (lambda: BTF.search(b"int"), "pattern is of the type bytes; expected a regular expression"),
        (lambda: BTF.search("int", "int"), "kind is of the type str; expected a pybtf.btf.Kind"),
        (lambda: BTF.sizeof(None), "which is of the type NoneType; expected a type, its id or its name"),
        (lambda: BTF.offsetof(1, ["a"]), "path is of the type list; expected text: 'one.two[3]'"),
        (lambda: BTF.to_c(1), "ids is of the type int; expected a sequence of ids of types"),
        (lambda: BTF.to_json(["1"]), f"one of the ids is of the type str; {ID}"),
        (
            lambda: MinCore(BTF).add(BTF, cast("Any", None)),
            "ext is of the type NoneType; expected a BtfExt, as from read_object",
        ),
        (lambda: MinCore(cast("Any", BASE)), "kernel is of the type str; expected a pybtf.BTF"),
        (lambda: Relocator(BTF, cast("Any", BTF)), "target is of the type BTF; expected a Target: Target(kernel)"),
        (lambda: Relocator(cast("Any", BASE), cast("Any", BTF)), "program is of the type str; expected a pybtf.BTF"),
        (lambda: PYBTF.Builder(BASE), "base is of the type str; expected a pybtf.BTF, as from BTF.from_file"),
        (lambda: PYBTF.Builder(name=3), "name is of the type int; expected text"),
        (lambda: PYBTF.Builder.of(BASE), "btf is of the type str; expected a pybtf.BTF, as from BTF.from_file"),
        (
            lambda: builder().append(BASE),
            "what is appended is of the type str; expected a pybtf.BTF, as from BTF.from_file",
        ),
        (lambda: builder().string(b"a"), "a name is of the type bytes; expected text"),
        (lambda: builder().extend(3), "types is of the type int; expected a sequence of types"),
        (lambda: builder().add_int(3, 4), "a name is of the type int; expected text"),
        (lambda: builder().add_int("a", 4, "signed"), "encoding is of the type str; expected an IntEncoding"),
        (lambda: builder().add_ptr("int"), f"what is referred to is of the type str; {ID}"),
        (lambda: builder().add(Ptr(cast("Any", None))), "type id is of the type NoneType; expected a number"),
        (lambda: builder().add_decl_tag("a", 1, "0"), "component is of the type str; expected a number"),
        (lambda: builder().add_array(1, "2", 1), "nelems is of the type str; expected a number"),
        (
            lambda: builder().add_fwd("a", "union"),
            "a declaration of 'union'; there are those of STRUCT, UNION and ENUM",
        ),
        (lambda: builder().add_struct("a", None), "size is of the type NoneType; expected a number"),
        (
            lambda: builder().add_struct("a", 4, [("b", 1, 0)]),
            f"one of the members is of the type tuple; expected a {TYPES}.Member",
        ),
        (
            lambda: builder().add_struct("a", 4, None),
            f"what is given as members is of the type NoneType; expected a sequence of {TYPES}.Member",
        ),
        (
            lambda: builder().add_struct("a", 4, [Member("b", 1, cast("Any", "0"))]),
            "offset of b is of the type str; expected a number",
        ),
        (
            lambda: builder().add_union("a", 4, [("b", 1, 0)]),
            f"one of the members is of the type tuple; expected a {TYPES}.Member",
        ),
        (
            lambda: builder().add_enum("a", 4, [("b", 1)]),
            f"one of the values is of the type tuple; expected a {TYPES}.Enumerator",
        ),
        (
            lambda: builder().add_enum("a", 4, [Enumerator("b", cast("Any", "1"))]),
            "value of b is of the type str; expected a number",
        ),
        (
            lambda: builder().add_enum64("a", 8, {"b": 1}),
            f"one of the values is of the type str; expected a {TYPES}.Enumerator",
        ),
        (lambda: builder().add_func("a", 1, "extern"), "linkage extern; there are static 0, global 1 and extern 2"),
        (
            lambda: builder().add_func_proto(1, [("a", 1)]),
            f"one of the params is of the type tuple; expected a {TYPES}.Param",
        ),
        (
            lambda: builder().add_func_proto(1, [Param("a", cast("Any", "int"))]),
            f"what is referred to is of the type str; {ID}",
        ),
        (
            lambda: builder().add_datasec("a", 4, [(1, 0, 4)]),
            f"one of the variables is of the type tuple; expected a {TYPES}.SectionVar",
        ),
        (
            lambda: builder().add_datasec("a", 4, [SectionVar(1, cast("Any", None), 4)]),
            "offset of a variable is of the type NoneType; expected a number",
        ),
        (
            lambda: builder().add(Struct("a", 4, cast("Any", iter([Member("b", 1, 0)])))),
            f"what is given as members is of the type list_iterator; expected a sequence of {TYPES}.Member",
        ),
        (
            lambda: builder().add(Enum("a", 4, cast("Any", (("b", 1),)))),
            f"one of the values is of the type tuple; expected a {TYPES}.Enumerator",
        ),
    ],
)
def test_arguments_of_a_wrong_kind(call: Callable[[], object], said: str) -> None:
    """Each must give a message of its own, not the bare error of whichever statement fails."""
    with pytest.raises(pybtf.UsageError) as caught:
        call()
    assert str(caught.value) == said


def test_a_mistake_adds_nothing() -> None:
    made = builder()
    before = made.to_bytes()
    for member in (("new", 1, 0), Member("new", cast("Any", "int"), 0), Member("new", 1, 0, cast("Any", "3"))):
        with pytest.raises(pybtf.UsageError):
            made.add_struct("fresh", 4, [member])
    assert made.to_bytes() == before


class Number:
    """A number of a class other than `int`, as numpy has them."""

    def __index__(self) -> int:
        return 1


def test_numbers_of_another_class() -> None:
    made = builder()
    assert made.add_ptr(Number()) == 2
    assert made.add_array(1, Number(), 1) == 3
    assert BTF.type(Number()) == BTF.type(1)
    assert BTF.kind_of(Number()) is BTF.kind_of(1)


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
    """A process pool pickles errors. One that cannot be unpickled breaks the pool."""
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.args, vars(copy)) == (type(error), str(error), error.args, vars(error))
