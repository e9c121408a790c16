"""The help texts, written by hand as one would a manual page, and printed without importing click.

tests/commands/test_cli.py compares them with the options that click knows: neither may have one the other lacks.
"""

from __future__ import annotations

from pybtf.cli.manual_merging import CC, DEDUP, MERGE, OBJECT
from pybtf.cli.manual_showing import DECODE, DUMP, DUPLICATES, SHOW, SIZE

PYBTF = """\
Usage: pybtf COMMAND [ARGUMENTS]
       pybtf --version | --help | help [COMMAND]

Encode BTF, the type information of the Linux kernel's BPF, from the DWARF in an ELF file: the same bytes
that pahole 1.32 makes. Print BTF with the same text as bpftool and pahole. Verify BTF by the rules of the
kernel's loader.

Commands:
  encode      Encode the DWARF of an ELF file as BTF
  dump        Print BTF as a C header, type by type, or as JSON
  show        Print the layout of structs: offsets, sizes, holes, cache lines
  size        Say where the bytes of BTF go
  duplicates  List names with several definitions, and where these differ
  object      Put values for BTF into object files, beside their code
  merge       Make BTF of a linked file from the values of its objects
  cc          Run a compiler, and put values for BTF into what it makes
  why         Say why a function, variable or type is in BTF, or not
  min-core    Cut a kernel's BTF down to what BPF objects need
  dedup       Make one BTF of several, each type once
  decode      Print the bytes of a file as values of a type
  verify      Say whether a kernel accepts BTF, and whether a module's fits its kernel
  diff        Say what changed between two BTFs: types, functions, variables
  reproduce   Encode again and again under changed circumstances, and compare
  completion  Print the script that makes a shell complete pybtf's arguments

Options:
  --version   Print the version
  -h, --help  Print this text; after a command, that command's

Examples:
  pybtf encode vmlinux                         put .BTF into a kernel
  pybtf encode --detached vmlinux.btf vmlinux  write it to a file of its own
  pybtf dump vmlinux.btf > vmlinux.h           the C header that BPF programs include
  pybtf show task_struct vmlinux               its members, holes and cache lines
  pybtf verify --base vmlinux module.ko        will this kernel accept the module's BTF?
  pybtf diff old/vmlinux new/vmlinux           what changed from one kernel to the other?
  pybtf reproduce --expect DIGEST vmlinux      is it what was recorded, on this machine too?

Exit status: 0 done; 1 the input or the machine is at fault; 2 the command line is; 3 done, with losses
(encode --degrade); 70 a bug in pybtf; 130 interrupted.
"""

