"""The vocabulary of `pybtf why`: reasons, and what can be done about each.

The reasons of the report (report.py) keep their names, and the core's words for them. There are more of them here: the
report counts what an encoding leaves out, but a user may also ask for a name that the encoding never met.
"""

from __future__ import annotations

from pybtf.errors import UsageError, quoted, unknown
from pybtf.report import FUNCTION_REASONS, REASON_OF_DESCRIPTION, REASON_OF_VARIABLE, VARIABLE_REASONS

IN_BTF = ""
"""Stands for a reason where there is none."""

FUNCTIONS = {
    **FUNCTION_REASONS,
    "declaration": "only declared, never defined in a unit that is encoded",
    "no_description": "a function symbol, but no DWARF describes the function",
    "clone": "the name of a clone; BTF has functions by the name in the source",
    "part": "a part of a function, which the compiler has put elsewhere",
    "padding": "the padding in front of a function, not a function",
    "renamed": "in BTF by the name of its symbol",
    "language": "defined only in units of a language that is left out",
}
OF_SYMBOLS = ("clone", "part", "padding")
"""The reasons of names that only the symbol table has; `by_reason` misses some or all of them."""
VARIABLES = {
    **VARIABLE_REASONS,
    "language": "defined only in units of a language that is left out",
}
TYPES = {
    "not_encoded": "described by DWARF, but not by a unit that is encoded, or only inside code that is inlined",
}
NOT_FOUND = "not_found"
UNKNOWN = "no function, type or global variable of the file has this name"
UNKNOWN_OF = {
    "function": "no function of the file has this name",
    "variable": "no global variable of the file has this name",
}
"""Instead of that, if it was asked for as one of these."""
ELSEWHERE = "there is only an undefined symbol of this name; the code is in another file"
"""Instead of that, of what a program takes from a library."""

FUNCTION_TRACES = {
    **REASON_OF_DESCRIPTION,
    "excluded": "language",
    "declared": "declaration",
}
"""The reason by the core's word for what became of a description of a function. Of several, the first here is told."""

_DECLARED = "var_declaration"
VARIABLE_TRACES = {
    **{word: reason for word, reason in REASON_OF_VARIABLE.items() if word != _DECLARED},
    "var_excluded": "language",
    _DECLARED: REASON_OF_VARIABLE[_DECLARED],
}
"""The same of variables."""

