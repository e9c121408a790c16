# Operations of relocations (see relocate.py). One byte of a machine's table is an operation, and the width of the
# field in bytes << 4.

cdef enum:
    RELOC_UNKNOWN = 0      # not a relocation type of the machine
    RELOC_LEAVE = 1        # known, but without effect on debug sections
    RELOC_SET = 2          # field = value
    RELOC_ADD = 3          # field += value
    RELOC_SUB = 4          # field -= value
