"""Text in XML and HTML."""

from __future__ import annotations

from pybtf.errors import printable

LONGEST = 200


def shortened(text: str) -> str:
    """A name that a picture has room for."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def escaped(text: str) -> str:
    """For XML, which knows no control characters at all."""
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
