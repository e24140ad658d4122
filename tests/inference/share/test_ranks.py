"""Exact intervals of shares and quantiles: by plain sums of binomial probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.inference.share.ranks import quantile_interval, quantile_ranks, share_interval


def tail(m, q, most):
    """P(Bin(m, q) <= most)."""
    return math.fsum(math.comb(m, k) * q**k * (1 - q) ** (m - k) for k in range(most + 1))


@given(st.integers(1, 40), st.floats(0.01, 0.99), st.sampled_from([0.5, 0.9, 0.99, 0.9999]))
def test_ranks_are_the_best_that_reach_the_level(m, q, level):
    low, high = quantile_ranks(m, q, level)
    half = (1 - level) / 2
    tails = [tail(m, q, k) for k in range(m + 1)]
    assert low == sum(p <= half * (1 + 1e-11) for p in tails[:m])
    at_least = [1.0] + [1 - p for p in tails]  # P(Bin >= u)
    assert high == min([u for u in range(1, m + 1) if at_least[u] <= half * (1 + 1e-9)], default=m + 1)


@given(st.integers(1, 40), st.data(), st.sampled_from([0.9, 0.99]))
def test_the_ends_of_a_share_are_just_believable(m, data, level):
    k = data.draw(st.integers(0, m))
    low, high = share_interval(k, m, level)
    half = (1 - level) / 2
    assert 0 <= low <= k / m <= high <= 1
    assert (low == 0.0) if k == 0 else 1 - tail(m, low, k - 1) == pytest.approx(half, rel=1e-6)
    assert (high == 1.0) if k == m else tail(m, high, k) == pytest.approx(half, rel=1e-6)


def test_samples_too_small_have_no_end():
    assert quantile_interval(np.arange(5.0), 0.5) == (2.0, -math.inf, math.inf)
    assert quantile_interval(np.arange(100.0), 0.99)[2] == math.inf
    assert quantile_interval(np.array([7.0]), 0.0)[0] == quantile_interval(np.array([7.0]), 1.0)[0] == 7.0


@pytest.mark.parametrize("q", [0.0, 0.1, 0.5, 0.99, 1.0])
@pytest.mark.one_in(3)
def test_coverage_is_at_least_the_level(q):
    """1000 samples of 500 rows with ties, level 0.99: more than 25 misses have probability 3e-5."""
    g = np.random.default_rng(0)
    misses = 0
    for _ in range(1000):
        _, low, high = quantile_interval(np.sort(g.poisson(3.0, 500) * 1.0), q)
        truth = {0.0: 0.0, 0.1: 1.0, 0.5: 3.0, 0.99: 8.0, 1.0: math.inf}[q]
        misses += not low <= truth <= high
    assert misses <= 25