ENCODE = """\
Usage: pybtf encode [OPTIONS] FILE...

Encode the DWARF of the ELF file FILE as BTF. Without --detached, the BTF becomes the section .BTF of FILE; an
existing .BTF is replaced. Whatever happens, even kill -9 or a full disk, FILE is afterwards either as it was
or complete. If anything in FILE is at fault, one message says what and where, nothing is written, and the
exit status is 1.

Several FILEs, a folder (the modules in it, *.ko) or a list are encoded side by side by the workers, each into
itself or into a file in DIR. If one is at fault, the others are still encoded; the exit status is then 1.

Input:
  --from-list LIST     Also encode the files that LIST names, one in each line; - is standard input
  --combine            Make one BTF of all FILEs, as pahole does. Without --detached it goes into the first
  --dwp FILE           The package with the .dwo files of one FILE (-gsplit-dwarf), if it is not FILE.dwp

Output:
  --detached OUT       Write raw BTF to OUT and only read FILE. OUT may be - for standard output
  --detached-dir DIR   Write the raw BTF of each FILE to DIR/NAME.btf; of a folder's files, NAME is the path
                       below it. FILE may then be compressed (x.ko.xz, .zst, .gz), as with --detached
  --report JSON        Write what was found and done to the file JSON: input, units, types, what was left out
                       and why, digests, timings
  --report-detail      With --report, of one FILE: also the names of all functions and variables by reason
  --provenance FILE    Of one FILE: write where each type and function is from, unit, DIE, file and line, and
                       why functions are left out, to a database for show, duplicates and diff

What is encoded:
  --degrade            Replace what BTF cannot express (references of C++, _Atomic...) and names that kernels
                       refuse; leave out units that are damaged. What was lost is printed; exit status 3
  --features LIST      Features, separated by commas; may be repeated, lists add up. Known are
                         encode_force, var, float, decl_tag, type_tag, enum64, optimized_func,
                         consistent_func, decl_tag_kfuncs,
                         reproducible_build, distilled_base, global_var, attributes, true_signature,
                         layout, force_cu_merging
                       and `default` for the first nine, which is what is encoded without this option;
                       `all`. A list replaces the default set; put + in front to add to it: `+NAME`
  --base FILE          Encode split BTF: only what the BTF in FILE, a kernel's, does not have. FILE is an ELF
                       file with .BTF, or raw BTF such as /sys/kernel/btf/vmlinux, which may be
                       compressed. Kernel modules need it: without one, they are refused
  --standalone         Encode kernel modules without a base, for other uses than loading them
  --force-base         Go on although the base is not that of the module's kernel
  --for-kernel VERSION
                       Leave out the features that a kernel of this version (5.15) does not know
  --lang LIST          Encode only units written in these languages (c11, rust, asm...)
  --lang-exclude LIST  Leave out units written in these languages. Without either option,
                       $PAHOLE_LANG_EXCLUDE is used, if set

How:
  -j, --jobs N         Number of workers; default: the CPUs this process may use. The output does not
                       depend on it

Messages (all on standard error):
  -q, --quiet          Print errors only
  -v, --verbose        Also print what was left out, counted by reason
  --progress / --no-progress
                       Show progress; default: if standard error is a terminal. Elsewhere, a line every few
                       seconds
  --timings            Print a tree of the passes with wall time, CPU time and share, and peak memory
  -h, --help           Print this text

Examples:
  pybtf encode vmlinux
  pybtf encode --detached vmlinux.btf --features +global_var vmlinux
  pybtf encode --detached - vmlinux | sha256sum
  pybtf encode --base vmlinux module.ko
  pybtf encode --base vmlinux --detached-dir btf /lib/modules/6.12.1/kernel
  pybtf encode -j 4 -v --timings --report vmlinux.json --detached vmlinux.btf vmlinux

Exit status: 0 done; 1 the input or the machine is at fault; 2 the command line is; 3 done, with losses
(--degrade).

Environment:
  PAHOLE_LANG_EXCLUDE  See --lang-exclude
  NO_COLOR             If set and not empty, no colours
"""

WHY = """\
Usage: pybtf why [OPTIONS] [NAME...] FILE

Say why functions, variables and types of the ELF file FILE are in its BTF, or are not: the verdict in one
sentence, and the evidence, from the DWARF. FILE is encoded for this, and not changed. A NAME may be a pattern
('tcp_*'), and may begin with struct, union, enum, typedef, function or variable; otherwise it is looked up as
a function, then as a variable, then as a type. Of a pattern that matches more than 100 names, or 10 types,
only the verdicts are printed.

Without NAME, print how many functions and variables there are by reason.

What is printed:
  --list REASON        All functions that are left out for REASON, or variables, one on each line; with NAME,
                       those that match. REASON may be in_btf. One that both have means functions, with
                       variable: in front of it variables
  --json               Print JSON: a list with an object for each name (name, kind, in_btf, reason, verdict,
                       advice, evidence, like), or for each reason

What the BTF is made of, as for pybtf encode:
  --features LIST      Features, separated by commas; may be repeated
  --degrade            Replace what BTF cannot express, leave out damaged units (pybtf encode --degrade)
  --dwp FILE           The package with the .dwo files of FILE (-gsplit-dwarf), if it is not FILE.dwp
  --base FILE          Encode split BTF on the BTF in FILE, as kernel modules do
  --standalone         Accept kernel modules without a base
  --force-base         Go on although the base is not that of the module's kernel
  --lang LIST          Only units written in these languages
  --lang-exclude LIST  Leave out units written in these languages. Without either option,
                       $PAHOLE_LANG_EXCLUDE is used, if set; otherwise rust is left out, as kernels do,
                       unless --degrade is given. '' leaves out none

How:
  -j, --jobs N         Number of workers; default: the CPUs this process may use
  -h, --help           Print this text

Examples:
  pybtf why tcp_sendmsg vmlinux                in BTF, from which unit, with which prototype?
  pybtf why 'tcp_*' vmlinux
  pybtf why vmlinux                            how many functions are left out, and why
  pybtf why --list inconsistent vmlinux
  pybtf why --json 'struct sock' vmlinux
  pybtf why --base vmlinux --features default,true_signature nft_do_chain nf_tables.ko

Exit status: 0 everything that was asked for is in BTF, or nothing was asked for by name, or with --list; 1
something is not, or FILE cannot be encoded; 2 the command line is at fault.

Environment:
  PAHOLE_LANG_EXCLUDE  See --lang-exclude
"""

