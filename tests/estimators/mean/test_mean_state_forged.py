"""States that somebody wrote by hand, with a right digest: an answer or one line, never a raw failure."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.state.container import Container
from distmom.state.state import read_state, write_state

KINDS: dict[str, dict[str, Any]] = {
    "plain": {"column": "x"},
    "groups": {"column": "x", "by": "g"},
    "vectors": {"column": ["x", "y"], "joint": True},
    "files": {"column": "x", "blocks": dm.FileBlocks(3)},
    "fixed": {"column": "x", "blocks": 11},
}


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
            wild = np.array(choice.choice([0, 1, -1, 2**62, 1e300, np.inf])).astype(array.dtype)
        changed.flat[choice.randrange(array.size)] = wild
        return changed
    if kind == 1 and array.ndim:
        return array[:-1] if array.size else np.zeros((1, *array.shape[1:]), array.dtype)
    if kind == 2 and array.ndim:
        return np.concatenate([array, array])
    return array.reshape(-1).astype(choice.choice(["f8", "i8", "i1", "bool"]))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forged") / "lake"
    folder.mkdir()
    g = np.random.default_rng(0)
    for i in range(4):
        table = {"x": g.normal(size=300), "y": g.normal(size=300), "g": ["a", "b"] * 150}
        pq.write_table(pa.table(table), folder / f"{i}.parquet")
    return folder


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [*KINDS])
@pytest.mark.parametrize("n", [12, pytest.param(400, marks=pytest.mark.slow)])
def test_forged_states(lake: Path, tmp_path: Path, kind: str, n: int) -> None:
    good, forged, choice = tmp_path / "good.state", tmp_path / "forged.state", random.Random(kind)
    dm.mean(lake, rng=1, state=good, **KINDS[kind])
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
        write_state(forged, Container(found.kind, facts, arrays))
        for use in (
            lambda: dm.merge_states(forged),
            lambda: dm.mean(lake, rng=1, state=forged, **KINDS[kind]),
        ):
            try:
                use()
            except dm.DistmomError as error:
                assert "\n" not in str(error)
                refused += 1
            write_state(forged, Container(found.kind, facts, arrays))
    assert refused > n / 4, "most changes matter"
