# The frame of a header, as bpftool writes it.

from libc.stdint cimport uint32_t

cdef extern from *:
    """
    #define PYBTF_START \\
        "#ifndef __VMLINUX_H__\\n" \\
        "#define __VMLINUX_H__\\n" \\
        "\\n" \\
        "#ifndef BPF_NO_PRESERVE_ACCESS_INDEX\\n" \\
        "#pragma clang attribute push (__attribute__((preserve_access_index)), apply_to = record)\\n" \\
        "#endif\\n" \\
        "\\n" \\
        "#ifndef __ksym\\n" \\
        "#define __ksym __attribute__((section(\\".ksyms\\")))\\n" \\
        "#endif\\n" \\
        "\\n" \\
        "#ifndef __weak\\n" \\
        "#define __weak __attribute__((weak))\\n" \\
        "#endif\\n" \\
        "\\n" \\
        "#ifndef __bpf_fastcall\\n" \\
        "#if __has_attribute(bpf_fastcall)\\n" \\
        "#define __bpf_fastcall __attribute__((bpf_fastcall))\\n" \\
        "#else\\n" \\
        "#define __bpf_fastcall\\n" \\
        "#endif\\n" \\
        "#endif\\n" \\
        "\\n"
    #define PYBTF_BEFORE_KFUNCS \\
        "\\n" \\
        "/* BPF kfuncs */\\n" \\
        "#ifndef BPF_NO_KFUNC_PROTOTYPES\\n"
    #define PYBTF_AFTER_KFUNCS \\
        "#endif\\n" \\
        "\\n"
    #define PYBTF_END \\
        "#ifndef BPF_NO_PRESERVE_ACCESS_INDEX\\n" \\
        "#pragma clang attribute pop\\n" \\
        "#endif\\n" \\
        "\\n" \\
        "#endif /* __VMLINUX_H__ */\\n"
    """
    const char *START "PYBTF_START"
    const char *BEFORE_KFUNCS "PYBTF_BEFORE_KFUNCS"
    const char *AFTER_KFUNCS "PYBTF_AFTER_KFUNCS"
    const char *END "PYBTF_END"

cdef struct Kfunc:              # a function that BPF programs may call
    const char *name
    uint32_t id
