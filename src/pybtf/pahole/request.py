"""What a command line asks for: the effects of the options of `table.py`, one after the other, as pahole has them."""

from __future__ import annotations

import os
import stat

from pybtf.errors import InputError, UsageError, quoted
from pybtf.pahole.getopt import split
from pybtf.pahole.table import INSTEAD
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybtf.features import Features

NAMES = ("class_name", "contains", "find_pointers_to")
"""The options that name types. The last one says which."""

LINES = ("sizes", "nr_members", "class_name_len")
"""The options for a line of each type."""

DEFINITIONS = "nr_definitions"
"""The option for how many structs and unions there are of a name. Only options after it print anything else."""

LARGE_HOLES = "hole_size_ge"
"""The option for structs with a hole of so many bytes. Their names are printed, unless `-V` is in front of it."""

ABOUT_ENCODING = ("features", "all_features", "switch_on", "switch_off", "jobs")
"""Effects of options that say that something is to be encoded."""

STANDARD = ("var", "decl_tag", "type_tag", "enum64")
"""Features that are on without any list: what versions of pahole before the lists encoded."""

PURPOSE = (
    "pybtf-pahole stands in for pahole where BTF is encoded, pybtf-pahole -J [--btf_encode_detached=OUT] FILE, "
    "and where types are printed from it, pybtf-pahole -F btf [-C NAME] FILE; for all else use pahole itself"
)


class Answer(Exception):
    """The command line asks a question: print this and end, whatever comes after."""


