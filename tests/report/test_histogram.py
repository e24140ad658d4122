"""Counts add up, places are monotone, and what is far out has bins of its own."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.report.histogram import BINS, QUARTERS, TAIL_BINS, _quantile, histogram

G = np.random.default_rng(0)
ROWS = {
    "normal": (G.normal(size=5000), True),
    "exponential": (G.exponential(size=5000), True),
    "five values": (G.integers(1, 6, 5000) * 1.0, True),
    "log-normal 2": (np.exp(2.0 * G.normal(size=5000)), False),
    "code": (np.where(G.random(5000) < 0.01, -9999.0, G.normal(2000.0, 5.0, 5000)), False),
    "zeros": (np.where(G.random(5000) < 0.9, 0.0, np.exp(3.0 * G.normal(size=5000))), False),
    "huge": (np.where(G.random(5000) < 0.01, 1e300, G.normal(size=5000)), False),
    "tiny": (1e-300 * G.normal(size=5000), True),
    "dates": (1.7e18 + 1e15 * G.random(5000), True),
}


@pytest.mark.parametrize("name", ROWS)
def test_counts_and_places(name):
    """Each row is counted once; the middle's bins are those of NumPy, whose middle half they show."""
    x, narrow = ROWS[name]
    y = np.sort(x)
    found = histogram(y)
    assert found.n == y.size and 5 <= len(found.counts) <= BINS
    assert (found.below is None and found.above is None) == narrow
    inside = y[(y >= found.low) & (y <= found.high)]
    assert sum(found.counts) == inside.size >= y.size / 2
    edges = np.linspace(found.low, found.high, len(found.counts) + 1)
    assert np.abs(np.histogram(inside, edges)[0] - found.counts).sum() <= 2
    assert found.place(found.low) == 0.0 and found.place(found.high) == 1.0
    for tail, sign in ((found.below, -1.0), (found.above, 1.0)):
        if tail is not None:
            outside = y[y < found.low] if sign < 0 else y[y > found.high]
            assert sum(tail.counts) == outside.size and tail.far == (y[0] if sign < 0 else y[-1])
            places = np.array([tail.place(value) for value in outside.tolist()])
            assert places.min() >= 0.0 and places.max() == pytest.approx(1.0)
            bins = np.minimum((places * TAIL_BINS).astype(int), TAIL_BINS - 1)
            again = np.bincount(bins, minlength=TAIL_BINS)
            assert np.abs(again - tail.counts).sum() <= 2


def test_no_histogram_of_one_value_or_beyond_float64():
    for x in (np.empty(0), np.ones(9), np.array([-1.7e308, 1.7e308])):
        assert histogram(x) is None


def test_one_value_far_out_has_a_bin():
    far = histogram(np.append(np.arange(64.0) * 1e-12, 1e300))
    assert far.above.counts == (1,) and far.above.far == 1e300 and far.above.place(1e300) == 1.0


@given(st.lists(st.floats(-1e300, 1e300) | st.integers(-3, 3).map(float), min_size=1, max_size=80))
def test_no_row_is_lost(values):
    y = np.sort(np.array(values) + 0.0)
    found = histogram(y)
    if found is not None:
        assert found.n == y.size and found.low < found.high
        for tail in filter(None, (found.below, found.above)):
            assert len(tail.counts) in (1, TAIL_BINS) and np.isfinite(tail.place(tail.far))


def test_example() -> None:
    assert doctest.testmod(importlib.import_module("distmom.report.histogram")).failed == 0


@given(
    st.lists(st.floats(-1e300, 1e300) | st.integers(-3, 3).map(float), min_size=1, max_size=50),
    st.sampled_from(QUARTERS) | st.floats(0, 1),
)
def test_quantiles_are_those_of_numpy(values, share):
    y = np.sort(values)
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = np.quantile(y, share)
        if np.isfinite(wanted):
            assert _quantile(y, share) == wanted
