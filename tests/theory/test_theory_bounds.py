"""The exact bound for independent blocks: brute-force twins, published tables, validity and sharpness."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from distmom.theory.bounds import (
    binomial_p,
    cantelli_allowed,
    median_rank,
    width_factor,
    width_factors,
)

FAST = settings(derandomize=True, deadline=None)
DELTAS = st.floats(1e-9, 0.5)


def tail_twin(n: int, p: float, least: int) -> float:
    """P(Bin(n, p) >= least) as a plain sum."""
    return math.fsum(math.comb(n, j) * p**j * (1.0 - p) ** (n - j) for j in range(least, n + 1))


@FAST
@given(st.integers(1, 60), DELTAS, st.integers(0, 12))
def test_binomial_p_solves_the_tail(n_blocks: int, delta: float, outlying: int) -> None:
    p = binomial_p(n_blocks, delta, outlying)
    least = math.ceil(n_blocks / 2) - outlying
    if least < 1:
        assert math.isnan(p)
        assert width_factor(n_blocks, delta, outlying) == math.inf
    else:
        assert tail_twin(n_blocks - outlying, p, least) == pytest.approx(delta, rel=1e-10)


# margins of error in sigma/sqrt(n) for K = 5, 7, 9, 11, 21, 31, 63, 105, 945
TABLE_BLOCKS = (5, 7, 9, 11, 21, 31, 63, 105, 945)
PLAIN = {
    0.01: ("6.88", "7.01", "7.26", "7.53", "8.92", "10.1", "13.3", "16.4", "45.2"),
    0.001: ("10.3", "9.56", "9.37", "9.38", "10.2", "11.3", "14.2", "17.2", "45.8"),
}
SHARP = {
    0.01: ("6.51", "6.50", "6.61", "6.76", "7.65", "8.48", "10.7", "12.9", "33.2"),
    0.001: ("10.0", "9.18", "8.88", "8.78", "9.15", "9.79", "11.8", "13.9", "34.0"),
}


def as_printed(value: float, printed: str) -> str:
    decimals = len(printed.partition(".")[2])
    return f"{value:.{decimals}f}"


@pytest.mark.parametrize("delta", [0.01, 0.001])
def test_table_of_margins(delta: float) -> None:
    for n_blocks, plain, sharp in zip(TABLE_BLOCKS, PLAIN[delta], SHARP[delta], strict=True):
        assert as_printed(math.sqrt(n_blocks / binomial_p(n_blocks, delta)), plain) == plain
        assert as_printed(math.sqrt(n_blocks) * width_factor(n_blocks, delta), sharp) == sharp


@FAST
@given(st.lists(st.integers(1, 200), min_size=1, max_size=12), DELTAS, st.integers(0, 6))
def test_array_form_equals_the_scalar_form(blocks: list[int], delta: float, outlying: int) -> None:
    expected = [width_factor(n_blocks, delta, outlying) for n_blocks in blocks]
    assert width_factors(blocks, delta, outlying).tolist() == expected


@FAST
@given(st.integers(1, 150), st.floats(1e-6, 0.05), st.integers(0, 8))
def test_monotone(n_blocks: int, delta: float, outlying: int) -> None:
    factor = width_factor(n_blocks, delta, outlying)
    assert width_factor(n_blocks, 1.7 * delta, outlying) <= factor
    assert width_factor(n_blocks, delta, outlying + 1) >= factor
    assert width_factor(n_blocks + 2, delta, outlying) <= factor
    # Cantelli's form is never the worse one, and plain Chebyshev is the other
    plain = math.sqrt(1.0 / binomial_p(n_blocks, delta, outlying)) if math.isfinite(factor) else math.inf
    assert factor <= plain


def test_even_numbers_are_dominated_by_the_odd_one_below() -> None:
    for n_blocks in range(4, 60, 2):
        assert width_factor(n_blocks, 0.01) / math.sqrt(1 / n_blocks) > width_factor(
            n_blocks - 1, 0.01
        ) / math.sqrt(1 / (n_blocks - 1))


def most_at_direction(v: float, plus: float, minus: float) -> tuple[float, float]:
    """Return the (p+, p-) that a distribution of variance ``v`` (threshold 1) can reach, farthest in a
    direction.

    The reachable set is p+ + p- + (p+ - p-)^2/(1 - p+ - p-) <= v; its boundary is a hyperbola in the sum
    and the difference of the two.
    """
    a, b, h = plus + minus, abs(plus - minus), abs(1.0 - v) / 2.0
    corner = v / (1.0 + v)
    difference = corner if a <= b else min(corner, b * h / math.sqrt(a * a - b * b))
    total = max((1.0 + v) / 2.0 - math.hypot(h, difference), difference)
    high, low = (total + difference) / 2.0, (total - difference) / 2.0
    return (high, low) if plus >= minus else (low, high)


def counts(probabilities: np.ndarray) -> np.ndarray:
    distribution = np.zeros(len(probabilities) + 1)
    distribution[0] = 1.0
    for p in probabilities:
        distribution[1:] = distribution[1:] * (1.0 - p) + distribution[:-1] * p
        distribution[0] *= 1.0 - p
    return distribution


def worst_failure(v: np.ndarray, above: int, below: int, rng: np.random.Generator, starts: int) -> float:
    """Search the worst P(N+ >= above) + P(N- >= below) over distributions that may differ between the blocks.

    The sum is linear in each block's pair (p+, p-), so optimising block after block climbs; random
    starts are one-sided, balanced and anything between.
    """
    worst = 0.0
    n_good = len(v)
    for start in range(starts):
        pairs = np.empty((n_good, 2))
        for i in range(n_good):
            side = rng.integers(2)
            direction = (rng.random(2), (1.0, 1.0), (side, 1 - side))[start % 3]
            pairs[i] = most_at_direction(v[i], float(direction[0]), float(direction[1]))
        value = 0.0
        for _ in range(40):
            for i in range(n_good):
                others = np.delete(pairs, i, axis=0)
                plus = counts(others[:, 0])[above - 1] if above <= n_good else 0.0
                minus = counts(others[:, 1])[below - 1]
                pairs[i] = most_at_direction(v[i], plus, minus)
            reached = counts(pairs[:, 0])[above:].sum() + counts(pairs[:, 1])[below:].sum()
            if reached <= value * (1.0 + 1e-12):
                break
            value = reached
        worst = max(worst, value)
    return worst


@pytest.mark.parametrize("delta", [0.1, 0.01])
@pytest.mark.parametrize("n_blocks", [2, 3, 4, 5, 6, 7, 9])
def test_no_distribution_beats_the_sharp_factor(n_blocks: int, delta: float) -> None:
    rng = np.random.default_rng(n_blocks)
    rank = median_rank(n_blocks)
    for outlying in range(rank):
        if not cantelli_allowed(n_blocks, delta, outlying):
            continue
        ranks = (n_blocks - rank + 1 - outlying, rank - outlying)
        v = np.full(n_blocks - outlying, width_factor(n_blocks, delta, outlying) ** -2)
        assert worst_failure(v, *ranks, rng, starts=6) <= delta * (1.0 + 1e-9)
        # negative control: a factor 3% smaller is beaten
        assert worst_failure(v * 1.03**2, *ranks, rng, starts=6) > delta


def test_the_exceptions_are_exceptions() -> None:
    """One-sided distributions are not the worst at delta = 0.2, K = 3: Cantelli's form is invalid there."""
    assert not cantelli_allowed(3, 0.2)
    assert not cantelli_allowed(5, 0.01, outlying=2)
    assert not cantelli_allowed(1, 0.01)
    v = np.full(3, 1.0 / (1.0 / binomial_p(3, 0.2) - 1.0))
    assert worst_failure(v, 2, 2, np.random.default_rng(0), starts=12) > 0.2
    assert width_factor(3, 0.2) == math.sqrt(1.0 / binomial_p(3, 0.2))


