"""What few extreme rows carry of mean and variance."""

from __future__ import annotations

import math

import numpy as np
import pytest

from distmom.inference.share.extremes import without_extremes
from distmom.inference.share.windows import Windows


def test_what_few_rows_carry():
    x = np.sort(np.append(np.zeros(990), np.full(10, 100.0)))
    half, one = without_extremes(x, (0.005, 0.01))
    assert (one.mean, one.ends, one.of_mean, one.of_variance) == (0.0, (0.0, 0.0), 1.0, pytest.approx(0.99))
    assert half.of_mean == pytest.approx(0.5) and 0 < half.of_variance < 0.6


@pytest.mark.parametrize("x", [[], [1.0], [2.0, 2.0, 2.0], [-1e308, 0.0, 1e308]])
def test_extremes_of_little_and_of_much(x):
    got = without_extremes(np.array(x))
    assert len(got) == (4 if x else 0)
    assert all(math.isfinite(row.mean) and not row.of_variance > 1 for row in got)


def test_shares_of_extremes_are_whole_rows():
    g = np.random.default_rng(0)
    y = np.sort(g.standard_t(3, 10_000))
    for row, t in zip(without_extremes(y), (1, 10, 100, 500), strict=True):
        assert row.ends[0] <= row.mean <= row.ends[1]
        assert ((y >= row.ends[0]) & (y <= row.ends[1])).sum() == 10_000 - t
        assert row.mean == pytest.approx(Windows(y, t).best(t).mean)
