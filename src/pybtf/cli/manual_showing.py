"""The help texts of the commands that print BTF, and values by it."""

from __future__ import annotations

DUMP = """\
Usage: pybtf dump [OPTIONS] FILE

Print the BTF in FILE to standard output: as a C header, with the same text as `bpftool btf dump file FILE
format c`, or type by type, as bpftool's raw and JSON dumps have it. FILE is raw BTF, such as
/sys/kernel/btf/vmlinux, or an ELF file with .BTF, which may be compressed (x.ko.xz, .zst, .gz); - is
standard input. Of an ELF file that has only DWARF, BTF is made first.

What is printed:
  --format c|raw|json  A C header (default), one or more lines for each type, or JSON
  --json               The same as --format json
  --unsorted           With c: types in the order of the BTF, not by name
  --pretty             With json: indented, on many lines
  --root NAME|ID       Only this type and, with c, what it needs. May be repeated. NAME may be a pattern and
                       begin with struct, union, enum, typedef, function or variable, as for pybtf show; all
                       types of that name are taken. With c, the NAME of a function or variable stands for
                       what its declaration needs

What is read:
  --base FILE          The BTF that the BTF in FILE is split from, a kernel's for a module. Not needed if FILE
                       has a .BTF.base, or if the base is called vmlinux and beside it, as in /sys/kernel/btf

Where it goes:
  -o, --output OUT     Write the text to the file OUT, whole or not at all, and print nothing

Options:
  -h, --help           Print this text

Examples:
  pybtf dump /sys/kernel/btf/vmlinux > vmlinux.h
  pybtf dump -o vmlinux.h vmlinux.btf
  pybtf dump --root task_struct --root 'enum pid_type' vmlinux
  pybtf dump --format raw --base vmlinux module.ko
  pybtf encode --detached - vmlinux | pybtf dump --json - | jq '.types[] | select(.name == "page")'
"""

SHOW = """\
Usage: pybtf show [OPTIONS] [NAME]... FILE

Print types from the BTF in FILE as people read them, with the text of `pahole -F btf -C NAME FILE`. Structs
and unions come with the offset and size of each member, bit positions, holes, padding, cache lines and the
attributes that follow from the offsets; enums, typedefs, functions and variables as in C. Without NAME, list
all structs and unions. FILE is raw BTF, such as /sys/kernel/btf/vmlinux, or an ELF file with .BTF, which may
be compressed (x.ko.xz, .zst, .gz); - is standard input. Of an ELF file that has only DWARF, such as an
object that has just been compiled, BTF is made first.

NAME may be a pattern ('tcp_*') or an id, and may begin with struct, union, enum, typedef, function or
variable. All types of that name are printed.

How:
  -E, --expand-types   Print the members of structs, and what typedefs are, in place of their names
  -p, --expand-pointers
                       Print what members point to as well; each struct is named, not printed, within itself
  -r, --relative       Count offsets within expanded members from the beginning of each
  --no-comments        Leave out offsets, sizes, holes and sums
  --hex                Print offsets, sizes and enumerators as hexadecimal numbers
  -c, --cacheline BYTES
                       The size of a cache line; default: 64
  -R, --reorganize     Print structs with their members in an order that leaves fewer holes, and what that
                       saves, as pahole does it. pybtf does not check whether the reordering is safe
  -S, --steps          With -R: print the struct after each move
  -P, --packable       Print a line for each struct with holes that -R makes smaller: name, both sizes and
                       the difference
  -s, --sizes          Print a line for each: name, size and number of holes
  --sort               Sort by name; default: the order of the BTF
  --json               Print a JSON array with the members, sums and holes of each
  --svg OUT            Write a picture to the file OUT (- is standard output), and print nothing: a row for
                       each cache line, a cell for each byte, holes in stripes. -E draws members of members

Which of the structs (of those that are named, or of all):
  -H, --holes N        Those with at least N holes
  -B, --bit-holes N    Those with at least N holes between bit-fields
  --padding N          Those with at least N bytes after the last member
  --packed             Those that must have been packed
  --with-flexible-array
                       Those that end with an array without a size
  --with-embedded-flexible-array
                       Those with a member that ends with one

Instead of types (the first two go with no other option but --base and --json):
  --contains NAME      List the structs and unions with a member of the struct or union NAME, also in an array
                       or inside a member without a name. NAME may be a typedef
  --find-pointers-to NAME
                       List the members that are pointers to it
  --contains-enumerator NAME
                       Print the enumerations that have the enumerator NAME

What is read:
  --base FILE          The BTF that the BTF in FILE is split from, as for pybtf dump
  --provenance FILE    What `pybtf encode --provenance` wrote: also print where types are declared

Options:
  -h, --help           Print this text

Examples:
  pybtf show task_struct /sys/kernel/btf/vmlinux
  pybtf show --sizes 'tcp_*' vmlinux
  pybtf show --holes 5 vmlinux
  pybtf show -E --no-comments __kernel_sockaddr_storage vmlinux
  pybtf show --reorganize tcp_sock vmlinux
  pybtf show --svg sk_buff.svg sk_buff vmlinux
  pybtf show --base vmlinux 'struct nft_*' nf_tables.ko

Environment:
  NO_COLOR             If set and not empty, no colours
"""

