"""From failures to one line on standard error and an exit code."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click

from distmom.errors import DistmomError, ResourceError
from distmom.json_lines import json_line, json_stderr
from distmom.signals import endings
from distmom.words import printable

INTERNAL, USAGE, RESOURCES = 1, 2, 6
DEBUG_HINT = "; set DISTMOM_DEBUG=1 for the traceback"


def run_guarded(command: Callable[[], int]) -> int:
    """Run a command and return its exit code; a failure gives one line on standard error."""
    with endings.heard():
        return _guarded(command)


def _guarded(command: Callable[[], int]) -> int:
    try:
        code = command()
        write_stdout("")
    except KeyboardInterrupt:
        return _tell(*endings.told())
    except click.ClickException as error:
        return _tell(_usage(error), USAGE)
    except BrokenPipeError:  # of help or version: whoever reads has seen enough
        silence_stdout()
        return 0
    except DistmomError as error:
        return _tell(f"{error}{DEBUG_HINT if error.exit_code == INTERNAL else ''}", error.exit_code)
    except MemoryError:
        return _tell("out of memory; use fewer threads, columns or groups", RESOURCES)
    except ImportError as error:
        if "failed to map segment" in str(error) or "cannot allocate memory" in str(error).lower():
            return _tell(f"out of memory: a library could not be loaded ({error}); see ulimit -v", RESOURCES)
        if "pip install" not in str(error):
            return _tell(f"internal error: ImportError: {error}{DEBUG_HINT}", INTERNAL)
        return _tell(str(error), USAGE)
    except Exception as error:
        return _tell(f"internal error: {type(error).__name__}: {error}{DEBUG_HINT}", INTERNAL)
    return code


def write_stdout(text: str) -> None:
    """Write and flush. A reader that has left (``| head``) is no failure; a full disk is.

    ResourceError if standard output cannot take the text.
    """
    if sys.stdout is None:  # closed by the shell: >&-
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        silence_stdout()
    except OSError as error:
        silence_stdout()
        raise ResourceError(f"standard output cannot be written: {error.strerror or error}") from error


def tell(event: str, text: str, level: str = "info", **fields: Any) -> None:
    """Write a line about an event: the text alone or, with --log-json, an object that has it."""
    write_stderr(json_line(event, text, level, **fields) if json_stderr.active else text)


def write_stderr(text: str) -> None:
    """Write a line; if nobody can read it, that is no failure."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


def silence_stdout() -> None:
    """Discard what is still buffered, so that the interpreter's last flush does not complain."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _tell(text: str, code: int) -> int:
    if os.environ.get("DISTMOM_DEBUG"):
        import traceback

        write_stderr(traceback.format_exc().rstrip())
    said = printable(text)
    tell("error", said if json_stderr.active else f"distmom: {said}", "error", exit_code=code)
    return code


def _usage(error: click.ClickException) -> str:
    """A usage error in one line: what is wrong, what was meant, where to look."""
    if isinstance(error, click.NoSuchOption):
        text = f"no such option: {error.option_name}"
        near = difflib.get_close_matches(error.option_name, error.possibilities or (), 1)
        text += f"; did you mean {near[0]}?" if near else ""
    else:
        text = " ".join(error.format_message().split()).rstrip(".")
        text = text[:1].lower() + text[1:]
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "distmom"
    return f"{text}; see '{path} --help'"