MIN_CORE = """\
Usage: pybtf min-core BTF OBJECT... -o OUT

Write the part of a kernel's BTF that BPF programs need to be loaded on that kernel: the types and members
which their CO-RE relocations are about. It is for kernels that have no BTF of their own. For one program it
has a few hundred bytes, at most a few kilobytes. The bytes are those of
`bpftool gen min_core_btf BTF OUT OBJECT...`.

BTF is raw BTF or an ELF file with .BTF, which may be compressed; - is standard input. Each OBJECT is an ELF
file as clang makes it with -target bpf -g. A relocation that finds nothing in BTF needs nothing of it. One
for which two types of BTF give different answers is an error, as it is for a loader.

Options:
  -o, --output OUT     Write raw BTF to OUT; - is standard output
  -h, --help           Print this text

Examples:
  pybtf min-core vmlinux.btf prog.bpf.o -o prog.btf
  pybtf min-core /sys/kernel/btf/vmlinux *.bpf.o -o - | pybtf dump -
"""

VERIFY = """\
Usage: pybtf verify [OPTIONS] FILE...

Say whether a kernel accepts the BTF in each FILE, by the kernel's own rules, without asking one: all that is
wrong, which fault the kernel meets first, and what it answers. FILE is raw BTF, or an ELF file with .BTF,
which may be compressed (x.ko.xz, .zst, .gz); - is standard input; of a folder, the modules in it (*.ko).

The BTF of a BPF object is judged as a loader (libbpf) completes it: with the sizes and offsets that a
compiler leaves out, and without extern variables and functions.

A module's BTF is split from that of its kernel, and nothing ties the two together. On another base it means
something else, and a kernel may load it all the same. With --base, pybtf finds that out.

What is asked:
  --base FILE          The BTF of a kernel, for modules. May be repeated: pybtf names the one a module fits
  --kernel VERSION|all
                       As this version would answer, 4.18 or newer; default: the version that FILE is of, or
                       is for, if it says so; otherwise 7.3. With all, a table of those that differ
  --loader user|vmlinux|module
                       Who loads it; default: what FILE is for. A program (user), which is judged most
                       strictly; the kernel its own (vmlinux), or a module's
  --require-btf        Do not accept a module without BTF, though kernels load it
  --strict             Also fail for BTF that a kernel loads although it is odd, wrong or doubtful

Before the link:
  --btf-ids            Look up the names in .BTF_ids of each FILE as resolve_btfids will: those without a
                       type, with several, kfuncs without a tag. If that is done, compare the ids, and the
                       order of sets. Without .BTF, encode the DWARF. Of a folder: modules with .BTF_ids
  --btf FILE           With --btf-ids: look them up in this BTF

What can be mended:
  --fix OUT            Write FILE with BTF that the kernel (--kernel) accepts: what it does not know goes or
                       is replaced, as if it were not encoded, and entries of sections are sorted. OUT is then
                       verified. OUT is raw BTF if FILE is, else a copy of FILE, with - the BTF alone; FILE
                       stays as it is. What a BPF object says to its loader stays, too
  --rebase NEW         With --fix and --base: put a module's BTF on the vmlinux NEW, whose types mean the same

How:
  --from-list LIST     Also verify the files that LIST names, one in each line; - is standard input
  -j, --jobs N         Number of workers; default: the CPUs this process may use

Messages (on standard output):
  --json               Print the results as JSON
  -q, --quiet          Print only a line for each FILE that is not accepted
  -h, --help           Print this text

Examples:
  pybtf verify vmlinux
  pybtf verify --kernel all prog.bpf.o
  pybtf verify --base vmlinux /lib/modules/6.12.1
  pybtf verify --base old/vmlinux --base new/vmlinux module.ko.xz
  pybtf verify --btf-ids vmlinux.o
  pybtf verify --fix prog-5.10.o --kernel 5.10 prog.bpf.o

Exit status: 0 a kernel accepts all, and modules belong to their base; 1 something is rejected, belongs to
another base or cannot be read; 2 the command line is at fault.
"""

