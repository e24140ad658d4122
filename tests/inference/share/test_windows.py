"""Windows of order statistics: against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.inference.share.windows import Windows

values = st.lists(
    st.one_of(st.floats(-1e3, 1e3), st.integers(-5, 5).map(float), st.sampled_from([1e6, -9999.0])),
    min_size=3,
    max_size=60,
)


def plain(y, t):
    """Windows that leave out t rows: (sd, rows left out below), least first."""
    return sorted((float(np.std(y[k : y.size - t + k])), k) for k in range(t + 1))


@given(values, st.data())
def test_the_best_window_is_that_of_the_plain_loop(x, data):
    y = np.sort(np.array(x))
    most = data.draw(st.integers(0, y.size // 2))
    t = data.draw(st.integers(0, most))
    got, want = Windows(y, most).best(t), plain(y, t)
    kept = y[got.low : y.size - got.high]
    assert got.low + got.high == t and kept.size == y.size - t
    scale = float(np.std(y)) * 1e-7 + 1e-12
    assert got.sd == pytest.approx(want[0][0], abs=scale) and got.sd == pytest.approx(kept.std(), abs=scale)
    assert got.mean == pytest.approx(kept.mean(), rel=1e-9, abs=scale)


def test_far_rows_take_no_digits_from_those_inside():
    x = np.sort(np.concatenate([1e6 + np.random.default_rng(0).normal(size=1000), np.full(20, 1e300)]))
    got = Windows(x, 30).best(20)
    assert (got.low, got.high) == (0, 20)
    assert got.mean == pytest.approx(x[:1000].mean(), rel=1e-15)
    assert got.sd == pytest.approx(x[:1000].std(), rel=1e-9)
    assert Windows(x, 30).best(19).sd == math.inf
