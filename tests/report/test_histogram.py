"""Counts add up, places are monotone, and the scale has logarithms where the range is wide."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.report.histogram import BINS, QUARTERS, _quantile, histogram

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
    x, linear = ROWS[name]
    y = np.sort(x)
    found = histogram(y)
    assert found.linear == linear and sum(found.counts) == y.size and 5 <= len(found.counts) <= BINS
    places = np.array([found.place(value) for value in y[::50].tolist()])
    assert (np.diff(places) >= 0).all() and places[0] == pytest.approx(0.0) and places[-1] <= 1 + 1e-9
    every = np.array([found.place(value) for value in y.tolist()])
    edges = np.linspace(0, 1, len(found.counts) + 1)
    again = np.histogram(np.clip(every, 0, 1), edges)[0]
    assert np.abs(again - found.counts).sum() <= 0.02 * y.size or name == "five values"
    assert max(found.counts) < 0.95 * y.size or name == "huge"  # of 300 decades


def test_no_histogram_of_one_value_or_beyond_float64():
    for x in (
        np.empty(0),
        np.ones(9),
        np.array([-1.7e308, 1.7e308]),
        np.append(np.arange(64.0) * 1e-12, 1e300),
    ):
        assert histogram(x) is None


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
