"""The bound for repeated random partitions, also with arbitrary blocks: equation, and simulated misses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from distmom.theory.bounds import binomial_p
from distmom.theory.planning import best_blocks
from distmom.theory.repeated import repeated_factors, repeated_margin, repeated_p

FAST = settings(derandomize=True, deadline=None, max_examples=60)
DELTA, FAILURE = 0.05, 1e-9
"""Level of the simulated bounds; chance that a valid bound fails one of the simulations."""


def kl(t: float, p: float) -> float:
    return t * math.log(t / p) + (1 - t) * math.log((1 - t) / (1 - p))


@FAST
@given(st.integers(1, 3000), st.floats(1e-9, 0.5), st.integers(0, 300))
def test_solves_its_equation(n_blocks: int, delta: float, outlying: int) -> None:
    p = repeated_p(n_blocks, delta, outlying)
    if 2 * outlying >= n_blocks:
        assert p == 0.0 and repeated_margin(1.0, n_blocks, delta, outlying) == math.inf
        return
    t = (n_blocks / 2 - outlying) / (n_blocks - outlying)
    assert 0 < p < t
    assert (n_blocks - outlying) * kl(t, p) == pytest.approx(-math.log(delta), rel=1e-6)
    assert repeated_margin(4.0, n_blocks, delta, outlying) == pytest.approx(2 / math.sqrt(p))
    if outlying == 0:
        closed = (1 - math.sqrt(-math.expm1(2 * math.log(delta) / n_blocks))) / 2
        assert p == pytest.approx(closed, rel=1e-6)
        assert p <= binomial_p(n_blocks, delta) * (1 + 1e-9)  # one partition has a sharper bound


@FAST
@given(st.lists(st.integers(1, 500), min_size=1, max_size=9), st.floats(1e-6, 0.4), st.integers(0, 9))
def test_array_form_equals_the_scalar_form(blocks: list[int], delta: float, outlying: int) -> None:
    factors = repeated_factors(blocks, delta, outlying)
    expected = [repeated_margin(1.0, k, delta, outlying) for k in blocks]
    assert factors == pytest.approx(expected, rel=1e-12)


@FAST
@given(st.integers(1, 500), st.floats(1e-6, 0.3), st.integers(0, 30))
def test_best_against_trying_all(n: int, delta: float, outlying: int) -> None:
    if 2 * outlying + 1 > n:
        return
    blocks = np.arange(1, n + 1, 2)
    scores = repeated_factors(blocks, delta, outlying) / np.sqrt(n // blocks)
    best = best_blocks(n, delta, outlying, repeated=True)
    assert scores[best // 2] <= scores.min() * (1 + 1e-12)


@pytest.mark.parametrize("outlying", [5_000, 200_000])
def test_large_numbers_of_outlying_rows(outlying: int) -> None:
    n = 10**12
    best = best_blocks(n, 0.01, outlying, repeated=True)
    here = repeated_margin(1.0, best, 0.01, outlying) / math.sqrt(n // best)
    for other in (best - 2, best + 2, best + 1000, int(0.8 * best) | 1, int(1.3 * best) | 1):
        assert here <= repeated_margin(1.0, other, 0.01, outlying) / math.sqrt(n // other)


def pooled_medians(
    n_blocks: int, repeats: int, outlying: int, chance: float, replications: int, size: int = 6
) -> np.ndarray:
    """Medians over repeated partitions of rows that are rare and large; o rows are +inf in each data set.

    A row is 1 with this chance and 0 else, standardised: blocks with a 1 are far above the mean.
    """
    rng = np.random.default_rng(n_blocks + repeats)
    n = n_blocks * size
    x = (rng.random((replications, n)) < chance).astype(float)
    x = (x - chance) / math.sqrt(chance * (1 - chance))
    x[:, :outlying] = np.inf
    values = [
        rng.permuted(x, axis=1).reshape(replications, n_blocks, size).mean(axis=2) for _ in range(repeats)
    ]
    pooled = np.sort(np.concatenate(values, axis=1), axis=1)
    return pooled[:, (pooled.shape[1] - 1) // 2]


@pytest.mark.parametrize(("n_blocks", "outlying"), [(7, 0), (15, 0), (15, 3)])
@pytest.mark.parametrize("repeats", [1, 2, 5, 25])
def test_misses_stay_within_delta(n_blocks: int, outlying: int, repeats: int) -> None:
    """For every number of partitions, also 2, where half of the blocks may be bad in one of them alone.

    The chance of a row is such that a block with one 1 lies just outside of the interval.
    """
    size, replications = 6, 2_000
    half = repeated_margin(1 / size, n_blocks, DELTA, outlying)
    chance = max(c for c in np.geomspace(1e-4, 0.3, 2000) if (1 / size - c) / math.sqrt(c * (1 - c)) > half)
    medians = pooled_medians(n_blocks, repeats, outlying, chance, replications)
    misses = np.count_nonzero(np.abs(medians) > half)
    assert misses <= stats.binom.isf(FAILURE, replications, DELTA)
    assert misses > 0 or repeats > 2  # the distribution is a hard one, where few partitions decide


def test_arbitrary_rows_break_the_width_that_forgets_them() -> None:
    """Negative control: the width for no arbitrary rows, with six of them in every data set."""
    size, replications = 6, 2_000
    half = repeated_margin(1 / size, 15, DELTA)
    chance = max(c for c in np.geomspace(1e-4, 0.3, 2000) if (1 / size - c) / math.sqrt(c * (1 - c)) > half)
    misses = np.count_nonzero(np.abs(pooled_medians(15, 5, 6, chance, replications)) > half)
    assert misses > stats.binom.isf(FAILURE, replications, DELTA)


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="n_blocks must be at least 1"):
        repeated_p(0, 0.01)
    with pytest.raises(ValueError, match="outlying must be at least 0"):
        repeated_factors([7], 0.01, -1)
    with pytest.raises(ValueError, match="delta"):
        repeated_p(7, 1.0)
    with pytest.raises(ValueError, match="variance"):
        repeated_margin(-1.0, 7, 0.01)
