# ELF constants by their names in the standard (System V gABI, chapter 4), written by tools/project/constants.py.

cdef enum:
    EM_SPARC = 0x02
    EM_MIPS = 0x08
    EM_PPC = 0x14
    EM_PPC64 = 0x15
    EM_S390 = 0x16
    EM_ARM = 0x28
    EM_SPARCV9 = 0x2b
    EM_ARC = 0x2d
    EM_X86_64 = 0x3e
    EM_AARCH64 = 0xb7
    EM_RISCV = 0xf3
    SHF_ALLOC = 0x02
    SHF_GROUP = 0x200
    SHF_COMPRESSED = 0x800
    SHN_LORESERVE = 0xff00
    SHN_ABS = 0xfff1
    SHN_COMMON = 0xfff2
    SHN_XINDEX = 0xffff
    SHT_NULL = 0x00
    SHT_RELA = 0x04
    SHT_NOBITS = 0x08
    SHT_REL = 0x09
    STT_OBJECT = 0x01
    STT_FUNC = 0x02
    STT_FILE = 0x04
