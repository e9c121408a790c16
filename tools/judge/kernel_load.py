#!/usr/bin/env python3
"""Loads BTF into the running kernel, the strictest reader of BTF.

    python -m tools.judge.kernel_load FILE...

FILE is raw BTF, or an ELF file with `.BTF`. For each file one line says `accepted`, `refused` with the
kernel's reason, or `skipped: ` and why the kernel could not be asked. Exit status: 1 if any file was refused,
or could not be read; else 0.

Not every BTF can be judged: split BTF is loaded only with a kernel module, and BTF of another byte order or size of
pointers is refused, because the kernel checks that members are inside their structs.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from enum import Enum
from typing import NamedTuple

from pybtf.btf.reader import BTF
from pybtf.errors import InputError

BPF_BTF_LOAD = 18
"""Command of bpf(2)."""

SYSCALL = {
    "x86_64": 321,
    "aarch64": 280,
    "riscv64": 280,
    "loongarch64": 280,
    "s390x": 351,
    "ppc64le": 361,
    "i686": 357,
    "armv7l": 386,
}
"""Number of bpf(2) by machine."""

NOT_ALLOWED = (errno.EPERM, errno.EACCES, errno.ENOSYS)
LOG_SIZE = 32 << 20
"""Bytes of log that hold what the verifier says of a whole kernel's types."""


class Verdict(Enum):
    ACCEPTED = "accepted"
    REFUSED = "refused"
    SKIPPED = "skipped"


class Answer(NamedTuple):
    """What the kernel says. `detail` is the reason, with the end of the kernel's log if the BTF is refused."""

    verdict: Verdict
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.verdict.value}: {self.detail}" if self.detail else self.verdict.value


class _Attr(ctypes.Structure):
    """`union bpf_attr` of BPF_BTF_LOAD; shorter than the kernel's, which takes the rest as zero."""

    _fields_ = (
        ("btf", ctypes.c_uint64),
        ("btf_log_buf", ctypes.c_uint64),
        ("btf_size", ctypes.c_uint32),
        ("btf_log_size", ctypes.c_uint32),
        ("btf_log_level", ctypes.c_uint32),
    )


def _load(data: bytes, log: ctypes.Array[ctypes.c_char] | None) -> int:
    """Loads and closes again; returns 0 or an errno. The kernel writes what it checks to `log`, if given."""
    libc = ctypes.CDLL(None, use_errno=True)
    attr = _Attr()
    copy = ctypes.create_string_buffer(data, len(data))
    attr.btf = ctypes.addressof(copy)
    attr.btf_size = len(data)
    if log is not None:
        attr.btf_log_buf = ctypes.addressof(log)
        attr.btf_log_size = len(log)
        attr.btf_log_level = 1
    number = ctypes.c_long(SYSCALL[platform.machine()])
    fd = libc.syscall(number, ctypes.c_int(BPF_BTF_LOAD), ctypes.byref(attr), ctypes.c_uint(ctypes.sizeof(attr)))
    if fd < 0:
        return ctypes.get_errno()
    os.close(fd)
    return 0


def _reason_to_skip(data: bytes) -> str:
    if sys.platform != "linux":
        return "the kernel is not Linux"
    if platform.machine() not in SYSCALL:
        return f"the number of bpf(2) on {platform.machine()} is not known to this program"
    order = "<" if sys.byteorder == "little" else ">"
    if data[:2] == struct.pack("<H" if order == ">" else ">H", 0xEB9F):
        return "its byte order is not the machine's"
    try:
        pointer = BTF.from_bytes(data).pointer_size
    except InputError:  # the kernel judges what the reader does not understand
        return ""
    word = struct.calcsize("P")
    return f"its pointers have {pointer} bytes, the machine's {word}" if pointer != word else ""


def kernel_load(data: bytes, log_lines: int = 12) -> Answer:
    """Asks the running kernel about raw BTF. If it refuses, the last `log_lines` lines of its log say why."""
    reason = _reason_to_skip(data)
    if reason:
        return Answer(Verdict.SKIPPED, reason)
    code = _load(data, None)
    if code == 0:
        return Answer(Verdict.ACCEPTED)
    text = f"{errno.errorcode.get(code, code)}, {os.strerror(code)}"
    if code in NOT_ALLOWED:
        return Answer(Verdict.SKIPPED, f"this process may not load BTF ({text})")
    log = ctypes.create_string_buffer(LOG_SIZE)
    _load(data, log)
    lines = log.value.decode("utf-8", "replace").splitlines()[-log_lines:]
    return Answer(Verdict.REFUSED, "\n    ".join([text, *lines]))


def main(paths: list[str]) -> int:
    if not paths:
        print("usage: kernel_load.py FILE...", file=sys.stderr)
        return 2
    failed = False
    for path in paths:
        try:
            answer = kernel_load(BTF.from_file(path).data)
        except InputError as error:
            print(error)
            failed = True
            continue
        print(f"{path}: {answer}")
        failed |= answer.verdict is Verdict.REFUSED
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
