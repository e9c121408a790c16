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

cdef enum:                      # bits of Context.without: what is only quicker, left out for tests and benchmarks
    WITHOUT_REDUCTION = 1       # repeats are kept until the de-duplication
    WITHOUT_RESTORING = 2       # units are decoded again where single types could be made from their classes
    WITHOUT_GLANCE = 4          # DIEs are read attribute by attribute
    WITHOUT_LATE_NAMES = 8      # names are looked up when they are read
    WITHOUT_GUESSES = 16        # no record is expected
    WITHOUT_KNOWN_DECLS = 32    # all declarations of abbreviations are compiled
    WITHOUT_READING = 64        # units stay in the map of the file
    WITHOUT_REFUTED = 512       # pairs of types that are known to differ are compared again
    # On a base:
    WITHOUT_MODELS = 128        # no names are expected because a type of the base has them
    WITHOUT_LIKES = 256         # what a comparison has passed through is looked up nevertheless
