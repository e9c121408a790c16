"""The help texts of the commands that make BTF beside each object, merge it after the link, or join BTF."""

from __future__ import annotations

_HOW = """\
  --strip-dwarf        Leave out the DWARF of the object: the link then has none to carry
  --inline             Put all of the values into the section that goes through the link. The linked file is
                       larger, and pybtf merge needs no objects
  --store DIR          Put the values into files in DIR, named by their digests, and not into the object
  --section NAME       Call the section that goes through the link NAME, which begins with .debug_; default:
                       .debug_btf. A kernel's linker script knows .debug_weaknames
  --features LIST      As for pybtf encode. float, enum64, decl_tag, type_tag, true_signature and attributes
                       must be the same for all objects and for pybtf merge
"""

OBJECT = f"""\
Usage: pybtf object [OPTIONS] FILE...

Put into each object file FILE.o the values that BTF will be made of after the link: what pybtf merge, or
pybtf-pahole -J, then gives is, byte for byte, what encoding the linked DWARF gives. FILE may be an archive
(FILE.a), whose members get values. Each FILE is changed in place, at once or not at all; an object that has
the values already, or no DWARF, is left as it is. If a FILE is at fault, one message says why, the others are
encoded, and the exit status is 1.

What the object gets are two sections: .debug_btf with addresses of functions and variables as relocations,
which goes through every linker, and .debug_btf_values, which a final link leaves out.

Options:
{_HOW}\
  --from-list LIST     Also encode the files that LIST names, one in each line; - is standard input
  -q, --quiet          Print nothing about what was done
  -h, --help           Print this text

Examples:
  pybtf object --strip-dwarf *.o
  find . -name '*.o' | pybtf object --from-list -
  pybtf object --store build/values libfoo.a
"""

MERGE = """\
Usage: pybtf merge [OPTIONS] FILE

Make BTF of the linked FILE from the values that pybtf object or pybtf cc has put beside its objects. FILE
needs no DWARF. The BTF becomes the section .BTF of FILE, as with pybtf encode. If values are missing or
damaged, or are not those that were linked, one message says which, nothing is written, and the exit status
is 1. Where some object has no values, or cannot be merged, but all of the DWARF is in FILE, that is encoded,
and a warning says so.

The values are looked for in FILE itself; where --objects and --store say; and in the object files, under the
names by which they were encoded, from this folder, from that of FILE, and from that in which the compiler
ran, if the DWARF of FILE says which.

Input:
  --objects FILE       An object file, an archive, or a list of such, one in each line; may be repeated. Each
                       of them that has DWARF must have values
  --store DIR          A folder of values, as pybtf object --store DIR has written it
  --cache FILE         Look for values in FILE first; those found there need no objects. What was found
                       elsewhere is kept in it, and so is the BTF, which is that of the next link if only code
                       has moved. It is made if it does not exist
  --compiler-btf       Take the BTF that compilers wrote of each source (gcc -gbtf): what the linker has put
                       together in .BTF of FILE, or that of the objects of --objects. Functions and variables
                       are those for which FILE has symbols. The bytes are not those that DWARF gives

Output:
  --detached OUT       Write raw BTF to OUT and only read FILE; - is standard output
  --report JSON        As for pybtf encode
  --verify             Encode the DWARF of FILE too, and compare: an error if the bytes differ

What is encoded:
  --base FILE          As for pybtf encode: a module, on this BTF
  --standalone         As for pybtf encode
  --force-base         As for pybtf encode
  --features LIST      As for pybtf encode
  --for-kernel VERSION As for pybtf encode
  --lang LIST          As for pybtf encode
  --lang-exclude LIST  As for pybtf encode

How:
  -j, --jobs N         Number of workers; default: the CPUs this process may use

Messages:
  -q, --quiet          Print errors only
  -v, --verbose        Print what was left out, and all warnings
  --timings            Say where the time went
  -h, --help           Print this text

Examples:
  pybtf merge vmlinux
  pybtf merge --objects vmlinux.o --detached vmlinux.btf vmlinux
  pybtf merge --verify --detached prog.btf prog
  pybtf merge --compiler-btf --objects prog.objects prog

Environment:
  PAHOLE_LANG_EXCLUDE  See pybtf encode
"""

CC = f"""\
Usage: pybtf cc [OPTIONS] -- COMMAND...

Run a compiler, COMMAND, and put values for BTF into the object file that it makes (pybtf object). If COMMAND
fails, or does anything but compile to an object file (-c), nothing is done. Its messages and its exit status
are passed on. If the object cannot be encoded, it is removed, and the exit status is 1.

Options:
{_HOW}\
  -h, --help           Print this text

Examples:
  make CC="pybtf cc --strip-dwarf -- gcc"
  pybtf cc -- ccache gcc -g -O2 -c main.c -o main.o
  cmake -DCMAKE_C_COMPILER_LAUNCHER="pybtf;cc;--" .

Exit status: that of COMMAND; 1 the object cannot be encoded; 127 there is no such COMMAND.
"""

DEDUP = """\
Usage: pybtf dedup [--base FILE] FILE... -o OUT

Append the BTF of all FILEs and de-duplicate it, so that each type is in it once. The bytes are those of
libbpf's btf__add_btf and btf__dedup. FILE is raw BTF or an ELF file with .BTF, which may be compressed; - is
standard input. The result has the byte order of the first FILE.

Types that are only declared in one FILE become those that are defined in another, and structs of one name
that differ stay apart, as when a kernel's units are encoded. BTF alone does not always say which types belong
together: if you have the linked DWARF, pybtf encode is better.

Options:
  -o, --output OUT     Write raw BTF to OUT; - is standard output
  --base FILE          The BTF that FILEs are split from, such as a kernel's. OUT is then split from it, too,
                       and repeats nothing of the base
  -h, --help           Print this text

Examples:
  pybtf dedup a.btf b.btf -o both.btf
  pybtf dedup --base vmlinux nf_tables.ko nft_compat.ko -o nft.btf
"""
