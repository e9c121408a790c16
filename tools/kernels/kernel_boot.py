"""Boots a kernel under qemu, loads modules, and returns what the kernel shows of its BTF.

The guest is emulated (without KVM) and has no disk, no network and only the bundled firmware. Its only files
are busybox, the modules and `kernel_build/init`, which ends with a reset, on which qemu exits.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

INIT = Path(__file__).resolve().parent / "kernel_build" / "init"
APPLETS = ("sh", "mount", "uname", "sha256sum", "insmod", "reboot")
CPUS = 2
MEGABYTES = 512


class BootFailed(Exception):
    """The guest did not finish; the text has the last lines of its console."""


@dataclass
class Seen:
    """What the guest showed. Values are the SHA-256 of the files in /sys/kernel/btf, or words that say what is
    wrong.
    """

    release: str = ""
    vmlinux: str = ""
    modules: dict[str, str] = field(default_factory=dict)
    console: list[str] = field(default_factory=list)

    def complaints(self) -> list[str]:
        """Lines in the kernel's log that a kernel with good BTF does not print."""
        words = re.compile(r"BPF:|btf:|BTF|WARNING:|BUG:|Oops|failed to validate|Call Trace", re.IGNORECASE)
        return [line for line in self.console if words.search(line) and not line.startswith("KBC ")]


def name_of(module: Path) -> str:
    """The name of a module once it is loaded."""
    return module.stem.replace("-", "_")


def in_order(modules: Sequence[Path]) -> list[Path]:
    """The modules, each after those that it needs."""
    by_name = {name_of(module): module for module in modules}
    done: dict[str, Path] = {}

    def add(name: str) -> None:
        if name in done or name not in by_name:
            return
        text = subprocess.run(
            ["modinfo", "-F", "depends", by_name[name]], capture_output=True, text=True, check=True
        ).stdout
        for needed in text.strip().split(","):
            add(needed.replace("-", "_"))
        done[name] = by_name[name]

    for name in sorted(by_name):
        add(name)
    return list(done.values())


def initramfs(gen_init_cpio: Path, modules: Sequence[Path], parameters: dict[str, str], folder: Path) -> Path:
    """Makes the archive from which the guest starts, with the kernel's own tool, so that device nodes need no
    privilege.
    """
    busybox = shutil.which("busybox")
    if busybox is None:
        raise BootFailed("busybox is not installed")
    listing = [
        *(f"dir /{name} 755 0 0" for name in ("bin", "dev", "proc", "sys", "modules")),
        "nod /dev/console 600 0 0 c 5 1",
        f"file /bin/busybox {busybox} 755 0 0",
        *(f"slink /bin/{applet} busybox 755 0 0" for applet in APPLETS),
        f"file /init {INIT} 755 0 0",
    ]
    table = []
    for module in in_order(modules):
        name = name_of(module)
        listing.append(f"file /modules/{module.name} {module} 644 0 0")
        table.append(f"{module.name} {name} {parameters.get(name, '')}")
    (folder / "modules.list").write_text("".join(f"{line}\n" for line in table))
    listing.append(f"file /modules/list {folder / 'modules.list'} 644 0 0")
    (folder / "initramfs.list").write_text("".join(f"{line}\n" for line in listing))
    archive = folder / "initramfs.cpio"
    with open(archive, "wb") as file:
        subprocess.run([gen_init_cpio, folder / "initramfs.list"], stdout=file, check=True)
    return archive


def boot(image: Path, archive: Path, timeout: float = 600) -> Seen:
    """Starts the kernel and waits for its end. Raises `BootFailed` if it does not end in time."""
    argv = [
        "qemu-system-x86_64", "-accel", "tcg", "-smp", str(CPUS), "-m", str(MEGABYTES), "-nodefaults", "-display",
        "none", "-no-reboot", "-serial", "stdio", "-kernel", str(image), "-initrd", str(archive),
        "-append", "console=ttyS0 panic=-1 reboot=k,t",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
        )
        output = done.stdout
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
    except OSError as error:
        raise BootFailed(f"qemu-system-x86_64: {error.strerror}") from error
    seen = Seen(console=output.decode("utf-8", "replace").replace("\r", "").splitlines())
    if not _read(seen):
        raise BootFailed("the guest did not come to its end:\n" + "\n".join(seen.console[-20:]))
    return seen


def _read(seen: Seen) -> bool:
    """Fills in what the lines say; returns whether the last one is there."""
    for line in seen.console:
        match line.split():
            case ["KBC", "end"]:
                return True
            case ["KBC", "release", release]:
                seen.release = release
            case ["KBC", "vmlinux", digest, *_]:
                seen.vmlinux = digest
            case ["KBC", "module", name, digest, "-"]:
                seen.modules[name] = digest
            case ["KBC", "module", name, *words]:
                seen.modules[name] = " ".join(words)
    return False
