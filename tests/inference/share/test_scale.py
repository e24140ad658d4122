"""Scales of a sample that bear bad rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from distmom.inference.share.scale import block_scale, sample_scale


def test_the_scale_is_that_of_the_lower_median_block():
    x = np.random.default_rng(0).normal(size=63 * 20 + 5)
    variances = sorted(np.var(x[20 * k : 20 * k + 20], ddof=1) for k in range(63))
    assert block_scale(x) == pytest.approx(math.sqrt(variances[31]))


def test_bad_rows_in_few_blocks_do_not_reach_it():
    x = np.random.default_rng(0).normal(size=65_520)
    x[::3000], x[7] = 1e9, 1e200
    assert 0.95 < block_scale(x) < 1.05
    x[: 65_520 // 2 + 2000 : 100] = 1e9
    assert block_scale(x) > 1e6


def test_where_few_rows_carry_the_spread_the_window_sees_it():
    x = np.zeros(63 * 100)
    x[np.arange(0, 63, 3) * 100] = 10.0  # in every third block
    assert block_scale(x) == 0.0
    assert sample_scale(x, np.sort(x)) == pytest.approx(math.sqrt(13 / 6292) * 10, rel=0.01)


def test_few_rows():
    assert math.isnan(block_scale(np.empty(0))) and math.isnan(sample_scale(np.empty(0), np.empty(0)))
    assert block_scale(np.array([2.0])) == sample_scale(np.array([2.0]), np.array([2.0])) == 0.0
    x = np.arange(125.0)
    assert block_scale(x) == x.std() == sample_scale(x, x)
