"""Where what changed is declared, in the source of both sides."""

from __future__ import annotations

from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from pybtf.btf.provenance import Provenance, Source
    from pybtf.differences.model import Change


class Places:
    """The databases of both sides, None where there is none (`pybtf encode --provenance`)."""

    def __init__(self, old: Provenance | None, new: Provenance | None) -> None:
        self._old = old
        self._new = new

    def sources(self, change: Change) -> tuple[Source | None, Source | None]:
        """Where the old one and the new one are from, as far as that is known."""
        return _source(self._old, change.old_id), _source(self._new, change.new_id)

    def text(self, change: Change) -> str:
        """`include/net/sock.h:356 -> include/net/sock.h:361`, one of them, or nothing."""
        places = [source.place for source in self.sources(change) if source is not None and source.place]
        return " -> ".join(dict.fromkeys(places))

    def to_dict(self, change: Change) -> dict[str, Any]:
        """As JSON's types."""
        old, new = self.sources(change)
        return {"old": None if old is None else old.to_dict(), "new": None if new is None else new.to_dict()}


def _source(of: Provenance | None, id: int | None) -> Source | None:
    return None if of is None or id is None else of.type(id)
