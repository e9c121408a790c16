from pybtf.core.dedup.base import Base

def dedup_btf(
    data: bytes,
    base: bytes | Base | None = None,
    *,
    name: str = "BTF",
    base_name: str = "base BTF",
    patience: int | None = None,
) -> bytes: ...