SIZE = """\
Usage: pybtf size [OPTIONS] FILE

Say where the bytes of the BTF in FILE go: types by kind, strings by what they name, the largest
records, and the types whose removal would save most, counting everything reachable only through them.
Each line has bytes, their share and how many there are. FILE is raw BTF or an ELF file with
.BTF, which may be compressed. Of an ELF file that has only DWARF, BTF is made first.

How:
  --by kind|type|prefix|unit|folder
                       Print one table only: by kind, type by type, or by what stands in front of the first
                       underscore in the names; with --provenance or --dwarf by the unit that types are from,
                       or by the folder of the file that declares them (types without a declaration, such as
                       pointers, count towards the unit's folder)
  --count N|all        At most N lines, or all, in the tables of records, of prefixes, and of types whose
                       removal would save most; default: 10. The others are short, and whole
  --against OTHER      Print how much more there is than in the BTF in OTHER: what changed most, first. Types
                       of one name are one line, and those without a name one for each kind
  --json               Print an object with an array for each table
  --html OUT           Write a treemap, a page for a browser, to the file OUT (- is standard output), and
                       print nothing: a box for each type and string, its area in proportion to its bytes.
                       A click goes into a box, Escape out of it; / searches by name
  --svg OUT            The same as a picture, which other programs show as well, without the clicks

What is read:
  --base FILE          The BTF that the BTF in FILE is split from, as for pybtf dump
  --provenance FILE    With --by unit or folder: what `pybtf encode --provenance` wrote
  --dwarf FILE         The same without a database: encode FILE again, from whose DWARF the BTF was made
  --features LIST      With --dwarf: features, as for pybtf encode
  -j, --jobs N         With --dwarf: number of workers; default: the CPUs this process may use

Options:
  -h, --help           Print this text

Examples:
  pybtf size /sys/kernel/btf/vmlinux
  pybtf size --by prefix --count 40 vmlinux
  pybtf size --by folder --dwarf vmlinux vmlinux.btf
  pybtf size --against vmlinux.old vmlinux
  pybtf size --html vmlinux.html vmlinux
"""

DUPLICATES = """\
Usage: pybtf duplicates [OPTIONS] FILE

List all names that have more than one definition of a kind in the BTF in FILE. The first line has the name,
the id of the first definition and how many types need it; each further definition has a line with the first
difference on the way down: members, what they are made of, what they point to. FILE is raw BTF or an ELF
file with .BTF, which may be compressed. Of an ELF file that has only DWARF, BTF is made first.

How:
  --fail               Exit with status 1 if there are any
  --json               Print a JSON array

What is read:
  --base FILE          The BTF that the BTF in FILE is split from, as for pybtf dump. What FILE
                       defines again is listed as well
  --provenance FILE    What `pybtf encode --provenance` wrote: also print where definitions are
  --dwarf FILE         The same without a database: encode FILE again, from whose DWARF the BTF was made
  --features LIST      With --dwarf: features, as for pybtf encode
  -j, --jobs N         With --dwarf: number of workers; default: the CPUs this process may use

Options:
  -h, --help           Print this text

Examples:
  pybtf duplicates vmlinux
  pybtf duplicates --fail --base vmlinux module.ko
  pybtf duplicates --dwarf vmlinux vmlinux.btf

Exit status: 0 done, 1 with --fail if there are any, or if the input is at fault; 2 the command line is at
fault.
"""

DECODE = """\
Usage: pybtf decode [OPTIONS] TYPE FILE

Print bytes of FILE as a value of TYPE, member by member: numbers, enumerators by name, bit-fields, nested
structs, arrays of char as text. FILE is any file, such as a dump of a map or of memory; - is standard input.
TYPE is an id, or the name of a struct, union, typedef, enum, variable or section, optionally preceded by
struct, union or enum.

What is read:
  --btf BTF            The file with the types, raw BTF or an ELF file with .BTF, which may be compressed,
                       or with only DWARF, of which BTF is made first; default: /sys/kernel/btf/vmlinux. The
                       bytes are in its byte order
  --base BTF           What the BTF of --btf is split from, as for pybtf dump
  --offset N           Begin at byte N of FILE; 0x begins a hexadecimal number
  --count N|all        Print N consecutive values, or all up to the end; default: 1

How:
  --elements N         Of an array, print the first N elements; default: 16. JSON has all
  --json               Print a JSON array with an object for each value. Pointers are hexadecimal strings

Options:
  -h, --help           Print this text

Examples:
  pybtf decode --btf vmlinux.btf 'struct list_head' dump.bin
  pybtf decode --btf prog.bpf.o event ring.bin --count all --json
  head -c 16 dump.bin | pybtf decode list_head -
"""
