"""Records behave like dataclasses as far as is promised, and `dataclasses` takes them for such."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys

import pytest

from pybtf.errors import Place
from pybtf.features import Features
from pybtf.options import EncodeOptions
from pybtf.report import Report, Tally
from pybtf.support.records import NamedTuple, field, record, replace


@record(frozen=True)
class Point:
    x: int
    y: int = 2
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x")


@dataclasses.dataclass(frozen=True)
class Twin:
    x: int
    y: int = 2
    names: list[str] = dataclasses.field(default_factory=list)


@record()
class Loose:
    self: int
    args: int = 0


def test_values_and_defaults() -> None:
    point = Point(1)
    assert (point.x, point.y, point.names) == (1, 2, [])
    assert Point(1).names is not point.names
    assert Point(1, names=["a"]) == Point(1, 2, ["a"]) != point
    assert repr(point) == repr(Twin(1)).replace("Twin", "Point")
    assert (Loose(self=3).self, Loose(4, 5).args) == (3, 5)


@pytest.mark.parametrize(("values", "named"), [((), {}), ((1, 2, [], 4), {}), ((1,), {"x": 1}), ((1,), {"z": 1})])
def test_wrong_values(values: tuple[int, ...], named: dict[str, int]) -> None:
    for cls in (Point, Twin):
        with pytest.raises(TypeError):
            cls(*values, **named)  # type: ignore[arg-type]


def test_check_of_the_class_is_called() -> None:
    with pytest.raises(ValueError, match="x"):
        Point(-1)
    with pytest.raises(ValueError, match="x"):
        replace(Point(1), x=-1)


def test_frozen() -> None:
    point = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    assert hash(Place("f", offset=1)) == hash(Place("f", None, 1)) != hash(Place("f"))
    loose = Loose(1)
    loose.args = 3
    assert loose == Loose(1, 3)
    with pytest.raises(TypeError):
        hash(loose)
    assert Point(1) != Twin(1)  # type: ignore[comparison-overlap]


def test_what_dataclasses_sees() -> None:
    seen: object = Point(1)
    assert dataclasses.is_dataclass(seen)
    for ours, theirs in zip(dataclasses.fields(Point), dataclasses.fields(Twin), strict=True):
        assert (ours.name, ours.type, ours.default) == (theirs.name, theirs.type, theirs.default)
    assert dataclasses.asdict(Point(1)) == {"x": 1, "y": 2, "names": []}
    assert dataclasses.replace(Point(1), y=5) == replace(Point(1), y=5) == Point(1, 5)
    assert [each.name for each in dataclasses.fields(Features)] == list(Features().__dict__)
    options = EncodeOptions(jobs=2)
    assert dataclasses.replace(options, jobs=3) == EncodeOptions(jobs=3)
    report = Report("x", units=Tally({"a": "b"}, 1))
    assert dataclasses.asdict(report)["units"] == {"reasons": {"a": "b"}, "kept": 1, "left_out": {}}
    match Point(3, 4):
        case Point(x, y):
            assert (x, y) == (3, 4)


def test_copies() -> None:
    place = Place("f", "s", 3)
    assert pickle.loads(pickle.dumps(place)) == copy.copy(place) == copy.deepcopy(place) == place
    if sys.version_info >= (3, 13):
        assert copy.replace(place, offset=4) == Place("f", "s", 4)


def test_named_tuple() -> None:
    class Row(NamedTuple):
        """Doc."""

        name: str
        size: int = 4

        @property
        def double(self) -> int:
            return 2 * self.size

    row = Row("a")
    assert row == ("a", 4)
    assert (row.double, row._replace(size=5).double, Row._fields, Row.__doc__) == (8, 10, ("name", "size"), "Doc.")
    assert repr(row) == "Row(name='a', size=4)"
    with pytest.raises(AttributeError):
        row.other = 1  # type: ignore[attr-defined]