class Request:
    """A command line, read. Raises `UsageError` for one that cannot be, `Answer` for a question."""

    def __init__(self, arguments: list[str]) -> None:
        self.files: list[str] = []
        self.kept: dict[str, str] = {}
        """Values of the options that have the effect `keep`: detached, base, lang, lang_exclude."""
        self.skips_missing = False
        """Types that are not there are passed over, with a message."""
        self.jobs: int | None = 1
        """Upper bound of the number of workers; None: as many as there are CPUs."""
        self.verbosity = 0
        """Of messages about encoding: 1 for -V, -1 for -q, whichever is last."""
        self.verbose = False
        self.quiet = False
        """Both count where types are printed, in any order."""
        self.formats: str | None = None
        """The list of -F."""
        self.printing: dict[str, str] = {}
        """Options about types that are printed, by pahole's long names, with their values."""
        self.by_word = False
        """The types that are printed are named by a word of its own, which might have been meant as a file."""
        self.line = ""
        """Of the options that print a line for each type, the last one."""
        self._printing_as = ""
        self._not_printed = ""
        """What is wrong if types are to be printed."""
        self._not_supported = ""
        """What is wrong if something is to be encoded."""
        self._asked = False
        self._encodes = False
        """There are options that only make sense where BTF is encoded."""
        self._on = set(STANDARD)
        self._listed = False
        self._later: str | None = None
        for option, value, spelling in split(arguments):
            if option is None:
                self.files.append(spelling)
            else:
                effect: Callable[[str, str | None, str], None] = getattr(self, f"_{option.effect}")
                effect(option.argument, value, spelling)
                self._encodes |= option.effect in ABOUT_ENCODING
        if self._later is not None:
            raise Answer(_text(self._later))
        self._check()

    def _check(self) -> None:
        if not self.prints:
            self._check_encoding()
        elif self._not_printed:
            raise UsageError(self._not_printed)
        else:
            self._find_types()
        if not self.files:
            raise UsageError("no input file is given")
        if len(self.files) > 1:
            raise UsageError(_too_many(self.files))
        if not self.file:
            raise InputError("the input file", "the name is empty", "the name of a file")

    def _find_types(self) -> None:
        """As with pahole, a lone word that is not a file names types, and no file means the running kernel's types."""
        words = [word for word in self.files if _is_word(word)]
        named = any(option in self.printing for option in NAMES)
        if len(words) == len(self.files) == 1 and not named:
            self.printing["class_name"] = self.files.pop()
            self.by_word = True
        elif words and not named:
            raise UsageError(f"{words[0]} is not a file; -C names a type: -C {words[0]} FILE")
        from pybtf.btf.files import RUNNING

        if not self.files and os.path.exists(RUNNING):  # noqa: PTH110
            self.files.append(RUNNING)

    def _check_encoding(self) -> None:
        if not self._asked and "detached" not in self.kept:
            raise UsageError(f"neither -J nor --btf_encode_detached is given. {PURPOSE}")
        if self._not_supported:
            raise UsageError(self._not_supported)
        if self.printing:
            raise UsageError(f"option {self._printing_as} of pahole has nothing to do with encoding BTF. {PURPOSE}")
        if self.formats is not None and "dwarf" not in self.formats.split(","):
            raise UsageError(f"-F {self.formats}: BTF is encoded from dwarf only. {PURPOSE}")

    @property
    def prints(self) -> bool:
        """Whether types are to be printed, not encoded."""
        if self._asked or "detached" in self.kept:
            return False
        if self.formats is not None and not self.printing:
            return "btf" in self.formats.split(",")
        return bool(self.printing) or (bool(self.files) and not self._encodes and not is_elf(self.files[0]))

    @property
    def file(self) -> str:
        return self.files[0]

    @property
    def detached(self) -> str | None:
        return self.kept.get("detached")

    @property
    def base(self) -> str | None:
        return self.kept.get("base")

    @property
    def lang(self) -> str:
        return self.kept.get("lang", "")

    @property
    def lang_exclude(self) -> str:
        """The option, or the environment variable if no option about languages is given."""
        if "lang" in self.kept or "lang_exclude" in self.kept:
            return self.kept.get("lang_exclude", "")
        value = os.environ.get("PAHOLE_LANG_EXCLUDE", "")
        if value:
            _check_languages("PAHOLE_LANG_EXCLUDE", value)
        return value

    def features(self) -> Features:
        """The features that are on. Distilling is for BTF in ELF files; with a detached file pahole ignores it too."""
        from pybtf.features import Features

        ignored = {"distilled_base"} if self.detached is not None else set()
        return Features(**dict.fromkeys(self._on - ignored, True))

    # Effects. Each gets the argument of its row in the table, the value that was given, and the spelling.

    def _encode(self, argument: str, value: str | None, spelling: str) -> None:
        self._asked = True

    def _keep(self, argument: str, value: str | None, spelling: str) -> None:
        assert value is not None
        if argument.startswith("lang"):
            _check_languages(spelling, value)
        elif not value:
            raise InputError(spelling, "the name is empty", "the name of a file")
        self.kept[argument] = value

    def _jobs(self, argument: str, value: str | None, spelling: str) -> None:
        """Reads a number as C's atoi does. Nothing useful means one worker, as in pahole."""
        if not value:
            self.jobs = None
            return
        text = value.strip().removeprefix("+")
        digits = text[: len(text) - len(text.lstrip("0123456789"))]
        self.jobs = max(1, min(int(digits[:9] or "0"), 1024))

    def _formats(self, argument: str, value: str | None, spelling: str) -> None:
        self.formats = value

    def _level(self, argument: str, value: str | None, spelling: str) -> None:
        self.verbosity = int(argument)
        self.verbose |= self.verbosity > 0
        self.quiet |= self.verbosity < 0

    def _features(self, argument: str, value: str | None, spelling: str) -> None:
        """The first list of all switches everything off; then what any list names is switched on. `--btf_gen_all` is
        such a list.
        """
        from pybtf.features import NAMES, names_in

        if not self._listed:
            self._on.clear()
            self._listed = True
        for name in names_in(value or ""):
            if name in NAMES:
                self._on.add(name)
            elif argument == "strict":
                from pybtf.pahole.main import FEATURES

                raise InputError(spelling, f"unknown feature {quoted(name)}", f"some of {FEATURES}")

    def _all_features(self, argument: str, value: str | None, spelling: str) -> None:
        from pybtf.features import ALL

        self._on.update(ALL)
        self._listed = True

    def _switch_on(self, argument: str, value: str | None, spelling: str) -> None:
        self._on.add(argument)

    def _switch_off(self, argument: str, value: str | None, spelling: str) -> None:
        self._on.discard(argument)

    def _answer(self, argument: str, value: str | None, spelling: str) -> None:
        raise Answer(_text(argument))

    def _answer_later(self, argument: str, value: str | None, spelling: str) -> None:
        self._later = argument

    def _nothing(self, argument: str, value: str | None, spelling: str) -> None:
        if argument:
            self._not_printed = f"option {spelling} of pahole is not supported: {argument}"

    def _hash_bits(self, argument: str, value: str | None, spelling: str) -> None:
        """There is no hash table of this size here, but what pahole refuses is a mistake all the same."""
        given = value or ""
        digits = given.removeprefix("-").lstrip("0")
        if digits.isdecimal() and (given[0] == "-" or len(digits) > 2 or int(digits) > 31):
            raise InputError(spelling, given, "a number from 0 to 31")

    def _skip_missing(self, argument: str, value: str | None, spelling: str) -> None:
        self.skips_missing = True

    def _not_encoded(self, argument: str, value: str | None, spelling: str) -> None:
        self._not_supported = f"option {spelling} of pahole is not supported: {argument}"

    def _unsupported(self, argument: str, value: str | None, spelling: str) -> None:
        raise UsageError(f"option {spelling} of pahole is not supported: {argument}")

    def _print(self, argument: str, value: str | None, spelling: str) -> None:
        self.printing.pop(argument, None)  # the order is that of the command line: of some options, the last one wins
        self.printing[argument] = value or ""
        if argument in LINES or (argument == LARGE_HOLES and not self.verbose):
            self.line = argument
        elif argument == DEFINITIONS:
            self.line = ""
        self._printing_as = self._printing_as or spelling

    def _foreign(self, argument: str, value: str | None, spelling: str) -> None:
        if argument in INSTEAD:
            raise UsageError(f"option {spelling} of pahole is not supported: {INSTEAD[argument]}")
        raise UsageError(f"option {spelling} of pahole has nothing to do with BTF, or is not supported. {PURPOSE}")


