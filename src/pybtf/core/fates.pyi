from typing import NotRequired, TypedDict

class Trace(TypedDict):
    what: str
    """One of TRACE_NAMES."""
    die: int
    """Offset in .debug_info, with what follows it (see dwarf/sections.py)."""
    parameter: NotRequired[int]
    """The first parameter that is not where the convention says, or that has no name; from 0."""
    state: NotRequired[int]
    """Its number, if the function is remembered; and then:"""
    address: NotRequired[int]
    prototype: NotRequired[int]
    """A number that states of the same prototype share."""
    flags: NotRequired[list[str]]
    optimized: NotRequired[int]
    """The first parameter without a place of its own."""
    register: NotRequired[int | None]
    """Where `parameter` is: DWARF's number, or None if that is no register; and `due` says, counted from 0, in which of
    the registers for parameters it should be."""
    due: NotRequired[int]

class Fates:
    def names(self) -> dict[str, dict[str, int]]: ...
    def of(self, name: str) -> list[Trace]: ...
    def same_prototype(self, one: int, other: int) -> bool: ...
    def functions(self) -> list[tuple[str, str, bool]]: ...
    def emitted(self) -> dict[str, tuple[str, int]]: ...
    def fate(self, name: str) -> str | None: ...
    def symbols(self, name: str) -> tuple[list[tuple[str, int]], bool]: ...
    def parameter_registers(self) -> list[int]: ...
    def units(self) -> list[tuple[int, int]]: ...
