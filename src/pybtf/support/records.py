"""Dataclasses that cost nothing to make.

`dataclasses` writes the methods of each class as a text and compiles it, which takes one to four milliseconds a class,
and imports `inspect`, which imports the parsers of Python. That would be a fifth of the time of encoding one kernel
module. The classes made here are dataclasses to type checkers (PEP 681) and to those who ask them at run time
(`dataclasses.fields`, `replace`, `asdict`), but have general methods. They take a microsecond more to make an instance
of, and there are a few dozen instances in a run. A class may have an `__init__` of its own, where that counts.

What is supported is what is used: `frozen`, defaults, factories, `__post_init__`, no inheritance of fields.
"""

from __future__ import annotations

from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from functools import cached_property as cached_property
    from typing import Any, TypeVar, dataclass_transform
    from typing import NamedTuple as NamedTuple

    T = TypeVar("T")
else:
    from _operator import itemgetter  # as `operator` has it, whose import is for much more

    def dataclass_transform(**_):
        return lambda function: function

    class _Named(type):
        """Makes a tuple of the annotations of a class, with its methods and defaults."""

        def __new__(meta, name, bases, body):
            if not bases:
                return super().__new__(meta, name, bases, body)
            names = tuple(body["__annotations__"])
            defaults = {each: body.pop(each) for each in names if each in body}
            items = {each: property(itemgetter(at)) for at, each in enumerate(names)}
            fixed = {"__slots__": (), "__match_args__": names, "_fields": names, "__new__": _new(name, names, defaults)}
            return type(name, (_Row,), {**items, **fixed, **body})

    class NamedTuple(metaclass=_Named):
        """As in `typing`, whose import takes several milliseconds, as does that of `collections` with `namedtuple`."""

    class _Row(tuple):
        __slots__ = ()

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _replace(self, **changes):
            return type(self)(**{**dict(zip(self._fields, self, strict=True)), **changes})

        __replace__ = _replace  # copy.replace of Python 3.13

        def __repr__(self):
            shown = (f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({', '.join(shown)})"

        def __getnewargs__(self):
            return tuple(self)

    def _new(title, names, defaults):
        count, fewest, rest = len(names), len(names) - len(defaults), tuple(defaults.values())

        def __new__(cls, *args, **given):
            if not given and fewest <= len(args) < count:
                args += rest[len(args) - count :]
            elif len(args) != count or given:
                values = {**defaults, **dict(zip(names, args, strict=False)), **given}
                if len(args) > count or values.keys() != set(names) or not given.keys().isdisjoint(names[: len(args)]):
                    raise TypeError(f"{title}() takes the values {', '.join(names)}, each once")
                args = [values[name] for name in names]
            return tuple.__new__(cls, args)

        return __new__

    class cached_property:
        """As in `functools`, whose import takes a millisecond."""

        def __init__(self, make):
            self._make = make
            self._name = make.__name__
            self.__doc__ = make.__doc__

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = vars(instance)[self._name] = self._make(instance)
            return value


class _Factory:
    """What stands for a default that is made anew for each instance."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def field(*, default_factory: Callable[[], T]) -> T:
    """A field whose default is what `default_factory` returns."""
    return _Factory(default_factory)  # type: ignore[return-value]


@dataclass_transform(field_specifiers=(field,))
def record(*, frozen: bool = False) -> Callable[[type[T]], type[T]]:
    """Decorator: make a dataclass of a class whose annotations are its fields. `frozen`: with a hash, unchangeable."""

    def decorate(cls: type[T]) -> type[T]:
        names = tuple(cls.__annotations__)
        defaults = {name: vars(cls)[name] for name in names if name in vars(cls)}
        for name, default in defaults.items():
            if isinstance(default, _Factory):
                delattr(cls, name)
        init = _init(cls.__name__, names, defaults, hasattr(cls, "__post_init__"))
        methods = {"__init__": init, "__eq__": _eq, "__repr__": _repr}
        if frozen:
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse, "__hash__": _hash}
        for name, method in methods.items():
            if name not in vars(cls):
                setattr(cls, name, method)
        # Whoever defines `__eq__` in a class body loses the hash of `object`; so does who gets it here.
        if "__hash__" not in vars(cls):
            cls.__hash__ = None  # type: ignore[assignment]
        cls.__match_args__ = names  # type: ignore[attr-defined, misc]
        cls.__replace__ = replace  # type: ignore[attr-defined]  # copy.replace of Python 3.13
        cls.__dataclass_fields__ = _Fields(defaults, frozen)  # type: ignore[attr-defined]
        return cls

    return decorate


def replace(instance: T, **changes: Any) -> T:
    """A copy of a record with other values in some fields."""
    cls: type[T] = type(instance)
    values = {name: getattr(instance, name) for name in cls.__match_args__}  # type: ignore[attr-defined]
    return cls(**{**values, **changes})


def _init(title: str, names: tuple[str, ...], defaults: dict[str, Any], check: bool) -> Callable[..., None]:
    plain = {name: value for name, value in defaults.items() if not isinstance(value, _Factory)}
    made = [(name, value.make) for name, value in defaults.items() if isinstance(value, _Factory)]
    count = len(names)

    def __init__(*args: Any, **given: Any) -> None:
        # Nothing has a name here that a field could have, `self` included.
        values = vars(args[0])  # so that a frozen one can be filled
        if not given and len(args) == count + 1:  # where there are many of something, they are made this way
            values.update(zip(names, args[1:], strict=True))
            if check:
                args[0].__post_init__()
            return
        if plain:
            values.update(plain)
        if len(args) > 1:
            if len(args) - 1 > count:
                raise TypeError(f"{title}() takes {count} values, {len(args) - 1} were given")
            positional = dict(zip(names, args[1:], strict=False))
            if twice := positional.keys() & given.keys():
                raise TypeError(f"{title}() got two values for {sorted(twice)[0]!r}")
            values.update(positional)
        values.update(given)
        for name, make in made:
            if name not in values:
                values[name] = make()
        if len(values) != count or (given and not given.keys() <= known):
            raise _misfit(title, names, values)
        if check:
            args[0].__post_init__()

    known = frozenset(names)
    return __init__


def _misfit(title: str, names: tuple[str, ...], values: dict[str, Any]) -> TypeError:
    """What is wrong with values that are not those of the fields."""
    for name in names:
        if name not in values:
            return TypeError(f"{title}() needs a value for {name!r}")
    return TypeError(f"{title}() has no field {sorted(values.keys() - set(names))[0]!r}")


def _values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in type(self).__match_args__])


def _eq(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name in type(self).__match_args__)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse(self: Any, name: str, *value: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")


class _Fields:
    """The attribute `__dataclass_fields__` of a record, by which `dataclasses` knows its own: made when it is read."""

    def __init__(self, defaults: dict[str, Any], frozen: bool) -> None:
        self._defaults = defaults
        self._frozen = frozen

    def __get__(self, instance: object, owner: Any) -> Any:
        import dataclasses

        rows: list[Any] = []
        for name, type_ in owner.__annotations__.items():
            default = self._defaults.get(name, dataclasses.MISSING)
            if isinstance(default, _Factory):
                rows.append((name, type_, dataclasses.field(default_factory=default.make)))
            else:
                rows.append((name, type_, dataclasses.field(default=default)))
        twin: Any = dataclasses.make_dataclass(owner.__name__, rows, frozen=self._frozen)
        return twin.__dataclass_fields__
