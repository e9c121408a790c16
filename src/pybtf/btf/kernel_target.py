"""A kernel with its modules, as the CO-RE relocations of a BPF program see it.

libbpf looks for candidates in the BTF of vmlinux; only if that has none of the kind and name, in what the modules that
are loaded define themselves, in all of them. So a module's struct does not get in the way of one that the kernel has,
and two modules whose structs of one name differ disagree. Here all modules that are given count as loaded. They are
opened when a program first asks for a type that vmlinux does not have, which few do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pybtf.btf.core_relocation import Relocator, Result, Target, said
from pybtf.btf.opening import open_module
from pybtf.errors import InputError, Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pybtf.btf.ext import Relocation
    from pybtf.btf.reader import BTF
    from pybtf.btf.types import Type


class Kernel:
    """`btf` is that of a vmlinux, `modules` are files of modules whose BTF is split from it."""

    def __init__(self, btf: BTF, modules: Sequence[str] = ()) -> None:
        self.target = Target(btf)
        self._paths = modules
        self._modules: list[_Module] | None = None

    def modules_with(self, root: Type) -> list[_Module]:
        """Those that define a type of this kind and name. Raises `InputError` for one that is damaged."""
        if self._modules is None:
            opened = (open_module(path, self.target.btf) for path in self._paths)
            self._modules = [_Module(btf) for btf in opened if btf is not None]
        return [module for module in self._modules if module.candidates(root)]


class _Module(Target):
    """What a module defines itself."""

    def candidates(self, root: Type) -> list[int]:
        return [id for id in super().candidates(root) if id >= self.btf.first_id]


class KernelRelocator:
    """Resolves the relocations of one object, whose BTF is `local`, on a kernel."""

    def __init__(self, local: BTF, kernel: Kernel) -> None:
        self._local = local
        self._kernel = kernel
        self._main = Relocator(local, kernel.target)
        self._others: dict[_Module, Relocator] = {}

    def resolve(self, relocation: Relocation) -> tuple[Result, Target]:
        """What it comes to, and where. Raises `InputError` as `Relocator.resolve` does, and if modules disagree."""
        result = self._main.resolve(relocation)
        if result.found is not None:
            return result, self._kernel.target
        root = self._main.declared(relocation)
        if not root.name or self._kernel.target.candidates(root):
            return result, self._kernel.target
        found = None
        for module in self._kernel.modules_with(root):
            if module not in self._others:
                self._others[module] = Relocator(self._local, module)
            here = self._others[module].resolve(relocation)
            if here.found is None:
                continue
            if found is None:
                found = here, module
            elif here.value != found[0].value:
                names = f"{found[1].btf.place.file} and {module.btf.place.file}"
                where = Place(self._local.place.file, ".BTF.ext")
                raise InputError(where, f"{said(root)}: modules disagree, {names}", "one meaning in all modules")
        return found or (result, self._kernel.target)
