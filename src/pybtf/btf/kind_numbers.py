"""The kinds by number and by name, and how BTF begins, for what runs before or without `enum`, whose import takes
several milliseconds.

`kinds.Kind` is the same as an enumeration; a test compares the two.
"""

MAGICS = (b"\x9f\xeb", b"\xeb\x9f")
"""The first bytes of BTF: little-endian, big-endian."""

KIND_NAMES = (
    "VOID", "INT", "PTR", "ARRAY", "STRUCT", "UNION", "ENUM", "FWD", "TYPEDEF", "VOLATILE", "CONST", "RESTRICT", "FUNC",
    "FUNC_PROTO", "VAR", "DATASEC", "FLOAT", "DECL_TAG", "TYPE_TAG", "ENUM64",
)  # fmt: skip

(
    VOID, INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, FUNC_PROTO, VAR, DATASEC,
    FLOAT, DECL_TAG, TYPE_TAG, ENUM64,
) = range(20)  # fmt: skip
