"""The configuration of a batch job: a TOML file, checked before anything runs. Errors name the line."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from distmom.errors import ConfigError
from pipelines.toml_lines import key_lines

KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "text": ("a text", (str,)),
    "texts": ("a text or a list of texts", (str, list)),
    "whole number": ("a whole number", (int,)),
    "number": ("a number", (int, float)),
    "whole number or text": ("a whole number or a text", (int, str)),
    "true, false or text": ("true, false or a text", (bool, str)),
    "options": ("a table of texts, numbers, true and false", (dict,)),
}


@dataclass(frozen=True)
class Key:
    """A key that a table may have.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    name : str
        The parameter of the public function that it stands for; by default the key itself.
    choices : tuple of str
        The words allowed, where they are few.
    required : bool
    """

    kind: str
    name: str = ""
    choices: tuple[str, ...] = ()
    required: bool = False


Tables = Mapping[str, Mapping[str, Key]]


@dataclass(frozen=True)
class Config:
    """A configuration that has been checked.

    Attributes
    ----------
    path : Path
        The file.
    values : dict
        For each table the values by the names of their parameters.
    lines : dict
        Line of each parameter, by table and name.
    """

    path: Path
    values: dict[str, dict[str, Any]] = field(repr=False)  # there may be secrets among them
    lines: dict[tuple[str, str], int] = field(repr=False)

    def table(self, name: str) -> dict[str, Any]:
        """Values of a table, by the names of their parameters; none if it is not there."""
        return dict(self.values.get(name, {}))

    def beside(self, name: str) -> str:
        """A path as the file means it: relative ones start from the file's folder."""
        mark = "@" if name.startswith("@") else ""
        rest = name[len(mark) :]
        if rest.startswith("~") or "://" in rest:
            return name
        return f"{mark}{self.path.parent / rest}"

    def running_on(self, **place: Any) -> Config:
        """The same, run by ``scheduler=`` or ``workers=``, whatever the file says of where to run."""
        places = ("workers", "threads", "scheduler")
        run = {key: value for key, value in self.table("run").items() if key not in places}
        lines = {key: line for key, line in self.lines.items() if key not in {("run", p) for p in places}}
        return replace(self, values={**self.values, "run": {**run, **place}}, lines=lines)

    def keeping(self, state: str) -> Config:
        """The same with another file for the state; a relative path starts from the working folder."""
        run = {**self.table("run"), "state": str(Path(state).absolute())}
        return replace(self, values={**self.values, "run": run})

    def located(self, error: ConfigError) -> ConfigError:
        """The error with file and line in front, if its first word is a parameter that the file sets."""
        text = str(error)
        word = re.match(r"\w+", text)
        found = [line for (_, name), line in self.lines.items() if word and name == word[0]]
        return ConfigError(f"{self.path}, line {found[0]}: {text}") if found else error


def read_config(path: Path, tables: Mapping[str, Tables]) -> Config:
    """Read and check a configuration file.

    Parameters
    ----------
    path : Path
    tables : mapping
        For each name that the key ``pipeline`` may have, the tables of that pipeline and their keys.

    Raises
    ------
    ConfigError
        If the file cannot be read or is not TOML, or if a table or key is unknown, missing or of another
        type.
    """
    text = _read(path)
    parsed = _parse(path, text)
    return _Check(path, parsed, key_lines(text)).config(tables)


def pipeline_named_in(path: Path) -> str | None:
    """What stands under the key ``pipeline``, unchecked."""
    name = _parse(path, _read(path)).get("pipeline")
    return name if isinstance(name, str) else None


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


class _Check:
    """One pass over what was parsed."""

    def __init__(self, path: Path, parsed: dict[str, Any], lines: dict[tuple[str, ...], int]) -> None:
        self.path = path
        self.parsed = parsed
        self.lines = lines

    def refuse(self, key: tuple[str, ...], text: str) -> NoReturn:
        """Raise the error for a key, at its line or that of the table around it."""
        known = (self.lines[key[:n]] for n in range(len(key), 0, -1) if key[:n] in self.lines)
        line = next(known, 1)
        raise ConfigError(f"{self.path}, line {line}: {'.'.join(key)}: {text}")

    def config(self, tables: Mapping[str, Tables]) -> Config:
        """The checked configuration."""
        if "pipeline" not in self.parsed:
            self.refuse(("pipeline",), f"is missing; write pipeline = {min(tables)!r} in the first line")
        name = self.parsed["pipeline"]
        if not isinstance(name, str):
            self.refuse(("pipeline",), f"must be a text, not {_shown(name)}")
        if name not in tables:
            self.refuse(("pipeline",), f"must be {_options(tables)}, not {name!r}{_near(name, tables)}")
        schema = tables[name]
        for key in self.parsed:
            if key != "pipeline" and key not in schema:
                self.refuse((key,), f"no such table{_near(key, schema)}; there are {_options(schema)}")
        values: dict[str, dict[str, Any]] = {}
        lines: dict[tuple[str, str], int] = {}
        for table, keys in schema.items():
            values[table], found = self.table(table, keys)
            lines.update(found)
        return Config(self.path, values, lines)

    def table(self, table: str, keys: Mapping[str, Key]) -> tuple[dict[str, Any], dict[tuple[str, str], int]]:
        """Values and lines of one table."""
        given = self.parsed.get(table, {})
        if not isinstance(given, dict):
            self.refuse((table,), f"must be a table, [{table}], not {_shown(given)}")
        values: dict[str, Any] = {}
        lines: dict[tuple[str, str], int] = {}
        set_by: dict[str, str] = {}
        for key, value in given.items():
            if key not in keys:
                self.refuse((table, key), f"no such key{_near(key, keys)}; there are {_options(keys)}")
            self.check_value((table, key), keys[key], value)
            name = keys[key].name or key
            if name in set_by:
                self.refuse((table, key), f"means the same as {set_by[name]}; drop one of them")
            set_by[name] = key
            values[name] = value
            lines[table, name] = self.lines.get((table, key), self.lines.get((table,), 1))
        for name in dict.fromkeys(spec.name or key for key, spec in keys.items() if spec.required):
            if name not in values:
                words = [key for key, spec in keys.items() if (spec.name or key) == name]
                self.refuse((table, words[0]), f"is missing; add {' or '.join(words)} to [{table}]")
        return values, lines

    def check_value(self, key: tuple[str, str], spec: Key, value: Any) -> None:
        """Refuse a value of another type."""
        words, types = KINDS[spec.kind]
        good = isinstance(value, types) and (bool in types or not isinstance(value, bool))
        if isinstance(value, list):
            good = good and bool(value) and all(isinstance(item, str) for item in value)
        if isinstance(value, dict):
            good = good and all(isinstance(item, (str, int, float)) for item in value.values())
        if not good:
            # options may be secret
            self.refuse(key, f"must be {words}" + ("" if types == (dict,) else f", not {_shown(value)}"))
        if spec.choices and value not in spec.choices:
            self.refuse(key, f"must be {_options(spec.choices)}, not {value!r}{_near(value, spec.choices)}")


def _options(names: Any) -> str:
    return ", ".join(map(str, names))


def _near(name: str, names: Any) -> str:
    near = difflib.get_close_matches(name, list(names), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _shown(value: Any) -> str:
    """A value as the reader wrote it, more or less."""
    if isinstance(value, dict):
        return "a table"
    if value == []:
        return "an empty list"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
