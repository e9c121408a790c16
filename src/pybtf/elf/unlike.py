"""What a file is that is not an ELF file, and what to do instead. Only imported when that has happened."""

from __future__ import annotations

from pybtf.errors import InputError

_NO_DWARF = "Take the vmlinux that it is made of; distributions have that in a package of debug data."
_UNPACK = "Unpack it first."

_KINDS = (
    (0, b"\x9f\xeb", "raw BTF", "Name the ELF file with DWARF that it was made of, vmlinux for instance."),
    (0, b"\xeb\x9f", "raw BTF", "Name the ELF file with DWARF that it was made of, vmlinux for instance."),
    (0x202, b"HdrS", "a kernel image to boot (bzImage)", _NO_DWARF),
    (0x38, b"ARMd", "a kernel image to boot", _NO_DWARF),
    (0x38, b"RSC\x05", "a kernel image to boot", _NO_DWARF),
    (0, b"\x27\x05\x19\x56", "a kernel image to boot (uImage)", _NO_DWARF),
    (0, b"MZ", "an EFI program, or a kernel image to boot", _NO_DWARF),
    (0, b"!<arch>\ndebian-binary", "a Debian package", "Unpack it first: dpkg-deb -x FILE FOLDER."),
    (0, b"!<arch>\n", "an archive of object files", "Take them out (ar x FILE), or name what they are linked to."),
    (0, b"!<thin>\n", "a thin archive: a list of object files", "Name the objects, or what they are linked to."),
    (0, b"#!", "a script", "Name the ELF file with DWARF."),
    (0, b"BC\xc0\xde", "LLVM bitcode, an object of a build with LTO", "Name what it is linked to: vmlinux, x.ko."),
    (0, b"\xed\xab\xee\xdb", "an RPM package", _UNPACK),
    (0, b"PK\3\4", "a zip archive", _UNPACK),
    (0, b"BZh", "data compressed with bzip2", _UNPACK),
    (0, b"\x04\x22\x4d\x18", "data compressed with lz4", _UNPACK),
    (0, b"\xfd7zXZ\0", "data compressed with xz", _UNPACK),
    (0, b"\x28\xb5\x2f\xfd", "data compressed with zstd", _UNPACK),
    (0, b"\x1f\x8b", "data compressed with gzip", _UNPACK),
    (0, b"07070", "a cpio archive, an initramfs for instance", _UNPACK),
    (257, b"ustar", "a tar archive", _UNPACK),
    (0, b"hsqs", "a squashfs image", "Mount it, and name a file in it."),
)
"""Where, which bytes, what the file is then, what to do."""


def unlike(path: str, start: bytes, expected: str, *, advise: bool = False) -> InputError:
    """The error of a file that was to be `expected`, and begins with `start`; `advise`: with what to do instead."""
    if not start:
        return InputError(path, "is empty", expected)
    found, hint = what_it_is(start[:1024])
    return InputError(path, f"starts with {found}", expected, hint if advise else "")


def what_it_is(start: bytes) -> tuple[str, str]:
    """From the first KiB of a file: its first bytes and what it is, as far as that is known, and a hint."""
    shown = start[:4].hex(" ")
    for at, magic, what, hint in _KINDS:
        if start.startswith(magic, at):
            return f"{shown}: {what}", hint
    if start and all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in start):
        return f"{shown}: a text file", ""
    return shown, ""
