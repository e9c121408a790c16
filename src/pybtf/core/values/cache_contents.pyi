_Places = dict[bytes, tuple[int, int]]

def cache_contents(
    fd: int, start: int, end: int, little: bool, payload: bytes, result: bytes
) -> tuple[_Places, _Places, int]: ...
