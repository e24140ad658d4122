"""A TOML file as it was parsed, and errors that name its lines."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from distmom.errors import ConfigError
from distmom.jobs.toml_lines import key_lines


@dataclass(frozen=True)
class TomlFile:
    """What a file says, unchecked.

    Attributes
    ----------
    path : Path
        The file.
    values : dict
        Of its keys and tables.
    lines : dict
        Line of each key, by its path.
    """

    path: Path
    values: dict[str, Any] = field(repr=False)  # there may be secrets among them
    lines: dict[tuple[str, ...], int] = field(repr=False)

    def line(self, key: tuple[str, ...]) -> int:
        """Line of a key, or of the table around it."""
        known = (self.lines[key[:n]] for n in range(len(key), 0, -1) if key[:n] in self.lines)
        return next(known, 1)

    def refuse(self, key: tuple[str, ...], text: str) -> NoReturn:
        """Raise the error for a key, at its line."""
        raise ConfigError(f"{self.path}, line {self.line(key)}: {'.'.join(key)}: {text}")

    def beside(self, name: str) -> str:
        """A path as the file means it: relative ones start from the file's folder."""
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
