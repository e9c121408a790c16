from pybtf.core.dedup.base import Base

def distill_btf(
    data: bytes, base: bytes | Base, *, name: str = "BTF", base_name: str = "base BTF"
) -> tuple[bytes, bytes]: ...
