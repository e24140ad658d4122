"""Finding one result among several by its name, by the values of its group, or by both."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from distmom.errors import UnknownResultError
from distmom.report.words import cell, listed

Label = tuple[str, dict[str, Any] | None]
"""Name and group of a result."""


def place_of(labels: Sequence[Label], key: Any) -> int:
    """The place of the one result with this name or these group values; texts of the values suffice.

    Raises
    ------
    UnknownResultError
        If there is none, or more than one.
    """
    given = key if isinstance(key, tuple) else (key,)
    for alike in (lambda a, b: type(a) is type(b) and a == b, lambda a, b: cell(a) == cell(b)):
        found = [i for i, label in enumerate(labels) if any(_same(one, given, alike) for one in _keys(label))]
        if len(found) == 1:
            return found[0]
        if found:
            one = ", ".join(repr(cell(v)) for v in _keys(labels[found[0]])[-1])
            raise UnknownResultError(
                f"results: {len(found)} have the key {key!r}; ask for one, such as [{one}]"
            )
    several = len({name for name, _ in labels}) > 1
    there = [", ".join(map(cell, _shortest(label, several=several))) for label in labels]
    near = difflib.get_close_matches(", ".join(map(cell, given)), there, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UnknownResultError(f"results: none has the key {key!r}; there are {listed(there)}{hint}")


def _keys(label: Label) -> list[tuple[Any, ...]]:
    """Keys for a result: its name, the values of its group, or both."""
    name, group = label
    values = tuple((group or {}).values())
    return [(name,), *([values] if values else []), (name, *values)]


def _shortest(label: Label, *, several: bool) -> tuple[Any, ...]:
    """The shortest key that distinguishes the result from others, which may have several names."""
    keys = _keys(label)
    return keys[0] if not label[1] else keys[-1] if several else keys[1]


def _same(mine: tuple[Any, ...], given: tuple[Any, ...], alike: Any) -> bool:
    return len(mine) == len(given) and all(map(alike, mine, given))
