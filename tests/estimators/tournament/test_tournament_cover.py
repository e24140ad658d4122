"""Covers of parameters: no point of the ranges is far from a candidate, and a tournament takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distmom as dm

ENDS = st.lists(st.tuples(st.floats(-5, 5), st.floats(0, 3)), min_size=1, max_size=3)


@given(ENDS, st.floats(0.2, 2.0), st.integers(0, 2**32))
@settings(max_examples=60)
def test_every_point_is_near_a_candidate(ends: list[tuple[float, float]], epsilon: float, seed: int) -> None:
    axes = {f"a{i}": (low, low + width) for i, (low, width) in enumerate(ends)}
    points = np.array(list(dm.epsilon_cover(lambda **values: list(values.values()), axes, epsilon).values()))
    lows, highs = np.array(list(axes.values())).T
    at = lows + (highs - lows) * np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 0.123], (20, len(ends)))
    nearest = np.sqrt(((at[:, None] - points[None]) ** 2).sum(axis=2)).min(axis=1)
    assert (nearest <= epsilon * (1 + 1e-9)).all()


def test_no_more_candidates_than_the_half_diagonal_asks_for() -> None:
    assert len(dm.epsilon_cover(lambda a, b: 0, {"a": (0, 1), "b": (0, 1)}, 0.5**0.5)) == 1
    assert len(dm.epsilon_cover(lambda a, b: 0, {"a": (0, 1), "b": [1, 2, 3]}, 0.05)) == 30


def test_a_tournament_on_a_cover() -> None:
    g = np.random.default_rng(0)
    x = g.normal(size=3_000)
    y = x + 0.5 + g.standard_t(2.1, 3_000)
    y[::100], x[::100] = 1e5, -50.0

    def line(slope: float, shift: float) -> Any:
        return lambda row: slope * row["x"] + shift

    lines = dm.epsilon_cover(line, {"slope": (0.0, 2.0), "shift": (-1.0, 1.0)}, 0.36)
    assert len(lines) == 16
    found = dm.tournament({"y": y, "x": x}, lines, "y", features="x", contamination=30, rng=0)
    assert found.champion in (
        "slope=0.75, shift=0.25",
        "slope=1.25, shift=0.25",
        "slope=0.75, shift=0.75",
        "slope=1.25, shift=0.75",
    )


@pytest.mark.parametrize(
    ("axes", "epsilon", "words"),
    [
        ({}, 0.1, "at least one"),
        ({"a": (0, 1)}, None, "epsilon"),
        ({"a": (0, 1)}, 0.0, "epsilon"),
        ({"a": (0, 1)}, float("nan"), "epsilon"),
        ({"a": (1, 0)}, 0.1, "in this order"),
        ({"a": (0, np.inf)}, 0.1, "finite"),
        ({"a": (0, 1), "b": (0, 1), "c": (0, 1)}, 1e-3, "more than 100,000"),
        ({"a": [1, 1]}, None, "stands twice"),
    ],
)
def test_wrong_axes_are_told(axes: dict[str, Any], epsilon: float | None, words: str) -> None:
    with pytest.raises(dm.ConfigError, match=words):
        dm.epsilon_cover(lambda **values: 0, axes, epsilon)
