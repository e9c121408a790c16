"""Numbers of the core by the names that the rest of pybtf knows them by. Only these names leave the core.

`tests/project/test_constants.py` compares them with the numbers' own names.
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.pybtf.core.dedup.type_graph import N_DEDUP
from cython.cimports.pybtf.core.encode.encoder import N_ENCODE_ERRORS
from cython.cimports.pybtf.core.functions.function_merge import FATE_N
from cython.cimports.pybtf.core.model.encoded_unit import N_COUNTS
from cython.cimports.pybtf.core.model.faults import *
from cython.cimports.pybtf.core.model.options import *
from cython.cimports.pybtf.core.model.traces import TRACE_DECLARED, TRACE_EXCLUDED, TRACE_EXCLUDED_VAR
from cython.cimports.pybtf.core.values.unit_layout import *

COUNT_NAMES = (
    "functions", "remembered", "no_symbol", "unnamed_parameter", "nameless", "variables", "var_kept", "var_section",
    "var_nameless", "var_prefix", "var_no_symbol", "var_invalid_name", "var_void", "var_size", "skipped_tags",
    "var_declaration", "var_no_address", "partial", "signatures_lost", "tags_cut", "alternate_lost",
    "damaged", "left_out",
)  # fmt: skip
ERROR_NAMES = ("", "memory", "too_many", "arena", "section", "effort", "changed", "bug")  # of ENCODE_*
DEDUP_NAMES = ("", "memory", "cycle", "kind", "large", "effort")  # of DEDUP_*
OPTIONS = {  # by feature, but `variables` and `degrade`
    "float": OPT_FLOAT,
    "enum64": OPT_ENUM64,
    "decl_tag": OPT_DECL_TAG,
    "type_tag": OPT_TYPE_TAG,
    "variables": OPT_VARIABLES,
    "true_signature": OPT_TRUE_SIGNATURE,
    "consistent_func": OPT_CONSISTENT,
    "decl_tag_kfuncs": OPT_KFUNC_TAGS,
    "attributes": OPT_ATTRIBUTES,
    "degrade": OPT_DEGRADE,
}
OPTIONAL = {  # ways to be quicker, which tests and benchmarks can leave out
    "reduction": WITHOUT_REDUCTION,
    "restoring": WITHOUT_RESTORING,
    "glance": WITHOUT_GLANCE,
    "late_names": WITHOUT_LATE_NAMES,
    "guesses": WITHOUT_GUESSES,
    "known_decls": WITHOUT_KNOWN_DECLS,
    "reading": WITHOUT_READING,
    "refuted": WITHOUT_REFUTED,
    "models": WITHOUT_MODELS,
    "likes": WITHOUT_LIKES,
}
VALUES = {  # of unit values in bytes (core/values/unit_layout.pxd): words of the head, and bits of a function
    "head": H_WORDS_OF_HEAD,
    "name": H_NAME,
    "types": H_TYPES,
    "words": H_WORDS,
    "tags": H_TAGS,
    "functions": H_FUNCTIONS,
    "function_words": H_FUNCTION_WORDS,
    "variables": H_VARIABLES,
    "variable_words": H_VARIABLE_WORDS,
    "first_bytes": H_FIRST_BYTES,
    "string_bytes": H_STRING_BYTES,
    "digest": DIGEST_WORDS,
    "function_head": FUNCTION_HEAD,
    "function_digest": FUNCTION_DIGEST,
    "elements": FUNCTION_ELEMENTS,
    "unnamed": cython.cast(uint32_t, FUNCTION_UNNAMED),
    "empty_name": FUNCTION_EMPTY_NAME,
    "discarded": FUNCTION_DISCARDED,
}
FATE_NAMES = (
    "unseen", "emitted", "unexpected", "inconsistent", "uncertain", "reordered", "optimized", "ambiguous",
    "invalid_name",
)  # fmt: skip
FAULT_NAMES = {
    FAULT_MEMORY: "memory",
    FAULT_TRUNCATED: "truncated",
    FAULT_LEB: "leb",
    FAULT_STRING: "string",
    FAULT_FORM: "form",
    FAULT_ABBREV_CODE: "abbrev_code",
    FAULT_ABBREV_OFFSET: "abbrev_offset",
    FAULT_OFFSET: "offset",
    FAULT_REFERENCE: "reference",
    FAULT_VERSION: "version",
    FAULT_UNIT_LENGTH: "unit_length",
    FAULT_DEPTH: "depth",
    FAULT_UNIT_TAG: "unit_tag",
    FAULT_ORIGIN: "origin",
    FAULT_ADDRESS_SIZE: "address_size",
    FAULT_TOO_MANY: "too_many",
    FAULT_CYCLE: "cycle",
    FAULT_INDEX: "index",
    FAULT_SHARED: "shared",
    FAULT_SIZE: "size",
    FAULT_TAGS: "tags",
    FAULT_UNIT_TYPE: "unit_type",
    FAULT_SPLIT: "split",
    FAULT_ALTERNATE: "alternate",
    FAULT_ALTERNATE_REF: "alternate_ref",
    FAULT_ALTERNATE_STRING: "alternate_string",
    FAULT_NESTED: "nested",
    FAULT_SPLIT_FORM: "split_form",
    FAULT_UNSUPPORTED_TAG: "unsupported_tag",
    FAULT_NO_NAME: "no_name",
    FAULT_FLOAT_COMPLEX: "float_complex",
    FAULT_FLOAT_SIZE: "float_size",
    FAULT_MEMBER_OFFSET: "member_offset",
    FAULT_BITFIELD_OFFSET: "bitfield_offset",
    FAULT_UNION_OFFSET: "union_offset",
    FAULT_ENUM_VALUE: "enum_value",
    FAULT_ENUM_SIZE: "enum_size",
    FAULT_VARIABLE_NAME: "variable_name",
    FAULT_VARIABLE_TYPE: "variable_type",
    FAULT_EMPTY_TAG: "empty_tag",
    FAULT_INT_SIZE: "int_size",
    FAULT_MEMBER_END: "member_end",
    FAULT_VALUES: "values",
    FAULT_DISCARDED: "discarded",
    FAULT_LEFT_OUT: "left_out",
    FAULT_NO_SIZE: "no_size",
    FAULT_BITFIELD_TYPE: "bitfield_type",
    FAULT_STATIC_MEMBER: "static_member",
    FAULT_MEMBER_ORDER: "member_order",
    FAULT_VARIANTS: "variants",
    FAULT_ARRAY_SIZE: "array_size",
    FAULT_VOID_RESULT: "void_result",
    FAULT_ATTRIBUTES: "attributes",
    FAULT_REST: "rest",
}
TRACE_NAMES = {
    **dict(enumerate(COUNT_NAMES)),
    TRACE_DECLARED: "declared",
    TRACE_EXCLUDED: "excluded",
    TRACE_EXCLUDED_VAR: "var_excluded",
}
if len(COUNT_NAMES) > TRACE_DECLARED:
    raise AssertionError("two traces have one number")
if [len(COUNT_NAMES), len(FATE_NAMES), len(ERROR_NAMES), len(DEDUP_NAMES)] != [
    N_COUNTS, FATE_N, N_ENCODE_ERRORS, N_DEDUP
]:  # fmt: skip
    raise AssertionError("a number of the core has no name")
