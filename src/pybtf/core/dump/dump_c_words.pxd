# The words of C: those that cannot be names, and those that names of its own types are made of.

from libc.stdint cimport uint32_t, uint64_t

cdef extern from *:
    """
    static const char *const pybtf_keywords[] __attribute__((unused)) = {
        "_Alignas", "_Alignof", "_Atomic", "_BitInt", "_Bool", "_Complex", "_Decimal128", "_Decimal32", "_Decimal64", "_Float128",
        "_Float16", "_Float32", "_Float32x", "_Float64", "_Float64x", "_Generic", "_Imaginary", "_Noreturn",
        "_Static_assert", "_Thread_local",
        "__FUNCTION__", "__PRETTY_FUNCTION__", "__alignof", "__alignof__", "__asm", "__asm__", "__attribute",
        "__attribute__", "__auto_type", "__bf16", "__complex", "__complex__", "__const", "__const__", "__extension__",
        "__float128", "__fp16", "__func__", "__imag", "__imag__", "__inline", "__inline__", "__int128", "__label__",
        "__real", "__real__", "__restrict", "__restrict__", "__signed", "__signed__", "__thread", "__typeof",
        "__typeof__", "__volatile", "__volatile__", "asm", "auto", "break", "case", "char", "const", "continue",
        "default", "do", "double", "else", "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long",
        "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct",
        "switch", "typedef", "typeof", "union", "unsigned", "void", "volatile", "while", 0
    };
    static const char *const pybtf_type_words[] __attribute__((unused)) = {
        "_Bool", "_Complex", "_Decimal128", "_Decimal32", "_Decimal64", "_Float128", "_Float16", "_Float32",
        "_Float32x", "_Float64", "_Float64x", "__bf16",
        "__float128", "__fp16", "__int128", "char", "double", "float", "int", "long", "short", "signed",
        "unsigned", 0
    };
    """
    const char *const *KEYWORDS "pybtf_keywords"
    const char *const *TYPE_WORDS "pybtf_type_words"

cdef struct Words:              # by first byte: which lengths keywords have
    uint64_t lengths[128]
    unsigned char part[256]     # 1: a byte of names; 2: one that cannot be the first

cdef void words_init(Words *w) noexcept nogil
cdef uint32_t word_faults(const Words *w, const char *name, uint32_t *length) noexcept nogil  # 1: no name of C
cdef bint names_a_type(const char *name) noexcept nogil
cdef bint number_faults(const uint32_t *r, const char *name) noexcept nogil     # of INT or FLOAT: C has no such number
