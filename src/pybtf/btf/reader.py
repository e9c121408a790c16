"""`BTF`: reading BTF, types made into objects when asked for.

Opening checks the header, the sections and the boundaries of all records, which takes about a hundredth of a
second for a kernel. A type is made and checked each time it is asked for; nothing made is kept, but sizes and
alignments (`chains`).
Iterating over all types therefore checks everything there is.

The compiled `TypeIndex` does the work as long as records are sound. `records` says what is wrong with one that it
refuses, and makes the type of a kind that only the layout section describes.

Split BTF describes a module on top of its kernel's BTF, the base: its ids and string offsets continue where
those of the base end.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from pybtf.arguments import check_data, check_text, items_of, number_of, other_kind
from pybtf.btf.files import doubt_base, read_btf, wrong_base
from pybtf.btf.header import read_header, read_layout
from pybtf.btf.kinds import Kind
from pybtf.btf.records import check_layout
from pybtf.btf.strings import Strings, encode_name, is_name
from pybtf.core.btf.read_types import TypeIndex, is_taught
from pybtf.errors import InputError, NoSuchTypeError, Place, UsageError, quoted

if TYPE_CHECKING:
    import os
    import re
    from typing import Any

    from pybtf.btf.chains import Chains
    from pybtf.btf.fields import Field
    from pybtf.btf.types import Type
    from pybtf.core.btf.type_view import View


class BTF:
    """One BTF, or one layer of split BTF over its `base`.

    `len()` and iteration are about the types of this layer; `type()` and `by_name()` see the base too. Ids of
    this layer are `first_id` up to `end_id`, which is not included; id 0 is void.
    """

    def __init__(self, data: bytes, base: BTF | None, place: Place, force_base: bool = False) -> None:
        """Use `from_bytes` or `from_file`."""
        if base is not None and not isinstance(base, BTF):
            raise other_kind("base", base, "a pybtf.BTF, as from BTF.from_file")
        self.data = data
        self.base = base
        self.place = place
        self.header = read_header(data, place)
        self.layout = read_layout(data, self.header)
        check_layout(self.layout, self._section_place("layout"))
        start, end = self.header.section("str")
        self.strings: Strings = Strings(
            data[start:end], base.strings if base is not None else None, self._section_place("str")
        )
        self.index = self._open_index(start, end)
        self.first_id = self.index.first_id
        self.end_id: int = self.index.end_id
        self._words: array[int] | None = None
        self._starts: array[int] | None = None
        self._pointer_size = 0
        self._chains: Chains | None = None
        if base is not None and not force_base:
            self._check_base(base)

    @classmethod
    def from_bytes(
        cls,
        data: bytes | bytearray | memoryview,
        base: BTF | None = None,
        *,
        name: str = "<bytes>",
        force_base: bool = False,
    ) -> BTF:
        """Read BTF of either byte order; `name` stands for it in messages.

        `base` is what split BTF builds on. Raises InputError if the BTF is malformed, WrongBaseError if it cannot
        build on this base and `force_base` is not set.
        """
        check_data(data)
        check_text(name, "name")
        return cls(bytes(data), base, Place(name, None, 0), force_base)

    @classmethod
    def from_file(
        cls,
        path: str | bytes | os.PathLike[str],
        base: BTF | None = None,
        *,
        section: str = ".BTF",
        force_base: bool = False,
    ) -> BTF:
        """Read a file of raw BTF, or a `section` of an ELF file; the file may be compressed as a whole (gzip, xz,
        zstd). Raises as `from_bytes`, and InputError for a file that cannot be read.
        """
        check_text(section, "section")
        data, place = read_btf(path, section)
        return cls(data, base, Place(place.file, place.section, 0), force_base)

    def _check_base(self, base: BTF) -> None:
        """Names begin where strings begin. On the strings of another base, some of many begin in the middle of one."""
        from pybtf.btf.records import names

        strings, start = base.strings.data, base.strings.start
        for at in self.starts[:-1]:
            for offset in names(self.words, at):
                if start < offset < base.strings.end and strings[offset - start - 1]:
                    raise wrong_base(self._record_place(at), offset, base.place.file)

    def _section_place(self, name: str) -> Place:
        return Place(self.place.file, self.place.section, self.header.section(name)[0])

    def _record_place(self, at: int) -> Place:
        place = self._section_place("type")
        return Place(place.file, place.section, (place.offset or 0) + 4 * at)

    def _open_index(self, text: int, text_end: int) -> TypeIndex:
        start, end = self.header.section("type")
        swap = self.header.little != (sys.byteorder == "little")
        base = self.base.index if self.base is not None else None
        place = self._section_place("str")
        index = TypeIndex(self.data, start, end - start, swap, text, text_end - text, base, place)
        bad = index.index(self.layout)
        if bad is not None:
            from pybtf.btf.records import fault_of_info

            fault = fault_of_info(array("I", index.all_words()), bad, index.end_id, self.layout)
            raise InputError(self._record_place(bad), fault.found, fault.expected)
        return index

    @property
    def words(self) -> array[int]:
        """The words of all records of this layer, in the machine's byte order."""
        if self._words is None:
            self._words = array("I", self.index.all_words())
        return self._words

    @property
    def starts(self) -> array[int]:
        """Where in `words` each record begins, and the end."""
        if self._starts is None:
            self._starts = array("I", self.index.all_starts())
        return self._starts

    def __repr__(self) -> str:
        types = f"types {self.first_id} to {self.end_id - 1}"
        return f"<BTF {self.place.file}: {types}, {len(self.strings)} strings>"

    def __len__(self) -> int:
        """Number of types of this layer, void not counted."""
        return self.end_id - self.first_id

    def __bool__(self) -> bool:
        """Always true: a BTF without types is one too, and `if base` asks whether there is a base."""
        return True

    def __iter__(self) -> Iterator[Type]:
        """The types of this layer, in id order."""
        make = self._maker()
        for id in range(self.first_id, self.end_id):
            found = make(id)
            yield found if found is not None else self._decode_unusual(id)

    def type(self, id: int) -> Type:
        """The type with this id. Raises NoSuchTypeError if there is none, InputError if it is malformed."""
        id = number_of(id, "id", ID)
        if not 0 <= id < self.end_id:
            raise self._no_such(id)
        if id >= self.first_id:
            return self._decode(id)
        if self.base is not None:
            return self.base.type(id)
        from pybtf.btf.types import Void

        return Void()

    def _no_such(self, id: int, first: int = 0) -> NoSuchTypeError:
        return NoSuchTypeError(f"{self.place.file}: there is no type {id}; ids go from {first} to {self.end_id - 1}")

    def _chosen(self, ids: Iterable[int]) -> list[int]:
        """These ids. Raises NoSuchTypeError; void is not a type that could be printed."""
        chosen = [number_of(id, "one of the ids", ID) for id in items_of(ids, "ids", "a sequence of ids of types")]
        for id in chosen:
            if not 0 < id < self.end_id:
                raise self._no_such(id, 1)
        return chosen

    def _decode(self, id: int) -> Type:
        found = self._maker()(id)
        return found if found is not None else self._decode_unusual(id)

    def _maker(self) -> Callable[[int], Any]:
        """What makes the types of this layer, or None where something is unusual."""
        if not is_taught():
            from pybtf.btf.making import teach_all

            teach_all()
        return self.index.type

    def _decode_unusual(self, id: int) -> Type:
        """A type of a kind that is not known. Raises InputError if something is wrong with the record."""
        from pybtf.btf.records import fault_of_record, unknown_type

        at, end = self.starts[id - self.first_id], self.starts[id - self.first_id + 1]
        fault = fault_of_record(self.words, at, self.end_id, self.strings.end)
        if fault is not None:
            raise InputError(
                self._record_place(at), f"type {id} ({self.kind_of(id).name}): {fault.found}", fault.expected
            )
        return unknown_type(self.words, at, end, self.strings.lookup, id)

    def kind_of(self, id: int) -> Kind:
        """Kind of a type, without decoding it; VOID for void and for kinds that are not known.

        Raises NoSuchTypeError if there is no such type.
        """
        id = number_of(id, "id", ID)
        if id >= self.end_id or id < 0:
            raise self._no_such(id)
        if id >= self.first_id:
            return _KIND.get(self.index.kind(id), Kind.VOID)
        return self.base.kind_of(id) if self.base is not None else Kind.VOID

    def references(self, id: int) -> list[int]:
        """Ids that a type refers to, in the order of its record, void included. They are not checked.

        Raises NoSuchTypeError if there is no such type.
        """
        from pybtf.btf.records import references

        id = number_of(id, "id", ID)
        if id >= self.end_id or id < 0:
            raise self._no_such(id)
        if id >= self.first_id:
            return references(self.words, self.starts[id - self.first_id])
        return self.base.references(id) if self.base is not None else []

    def count_kinds(self) -> dict[Kind, int]:
        """How many types of each kind this layer has, by kind number. Only kinds that occur."""
        counts: dict[Kind, int] = {}
        for number, count in enumerate(self.index.count_kinds()):
            if count:
                kind = _KIND.get(number, Kind.VOID)
                counts[kind] = counts.get(kind, 0) + count
        return counts

    def by_name(self, name: str, kind: Kind | None = None) -> Type | None:
        """The type of this name (and kind) with the lowest id, base included; None if there is none."""
        return next(self.all_by_name(name, kind), None)

    def all_by_name(self, name: str, kind: Kind | None = None) -> Iterator[Type]:
        """All types of this name (and kind) in id order, base included. Nothing has the empty name.

        What it iterates over raises InputError for a type that is malformed.
        """
        check_text(name, "name")
        wanted = _number(kind)
        if not is_name(name):
            return
        if self.base is not None:
            yield from self.base.all_by_name(name, kind)
        for id in self.index.find(encode_name(name), wanted):
            yield self._decode(id)

    def search(self, pattern: str | re.Pattern[str], kind: Kind | None = None) -> Iterator[Type]:
        """All types (of this kind) in whose name the regular expression is found, in id order, base included.

        Raises UsageError for what is not a regular expression; what it iterates over InputError for a malformed type.
        """
        import re

        if not isinstance(pattern, re.Pattern):
            check_text(pattern, "pattern", "a regular expression")
        _number(kind)
        try:
            return self._search(re.compile(pattern), kind)
        except re.error as error:
            raise UsageError(f"{quoted(str(pattern))} is not a regular expression: {error}") from None

    def _search(self, pattern: re.Pattern[str], kind: Kind | None) -> Iterator[Type]:
        if self.base is not None:
            yield from self.base._search(pattern, kind)
        found = pattern.search
        names = self.index.named(_number(kind))
        for id in sorted(id for name, ids in names.items() if found(name) for id in ids):
            yield self._decode(id)

    @property
    def pointer_size(self) -> int:
        """Size of a pointer in bytes. BTF does not tell: it is that of the type `long`. If there is none, it is 4 where
        members that are pointers have no room for 8 bytes, else 8.
        """
        if not self._pointer_size:
            from pybtf.btf.queries import guess_pointer_size

            self._pointer_size = guess_pointer_size(self)
        return self._pointer_size

    @property
    def chains(self) -> Chains:
        """Sizes and the like that have been asked for. Internal."""
        if self._chains is None:
            from pybtf.btf.chains import Chains

            self._chains = Chains()
        return self._chains

    def size_of(self, id: int) -> int | None:
        """Size in bytes of the values of a type, through typedefs, qualifiers and arrays.

        None for what has no size: void, functions, prototypes, forward declarations, declaration tags. Raises
        InputError if the type refers to itself.
        """
        from pybtf.btf.chains import size_of

        return size_of(self, number_of(id, "id", ID))

    def resolve(self, which: Type | int | str) -> Type:
        """What a type, an id or a name stands for: the type behind typedefs, qualifiers and tags.

        Raises NoSuchTypeError if there is no such type, UsageError for what is not a name, InputError if the type
        refers to itself.
        """
        from pybtf.btf.fields import resolve

        return resolve(self, which)

    def sizeof(self, which: Type | int | str) -> int:
        """As `size_of`, also by name (`"task_struct"`, `"struct page"`). Raises UsageError if it has no size, and as
        `resolve`.
        """
        from pybtf.btf.fields import sizeof

        return sizeof(self, which)

    def alignof(self, which: Type | int | str) -> int:
        """Alignment in bytes as it follows from the members; 1 of a struct that cannot but be packed.

        Raises UsageError if it has none, and as `resolve`.
        """
        from pybtf.btf.fields import alignof

        return alignof(self, which)

    def field(self, which: Type | int | str, path: str) -> Field:
        """The member that a path leads to: `"se.avg.load_sum"`, `"comm[3]"`, or `"0:12:1"` as CO-RE has it.

        Structs and unions without a name are looked into. Raises NoSuchTypeError if there is no such member.
        """
        from pybtf.btf.fields import field

        return field(self, which, path)

    def offsetof(self, which: Type | int | str, path: str) -> int:
        """Offset in bytes of the member that a path leads to. Raises UsageError for a bit-field."""
        from pybtf.btf.fields import offsetof

        return offsetof(self, which, path)

    def c_name(self, id: int, declarator: str = "") -> str:
        """A type as C writes it: `const char *`, `struct page`, `int (*)(void *)`.

        With a `declarator`, a declaration of it: `int (*f)(void *)`. Raises NoSuchTypeError if there is no such type,
        InputError if one is malformed.
        """
        from pybtf.btf.queries import c_name

        check_text(declarator, "declarator")
        return c_name(self, number_of(id, "id", ID), declarator)

    def to_c(self, ids: Iterable[int] = (), *, sort: bool = True) -> str:
        """A C header, with the text of `bpftool btf dump ... format c` (`unsorted` without `sort`).

        Of the types with these ids and what they need; of all, the base's, too, if there are none. Raises InputError
        if a type contains itself, and NoSuchTypeError if there is no type of an id. Names that are not UTF-8 have
        surrogates.
        """
        from pybtf.core.dump.dump_header import dump_header

        return dump_header(self.view(), self._chosen(ids), sort).decode("utf-8", "surrogateescape")

    def to_json(self, ids: Iterable[int] = (), *, pretty: bool = False) -> str:
        """The types with these ids, or all of this layer, as JSON: the text of `bpftool --json btf dump`.

        Raises NoSuchTypeError if there is no type of an id, InputError for a type that is malformed.
        """
        from pybtf.core.dump.dump_types import dump_types

        pieces: list[bytes] = []
        dump_types(self.view(), pieces.append, self._chosen(ids), True, pretty)
        return b"".join(pieces).decode("utf-8", "surrogateescape")

    def view(self) -> View:
        """The same BTF opened for the compiled printers. Raises InputError if any record is damaged."""
        from pybtf.core.btf.type_view import View

        if self.base is None:
            return View(self.data, str(self.place))
        if self.base.base is not None:
            raise InputError(self.base.place, "a base that is split itself", "a base that stands alone")
        try:
            return View(self.data, str(self.place), self.base.data, str(self.base.place))
        except InputError as error:
            raise doubt_base(error, str(self.place), self.base.place.file) from None


def _number(kind: Kind | None) -> int:
    """The number of a kind that is asked for; -1: any."""
    if kind is None:
        return -1
    number = number_of(kind, "kind", "a pybtf.btf.Kind")
    if not 0 <= number <= 31:
        raise UsageError(f"{number} is not a kind of type; expected a pybtf.btf.Kind")
    return number


ID = "the id of a type"
_KIND = {int(kind): kind for kind in Kind}
