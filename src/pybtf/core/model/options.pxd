# What is asked of a run: bits of Context.options and Encoder.options.

cdef enum:
    OPT_FLOAT = 1
    OPT_ENUM64 = 2
    OPT_DECL_TAG = 4
    OPT_TYPE_TAG = 8
    OPT_VARIABLES = 16
    OPT_TRUE_SIGNATURE = 32
    OPT_CONSISTENT = 64
    OPT_KFUNC_TAGS = 128
    OPT_ATTRIBUTES = 256
    OPT_DEGRADE = 512           # what cannot be expressed or read is replaced or left out, and noted
