"""Where types are from (`--provenance`), as texts of one line."""

from __future__ import annotations

from pybtf.errors import InputError, UsageError, printable
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from pybtf.btf.provenance import Provenance, Source
    from pybtf.core.btf.type_view import View
    from pybtf.encoded import Encoded


class Origin:
    """What was asked for to know where types are from: `--provenance`, or `--dwarf`, which encodes it again."""

    def __init__(
        self, provenance: str | None, dwarf: str | None, features: tuple[str, ...], jobs: int | None
    ) -> None:
        """Raises `UsageError` if the options do not go together."""
        if provenance is not None and dwarf is not None:
            raise UsageError("--provenance and --dwarf do not go together")
        if dwarf is None and features:
            raise UsageError("--features goes with --dwarf")
        self._file, self._dwarf, self._features, self._jobs = provenance, dwarf, features, jobs

    def __bool__(self) -> bool:
        return self._file is not None or self._dwarf is not None

    def open(self, data: bytes, name: str, base: str | None) -> Provenance | None:
        """That of the BTF `data` (raw), which messages call `name`; None if nothing was asked for.

        Raises `InputError` if it is that of another BTF.
        """
        from pybtf.btf.provenance import Provenance

        if self._dwarf is None:
            return None if self._file is None else Provenance(self._file, data, name)
        from pybtf.cli.interrupt import PromptInterrupt
        from pybtf.elf.mapped import mapped

        with mapped(self._dwarf), PromptInterrupt():
            database = self._database(self._dwarf, data, base)
        if database is None:
            hint = "--features says what it was encoded with, if not by default."
            found = f"DWARF that is encoded as another BTF than {name}, with and without units in Rust"
            raise InputError(self._dwarf, found, "that of this BTF", hint)
        return Provenance.from_bytes(database, data, self._dwarf)

    def _database(self, path: str, data: bytes, base: str | None) -> bytes | None:
        """What an encoding of `path` that gives `data` notes: one without the units in Rust, as kernels are encoded, or
        with them. None if neither does.
        """
        from pybtf.errors import NothingToEncode
        from pybtf.explain.asking import kernel_options
        from pybtf.explain.detail import encode_in_detail

        def encoded(without: str | None) -> tuple[Encoded, bytes]:
            options = kernel_options(self._features or "default", self._jobs, lang_exclude=without, base=base)
            return encode_in_detail(path, options, names=False, places=True)

        try:
            made, database = encoded(None)
        except NothingToEncode:
            made, database = encoded("")
        else:
            if bytes(made.data) != data and made.report.units.total_left_out:
                try:
                    made, database = encoded("")
                except InputError:  # those units were never in this BTF
                    return None
        return database if bytes(made.data) == data else None


class Sources:
    """What a database says of the types of a view, in the forms in which it is printed; nothing, without one."""

    def __init__(self, view: View, path: str | None) -> None:
        self.known: Provenance | None = None
        if path is not None:
            from pybtf.btf.provenance import Provenance

            self.known = Provenance(path, view.data, view.name)

    def column(self, line: bytes, id: int) -> bytes:
        """A line, with one more column."""
        return line if self.known is None else b"%s\t%s\n" % (line[:-1], place(self.known.type(id)).encode())

    def comment(self, id: int) -> bytes:
        """The line above a type."""
        text = "" if self.known is None else described(self.known.type(id))
        return b"/* %s */\n" % text.replace("*/", "* /").encode() if text else b""

    def row(self, id: int) -> object:
        """As JSON's types."""
        found = None if self.known is None else self.known.type(id)
        return None if found is None else found.to_dict()


def place(source: Source | None) -> str:
    """`include/net/sock.h:361`, or the unit, or nothing."""
    return "" if source is None else printable(source.place)


def described(source: Source | None) -> str:
    """As `place`, and how often it is defined."""
    if source is None or not source.text:
        return ""
    times = ""
    if source.definitions > 1 or (source.definitions == 0 and source.declarations > 1):
        what, count = ("defined", source.definitions) if source.definitions else ("declared", source.declarations)
        times = f", {what} {count:,} times"
    return printable(source.text) + times
