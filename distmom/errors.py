"""Expected failures and exit codes: each message is one line with parameter or file, rule, value, remedy."""

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
    """An expected failure; the command line prints its one-line message and exits with ``exit_code``."""

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
    """A result has a status that `raise_if` refuses (exit code 7)."""

    exit_code = 7


class UnknownResultError(ConfigError, LookupError):
    """`Results` contains no such result, or more than one (exit code 2)."""


class ResourceError(DistmomError, RuntimeError):
    """Memory, disk or cluster is not sufficient, or was lost (exit code 6)."""

    exit_code = 6


class DoubtfulResultWarning(UserWarning):
    """A result whose status is not ok was returned; turn it off by ``distmom.options(warn=False)``."""


class BadFileError(DataError):
    """A file cannot be read or does not match the others; ``on_bad_file="skip"`` continues without it.

    Attributes
    ----------
    column : str or None
        The column that cannot be read, if there is only one.
    """

    def __init__(self, message: str, column: str | None = None) -> None:
        super().__init__(message)
        self.column = column


class AccessError(ResourceError):
    """The store refuses access; never treated as a bad file, because the other files would be refused too."""


_OURS = str(Path(__file__).parent) + os.sep
_LIBRARIES = tuple({str(Path(path)) + os.sep for path in (*get_paths().values(), _OURS)})


@lru_cache(maxsize=1 << 14)
def is_own_code(file: str | None) -> bool:
    """Whether a module's file is the user's own code: not part of distmom or of an installed library."""
    if not file or not file.endswith(".py"):
        return False
    installed = {"site-packages", "dist-packages"} & set(Path(file).parts)
    return not installed and not file.startswith(_LIBRARIES)


def place_of(error: BaseException) -> str:
    """Where user code failed, such as "own.py, line 3"; empty if the error does not come from user code.

    This is the innermost frame of user code called from distmom; it may have called libraries itself.
    """
    if isinstance(error, SyntaxError) and is_own_code(error.filename):
        return f"{error.filename}, line {error.lineno}"
    place = ""
    for frame, line in walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if file == "<dynamic-code>":  # code that was pickled by value
            file = frame.f_globals.get("__file__") or f"<{frame.f_globals.get('__name__')}>"
        if is_own_code(file) or file.startswith(("<stdin>", "<string>", "<ipython", "<__main__>")):
            place = f"{file}, line {line}"
        elif file.startswith(_OURS):
            place = ""
    return place


@contextmanager
def blaming(parameter: str) -> Iterator[None]:
    """Turn failures inside user code that was passed as this parameter into a one-line ConfigError.

    Failures elsewhere are not changed.
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

    If a signal interrupted code that runs from a string (such as a dataclass created during an import),
    Python treats the KeyboardInterrupt as unhandled when it exits, even if it was caught, and dies of SIGINT.
    All work has ended by then, so only the streams remain to be closed.
    """
    if code > 128:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # closed, or nobody reads
                stream.flush()
        os._exit(code)
    sys.exit(code)
