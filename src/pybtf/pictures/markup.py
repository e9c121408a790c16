"""Text in XML and HTML."""

from __future__ import annotations


def escaped(text: str) -> str:
    """For XML, which knows no control characters at all."""
    plain = "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in text)
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