RETURNED = "unexpected_register: returned in memory"
FLOATING = "unexpected_register: floating point"
"""Causes of that reason which have an advice of their own (words.py)."""
HEADER = "ambiguous_address: one function of a header"
"""The same of that reason."""
PREFIXED = "no_description: renamed after it was compiled"
MANGLED = "no_description: a symbol that a compiler has made of the name"
"""The same of that reason."""
COMPLETE = "declaration: in a file that is complete"
"""The same of that reason: there is no other file to be asked."""
DECLARED_CODE = "declaration: with a symbol"
"""The same of that reason: this file has the code."""
EVEN_THEN = "With them, the function would not be in BTF either, because its symbol is another name:"
"""In front of the advice about such symbols."""
_TRUE = "The feature true_signature encodes the parameters that are really passed, where they can be told."
ADVICE = {
    ("function", "no_symbol"): (
        "Mark it noinline, so that there is code to attach to; or attach to one of the functions that it is inlined "
        "into."
    ),
    ("function", "declaration"): "Ask the file that defines it: the kernel itself, another module, or a library.",
    ("function", COMPLETE): (
        "C only declares it, and this file is complete: it is written in assembler, made by the linker script, or "
        "defined nowhere, because nothing calls it."
    ),
    ("function", DECLARED_CODE): (
        "C only declares it; its code is written in assembler, is an alias, or comes from a unit compiled without -g: "
        "there is no definition to take a prototype from. A kprobe needs none."
    ),
    ("function", "no_description"): (
        "It is written in assembler, is an alias, is one of two equal functions that the compiler merged, or comes "
        "from a unit compiled without -g: there is no prototype for it. A kprobe needs none."
    ),
    ("function", PREFIXED): (
        "The build has put a prefix in front of the symbols of this object after it was compiled; BTF has functions by "
        "the names that DWARF and the symbol table agree on. A kprobe needs no prototype."
    ),
    ("function", MANGLED): (
        '#[no_mangle] of Rust and extern "C" of C++ give the symbol the name that DWARF has. A kprobe needs no '
        "prototype."
    ),
    ("function", "clone"): "Ask for the name without the suffix.",
    ("function", "padding"): "Ask for the name without __pfx_.",
    ("function", "part"): "Ask for the name without the suffix: nothing calls this part from outside.",
    ("function", "language"): "Leave its language out of --lang-exclude.",
    ("function", "unexpected_register"): (
        "Mark it noinline and __noclone: the compiler then keeps to the calling convention. A kprobe can read the "
        f"register itself. {_TRUE}"
    ),
    ("function", RETURNED): "Return it through a pointer that is passed; or read the registers with a kprobe.",
    ("function", FLOATING): "Pass a pointer to the number; or read the registers with a kprobe.",
    ("function", "inconsistent"): (
        "Rename one of them, or make the prototypes agree: one name can have only one prototype. Of functions that "
        "exist once and are inlined elsewhere, the feature true_signature takes the real one."
    ),
    ("function", "uncertain_location"): "Pass a pointer to the struct instead of the struct itself.",
    ("function", "reordered"): f"Mark it noinline and __noclone, so that all parameters stay. {_TRUE}",
    ("function", "optimized"): f"Mark it noinline and __noclone, so that all parameters stay. {_TRUE}",
    ("function", "ambiguous_address"): (
        "Rename one of them, or make one __always_inline: a tracer that is given the name cannot tell which is meant."
    ),
    ("function", HEADER): (
        "It is one function of a header, of which several units have code of their own. Make it __always_inline, or "
        "move it into one unit."
    ),
    ("function", "unnamed_parameter"): "Name all parameters.",
    ("variable", "section"): (
        "The feature global_var encodes variables of all sections; without it, only those of .data..percpu count."
    ),
    ("variable", "no_address"): (
        "Only variables with a fixed address can be in BTF: those that are used, not __thread, and static or global."
    ),
    ("variable", "declaration"): "Ask the file that defines it: the kernel itself, another module, or a library.",
    ("variable", COMPLETE): (
        "C only declares it, and this file is complete: it is made by the linker script or in assembler, or defined "
        "nowhere, because nothing uses it."
    ),
    ("variable", "generated"): "No program asks for a name that differs in every build.",
    ("variable", "no_symbol"): "It seems to have been discarded by the linker: other variables lie where it would be.",
    ("variable", "language"): "Leave its language out of --lang-exclude.",
    ("type", "not_encoded"): "Use it in a function, a variable or a type that is encoded.",
}


def check_reason(text: str) -> tuple[str, str]:
    """What `REASON`, `function:REASON` or `variable:REASON` asks for: `function` or `variable`, and the reason, which
    is IN_BTF for `in_btf`. Raises `UsageError`.
    """
    kind, colon, reason = text.rpartition(":")
    if not colon:
        kind = "variable" if reason in VARIABLES and reason not in FUNCTIONS else "function"
    reasons = {"function": FUNCTIONS, "variable": VARIABLES}.get(kind)
    if reasons is None:
        raise UsageError(f"{quoted(text)}: reasons are of a function or a variable")
    if reason == "in_btf":
        return kind, IN_BTF
    if reason not in reasons:
        known = [*(reasons if colon else {**FUNCTIONS, **VARIABLES}), "in_btf"]
        raise unknown("reason", reason, known, of=quoted(text) if colon else "")
    return kind, reason
