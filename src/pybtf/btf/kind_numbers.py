"""The kinds by number and by name, for what runs before or without `enum`, whose import takes several milliseconds.

`kinds.Kind` is the same as an enumeration; a test compares the two.
"""

KIND_NAMES = (
    "VOID", "INT", "PTR", "ARRAY", "STRUCT", "UNION", "ENUM", "FWD", "TYPEDEF", "VOLATILE", "CONST", "RESTRICT", "FUNC",
    "FUNC_PROTO", "VAR", "DATASEC", "FLOAT", "DECL_TAG", "TYPE_TAG", "ENUM64",
)  # fmt: skip

(
    VOID, INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, FUNC_PROTO, VAR, DATASEC,
    FLOAT, DECL_TAG, TYPE_TAG, ENUM64,
) = range(20)  # fmt: skip
