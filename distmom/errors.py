"""Expected failures: one line that says parameter or file, rule, value received, remedy; and exit codes."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
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


class DoubtfulResultError(DistmomError, ValueError):
    """A result has a status that `raise_if` was told to refuse (exit code 5)."""

    exit_code = 5


class UnknownResultError(ConfigError, LookupError):
    """There is no such result among `Results`, or more than one (exit code 2)."""


class ResourceError(DistmomError, RuntimeError):
    """Memory, disk or the cluster does not suffice, or was lost (exit code 6)."""

    exit_code = 6


class DoubtfulResultWarning(UserWarning):
    """A result whose status is not ok was returned; turn it off by ``distmom.options(warn=False)``."""


class BadFileError(DataError):
    """A file cannot be read or does not fit the others; ``on_bad_file="skip"`` goes on without it."""


class AccessError(ResourceError):
    """The store does not let us in; never taken for a bad file, since others would be refused as well."""


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