DIFF = """\
Usage: pybtf diff [OPTIONS] OLD NEW

Print what changed from the BTF in OLD to that in NEW, by meaning: types by kind and name, with their members
and values; functions by their prototypes, variables, kfuncs and tags. Ids, order and repeats do not matter,
and a type does not change because of what its pointers lead to. A line begins with + (added), - (removed) or
~ (changed); below a type or function that changed, each thing that differs has a line with its full place.
Members that only shifted together are one line. If nothing changed, nothing is printed. OLD and NEW are raw
BTF or ELF files with .BTF, which may be compressed; - is standard input. Of one that has only DWARF, BTF is
made first. Of two folders, the modules in them (*.ko) are compared by name.

Which changes:
  --only KINDS         Those of these kinds: structs, unions, enums, typedefs, functions, variables, kfuncs,
                       declarations, numbers, sections
  --name PATTERN       Those of names that match PATTERN: 'tcp_*', 'struct sock', 'struct sock.sk_*'. May be
                       repeated
  --ignore FILE        All but those that match a pattern in FILE, which has one in each line; # begins a
                       comment. May be repeated
  --fail-on CLASSES    Exit with status 1 if there are changes of these classes: layout (members that moved,
                       changed or are gone), size (of types and variables), signature (of functions and
                       variables), value (of enumerators), removed (with members and enumerators), kfunc
                       (kfuncs that are gone or called otherwise), relocation (with --object: one that
                       no longer finds anything), any

How:
  --stat               Print numbers only
  --reach              Also print which types, variables and functions have a type that changed
  --markdown           Print sections and lists, for release notes
  --json               Print a JSON object
  -q, --quiet          With --fail-on: print only the changes for which it fails
  -j, --jobs N         Number of workers; default: the CPUs this process may use

Instead of all changes:
  --object PROG        Those that the CO-RE relocations in the BPF object PROG meet: members, types and
                       enumerators that are no longer found, or have another place, size or value, with
                       the source lines that need them. May be repeated. To look in modules, too, make
                       OLD and NEW folders of modules, and name their kernels by --old-base and --new-base

What is read:
  --base FILE          The BTF that OLD and NEW are split from, as for pybtf dump
  --old-base FILE      The BTF that OLD is split from
  --new-base FILE      The BTF that NEW is split from
  --old-provenance FILE
                       What `pybtf encode --provenance` wrote of OLD: also print where things are declared
  --new-provenance FILE
                       The same of NEW
  --dwarf              OLD has DWARF: encode it, in memory, and compare the result with the BTF in NEW
  --features LIST      With --dwarf: features, as for pybtf encode

Options:
  -h, --help           Print this text

Examples:
  pybtf diff /boot/btf-6.1 /sys/kernel/btf/vmlinux
  pybtf diff --name 'struct sock' --name 'tcp_*' old/vmlinux new/vmlinux
  pybtf diff --fail-on removed,signature --only functions --ignore known old.btf new.btf
  pybtf diff --old-base old/vmlinux --new-base new/vmlinux old/modules new/modules
  pybtf diff --object prog.bpf.o --fail-on relocation old/vmlinux new/vmlinux
  pybtf diff --dwarf vmlinux vmlinux.btf

Exit status: 0 done; 1 with --fail-on if there are such changes, or the input is at fault; 2 the command line
is at fault.

Environment:
  NO_COLOR             If set and not empty, no colours
"""

