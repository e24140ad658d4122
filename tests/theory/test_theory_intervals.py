"""Order intervals against exact integer arithmetic, and the coverage they claim."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from distmom.theory.intervals import least_order_blocks, order_level, order_rank

FAST = settings(derandomize=True, deadline=None)


def level_twin(n_good: int, rank: int) -> Fraction:
    """1 - 2 P(Bin(n_good, 1/2) <= rank - 1), exactly."""
    return 1 - 2 * Fraction(sum(math.comb(n_good, j) for j in range(rank)), 2**n_good)


def rank_twin(n_good: int, delta: float) -> int | None:
    admissible = [rank for rank in range(1, n_good + 1) if level_twin(n_good, rank) >= 1 - Fraction(delta)]
    return max(admissible, default=None)


@FAST
@given(st.integers(1, 90), st.floats(1e-6, 0.5), st.integers(0, 10))
def test_rank_against_exact_sums(n_blocks: int, delta: float, outlying: int) -> None:
    rank = order_rank(n_blocks, delta, outlying)
    assert rank == (rank_twin(n_blocks - outlying, delta) if n_blocks > outlying else None)
    if rank is not None:
        assert 2 * rank <= n_blocks + 1
        expected = float(level_twin(n_blocks - outlying, rank))
        assert order_level(n_blocks, rank, outlying) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_blocks", [2, 3, 5, 8, 11])
def test_a_level_equal_to_the_wanted_one_counts(n_blocks: int) -> None:
    for rank in range(1, n_blocks // 2 + 1):
        if level_twin(n_blocks, rank) > 0:
            assert order_rank(n_blocks, 1.0 - float(level_twin(n_blocks, rank))) == rank


def test_blocks_needed_per_level() -> None:
    assert [least_order_blocks(delta) for delta in (0.1, 0.05, 0.01, 0.001)] == [5, 6, 8, 11]
    assert least_order_blocks(0.01, outlying=3) == 11
    assert order_rank(7, 0.01) is None and order_rank(8, 0.01) == 1
    for n_blocks in (945, 10_395):
        rank = order_rank(n_blocks, 0.01)
        assert rank is not None
        assert order_level(n_blocks, rank) >= 0.99 > order_level(n_blocks, rank + 1)


def test_level_of_no_values_or_a_rank_beyond_them_is_zero() -> None:
    assert order_level(3, 1, outlying=3) == 0.0
    assert order_level(5, 4) == 0.0
    assert order_rank(3, 0.01, outlying=5) is None


@pytest.mark.parametrize("outlying", [0, 3])
def test_coverage_is_the_level(outlying: int) -> None:
    n_blocks, replications = 21, 20_000
    rank = order_rank(n_blocks, 0.05, outlying)
    assert rank is not None
    values = np.random.default_rng(5).standard_exponential((replications, n_blocks)) - math.log(2.0)
    values[:, :outlying] = -np.inf
    values.sort(axis=1)
    level = order_level(n_blocks, rank, outlying)

    def covered(low: int) -> int:
        return int(((values[:, low - 1] <= 0.0) & (values[:, n_blocks - low] >= 0.0)).sum())

    least = stats.binom.ppf(1e-9, replications, level)
    assert covered(rank) >= least
    # negative control: two ranks further in, the interval no longer covers as often
    assert covered(rank + 2) < least
    if outlying == 0:  # exact for continuous distributions
        assert covered(rank) <= stats.binom.isf(1e-9, replications, level)


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="delta"):
        order_rank(9, 1.5)
    with pytest.raises(ValueError, match="rank must be at least 1"):
        order_level(9, 0)
    with pytest.raises(ValueError, match="outlying"):
        order_rank(9, 0.1, -1)
