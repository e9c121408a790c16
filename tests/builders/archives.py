"""Fixtures that are kept in tar archives because they are many and alike."""

from __future__ import annotations

import tarfile
from pathlib import Path


def unpack(archive: Path, folder: Path) -> Path:
    """Writes the files of `archive` below `folder`, and returns the folder."""
    with tarfile.open(archive) as members:
        for member in members:
            content = members.extractfile(member)
            assert content is not None, f"{archive}: {member.name} is no file"
            path = folder / member.name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content.read())
    return folder