REPRODUCE = """\
Usage: pybtf reproduce [OPTIONS] FILE...
       pybtf reproduce --lock LOCK [OPTIONS] [FILE...]

Encode the DWARF of each ELF file again and again, each time under other circumstances: 1 to N workers,
threads that are disturbed at random, another folder, locale, umask, hash seed, a copy at another path, little
and much memory. Compare the results with the first one and, if asked, with what was recorded or shipped. On
a difference, say where it is: in the header, in the types (the first that differs, both contents, the unit
it is from) or in the strings. The files are only read.

What is expected:
  --expect DIGEST      The SHA-256 of the raw BTF: `pybtf encode -q --detached - FILE | sha256sum`
  --against OTHER      The BTF in OTHER, raw or in an ELF file. What kernels from 7.0 on ship differs: sorted
  --write-lock LOCK    If nothing differs, record what was encoded and the digests in the file LOCK (- for
                       standard output; what is found is then printed on standard error)
  --lock LOCK          Check what LOCK has recorded, or these FILEs of it, with the features recorded there

What is encoded:
  --base FILE          As for pybtf encode: modules, on this BTF
  --standalone         As for pybtf encode
  --force-base         As for pybtf encode
  --features LIST      As for pybtf encode
  --lang LIST          As for pybtf encode
  --lang-exclude LIST  As for pybtf encode

How:
  -j, --jobs N         Largest number of workers to try; default: the CPUs this process may use, at least 2
  --rounds N           Number of encodings with disturbed threads; default: 2
  --skip NAMES         Leave out these circumstances: jobs N, crowd, scheduling N, folder, copy, locale,
                       hashing, umask, environment, little memory, much memory. N is a number, which -v
                       prints: --skip 'jobs 2,scheduling 1,copy'

Messages:
  --json               Print the results as JSON
  -q, --quiet          Print nothing about files that are as they should be
  -v, --verbose        Also print each encoding as it ends, on standard error
  -h, --help           Print this text

Examples:
  pybtf reproduce vmlinux
  pybtf reproduce --against pahole.btf vmlinux
  pybtf reproduce --write-lock btf.lock vmlinux
  pybtf reproduce --base vmlinux drivers/net/dummy.ko
  pybtf reproduce --lock btf.lock

Environment:
  PAHOLE_LANG_EXCLUDE  See pybtf encode

Exit status: 0 all the same; 1 something differs, or a file cannot be encoded; 2 the command line is at fault.
"""

COMPLETION = """\
Usage: pybtf completion bash|zsh|fish

Print the script that makes a shell complete pybtf's commands, options, features and languages.

Examples:
  bash:  pybtf completion bash > ~/.local/share/bash-completion/completions/pybtf
  zsh:   pybtf completion zsh > "${fpath[1]}/_pybtf"
  fish:  pybtf completion fish > ~/.config/fish/completions/pybtf.fish

Options:
  -h, --help  Print this text
"""

COMMANDS = {
    "encode": ENCODE, "dump": DUMP, "show": SHOW, "size": SIZE, "duplicates": DUPLICATES,
    "object": OBJECT, "merge": MERGE, "cc": CC, "why": WHY,
    "min-core": MIN_CORE, "dedup": DEDUP, "decode": DECODE, "verify": VERIFY, "diff": DIFF, "reproduce": REPRODUCE,
    "completion": COMPLETION,
}  # fmt: skip
