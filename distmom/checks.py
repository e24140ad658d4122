"""Checks of arguments: each failure is one line with parameter, rule, value received and remedy."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from distmom.errors import ConfigError


def check_choice(
    name: str, value: Any, allowed: Sequence[str], retired: Mapping[str, str] | None = None
) -> None:
    """Raise ConfigError unless the value is an allowed word; for a `retired` word it names the new one."""
    if value not in allowed:
        now = retired.get(value) if retired and isinstance(value, str) else None
        if now in allowed:
            raise ConfigError(f"{name}: {value!r} is now {now!r}")
        hint = did_you_mean(str(value), allowed)
        raise ConfigError(f"{name}: must be one of {', '.join(map(repr, allowed))}, not {value!r}{hint}")


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """The end of a message about an unknown word: the nearest allowed word, if one is close enough."""
    near = difflib.get_close_matches(word, list(words), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def check_count(name: str, value: Any, least: int = 1, most: int | None = None) -> None:
    """Raise ConfigError unless the value is a whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
        raise ConfigError(f"{name}: must be a whole number of at least {least}, not {value!r}")
    if most is not None and int(value) > most:
        raise ConfigError(f"{name}: must be a whole number of at most {most}, not {value!r}")


def check_fraction(name: str, value: Any, below: float, example: str) -> None:
    """Raise ConfigError unless the value is strictly between 0 and `below`."""
    good = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not good or not math.isfinite(value) or not 0.0 < value < below:
        raise ConfigError(f"{name}: must lie between 0 and {below:g}, {example}, not {value!r}")


def check_positive(name: str, value: Any, *, zero: bool = False, finite: bool = True) -> None:
    """Raise ConfigError unless the value is a positive number."""
    number = math.nan if isinstance(value, bool) or not isinstance(value, numbers.Real) else float(value)
    if not (number > 0.0 or (zero and number == 0.0)) or (finite and math.isinf(number)):
        words = "a number of at least 0" if zero else "a positive number"
        raise ConfigError(f"{name}: must be {words}, not {value!r}")


def whole(value: Any) -> Any:
    """Convert a whole-number float, such as 1e9, to an int; return anything else unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def names_of(parameter: str, value: Any) -> tuple[str, ...]:
    """One name or several, distinct."""
    if value is None:
        return ()
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else None
    if names is None or isinstance(value, Mapping) or not all(isinstance(n, str) for n in names):
        raise ConfigError(f"{parameter}: must be a column's name or a list of names, not {value!r}")
    twice = [n for i, n in enumerate(names) if n in names[:i]]
    if twice:
        raise ConfigError(f"{parameter}: {twice[0]!r} is given twice; name each column once")
    return names
