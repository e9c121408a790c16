"""Names of source languages, as `--lang` and `--lang-exclude` take them, and DWARF's numbers for them.

Names are those of pahole 1.32, compared without regard to case. Numbers are DW_LANG_* of DWARF 5,
section 7.12; assembler's is the vendor code that gas and LLVM write.
"""

from __future__ import annotations

import os

from pybtf.errors import UsageError, quoted, unknown

LANGUAGES = {
    "ada83": 0x03,
    "ada95": 0x0D,
    "asm": 0x8001,
    "bliss": 0x25,
    "c": 0x02,
    "c89": 0x01,
    "c99": 0x0C,
    "c11": 0x1D,
    "c++": 0x04,
    "c++03": 0x19,
    "c++11": 0x1A,
    "c++14": 0x21,
    "cobol74": 0x05,
    "cobol85": 0x06,
    "d": 0x13,
    "dylan": 0x20,
    "fortran77": 0x07,
    "fortran90": 0x08,
    "fortran95": 0x0E,
    "fortran03": 0x22,
    "fortran08": 0x23,
    "go": 0x16,
    "haskell": 0x18,
    "java": 0x0B,
    "julia": 0x1F,
    "modula2": 0x0A,
    "modula3": 0x17,
    "objc": 0x10,
    "objc++": 0x11,
    "ocaml": 0x1B,
    "opencl": 0x15,
    "pascal83": 0x09,
    "pli": 0x0F,
    "python": 0x14,
    "renderscript": 0x24,
    "rust": 0x1C,
    "swift": 0x1E,
    "upc": 0x12,
}

EXCLUDE_VARIABLE = "PAHOLE_LANG_EXCLUDE"
"""Environment variable that stands for `--lang-exclude` when neither language option is given."""


def language_name(code: int) -> str:
    """The name of a language by DWARF's number; one without a name as a number."""
    return next((name for name, number in LANGUAGES.items() if number == code), f"{code:#x}")


def parse_languages(text: str) -> frozenset[int]:
    """The DW_LANG codes of a comma-separated list of names. Empty elements vanish, as in lists of features.

    Raises `UsageError`, naming the languages there are, for other names, and if there is none.
    """
    if not text.strip(","):
        raise UsageError(f"the list of languages {quoted(text)} names none")
    codes = set()
    for name in filter(None, text.split(",")):
        code = LANGUAGES.get(name.lower())
        if code is None:
            from pybtf.support.suggest import did_you_mean

            raise unknown("language", name, LANGUAGES, hint=did_you_mean(name.lower(), LANGUAGES))
        codes.add(code)
    return frozenset(codes)


def excluded_by_environment() -> str | None:
    """What stands for `--lang-exclude` if no option names languages; None: nothing. Raises `UsageError`."""
    text = os.environ.get(EXCLUDE_VARIABLE)
    if not text:
        return None
    try:
        parse_languages(text)
    except UsageError as error:
        raise UsageError(f"{EXCLUDE_VARIABLE}: {error}") from None
    return text
