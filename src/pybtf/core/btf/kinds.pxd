# Kinds of BTF types, and encodings of INT (Documentation/bpf/btf.rst), written by tools/project/constants.py.

cdef enum:
    KIND_INT = 1
    KIND_PTR = 2
    KIND_ARRAY = 3
    KIND_STRUCT = 4
    KIND_UNION = 5
    KIND_ENUM = 6
    KIND_FWD = 7
    KIND_TYPEDEF = 8
    KIND_VOLATILE = 9
    KIND_CONST = 10
    KIND_RESTRICT = 11
    KIND_FUNC = 12
    KIND_FUNC_PROTO = 13
    KIND_VAR = 14
    KIND_DATASEC = 15
    KIND_FLOAT = 16
    KIND_DECL_TAG = 17
    KIND_TYPE_TAG = 18
    KIND_ENUM64 = 19
    INT_SIGNED = 1
    INT_CHAR = 2
    INT_BOOL = 4