def _check_languages(where: str, text: str) -> None:
    """As for pahole, no name may be empty."""
    if "" in text.split(","):
        raise InputError(where, f"an empty name in {quoted(text)}", "names of languages")


def is_elf(path: str) -> bool:
    """Whether a file, which is not a pipe, begins as ELF files do."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
            return False
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:  # will be reported when it is opened
        return False


def _is_word(text: str) -> bool:
    """Whether it is not a file, and can be what C calls a type, or several of them; or a list of names (`file://`)."""
    names = text.split(",")
    return all(name.isidentifier() or name.startswith("file://") for name in names) and not os.path.lexists(text)


def _too_many(files: list[str]) -> str:
    """The commonest cause is a number that was meant for `-j`."""
    numbers = [name for name in files if name.isdecimal() and not os.path.exists(name)]  # noqa: PTH110
    if numbers:
        number = numbers[0]
        return f"{number} is taken as an input file, because the number of -j must follow it directly: -j{number}"
    return f"{len(files)} input files are given ({', '.join(files[:5])}); expected one"


def _text(question: str) -> str:
    from pybtf.pahole import main

    if question == "features":
        return main.FEATURES
    if question == "version":
        return main.claimed_version()
    if question == "numeric_version":
        return main.numeric(main.claimed_version())
    if question == "devel_version":
        from pybtf import __version__

        return f"{main.claimed_version()}-pybtf-{__version__}"
    from pybtf.pahole import manual

    return manual.USAGE if question == "usage" else manual.HELP
