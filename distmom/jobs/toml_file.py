"""A parsed TOML file, the lines of its keys, and errors that name lines."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from distmom.errors import ConfigError

_CLOSING = re.compile(r"]|\"{3}|'{3}")
"""Found in the last line of a multi-line statement."""


@dataclass(frozen=True)
class TomlFile:
    """The unchecked content of a file.

    Attributes
    ----------
    values : dict
        Values of its keys and tables.
    """

    path: Path
    values: dict[str, Any] = field(repr=False)  # there may be secrets among them
    lines: dict[tuple[str, ...], int] = field(repr=False)  # line of each key, by its path

    def line(self, key: tuple[str, ...]) -> int:
        """Line of a key, or of the table around it."""
        known = (self.lines[key[:n]] for n in range(len(key), 0, -1) if key[:n] in self.lines)
        return next(known, 1)

    def refuse(self, key: tuple[str, ...], text: str) -> NoReturn:
        """Raise the error for a key, at its line."""
        raise ConfigError(f"{self.path}, line {self.line(key)}: {'.'.join(key)}: {text}")

    def beside(self, name: str) -> str:
        """A path in the file; relative paths start from the file's folder."""
        mark = "@" if name.startswith("@") else ""
        rest = name[len(mark) :]
        if rest.startswith("~") or "://" in rest:
            return name
        return f"{mark}{self.path.parent / rest}"


def read_toml(path: Path) -> TomlFile:
    """Read and parse a file."""
    text = _read(path)
    values = _parse(path, text)
    return TomlFile(path, values, key_lines(text))


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}, line {line}: not UTF-8; save the file as UTF-8") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path}: the configuration cannot be read: {reason}") from error


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\s*\(at line (\d+), column (\d+)\)", str(error))
        line = int(found[1]) if found else text.rstrip("\n").count("\n") + 1
        what = re.sub(r"\s*\(at [^()]*\)$", "", str(error))
        raise ConfigError(f"{path}, line {line}: not valid TOML: {what}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: not valid TOML: nested too deeply") from error
    except ValueError as error:  # a number of thousands of digits
        raise ConfigError(f"{path}: not valid TOML: {error}") from error


def key_lines(text: str) -> dict[tuple[str, ...], int]:
    r"""Line, from 1, on which the statement of each table and key begins; for repeated keys the first.

    The parser of the standard library does not report lines, so it is called for one statement at a time.

    Parameters
    ----------
    text : str
        Valid TOML with lines that end in a newline only.

    Examples
    --------
    >>> key_lines("a = 1\n[b]\nc.d = 2\n")
    {('a',): 1, ('b',): 2, ('b', 'c'): 3, ('b', 'c', 'd'): 3}
    """
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    statement, start = "", 1
    for number, line in enumerate(text.split("\n"), 1):
        start, statement = (start, statement + line + "\n") if statement else (number, line + "\n")
        if start < number and not _CLOSING.search(line):
            continue
        try:
            found = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:  # it continues on the next line
            continue
        is_table = statement.lstrip().startswith("[")
        paths = [path if is_table else (*table, *path) for path in _paths(found)]
        for path in paths:
            lines.setdefault(path, start)
        table = paths[-1] if is_table else table
        statement = ""
    return lines


def _paths(value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All keys within a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*above, key)
            yield from _paths(inner, (*above, key))
    elif isinstance(value, list):
        for inner in value:
            yield from _paths(inner, above)
