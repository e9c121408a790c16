"""Every rule: what is wrong in plain words, what a kernel answers, with which errno.

The number of a rule is its place in `RULES`, which has the order of the numbers in core/accept/accept.pxd; a test
compares the two. `text` and `message` are formats, of `value` (what was found), `at` (the number of the member,
enumerator, entry or parameter), `low` and `high` (the halves of the value); `message` also of `most` (the bits that a
number may have, by version).
"""

from __future__ import annotations

import errno

from pybtf.support.records import record

ENOTSUPP = 524
"""Known to kernels only: user space has no name for it."""

HEADER, RECORD, GRAPH, CHAIN, SPECIAL, FIT, ORDER = range(7)
"""What a rule is about, in the order in which kernels look; they know nothing of the last two."""

ERRNO_NAMES = {errno.EINVAL: "EINVAL", errno.E2BIG: "E2BIG", errno.EEXIST: "EEXIST", errno.ELOOP: "ELOOP",
               errno.ENOENT: "ENOENT", errno.EFAULT: "EFAULT", ENOTSUPP: "ENOTSUPP"}  # fmt: skip


@record(frozen=True)
class Rule:
    """`id` is that of docs/verify.md, `key` the name of its number. `since`: the first version that has it."""

    key: str
    id: str
    about: int
    text: str
    message: str
    errno: int = errno.EINVAL
    since: int = 418


def _h(key: str, id: str, text: str, message: str, code: int = errno.EINVAL, since: int = 418) -> Rule:
    return Rule(key, id, HEADER, text, message, code, since)


def _r(key: str, id: str, text: str, message: str, code: int = errno.EINVAL, since: int = 418) -> Rule:
    return Rule(key, id, RECORD, text, message, code, since)


def _g(key: str, id: str, text: str, message: str, code: int = errno.EINVAL, since: int = 418) -> Rule:
    return Rule(key, id, GRAPH, text, message, code, since)


