"""States as plain arrays: every class that states are made of, and nothing else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.numerics.blocks.moments import Moments
from distmom.numerics.samples.distinct import UnitSketch
from distmom.numerics.samples.sample import RowSample
from distmom.reductions.accumulate.leaves import Rows
from distmom.reductions.state import MeanState
from distmom.reductions.stream import StreamNode, StreamState
from distmom.state.arrays import CLASSES, from_arrays, to_arrays


def state(n_columns: int, n_groups: int, n_blocks: int, sample: int) -> MeanState:
    g = np.random.default_rng(n_groups)
    return MeanState(
        tuple(((1, i),) for i in range(n_groups)),
        g.integers(0, 9, n_groups),
        g.integers(0, 9, (n_columns, n_groups, 3)),
        Moments(*(g.integers(0, 9, (n_columns, n_groups, n_blocks)) for _ in range(3))),
        tuple(
            RowSample(*(g.random((n_groups, sample)) for _ in range(2)))
            for _ in range(n_columns * (sample > 0))
        ),
        UnitSketch(np.arange(n_blocks, dtype=np.uint64), g.integers(0, 9, n_blocks)) if n_blocks else None,
    )


def there_and_back(value: Any) -> Any:
    arrays: dict[str, Any] = {}
    form = json.loads(json.dumps(to_arrays(value, "it", arrays)))
    assert all(name.startswith("it") for name in arrays)
    return from_arrays(form, "it", arrays)


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, (np.ndarray, np.generic)):
        return bool(a.dtype == b.dtype and np.array_equal(a, b))
    if isinstance(a, tuple) and not hasattr(a, "_fields"):
        return len(a) == len(b) and all(map(same, a, b))
    if type(a).__name__ in CLASSES:
        names = getattr(a, "_fields", None) or a.__dataclass_fields__
        return all(same(getattr(a, name), getattr(b, name)) for name in names)
    return bool(a == b)


@given(st.integers(1, 3), st.integers(0, 4), st.integers(0, 5), st.integers(0, 3))
def test_states_come_back(n_columns: int, n_groups: int, n_blocks: int, sample: int) -> None:
    mine = state(n_columns, n_groups, n_blocks, sample)
    assert same(there_and_back(mine), mine)
    assert there_and_back(None) is None


def test_streams_come_back() -> None:
    valid, units = np.array([True, False]), np.array([5, 2**63], np.uint64)
    rows = Rows(7, 2, (np.ones(2), np.zeros(2)), (None, valid), None, np.array([1, 0]), units)
    mine = StreamState(9, (StreamNode(1, 0, state(1, 2, 3, 4)), StreamNode(0, 2, None)), rows, (((1, 5),),))
    assert same(there_and_back(mine), mine)


@dataclass(frozen=True)
class Moment:
    """Not of ours."""

    count: int


def test_classes_that_are_not_listed_are_no_state() -> None:
    for wrong in (Moment(1), {"a": 1}, 0.5, [1]):
        with pytest.raises(TypeError, match="add the class to CLASSES"):
            to_arrays(wrong, "it", {})


@pytest.mark.parametrize(
    "form",
    [
        "arrays",
        0.5,
        {"is": "os.system", "of": {}},
        {"is": "Moment", "of": {"count": 1}},
        {"is": "Moments", "of": {"count": "array"}},
        {"is": "Moments", "of": {"count": "array", "mean": "array", "m2": "array", "m3": "array"}},
        {"is": ["Moments"], "of": {}},
        {"of": {}},
        ["array", "no form"],
    ],
    ids=str,
)
def test_other_forms_are_refused(form: Any) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        from_arrays(form, "it", {})
    with pytest.raises(ValueError):
        from_arrays("array", "it", {"it": (b"text",)})
    with pytest.raises(ValueError):
        from_arrays("scalar", "it", {"it": np.zeros(2)})
