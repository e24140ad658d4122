"""Changes of saved states that no program would make: other facts, other arrays, with a right digest."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import distmom as dm
from distmom.state.container import Container
from distmom.state.state import read_state, write_state


def other(value: Any, choice: random.Random) -> Any:
    """A fact, or some part of it, changed."""
    if isinstance(value, (dict, list)) and value and choice.random() < 0.85:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = choice.choice(list(keys))
        changed: Any = value.copy()
        if choice.random() < 0.25:
            del changed[key]
        else:
            changed[key] = other(changed[key], choice)
        return changed
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return choice.choice([0, -1, value + 1, 2**62, 1e308, None, "x"])
    return choice.choice(["", None, 3, [], {}, "number", f"{value}x"])


def damaged(array: Any, choice: random.Random) -> Any:
    """An array with another value, shape or type."""
    if not isinstance(array, np.ndarray):
        return choice.choice([array[:-1], (*array, b"q"), tuple(b"\xff" for _ in array)])
    kind = choice.randrange(4)
    if kind == 0 and array.size:
        changed = array.copy()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outlying = np.array(choice.choice([0, 1, -1, 2**62, 1e300, np.inf])).astype(array.dtype)
        changed.flat[choice.randrange(array.size)] = outlying
        return changed
    if kind == 1 and array.ndim:
        return array[:-1] if array.size else np.zeros((1, *array.shape[1:]), array.dtype)
    if kind == 2 and array.ndim:
        return np.concatenate([array, array])
    return array.reshape(-1).astype(choice.choice(["f8", "i8", "i1", "bool"]))


def refusals(good: Path, forged: Path, choice: random.Random, n: int, *uses: Callable[[], Any]) -> int:
    """How many of n forgeries of a state are refused, each in one line, by what uses the forged file."""
    found = read_state(good)
    refused = 0
    for _ in range(n):
        facts, arrays = found.facts, dict(found.arrays)
        if choice.random() < 0.5:
            facts = other(facts, choice)
        else:
            name = choice.choice([*arrays])
            arrays[name] = damaged(arrays[name], choice)
        if not isinstance(facts, dict):
            continue
        for use in uses:
            write_state(forged, Container(found.kind, facts, arrays))
            try:
                use()
            except dm.DistmomError as error:
                assert "\n" not in str(error)
                refused += 1
    return refused
