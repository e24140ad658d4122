"""Expected failures: one line that says parameter or file, rule, value received, remedy; and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from sysconfig import get_paths
from traceback import walk_tb
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
    """A result has a status that `raise_if` was told to refuse (exit code 7)."""

    exit_code = 7


class UnknownResultError(ConfigError, LookupError):
    """There is no such result among `Results`, or more than one (exit code 2)."""


class ResourceError(DistmomError, RuntimeError):
    """Memory, disk or cluster is not sufficient, or was lost (exit code 6)."""

    exit_code = 6


class DoubtfulResultWarning(UserWarning):
    """A result whose status is not ok was returned; turn it off by ``distmom.options(warn=False)``."""


class BadFileError(DataError):
    """A file cannot be read or does not fit the others; ``on_bad_file="skip"`` goes on without it.

    Attributes
    ----------
    column : str or None
        The column that cannot be read, if it is a single one.
    """

    def __init__(self, message: str, column: str | None = None) -> None:
        super().__init__(message)
        self.column = column


class AccessError(ResourceError):
    """The store refuses access; never taken for a bad file, since others would be refused as well."""


_OURS = str(Path(__file__).parent) + os.sep
_LIBRARIES = tuple({str(Path(path)) + os.sep for path in (*get_paths().values(), _OURS)})


@lru_cache(maxsize=1 << 14)
def is_own_code(file: str | None) -> bool:
    """Whether a module's file is the user's Python code: neither ours nor that of an installed library."""
    if not file or not file.endswith(".py"):
        return False
    installed = {"site-packages", "dist-packages"} & set(Path(file).parts)
    return not installed and not file.startswith(_LIBRARIES)


def place_of(error: BaseException) -> str:
    """Where code of the user failed, such as "own.py, line 3"; empty if the error is not from it.

    It is where the innermost frame of that code is inside of ours: libraries may have been called from there.
    """
    if isinstance(error, SyntaxError) and is_own_code(error.filename):
        return f"{error.filename}, line {error.lineno}"
    place = ""
    for frame, line in walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if file == "<dynamic-code>":  # that travelled by value
            file = frame.f_globals.get("__file__") or f"<{frame.f_globals.get('__name__')}>"
        if is_own_code(file) or file.startswith(("<stdin>", "<string>", "<ipython", "<__main__>")):
            place = f"{file}, line {line}"
        elif file.startswith(_OURS):
            place = ""
    return place


@contextmanager
def blaming(parameter: str) -> Iterator[None]:
    """Turn failures inside user code, given as this parameter, into one line.

    ConfigError; what fails elsewhere stays as it is.
    """
    try:
        yield
    except DistmomError:
        raise
    except Exception as error:
        if place := place_of(error):
            said = " ".join(f"{type(error).__name__}: {error}".split())
            raise ConfigError(f"{parameter}: {place}: {said}; correct the function") from error
        raise


def leave(code: int) -> NoReturn:
    """End the process with an exit code, including those of signals (above 128).

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
