"""Whether a module has a base, and whether that is the BTF of the module's own kernel.

Split BTF refers to its base by type id and string offset. On the BTF of another kernel it means something else, or
nothing, and no kernel loads it. Three things tell the wrong base from the right one, where they are available:

- *Releases.* A module says which kernel it was built for (vermagic), a kernel what it is (`linux_banner`); for
  /sys/kernel/btf/vmlinux the running kernel says it.
- *Sizes.* A module may define a struct itself although its base has one of that name. Then it is a private struct that
  happens to have the name, or the struct of another kernel, which mostly has another size. (A base made with other
  features also makes a module define many structs itself, since whatever reaches one difference differs; but their
  sizes are those of the base's.) So the structs of another size are counted. Of 2,259 modules of Debian's 6.1 and 6.12
  on their own kernels, with the kernel's own BTF and with pybtf's, 13 have one such struct, one has two, and none has
  more. On another version, each has twelve or more; on another flavour of 6.1, one to 59, and always `task_struct`,
  which is not a name for a private struct. (Of 6.12, 320 of 1,138 modules fit both flavours equally well; only the
  releases differ.)
- *Strings.* When split BTF is read: a name of it begins in the middle of one of the base's strings (btf/reader.py).
"""

from __future__ import annotations

from pybtf.elf.image import ElfImage
from pybtf.elf.modules import is_module, release_of_module
from pybtf.elf.packed import open_module
from pybtf.errors import InputError, ModuleWithoutBaseError, WrongBaseError
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybtf.base import Base
    from pybtf.core.run import Run
    from pybtf.options import EncodeOptions

SUSPICIOUS = 4
"""So many structs of other sizes no module has on the right base."""
TELLING = ("task_struct", "module")
"""Structs of which there is one in a kernel."""

HINT = (
    "Name the kernel that the module was built for with --base; --force-base goes on with this one "
    "(Python: force_base=True)."
)


def refuse_modules(paths: Iterable[str], others: str = "") -> None:
    """Raise `ModuleWithoutBaseError` for the first module of these files. `others`: what else to say then.

    Files that cannot be read are left to those who encode them.
    """
    for path in paths:
        try:
            with open_module(path) as image:
                found = is_module(image)
        except InputError:
            continue
        if found:
            raise ModuleWithoutBaseError(path, others)


def check_base_of(image: ElfImage, options: EncodeOptions, base: Base | None) -> bool:
    """Whether sizes have to be looked at in the end. Raises `ModuleWithoutBaseError`, `WrongBaseError`."""
    if base is None:
        if not options.standalone and is_module(image):
            raise ModuleWithoutBaseError(image.path)
        return False
    if options.force_base or not is_module(image):
        return False
    wanted = release_of_module(image)
    if wanted is not None and base.release not in (None, wanted):
        raise WrongBaseError(
            image.place(), f"a module of kernel {wanted}", f"one of {base.release}, as the base {base.path} is", HINT
        )
    return True


def check_sizes(image: ElfImage, run: Run, base: Base) -> None:
    """Raise `WrongBaseError` if structs of the module, which is encoded, have other sizes than those of the base."""
    found = run.other_sizes()
    telling = [each for each in found if each[0] in TELLING]
    if len(found) < SUSPICIOUS and not telling:
        return
    name, own, there = (telling or found)[0]
    others = len(found) - 1
    more = f", and {others} other structs differ in size" if others > 1 else ", and another one differs" * others
    raise WrongBaseError(
        image.place(),
        f"struct {name} has {own} bytes in the module and {there} in the base {base.path}{more}",
        "the BTF of the module's own kernel as its base",
        HINT,
    )
