"""A result by its name or the values of its group."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, TypeVar

from distmom.errors import UnknownResultError
from distmom.report.result import Result
from distmom.report.words import cell, listed

R = TypeVar("R", bound=Result)


def find(results: Sequence[R], key: Any) -> R:
    """The one result with this name or these values of its group, of which texts will do.

    Raises
    ------
    UnknownResultError
        If there is none, or more than one.
    """
    given = key if isinstance(key, tuple) else (key,)
    for alike in (lambda a, b: type(a) is type(b) and a == b, lambda a, b: cell(a) == cell(b)):
        found = [r for r in results if any(_same(one, given, alike) for one in _keys(r))]
        if len(found) == 1:
            return found[0]
        if found:
            one = ", ".join(repr(cell(v)) for v in _keys(found[0])[-1])
            raise UnknownResultError(
                f"results: {len(found)} have the key {key!r}; ask for one, such as [{one}]"
            )
    every = [", ".join(map(cell, _shortest(r, results))) for r in results]
    near = difflib.get_close_matches(", ".join(map(cell, given)), every, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UnknownResultError(f"results: none has the key {key!r}; there are {listed(every)}{hint}")


def _keys(result: Result) -> list[tuple[Any, ...]]:
    """By what a result may be asked for: its name, the values of its group, both."""
    values = tuple((result.group or {}).values())
    return [(result.name,), *([values] if values else []), (result.name, *values)]


def _shortest(result: Result, results: Sequence[Result]) -> tuple[Any, ...]:
    """The shortest key that tells the result from others."""
    names = {r.name for r in results}
    keys = _keys(result)
    return keys[0] if not result.group else keys[1] if len(names) == 1 else keys[-1]


def _same(mine: tuple[Any, ...], given: tuple[Any, ...], alike: Any) -> bool:
    return len(mine) == len(given) and all(map(alike, mine, given))
