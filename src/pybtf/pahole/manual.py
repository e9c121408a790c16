"""The help texts of `pybtf-pahole`."""

USAGE = """\
Usage: pybtf-pahole -J [OPTION...] FILE
       pybtf-pahole --btf_encode_detached=OUT [OPTION...] FILE
       pybtf-pahole -F btf [OPTION...] [FILE | NAME]
       pybtf-pahole --version | --numeric_version | --supported_btf_features | --help"""

HELP = (
    USAGE
    + """

Encode the DWARF of the ELF file FILE as BTF. This is pybtf with the command line of pahole 1.32, for builds
that call pahole: `make PAHOLE=pybtf-pahole`. Without -J, print structs and unions from the BTF of FILE, with
pahole's text; without FILE, those of the running kernel. -F btf is needed only with ELF files. Options of
pahole that are not about BTF are refused.

  -J, --btf_encode           Put the BTF into FILE, as section .BTF
      --btf_encode_detached=OUT
                             Write the BTF to the file OUT, and only read FILE
      --btf_base=FILE        Encode only what the BTF of this kernel does not have: for modules
  -j, --jobs[=N]             At most N workers; without N, one on each CPU; without -j, one. If make offers its
                             jobserver, only as many as it has tokens for. No influence on the output
      --lang=LIST, --lang_exclude=LIST
                             Encode only units, or leave out units, in these languages
  -F, --format_path=LIST     Accepted if it has dwarf in it; if types are to be printed, btf
  -V, --verbose              Say on standard error what was written, and what was left out and why
  -q, --quiet                Print errors only

Features:
      --btf_features=LIST, --features=LIST
                             Switch on these features and, the first time, off all others. `default` and `all`
                             stand for sets, a + in front for the default set. Unknown names are ignored
      --btf_features_strict=LIST
                             The same, but an unknown name is an error
      --btf_gen_all          Switch on all
      --btf_encode_force, --btf_gen_floats, --btf_gen_optimized, --btf_attributes, --reproducible_build,
      --skip_encoding_btf_inconsistent_proto
                             Switch on encode_force, float, optimized_func, attributes, reproducible_build,
                             consistent_func
      --skip_encoding_btf_vars, --skip_encoding_btf_decl_tag, --skip_encoding_btf_type_tag,
      --skip_encoding_btf_enum64
                             Switch off var, decl_tag, type_tag, enum64

Types that are printed (as by `pybtf show`, which says more):
  -C, --class_name=LIST      These, not all; separated by commas. file://PATH stands for the lines of a file
      --skip_missing         Ignore those of them that do not exist
  -E, --expand_types; -p, --expand_pointers; -r, --rel_offset; --hex; -q, --quiet
                             With the members of members, with those of what pointers point to, with offsets from
                             their own struct, with hexadecimal numbers, without comments
  -c, --cacheline_size=BYTES
                             The size of a cache line; default: 64
  -R, --reorganize; -S, --show_reorg_steps
                             With the members in an order that leaves fewer holes; step by step. With -V, only
                             the moves
  --flat_arrays; --suppress_packed; --suppress_aligned_attribute
                             With arrays of arrays as one; without the attributes packed, aligned
  -s, --sizes; -n, --nr_members; -N, --class_name_len; -t, --separator=SEP
                             A line for each: name, size, holes; number of members; length of the name
  -m, --nr_methods           A line for each struct to which functions take pointers: name, number of parameters
  -T, --nr_definitions       A line for each: name, how many are like it. Only options after it print other lines
  -P, --packable             A line for each that gets smaller by -R: name, both sizes, difference
  -H, --holes=N; -B, --bit_holes=N; -z, --hole_size_ge=N; --padding_ge=N; --packed; --structs; --unions;
  --with_flexible_array; --with_embedded_flexible_array; -x, --exclude=PREFIX; -y, --prefix_filter=PREFIX
                             Which of them, if none is named
  -a, --anon_include; -A, --nested_anon_include
                             Also structs and unions without a name that a typedef names; with both, all of them
  -l, --show_first_biggest_size_base_type_member
                             With a line at the end for the member that has the biggest element
      --sort                 Sort by name
  -i, --contains=NAME; -f, --find_pointers_to=NAME
                             Names of structs with such a member; members that are such pointers
      --contains_enumerator=NAME
                             The first enumeration that has it
  -u, --defined_in           With -C, -i or -f, only the name of the file, if it has such a type

      --version              Print v1.32, the version of pahole whose output this is
      --numeric_version      Print 132
      --supported_btf_features
                             Print the names of the features
      --check                Encode a small example, and say whether it became what it should; the only option
  -?, --help                 Print this text

Environment:
  PAHOLE_LANG_EXCLUDE        Used as --lang_exclude without an option about languages
  MAKEFLAGS                  Where make offers its jobserver
  PYBTF_PAHOLE_VERSION       The version to claim, for tests of build scripts: v1.24

Exit status: 0 done; 1 the output was not written, and a message says why; 64 the command line is at fault;
70 a bug in pybtf. docs/kernel.md says more."""
)
