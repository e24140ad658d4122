"""Expected failures: one line that says parameter or file, rule, value received, remedy; and exit codes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn


class DistmomError(Exception):
    """An expected failure; the command line prints its one line and ends with ``exit_code``."""

    exit_code = 1


class ConfigError(DistmomError, ValueError):
    """A parameter, an option or a configuration file is wrong (exit code 2)."""

    exit_code = 2


class DataError(DistmomError, ValueError):
    """The data is refused: a file, its schema, a type, or a file that changed (exit code 3)."""

    exit_code = 3


class NoAnswerError(DistmomError, ValueError):
    """There is no finite answer, or there are too few rows or blocks (exit code 5)."""

    exit_code = 5


class ResourceError(DistmomError, RuntimeError):
    """Memory, disk or the cluster does not suffice, or was lost (exit code 6)."""

    exit_code = 6


class DoubtfulResultWarning(UserWarning):
    """A result whose status is not ok was returned; turn it off by ``distmom.options(warn=False)``."""


class BadFileError(DataError):
    """A file cannot be read or does not fit the others; ``on_bad_file="skip"`` goes on without it."""


class AccessError(ResourceError):
    """The store does not let us in; never taken for a bad file, since others would be refused as well."""


class BusyStore(OSError):
    """The store asks for fewer requests; another attempt may succeed."""

    remedy = "use fewer workers or threads, or raise the storage option max_attempts, and run again"


@dataclass(frozen=True)
class Words:
    """What a caller who writes flags or keys, and no objects, calls what messages speak of.

    Attributes
    ----------
    places : mapping of str to str
        Of objects and their fields (``"SampledBlocks"``, ``"RandomBlocks: size"``, ``"blocks='auto'"``); what
        stands in brackets behind them is dropped.
    names : mapping of str to str
        Of parameters: where a message begins with one, says that two do not go together, or gives a value.
    value : str
        How a name and a word for its value stand together, such as ``"{} {}"``.
    """

    places: Mapping[str, str]
    names: Mapping[str, str]
    value: str

    def of(self, text: str) -> str:
        """The message in these words; what stands in quotes is left as it is.

        Examples
        --------
        >>> flags = Words({"RandomBlocks: size": "--block-size"}, {"interval": "--interval"}, "{} {}")
        >>> flags.of("RandomBlocks: size: must be 1; use interval='exact'")
        '--block-size: must be 1; use --interval exact'
        """
        return self._pattern.sub(self._said, text)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        def one_of(words: Mapping[str, str], *, long: bool = False) -> str:
            chosen = sorted((w for w in words if "_" in w or not long), key=len, reverse=True)
            return "|".join(map(re.escape, chosen)) or "(?!)"

        begin, names = r"(?<![\w.'\"])", one_of(self.names)
        return re.compile(
            rf"{begin}(?P<place>{one_of(self.places)})(?:\([^()]*\))?(?![\w'\"(])"
            rf"|{begin}(?P<chosen>{names})='(?P<value>\w+)'"
            rf"|(?:^|(?<=does not go with ))(?P<name>{names})(?=: | must | does not go with )"
            rf"|{begin}(?P<long>{one_of(self.names, long=True)})(?![\w'\"=])"
        )

    def _said(self, found: re.Match[str]) -> str:
        if found["place"]:
            return self.places[found["place"]]
        if found["chosen"]:
            return self.value.format(self.names[found["chosen"]], found["value"])
        return self.names[found["name"] or found["long"]]


def leave(code: int) -> NoReturn:
    """End the process with an exit code, also with one that tells of a signal (above 128).

    Where a signal met code that runs from a string (a dataclass being made while a module is imported),
    Python takes the KeyboardInterrupt for unhandled at its very end, whoever caught it, and dies of SIGINT.
    All work is ended by then, so nothing but the streams is left to be closed.
    """
    if code > 128:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # closed, or nobody reads
                stream.flush()
        os._exit(code)
    sys.exit(code)