FAILURE_OF_A_TEST = 1e-9


def median_misses(
    draw: str, factor: float, n_blocks: int, outlying: int, replications: int, seed: int
) -> int:
    """Count misses of the lower median of standardised block means (B = 12), o of them set to +inf."""
    rng = np.random.default_rng(seed)
    shape = (replications, n_blocks, 12)
    if draw == "normal":
        rows = rng.standard_normal(shape)
    elif draw == "lognormal":
        rows = (rng.lognormal(size=shape) - math.exp(0.5)) / math.sqrt(math.expm1(1.0) * math.e)
    elif draw == "student3":
        rows = rng.standard_t(3, size=shape) / math.sqrt(3.0)
    else:  # one rare, large value: what makes Cantelli's inequality an equality for one block
        p = binomial_p(n_blocks, 0.01, outlying) * 1.02
        rows = np.where(rng.random(shape[:2]) < p, math.sqrt((1 - p) / p), -math.sqrt(p / (1 - p)))
        rows = rows[..., None] / math.sqrt(12) * np.ones(12)
    values = rows.mean(axis=2) * math.sqrt(12)
    values[:, :outlying] = np.inf
    median = np.sort(values, axis=1)[:, median_rank(n_blocks) - 1]
    return int((np.abs(median) > factor).sum())


@pytest.mark.parametrize("draw", ["normal", "lognormal", "student3"])
@pytest.mark.parametrize(("n_blocks", "outlying"), [(7, 0), (9, 2)])
def test_misses_of_ordinary_distributions_stay_within_delta(draw: str, n_blocks: int, outlying: int) -> None:
    replications = 20_000
    limit = stats.binom.isf(FAILURE_OF_A_TEST, replications, 0.01)
    misses = median_misses(draw, width_factor(n_blocks, 0.01, outlying), n_blocks, outlying, replications, 1)
    assert misses <= limit


@pytest.mark.parametrize(("n_blocks", "outlying"), [(7, 0), (9, 2)])
def test_the_worst_distribution_reaches_delta_and_breaks_a_smaller_factor(
    n_blocks: int, outlying: int
) -> None:
    replications = 60_000
    limit = stats.binom.isf(FAILURE_OF_A_TEST, replications, 0.01)
    factor = width_factor(n_blocks, 0.01, outlying)
    # p is 2% above p*, so the jump lies just inside the interval: no miss at all
    assert median_misses("rare", factor, n_blocks, outlying, replications, 2) == 0
    # negative control: an interval a little shorter misses more often than delta allows
    p = binomial_p(n_blocks, 0.01, outlying) * 1.5
    rng = np.random.default_rng(3)
    values = np.where(
        rng.random((replications, n_blocks)) < p, math.sqrt((1 - p) / p), -math.sqrt(p / (1 - p))
    )
    values[:, :outlying] = np.inf
    median = np.sort(values, axis=1)[:, median_rank(n_blocks) - 1]
    assert (np.abs(median) > 0.75 * factor).sum() > limit


def test_wrong_arguments() -> None:
    for delta in (0.0, 1.0, -0.1, math.nan):
        with pytest.raises(ValueError, match="delta must lie strictly between 0 and 1"):
            binomial_p(7, delta)
    with pytest.raises(ValueError, match="n_blocks must be at least 1"):
        width_factor(0, 0.01)
    with pytest.raises(ValueError, match="outlying must be at least 0"):
        width_factor(7, 0.01, -1)
    with pytest.raises(ValueError, match="n_blocks must be at least 1"):
        width_factors([3, 0], 0.01)
