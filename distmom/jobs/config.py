"""The configuration of a batch job, checked before it runs; errors name line, table and key."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from distmom.jobs.keys import KINDS, Key, Tables
from distmom.jobs.toml_file import TomlFile

PLACES = ("workers", "threads", "scheduler")
Origins = dict[tuple[str, str], tuple[int, str]]


@dataclass(frozen=True)
class Config:
    """A checked configuration.

    Attributes
    ----------
    path : Path
        The file.
    values : dict
        For each table, the values by parameter name; paths are relative to the working folder.
    origins : dict
        Line and key of each parameter, by table and parameter name.
    """

    path: Path
    values: dict[str, dict[str, Any]] = field(repr=False)  # there may be secrets among them
    origins: Origins = field(repr=False)

    def table(self, name: str) -> dict[str, Any]:
        """Values of a table by parameter name; empty if the table is absent."""
        return dict(self.values.get(name, {}))

    def running_on(self, **place: Any) -> Config:
        """The same, run on ``scheduler=`` or ``workers=`` instead of the place in the file."""
        run = {key: value for key, value in self.table("run").items() if key not in PLACES}
        elsewhere = {("run", name) for name in PLACES}
        origins = {key: origin for key, origin in self.origins.items() if key not in elsewhere}
        return replace(self, values={**self.values, "run": {**run, **place}}, origins=origins)

    def keeping(self, state: str) -> Config:
        """The same with another state file; a relative path starts from the working folder."""
        run = {**self.table("run"), "state": str(Path(state).absolute())}
        return replace(self, values={**self.values, "run": run})

    def located(self, text: str) -> str:
        """The message, preceded by line, table and key if it begins with a key or parameter that is set."""
        [first] = re.findall(r"^[\w.]*", text)
        beside: dict[str, int] = {}  # first lines of tables, whose keys may be missing
        for (table, name), (line, key) in self.origins.items():
            beside.setdefault(table, line)
            if first in (f"{table}.{key}", name):
                return f"{self.path}, line {line}: {'' if first != name else f'{table}.{key}: '}{text}"
        table, _, key = first.partition(".")
        return f"{self.path}, line {beside[table]}: {text}" if key and table in beside else text


def named_job(file: TomlFile, names: Iterable[str]) -> str:
    """The name under the key ``pipeline``, which must be one of these."""
    known = sorted(names)
    if "pipeline" not in file.values:
        file.refuse(("pipeline",), f"is missing; write pipeline = {known[0]!r} in the first line")
    name = file.values["pipeline"]
    if not isinstance(name, str):
        file.refuse(("pipeline",), f"must be a text, not {_shown(name)}")
    if name not in known:
        other = _near(name, known) or "; a job of your own is run by its module: python -m MODULE FILE"
        file.refuse(("pipeline",), f"must be {_options(known)}, not {name!r}{other}")
    return name


def checked(file: TomlFile, schema: Tables) -> Config:
    """The configuration, after a check of its tables, keys and values against the schema.

    ConfigError if a table or key is unknown, missing or of another type.
    """
    for key in file.values:
        if key != "pipeline" and key not in schema:
            file.refuse((key,), f"no such table{_near(key, schema)}; there are {_options(schema)}")
    values: dict[str, dict[str, Any]] = {}
    origins: Origins = {}
    for table, keys in schema.items():
        values[table] = _table(file, table, keys, origins)
    return Config(file.path, values, origins)


def _table(file: TomlFile, table: str, keys: Mapping[str, Key], origins: Origins) -> dict[str, Any]:
    """Values of one table."""
    given = file.values.get(table, {})
    if not isinstance(given, dict):
        file.refuse((table,), f"must be a table, [{table}], not {_shown(given)}")
    values: dict[str, Any] = {}
    for key, value in given.items():
        if key not in keys:
            known = [name for name, spec in keys.items() if not spec.refused]
            file.refuse((table, key), f"no such key{_near(key, known)}; there are {_options(known)}")
        spec = keys[key]
        if spec.refused:
            file.refuse((table, key), f"{spec.why}; drop it")
        _check_value(file, (table, key), spec, value)
        name = spec.name or key
        if name in values:
            file.refuse((table, key), f"means the same as {origins[table, name][1]}; drop one of them")
        values[name] = _with_paths(file, spec, value)
        origins[table, name] = (file.line((table, key)), key)
    for key, spec in keys.items():
        name = spec.name or key
        if spec.required and name not in values:
            words = [key for key, spec in keys.items() if (spec.name or key) == name]
            why = f": {spec.why}" if spec.why else ""
            file.refuse((table, words[0]), f"is missing; add {' or '.join(words)} to [{table}]{why}")
    return values


def _check_value(file: TomlFile, key: tuple[str, str], spec: Key, value: Any) -> None:
    """Refuse a value of another type."""
    words, types = KINDS[spec.kind]
    good = isinstance(value, types) and (bool in types or not isinstance(value, bool))
    if isinstance(value, list):
        good = good and bool(value) and all(isinstance(item, str) for item in value)
    if isinstance(value, dict):
        inner = (str, int, float, list) if spec.kind == "parameters" else (str, int, float)
        good = good and all(isinstance(item, inner) for item in value.values())
    if not good:
        # options may be secret
        file.refuse(key, f"must be {words}" + ("" if types == (dict,) else f", not {_shown(value)}"))
    if spec.choices and value not in spec.choices:
        file.refuse(key, f"must be {_options(spec.choices)}, not {value!r}{_near(value, spec.choices)}")


def _with_paths(file: TomlFile, spec: Key, value: Any) -> Any:
    """The value with paths relative to the file's folder."""
    if not spec.path:
        return value
    if isinstance(value, list):
        return [_with_paths(file, spec, one) for one in value]
    named = value.startswith("@") if spec.path == "lists" else spec.path is True or value.endswith(spec.path)
    return file.beside(value) if named else value


def _options(names: Iterable[str]) -> str:
    return ", ".join(names)


def _near(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(names), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _shown(value: Any) -> str:
    """A value approximately as written in the file."""
    if isinstance(value, dict):
        return "a table"
    if value == []:
        return "an empty list"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