RULES = (
    _h("HDR_LEN", "H1", "{value} bytes; a header has at least 8", "hdr_len not found"),
    _h("HDR_TRUNCATED", "H2", "the header claims {value} bytes, more than there are", "btf_header not found"),
    _h(
        "HDR_LONG",
        "H3",
        "byte {value} of the header, past the known fields, is not 0",
        "Unsupported btf_header",
        errno.E2BIG,
    ),
    _h("MAGIC", "H4", "magic {value:#06x}; it is 0xeb9f in the kernel's byte order", "Invalid magic"),
    _h("VERSION", "H5", "version {value}; there is only 1", "Unsupported version", ENOTSUPP),
    _h("FLAGS", "H6", "flags {value:#x}; there are none", "Unsupported flags", ENOTSUPP),
    _h("NO_DATA", "H7", "nothing after the header", "No data"),
    _h("SECTION_OFFSET", "H8", "a section begins at {value}, past the end", "Invalid section offset"),
    _h("SECTION_GAP", "H9", "{value} bytes belong to no section", "Unsupported section found"),
    _h("SECTION_OVERLAP", "H10", "a section begins at {value}, inside another", "Section overlap found"),
    _h("SECTION_LENGTH", "H11", "a section of {value} bytes extends past the end", "Total section length too long"),
    _h("STRINGS_NOT_LAST", "H12", "the strings are not at the end", "String section is not at the end"),
    _h("TOO_LARGE", "H14", "{value} bytes; at most 16 MiB", "", errno.E2BIG),
    _h("LAYOUT_ALIGN", "LAY", "the layout begins at {value}, not a multiple of 4", "Unaligned layout_off", since=701),
    _h("LAYOUT_SMALL", "LAY", "a layout of {value} bytes", "Layout section is too small", since=701),
    _h(
        "LAYOUT_MULTIPLE",
        "LAY",
        "a layout of {value} bytes, not a multiple of 4",
        "layout_len is not multiple of 4",
        since=701,
    ),
    _h(
        "STRINGS",
        "S1",
        "{value} bytes of strings; 1 byte to 16 MiB (before 5.4: 64 KiB), and the last is NUL",
        "Invalid string section",
    ),
    _h("STRINGS_START", "S2", "the first string is not the empty one", "Invalid string section"),
    _h("TYPES_ALIGN", "T1", "the types begin at {value}, not a multiple of 4", "Unaligned type_off"),
    _h("NO_TYPES", "T2", "no types", "No type found"),
    _r("HEAD", "T3", "{value} bytes are left, a record has at least 12", "meta_left:{value} meta_needed:12"),
    _r("TAIL", "T7", "{low} bytes are left, the record needs {high} more", "meta_left:{low} meta_needed:{high}"),
    _r("INFO", "T4", "bits that no kind has are set in {value:#010x}", "Invalid btf_info:{value:x}"),
    _r("KIND", "T5", "kind {value}, which the kernel does not know", "Invalid kind:{value}"),
    _r("NAME_OFFSET", "T6", "a name at {value}, past the end of the strings", "Invalid name_offset:{value}"),
    _r("VLEN", "vlen", "{value} elements, but this kind has none", "vlen != 0"),
    _r("FLAG", "kf", "the kind flag is set, but this kind has none", "Invalid btf_info kind_flag"),
    _r("NAME_BAD", "N1", "the name is not an identifier", "Invalid name"),
    _r("NAME_NEEDED", "N4", "no name", "Invalid name"),
    _r("NAME_NONE", "N5", "a name, but this kind has none", "Invalid name"),
    _r("NAME_SECTION", "N7", "not a valid name for a section", "Invalid name"),
    _r("TAG_VALUE", "N8", "an empty tag", "Invalid value"),
    _r("TAG_NAME", "N8", "an empty tag", "Invalid name"),
    _r("TYPE_ID", "T8", "type id {value}", "Invalid type_id"),
    _r("INT_DATA", "INT2", "unknown bits in {value:#010x}", "Invalid int_data:{value:x}"),
    _r(
        "INT_WIDE",
        "INT3",
        "offset and bits add up to {value}; at most 128 (before 5.1: 64)",
        "nr_bits exceeds {most}",
    ),
    _r("INT_SIZE", "INT4", "{value} bits, more than its bytes have", "nr_bits exceeds type_size"),
    _r("INT_ENCODING", "INT5", "encoding {value}; it is 0, 1, 2 or 4", "Unsupported encoding", ENOTSUPP),
    _r("FLOAT_SIZE", "FLT1", "{value} bytes; 2, 4, 8, 12 or 16", "Invalid type_size"),
    _r("FWD_TYPE", "FWD1", "the third word is {value}; it is 0", "type != 0"),
    _r("ENUM_SIZE", "ENUM1", "{value} bytes; 1, 2, 4 or 8 (before 5.4: 4)", "Unexpected size"),
    _r(
        "ENUM_NAME_OFFSET",
        "ENUM3",
        "enumerator {at}: a name at {value}, past the end of the strings",
        "Invalid name_offset:{value}",
    ),
    _r("ENUM_NAME", "ENUM3", "enumerator {at}: the name is not an identifier", "Invalid name"),
    _r("ARRAY_SIZE", "ARR1", "the third word is {value}; it is 0", "size != 0"),
    _r("ARRAY_ELEM", "ARR2", "elements of type id {value}", "Invalid elem"),
    _r("ARRAY_INDEX", "ARR2", "an index of type id {value}", "Invalid index"),
    _r(
        "MEMBER_NAME_OFFSET",
        "MEM1",
        "member {at}: a name at {value}, past the end of the strings",
        "Invalid member name_offset:{value}",
    ),
    _r("MEMBER_NAME", "MEM1", "member {at}: the name is not an identifier", "Invalid name"),
    _r("MEMBER_VOID", "MEM2", "member {at} is of type id {value}", "Invalid type_id"),
    _r(
        "MEMBER_ORDER",
        "MEM3",
        "member {at} at bit {value}: offsets never decrease, and are 0 in a union",
        "Invalid member bits_offset",
    ),
    _r(
        "MEMBER_OFFSET",
        "MEM4",
        "member {at} at bit {value}, past the end",
        "Member bits_offset exceeds its struct size",
    ),
    _r("FUNC_LINKAGE", "FUN1", "linkage {value}; 0 is static, 1 is global", "Invalid func linkage", since=506),
    _r("VAR_LINKAGE", "VAR2", "linkage {value}; 0 is static, 1 is global", "Linkage not supported"),
    _r("SEC_EMPTY", "SEC1", "no entries", "vlen == 0"),
    _r("SEC_SIZE", "SEC1", "size 0", "size == 0"),
    _r("SEC_TYPE", "SEC2", "entry {at} is of type id {value}", "Invalid type_id"),
    _r(
        "SEC_OFFSET",
        "SEC3",
        "entry {at} at {value}: before the end of the previous one, or past the end",
        "Invalid offset",
    ),
    _r("SEC_ENTRY", "SEC4", "entry {at} has {value} bytes", "Invalid size"),
    _r("SEC_END", "SEC4", "entry {at} ends at {value}, past the end", "Invalid offset+size"),
    _r("SEC_SUM", "SEC4", "the entries have {value} bytes, more than the section", "Invalid btf_info size"),
    _r("TAG_COMPONENT", "DTG1", "component {value:#x}; it is at least -1", "Invalid component_idx"),
    _r("SURPLUS", "T8", "more than 1,048,574 types: this one and all after it are dropped", "", 0),
    _g("REF_MISSING", "REF2", "type {value} does not exist", "Invalid type_id"),
    _g("REF_KIND", "REF4", "type {value} is a variable, a section or a tag", "Invalid type_id"),
    _g("REF_FUNC", "REF5", "type {value} is a function", "Invalid type_id"),
    _g("LOOP", "LOOP1", "leads to type {value}, which leads back here", "Loop detected", errno.EEXIST),
    _g(
        "DEPTH",
        "LOOP2",
        "type {value} is the 33rd in a row that leads to one of larger id",
        "Exceeded max resolving depth:32",
        errno.E2BIG,
    ),
    _g("ELEM", "ARR3", "elements of type {value}, which has no size", "Invalid elem"),
    _g("INDEX", "ARR4", "an index of type {value}, which is not an INT of whole bytes", "Invalid index"),
    _g("ARRAY_INT", "ARR4", "elements of type {value}, an INT not of whole bytes", "Invalid array of int"),
    _g("ARRAY_OVERFLOW", "ARR5", "{value} elements: 4 GiB or more", "Array size overflows U32_MAX"),
    _g("VAR_TYPE", "VAR3", "type {value} has no size", "Invalid type_id"),
    _g("SEC_NOT_VAR", "SEC2", "entry {at}: type {value} is not a variable", "Not a VAR kind member"),
    _g("SEC_VAR_TYPE", "SEC5", "entry {at}: the type of variable {value} has no size", "Invalid type"),
    _g("SEC_VAR_SIZE", "SEC5", "entry {at} is smaller than the {value} bytes of its variable", "Invalid size"),
    _g("TAG_TARGET", "DTG2", "type {value} is not a struct, union, function, variable or typedef", "Invalid type_id"),
    _g("TAG_INDEX", "DTG3", "component {value}, but the type has no such component", "Invalid component_idx"),
    _g("MEMBER_TYPE", "MEM2", "member {at}: type {value} has no size", "Invalid member"),
    _g("MEMBER_EXCEEDS", "MEM5", "member {at} at bit {value} extends past the end", "Member exceeds struct_size"),
    _g(
        "MEMBER_COPY",
        "MEM5",
        "member {at}: {value} bits from its first byte on; at most 128 (before 5.1: 64)",
        "nr_copy_bits exceeds {most}",
    ),
    _g("MEMBER_BASE", "BIT2", "member {at} is of an INT not of whole bytes", "Invalid member base type"),
    _g("MEMBER_BIT", "BIT1", "member {at} at bit {value}, within a byte", "Invalid member offset"),
    _g("MEMBER_WIDTH", "BIT3", "member {at} is a bit-field of {value} bits", "Invalid member bitfield_size"),
    _g("MEMBER_BYTE", "MEM6", "member {at} at bit {value}, within a byte", "Member is not byte aligned"),
    _g("MEMBER_ALIGN", "MEM7", "member {at} at bit {value}, not aligned", "Member is not properly aligned"),
    _g("RETURN", "PRO2", "returns type {value}, which has no size", "Invalid return type"),
    _g("ARG", "PRO4", "parameter {at} is of type {value}, which has no size", "Invalid arg#{at}"),
    _g("ARG_NAME", "PRO5", "parameter {at}: the name is not an identifier", "Invalid arg#{at}"),
    _g("VARARG", "PRO3", "parameter {at} stands for any number, and has a name", "Invalid arg#{at}"),
    _g("FUNC_TARGET", "FUN2", "type {value} is not a prototype", "Invalid type_id"),
    _g("FUNC_ARG", "FUN3", "parameter {at} of prototype {value} has no name", "Invalid arg#{at}"),
    Rule("CHAIN", "CHN", CHAIN, "33 modifiers in a row", "Max chain length or cycle detected", errno.ELOOP, 519),
    Rule("CHAIN_MISSING", "CHN", CHAIN, "leads to type {value}, which does not exist", "", errno.EINVAL, 519),
    Rule(
        "TAG_ORDER",
        "TAG1",
        CHAIN,
        "a type tag after another modifier (allowed since 7.2)",
        "Type tags don't precede modifiers",
        errno.EINVAL,
        519,
    ),
    Rule("SPECIAL", "SPC", SPECIAL, "{value}", "", errno.EINVAL, 602),
    Rule("MIDDLE", "FIT1", FIT, "a name at {value}, in the middle of one of the base's", "", 0),
    Rule("OVERLAP", "FIT5", FIT, "member {at} begins at bit {value}, inside the previous one", "", 0),
    Rule(
        "UNSORTED",
        "ORD",
        ORDER,
        "types are not sorted by name from here on: kernels since 7.0 use binary search, and miss most names",
        "",
        0,
        700,
    ),
)

NUMBERS = {rule.key: number for number, rule in enumerate(RULES)}
PARAMETERS = {"ARG", "ARG_NAME", "VARARG", "FUNC_ARG"}
"""Rules that count from 1."""
