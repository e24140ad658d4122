"""The allowed keys of a configuration's tables, and the tables shared by jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "text": ("a text", (str,)),
    "texts": ("a text or a list of texts", (str, list)),
    "whole number": ("a whole number", (int,)),
    "number": ("a number", (int, float)),
    "whole number or text": ("a whole number or a text", (int, str)),
    "true or false": ("true or false", (bool,)),
    "true, false or text": ("true, false or a text", (bool, str)),
    "options": ("a table of texts, numbers, true and false", (dict,)),
    "parameters": ("a table of texts, numbers, true, false and lists", (dict,)),
}


@dataclass(frozen=True)
class Key:
    """An allowed key of a table.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    name : str
        The corresponding parameter of the public function; by default the key itself.
    choices : tuple of str
        The allowed words, if there are only a few.
    required, refused : bool
        Whether it must, or must not, be present; a refused key is one known from other jobs.
    why : str
        Reason for the error message: why it is required or refused.
    path : bool, tuple of str, or str
        Whether it names files, relative to the folder of the configuration; or the endings of texts that name
        files; ``"lists"`` if only ``"@list.txt"`` does.
    """

    kind: str
    name: str = ""
    choices: tuple[str, ...] = ()
    required: bool = False
    refused: bool = False
    why: str = ""
    path: bool | tuple[str, ...] | Literal["lists"] = False


Tables = Mapping[str, Mapping[str, Key]]

DATA = {
    "path": Key("texts", "data", required=True, path=True),
    "paths": Key("texts", "data", required=True, path=True),
    "where": Key("text"),
    "exclude": Key("texts", path="lists"),
    "nan": Key("text", choices=("omit", "raise", "keep")),
    "missing": Key("text", choices=("error", "null")),
    "on_bad_file": Key("text", choices=("error", "skip")),
    "storage_options": Key("options"),
    "batch_rows": Key("whole number"),
}
BLOCKS = {
    "design": Key("text", choices=("random", "stored", "units", "files", "sampled")),
    "n": Key("whole number or text"),
    "size": Key("whole number"),
    "columns": Key("texts"),
    "chunk_rows": Key("whole number"),
    "repeats": Key("whole number"),
    "fine": Key("text", choices=("standard", "many")),
    "tau": Key("number"),
    "replace": Key("true or false"),
}
PAIRS = {
    "kind": Key("text", choices=("complete", "sampled", "disjoint")),
    "n": Key("number"),
    "replace": Key("true or false"),
    "budget": Key("number"),
}
PROMISE = {
    "contamination": Key("number"),
    "interval": Key("text"),
    "confidence": Key("number", "confidence_level"),
    "confidence_level": Key("number"),
}
RUN = {
    "seed": Key("whole number or text", "rng"),
    "rng": Key("whole number or text"),
    "workers": Key("whole number"),
    "threads": Key("whole number"),
    "scheduler": Key("text"),
    "memory_limit": Key("whole number or text"),
    "state": Key("text", path=True),
    "on_change": Key("text", choices=("error", "restart")),
    "checkpoint_seconds": Key("number"),
    "log": Key("text", choices=("text", "json")),
    "fail_on": Key("texts"),
}
STATE = ("state", "on_change", "checkpoint_seconds")
SCRATCH = {**RUN, "scratch": Key("text", path=True)}
"""Keys of jobs that may sort rows on disk."""

OUTPUT = {"files": Key("texts", required=True, path=True)}


def only(keys: Mapping[str, Key], *names: str) -> dict[str, Key]:
    """Some of the keys."""
    return {name: keys[name] for name in names}


def refusing(keys: Mapping[str, Key], why: str, *names: str) -> dict[str, Key]:
    """The same keys, some of them refused."""
    return {**keys, **{name: Key(keys[name].kind, refused=True, why=why) for name in names}}
