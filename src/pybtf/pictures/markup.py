"""Text in XML and HTML."""

from __future__ import annotations

LONGEST = 200


def shortened(text: str) -> str:
    """A name that a picture has room for."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def escaped(text: str) -> str:
    """For XML, which knows no control characters at all."""
    plain = text
    if not text.isprintable():
        plain = "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in text)
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
