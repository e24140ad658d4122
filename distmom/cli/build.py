"""From the flags of a command to tables, from which `distmom.jobs.objects` makes the call."""

from __future__ import annotations

from typing import Any

from distmom.errors import ConfigError

DATA = ("exclude", "nan", "missing", "on_bad_file", "storage_options", "batch_rows", "where")
RUN = ("rng", "state", "on_change", "workers", "threads", "scheduler", "memory_limit", "scratch")
BLOCKS = {"n_blocks": "n", "block_size": "size", "block_by": "columns"}
BLOCKS |= {name: name for name in ("chunk_rows", "repeats", "fine", "tau")}
PAIRS = {"pairs": "kind", "n_pairs": "n", "pair_budget": "budget"}
NOT_OWN = (*DATA, *RUN, *BLOCKS, *PAIRS, "order", "scheme")
USUAL = {"order": "random", "scheme": "partition", "chunk_rows": 1, "repeats": 1, "fine": "standard"}
USUAL |= {"pairs": "complete"}
"""Flags that state a default."""


def arguments(flags: dict[str, Any], data: tuple[str, ...], n_samples: int = 1) -> dict[str, Any]:
    """Arguments of the function behind a command, `data` among them.

    Flags that are None or empty tuples were not given. If there are as many `data` as samples, each is a
    sample. ConfigError if two flags exclude each other.
    """
    from distmom.jobs.objects import call_of

    given = {k: _plain(k, v) for k, v in flags.items() if v is not None and v != () and v != USUAL.get(k)}
    pairs = {word: given[flag] for flag, word in PAIRS.items() if flag in given}
    if pairs.get("kind") == "sampled" and given.pop("scheme", None) == "monte_carlo":
        pairs["replace"] = True
    tables = {
        "data": {"data": list(data)} | {k: v for k, v in given.items() if k in DATA},
        "run": {k: v for k, v in given.items() if k in RUN},
        "pairs": pairs,
        "blocks": _blocks(given),
        "own": {k: v for k, v in given.items() if k not in NOT_OWN},
    }
    return call_of(tables, n_samples=n_samples)


def _plain(name: str, value: Any) -> Any:
    """A value as in tables: of a flag that may be repeated, a single value or a list."""
    if name == "storage_options":
        if len(dict(value)) < len(value):
            raise ConfigError("--storage-option: a key is given twice; give each once")
        return dict(value)
    if not isinstance(value, tuple):
        return value
    return value[0] if len(value) == 1 and name not in ("candidates", "exclude") else list(value)


def _blocks(given: dict[str, Any]) -> dict[str, Any]:
    """The table ``blocks``; combinations that make no sense are refused when objects are made."""
    words = {word: given[flag] for flag, word in BLOCKS.items() if flag in given}
    if "scheme" in given:
        if "order" in given:
            raise ConfigError(
                f"--order stored cannot be combined with --scheme {given['scheme']}; drop one of them"
            )
        if words.get("n") in ("auto", "paper"):  # samples have the number of the proposition
            del words["n"]
        return {**words, "design": "sampled", "replace": given["scheme"] == "monte_carlo"}
    if "order" in given:
        return {**words, "design": "stored"}
    if given.get("pairs") == "sampled" and "tau" in words:
        return {**words, "design": "sampled"}
    if words.get("columns") == "file":
        del words["columns"]
        return {**words, "design": "files"}
    return {**words, "design": "units"} if "columns" in words else words
