"""Unequal block sizes: the Poisson-binomial form between its equal brackets, and no distribution beats it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from distmom.theory.bounds import cantelli_allowed, median_rank, width_factor
from distmom.theory.partition import poisson_binomial_tail, unequal_factor

FAST = settings(derandomize=True, deadline=None)


def tail_twin(probabilities: list[float], least: int) -> float:
    """Sum over all outcomes."""
    total = 0.0
    for outcome in itertools.product((False, True), repeat=len(probabilities)):
        if sum(outcome) >= least:
            total += math.prod(p if hit else 1 - p for p, hit in zip(probabilities, outcome, strict=True))
    return total


@FAST
@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.integers(1, 10))
def test_tail_against_enumeration(probabilities: list[float], least: int) -> None:
    expected = tail_twin(probabilities, least)
    assert poisson_binomial_tail(probabilities, least) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_tail_of_equal_events_is_binomial_even_far_out() -> None:
    expected = stats.binom.sf(399, 945, 0.2)
    assert poisson_binomial_tail(np.full(945, 0.2), 400) == pytest.approx(expected, rel=1e-9)


def test_equal_blocks() -> None:
    assert unequal_factor([30] * 7, 0.01) == pytest.approx(width_factor(7, 0.01))
    assert unequal_factor(range(1, 8), 0.01, outlying=4) == math.inf


@FAST
@given(
    st.lists(st.integers(1, 500), min_size=3, max_size=25),
    st.sampled_from([0.2, 0.1, 0.01, 1e-4]),
    st.integers(0, 3),
)
def test_solution_lies_between_equal_blocks_and_solves_the_tail(
    sizes: list[int], delta: float, outlying: int
) -> None:
    n_blocks = len(sizes)
    eps = unequal_factor(sizes, delta, outlying)
    factor = width_factor(n_blocks, delta, outlying)
    average = sum(sizes) / n_blocks
    assert eps <= math.sqrt(average / min(sizes)) * factor * (1 + 1e-8)
    assert eps >= math.sqrt(average / max(sizes)) * factor * (1 - 1e-8) or math.isinf(eps)
    if math.isfinite(eps):
        kept = sorted(sizes)[: n_blocks - outlying]
        v = [average / size / eps**2 for size in kept]
        sharp = cantelli_allowed(n_blocks, delta, outlying)
        p = [x / (1 + x) if sharp else min(1.0, x) for x in v]
        assert poisson_binomial_tail(p, median_rank(n_blocks) - outlying) == pytest.approx(delta, rel=1e-7)
    assert unequal_factor(sizes, delta, outlying + 1) >= eps * (1 - 1e-8)


def test_one_tiny_block_costs_little() -> None:
    sizes = [100] * 20 + [3]
    eps = unequal_factor(sizes, 0.01)
    average = sum(sizes) / 21
    # the smallest block's variance for all would give 5.6 times the equal margin of error
    assert eps < 1.2 * math.sqrt(average / 100) * width_factor(21, 0.01)


@pytest.mark.parametrize("delta", [0.5, 0.01, 1e-100])
def test_many_blocks_of_very_different_sizes(delta: float) -> None:
    """Tails at the ends of the bracket underflow here."""
    sizes = np.arange(1, 946)
    eps = unequal_factor(sizes, delta)
    v = sizes.mean() / sizes / eps**2
    p = v / (1 + v) if delta <= 0.1 else np.minimum(1.0, v)
    assert poisson_binomial_tail(p, 473) == pytest.approx(delta, rel=1e-6)


def test_misses_stay_within_delta() -> None:
    """Each block has its own worst one-sided distribution; negative control: half the width."""
    rng = np.random.default_rng(11)
    sizes = np.array([2, 5, 20, 40, 80, 100, 100, 120, 150])
    replications, n_blocks, delta = 40_000, 9, 0.05
    sigma2 = 1.0
    eps = unequal_factor(sizes, delta) * math.sqrt(sigma2 / sizes.mean())

    def misses(scale: float) -> int:
        v = sigma2 / sizes / (scale * eps) ** 2
        p = v / (1 + v)
        jump = np.sqrt(sigma2 / sizes * (1 - p) / p) * (1 + 1e-12)
        rest = -np.sqrt(sigma2 / sizes * p / (1 - p))
        values = np.where(rng.random((replications, n_blocks)) < p, jump, rest)
        median = np.sort(values, axis=1)[:, 4]
        return int((np.abs(median) >= scale * eps).sum())

    limit = stats.binom.isf(1e-9, replications, delta)
    assert 0.9 * delta * replications < misses(1.0) <= limit
    assert misses(0.8) > limit


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="delta"):
        unequal_factor([1, 2, 3, 4, 5], 2.0)
    with pytest.raises(ValueError, match="least"):
        poisson_binomial_tail([0.5], 0)
