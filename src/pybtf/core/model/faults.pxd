# What went wrong in compiled code, for the one place that makes exceptions of it (faults.py).
#
# The first fault of a unit is kept; whoever meets it returns nonzero up to the edge.

from libc.stdint cimport int64_t, uint64_t

cdef enum:                      # Fault.section
    IN_INFO = 0
    IN_ABBREV = 1
    IN_STR = 2
    IN_LINE_STR = 3
    IN_STR_OFFSETS = 4
    IN_ADDR = 5
    IN_LOC = 6
    IN_LOCLISTS = 7
    IN_VALUES = 8               # the values of an object (core/values)

cdef enum:                      # Fault.code
    FAULT_NONE = 0
    FAULT_MEMORY = 1
    FAULT_TRUNCATED = 2         # data ends inside a value
    FAULT_LEB = 3
    FAULT_STRING = 4            # a string without end
    FAULT_FORM = 5              # value: the form
    FAULT_ABBREV_CODE = 6       # value: the code
    FAULT_ABBREV_OFFSET = 7
    FAULT_OFFSET = 8            # value: an offset past the end of `section`
    FAULT_REFERENCE = 9         # value: a DIE reference out of its unit or section
    FAULT_VERSION = 10
    FAULT_UNIT_LENGTH = 11
    FAULT_DEPTH = 12            # value: nesting
    FAULT_UNIT_TAG = 13         # value: DW_TAG of the unit DIE
    FAULT_ORIGIN = 14           # value: abstract origin that names no function
    FAULT_ADDRESS_SIZE = 15
    FAULT_TOO_MANY = 16         # value: more of something than ids can count
    FAULT_CYCLE = 17            # value: a chain of references that comes back to itself
    FAULT_INDEX = 18            # value: index past the end of a table in `section`
    FAULT_SHARED = 19           # value: bytes or steps; data that many DIEs share makes the work explode
    FAULT_SIZE = 20             # value: bytes of a section that is too large
    FAULT_TAGS = 21             # value: number of tags of one object
    FAULT_UNIT_TYPE = 22        # value: DW_UT
    FAULT_SPLIT = 23            # value: string id of the file's name
    FAULT_ALTERNATE = 24        # something that is in an alternate file, and there is none
    FAULT_ALTERNATE_REF = 25    # value: a DIE reference past the end of the alternate file's .debug_info
    FAULT_ALTERNATE_STRING = 26 # value: an offset at which its .debug_str has no string
    FAULT_NESTED = 27           # something of an alternate file that is in an alternate file of its own
    FAULT_SPLIT_FORM = 28       # value: DW_FORM
    # what BTF cannot express (docs/rules.md, 4.6)
    FAULT_UNSUPPORTED_TAG = 32  # value: DW_TAG
    FAULT_NO_NAME = 33          # value: DW_TAG
    FAULT_FLOAT_COMPLEX = 34
    FAULT_FLOAT_SIZE = 35       # value: bytes
    FAULT_MEMBER_OFFSET = 36    # value: bits
    FAULT_BITFIELD_OFFSET = 37  # value: bits
    FAULT_UNION_OFFSET = 38     # value: bits
    FAULT_ENUM_VALUE = 39       # value: the value
    FAULT_ENUM_SIZE = 40        # value: bytes
    FAULT_VARIABLE_NAME = 41
    FAULT_VARIABLE_TYPE = 42
    FAULT_EMPTY_TAG = 43
    # what only an encoding that may degrade minds, since kernels do
    FAULT_INT_SIZE = 44         # value: bytes
    FAULT_MEMBER_END = 45       # value: bytes of the struct
    # values of objects that are merged
    FAULT_VALUES = 46           # what no object has that this program wrote
    FAULT_DISCARDED = 47        # value: string id of a function that the linker has discarded, so that it is another
    # what only an encoding that degrades meets
    FAULT_LEFT_OUT = 48         # a reference to a unit that is left out
    FAULT_NO_SIZE = 49          # what must have a type of some size
    FAULT_BITFIELD_TYPE = 50    # a bitfield that is not a number
    FAULT_STATIC_MEMBER = 51
    FAULT_MEMBER_ORDER = 52     # a member that begins before the one in front of it
    FAULT_VARIANTS = 53         # a type with variants, of which only the common part is there
    FAULT_ARRAY_SIZE = 54       # an array of 4 GiB or more
    FAULT_VOID_RESULT = 55      # a result that is void by another name
    FAULT_ATTRIBUTES = 56       # value: how many attributes of an abbreviation are too many
    FAULT_REST = 57             # value: how many bytes of a unit are past the end of its tree
    N_FAULTS = 58

cdef struct Fault:
    int code
    int section
    uint64_t offset             # in `section`
    uint64_t die                # .debug_info offset of the DIE being read, 0 unknown
    int64_t value

cdef inline int fault_set(Fault *f, int code, int section, uint64_t offset, uint64_t die, int64_t value) noexcept nogil:
    if f.code == FAULT_NONE:
        f.code = code
        f.section = section
        f.offset = offset
        f.die = die
        f.value = value
    return 1
