"""Every option of pahole 1.13 to 1.32, in one table: how it is spelt, whether it takes a value, what it means here.

A row is (letter, name, value, effect, argument of the effect). Value: NONE, REQUIRED, OPTIONAL (attached only). The
effects are methods of `request.Request`: `_NAME(argument, value, spelling)`. Options of pahole that have nothing to do
with BTF have the effect `foreign`; they are here so that they can be told from misspelt ones, and so that an
abbreviation is ambiguous exactly where it is for pahole.
"""

from __future__ import annotations

NONE, REQUIRED, OPTIONAL = 0, 1, 2

class Option:
    """A row. Not a named tuple: `typing` and `collections` take longer to import than a command line to read."""

    __slots__ = ("argument", "effect", "letter", "name", "value")

    def __init__(self, letter: str, name: str, value: int, effect: str, argument: str) -> None:
        self.letter = letter
        self.name = name
        self.value = value
        self.effect = effect
        self.argument = argument


_ROWS = (
    # What is asked for.
    ("J", "btf_encode", NONE, "encode", ""),
    ("", "btf_encode_detached", REQUIRED, "keep", "detached"),
    ("", "btf_base", REQUIRED, "keep", "base"),
    ("j", "jobs", OPTIONAL, "jobs", ""),
    ("", "lang", REQUIRED, "keep", "lang"),
    ("", "lang_exclude", REQUIRED, "keep", "lang_exclude"),
    ("F", "format_path", REQUIRED, "formats", ""),
    ("V", "verbose", NONE, "level", "1"),
    ("q", "quiet", NONE, "level", "-1"),
    # Features, as lists and one by one.
    ("", "btf_features", REQUIRED, "features", ""),
    ("", "features", REQUIRED, "features", ""),
    ("", "btf_features_strict", REQUIRED, "features", "strict"),
    ("", "btf_gen_all", NONE, "all_features", ""),
    ("", "btf_encode_force", NONE, "switch_on", "encode_force"),
    ("", "btf_gen_floats", NONE, "switch_on", "float"),
    ("", "btf_gen_optimized", NONE, "switch_on", "optimized_func"),
    ("", "btf_attributes", NONE, "switch_on", "attributes"),
    ("", "reproducible_build", NONE, "switch_on", "reproducible_build"),
    ("", "skip_encoding_btf_inconsistent_proto", NONE, "switch_on", "consistent_func"),
    ("", "skip_encoding_btf_vars", NONE, "switch_off", "var"),
    ("", "skip_encoding_btf_decl_tag", NONE, "switch_off", "decl_tag"),
    ("", "skip_encoding_btf_type_tag", NONE, "switch_off", "type_tag"),
    ("", "skip_encoding_btf_enum64", NONE, "switch_off", "enum64"),
    # Questions about the program.
    ("", "version", NONE, "answer", "version"),
    ("", "supported_btf_features", NONE, "answer", "features"),
    ("?", "help", NONE, "answer", "help"),
    ("", "usage", NONE, "answer", "usage"),
    ("", "numeric_version", NONE, "answer_later", "numeric_version"),
    ("", "devel_version", NONE, "answer_later", "devel_version"),
    # Of no influence on what is encoded. With an argument, refused where types are printed, for that reason.
    ("", "hashbits", REQUIRED, "hash_bits", ""),
    ("", "skip_missing", NONE, "skip_missing", ""),
    ("I", "show_decl_info", NONE, "nothing", "BTF does not say where a type is declared; pybtf show --provenance does"),
    ("", "ptr_table_stats", NONE, "nothing", ""),
    # Of no influence on what is printed from BTF either; the last three are about C++.
    ("d", "recursive", NONE, "nothing", ""),
    ("M", "show_only_data_members", NONE, "nothing", ""),
    ("", "classes_as_structs", NONE, "nothing", ""),
    ("", "show_private_classes", NONE, "nothing", ""),
    # Nothing that is printed from BTF has such paddings.
    ("", "suppress_force_paddings", NONE, "nothing", ""),
    # Of influence on what is encoded, and not supported.
    ("X", "cu_exclude", REQUIRED, "unsupported", "to leave out units, use --lang_exclude"),
    # These are of no influence on what is printed.
    ("", "kabi_prefix", REQUIRED, "not_encoded", "no kernel build uses it"),
    ("", "fixup_silly_bitfields", NONE, "not_encoded", "no kernel build uses it"),
    ("", "first_obj_only", NONE, "not_encoded", "one file is encoded at a time anyway"),
    ("", "skip_emitting_atomic_typedefs", NONE, "not_encoded", "it is about C that compiles"),
)

_PRINTING = """
a anon_include            A nested_anon_include      B bit_holes=             c cacheline_size=
C class_name=             - contains_enumerator=     E expand_types
f find_pointers_to=       - flat_arrays              - hex                    H holes=
l show_first_biggest_size_base_type_member           m nr_methods             T nr_definitions
u defined_in              - suppress_aligned_attribute
- suppress_packed
i contains=               n nr_members               N class_name_len         - packed
- padding_ge=             p expand_pointers          P packable               r rel_offset
R reorganize              - sort                     - structs                s sizes
S show_reorg_steps        t separator=               - unions                 - with_embedded_flexible_array
- with_flexible_array     x exclude=                 y prefix_filter=         z hole_size_ge=
"""
"""About types that are printed."""

_FOREIGN = """
- compile                 - count=                   D decl_exclude=          - header_type=
- prettify=               - range=                   - running_kernel_vmlinux - seek_bytes=
- size_bytes=             - skip=                    w word_size=             Z ctf_encode
"""

INSTEAD = {
    "decl_exclude": "BTF does not say where a type is declared; pybtf show --provenance does",
    "word_size": "where members would lie then, BTF does not say",
    "compile": "pybtf dump FILE prints C that compiles; with --root NAME, what this type needs",
    "prettify": "pybtf decode --btf FILE NAME DATA prints bytes as values",
    "running_kernel_vmlinux": "without FILE, types are those of the running kernel",
}
"""What does the same, or nearly; or why nothing does."""


def _rows(text: str, effect: str) -> list[tuple[str, str, int, str, str]]:
    """Letter and name of each, with what the effect gets: the name."""
    words = text.split()
    return [
        (letter.strip("-"), name.rstrip("="), REQUIRED if name.endswith("=") else NONE, effect, name.rstrip("="))
        for letter, name in zip(words[::2], words[1::2], strict=True)
    ]


OPTIONS = tuple(Option(*row) for row in (*_ROWS, *_rows(_PRINTING, "print"), *_rows(_FOREIGN, "foreign")))
BY_LETTER = {option.letter: option for option in OPTIONS if option.letter}
BY_NAME = {option.name: option for option in OPTIONS}
