"""The bound for blocks that share rows: a quadrature twin, exact enumeration, tables, simulation."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from shared_rows import resampled_failure

from distmom.theory.bounds import binomial_p, median_rank, width_factor
from distmom.theory.resampled import resampled_margin, resampled_p
from distmom.theory.tuples import pair_inverse_inclusion
from distmom.theory.variances import mean_variance, row_inverse_inclusion

FAST = settings(derandomize=True, deadline=None)
A = st.floats(0.0, 18.0).map(math.exp)


def kl(t: float, p: float) -> float:
    rest = (1 - t) * math.log((1 - t) / (1 - p)) if t < 1 else 0.0
    return t * math.log(t / p) + rest


def integral_twin(n_blocks: int, a: float, p: float) -> float:
    """E exp(-a kl+(T | p)) by adaptive quadrature in T, cut where the Beta density or the factor peaks."""
    m = median_rank(n_blocks)
    distribution = stats.beta(m, n_blocks - m + 1)
    width = min(math.sqrt(p * (1 - p) / a), 0.5 / math.sqrt(n_blocks))
    cuts = {p, 1.0} | {p + width * 2.0**i for i in range(-6, 40) if p + width * 2.0**i < 1.0}
    edges = sorted(cuts)
    pieces = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", integrate.IntegrationWarning)
        for low, high in itertools.pairwise(edges):
            value = integrate.quad(
                lambda t: distribution.pdf(t) * math.exp(-a * kl(t, p)), low, high, epsabs=0, epsrel=1e-10
            )[0]
            pieces.append(value)
    return float(distribution.cdf(p)) + math.fsum(pieces)


@FAST
@given(st.integers(1, 1500), A, st.floats(-12.0, -0.1).map(math.exp))
@pytest.mark.slow
def test_failure_against_quadrature(n_blocks: int, a: float, p: float) -> None:
    expected = min(1.0, n_blocks / median_rank(n_blocks) * p, integral_twin(n_blocks, a, p))
    assert resampled_failure(n_blocks, a, p) == pytest.approx(expected, rel=1e-7, abs=1e-290)


@FAST
@given(st.integers(1, 2000), A, st.floats(1e-10, 0.3))
def test_solution_solves_and_lies_between_markov_and_independence(
    n_blocks: int, a: float, delta: float
) -> None:
    p = resampled_p(n_blocks, a, delta)
    assert delta * median_rank(n_blocks) / n_blocks <= p <= binomial_p(n_blocks, delta) * (1 + 1e-9)
    assert resampled_failure(n_blocks, a, p) == pytest.approx(delta, rel=1e-7)
    assert resampled_failure(n_blocks, a, p) <= delta * (1 + 1e-12)
    assert resampled_p(n_blocks, a * 1.3, delta) >= p * (1 - 1e-9)
    assert resampled_p(n_blocks, a, delta * 0.7) <= p


def splits_twin(n_blocks: int, a: float, p: float) -> tuple[float, float]:
    """Least failure bounds over the split point: Hoeffding's exponents; entropy and the exact tail."""
    tau = np.linspace(p, 0.5, 4002)[1:-1]
    hoeffding = np.exp(-2 * a * (tau - p) ** 2) + np.exp(-2 * n_blocks * (0.5 - tau) ** 2)
    data = tau * np.log(tau / p) + (1 - tau) * np.log((1 - tau) / (1 - p))
    entropy = np.exp(-a * data) + stats.binom.sf(median_rank(n_blocks) - 1, n_blocks, tau)
    return float(hoeffding.min()), float(entropy.min())


def solve_twin(failure: Callable[[float], float], delta: float) -> float:
    low, high = 1e-9, 0.5
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if failure(middle) <= delta else (low, middle)
    return low


@pytest.mark.parametrize(
    ("delta", "tau", "n_blocks", "hoeffding", "entropy", "integral"),
    [
        (0.01, 1 / 6, 24, 58.5, 36.7, 31.3),
        (0.01, 0.45, 1060, 13.6, 12.1, 11.1),
        (0.001, 0.3, 96, 30.7, 23.8, 19.6),
        (0.001, 0.45, 1521, 16.4, 14.6, 13.5),
    ],
)
def test_table_at_the_published_blocks(
    delta: float, tau: float, n_blocks: int, hoeffding: float, entropy: float, integral: float
) -> None:
    """Margins of error in sigma/sqrt(n) at K, B of the proposition, B without its floor."""
    assert math.ceil(math.log(2 / delta) / (2 * (0.5 - tau) ** 2)) == n_blocks
    a = 9 * math.log(2 / delta) / (8 * tau**2)
    assert round(resampled_margin(a, n_blocks, a, delta), 1) == integral
    split = solve_twin(lambda p: splits_twin(n_blocks, a, p)[0], delta)
    assert math.sqrt(a / split) == pytest.approx(hoeffding, abs=0.1)
    split = solve_twin(lambda p: splits_twin(n_blocks, a, p)[1], delta)
    assert math.sqrt(a / split) == pytest.approx(entropy, abs=0.1)


@FAST
@given(st.integers(3, 800), st.floats(1.0, 500.0), st.floats(1e-4, 0.45))
def test_never_worse_than_a_split(n_blocks: int, a: float, p: float) -> None:
    bound = resampled_failure(n_blocks, a, p)
    assert bound <= min(splits_twin(n_blocks, a, p)) * (1 + 1e-9)


def exact_failure(shares: dict[float, float], n_blocks: int) -> tuple[float, float]:
    """(P(bad block), P(at least half of K blocks bad)) from the distribution of the conditional share W."""
    p = sum(weight * w for w, weight in shares.items())
    m = median_rank(n_blocks)
    miss = sum(weight * stats.binom.sf(m - 1, n_blocks, w) for w, weight in shares.items())
    return p, float(miss)


@pytest.mark.parametrize("scheme", ["swor", "replacement"])
@pytest.mark.one_in(2)
def test_enumerated_failure_is_below_the_bound(scheme: str) -> None:
    """Exact distributions: rows 0 or 1, a block is bad if it holds more than c ones. Control: a tripled.

    The distribution of the conditional share of bad blocks depends on the number of ones among the rows only.
    """
    broken_control = 0
    for n, block, q, c in itertools.product((6, 12, 30), (1, 2, 3, 6), (0.02, 0.1, 0.3), (0, 1, 2)):
        if c >= block:
            continue

        def bad(ones: int, n: int = n, block: int = block, c: int = c) -> float:
            if scheme == "swor":
                return float(stats.hypergeom.sf(c, n, ones, block))
            return float(stats.binom.sf(c, block, ones / n))

        a = row_inverse_inclusion(n, block, replacement=scheme == "replacement")
        distribution: dict[float, float] = {}
        for ones in range(n + 1):
            w = bad(ones)
            distribution[w] = distribution.get(w, 0.0) + float(stats.binom.pmf(ones, n, q))
        for n_blocks in (1, 5, 35, 1001):
            p, miss = exact_failure(distribution, n_blocks)
            assert miss <= resampled_failure(n_blocks, a, p) * (1 + 1e-9)
            broken_control += miss > resampled_failure(n_blocks, 3 * a, p)
    assert broken_control > 0


@pytest.mark.parametrize("replacement", [False, True])
def test_enumerated_pairs_are_below_the_bound(replacement: bool) -> None:
    """Blocks of M pairs of n = 5 rows, h = |x - y| of rows 0 or 1; W by trying every block."""
    n = 5
    pairs = list(itertools.combinations(range(n), 2))
    for n_pairs, q, c in itertools.product((1, 2, 3), (0.05, 0.3), (0, 1)):
        draw = itertools.product(pairs, repeat=n_pairs) if replacement else None
        blocks = list(draw) if draw is not None else list(itertools.combinations(pairs, n_pairs))
        distribution: dict[float, float] = {}
        for rows in itertools.product((0, 1), repeat=n):
            bad = sum(sum(rows[i] != rows[j] for i, j in block) > c for block in blocks) / len(blocks)
            distribution[bad] = distribution.get(bad, 0.0) + q ** sum(rows) * (1 - q) ** (n - sum(rows))
        a = pair_inverse_inclusion(n, n_pairs, replacement=replacement)
        used = sum(any(0 in pair for pair in block) for block in blocks) / len(blocks)
        assert a == pytest.approx(1 / used, rel=1e-12)
        for n_blocks in (3, 21, 301):
            p, miss = exact_failure(distribution, n_blocks)
            if 0 < p < 1:
                assert miss <= resampled_failure(n_blocks, a, p) * (1 + 1e-9)


def test_simulated_misses_stay_within_delta() -> None:
    """n = 60 rows, blocks of 50: control is the width for independent blocks, which misses too often."""
    n, block, n_blocks, delta, replications = 60, 50, 301, 0.05, 800
    rng = np.random.default_rng(7)
    medians = np.empty(replications)
    for i in range(replications):
        rows = rng.standard_normal(n)
        left_out = np.argpartition(rng.random((n_blocks, n)), n - block, axis=1)[:, : n - block]
        values = (rows.sum() - rows[left_out].sum(axis=1)) / block
        medians[i] = np.sort(values)[median_rank(n_blocks) - 1]
    limit = stats.binom.isf(1e-9, replications, delta)
    assert (np.abs(medians) > resampled_margin(1.0 / block, n_blocks, n / block, delta)).sum() <= limit
    independent = width_factor(n_blocks, delta) * math.sqrt(1.0 / block)
    assert (np.abs(medians) > independent).sum() > limit


def test_limits() -> None:
    assert resampled_p(1, 1.0, 0.01) == pytest.approx(0.01)  # one block of everything: Chebyshev
    assert resampled_p(1001, 1.0, 0.01) == pytest.approx(0.01 * 501 / 1001)  # Markov
    assert resampled_p(7, 1e12, 0.01) == pytest.approx(binomial_p(7, 0.01), rel=1e-4)
    assert resampled_margin(math.inf, 7, 10.0, 0.01) == math.inf
    assert resampled_margin(0.0, 7, 10.0, 0.01) == 0.0
    with_replacement = resampled_margin(
        mean_variance(1.0, 10, n_rows=100), 7, row_inverse_inclusion(100, 10, replacement=True), 0.01
    )
    assert with_replacement == pytest.approx(resampled_margin(0.1, 7, 10.0, 0.01), rel=0.05)


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="inverse_inclusion"):
        resampled_p(7, 0.5, 0.01)
    with pytest.raises(ValueError, match="inverse_inclusion"):
        resampled_p(7, math.nan, 0.01)
    with pytest.raises(ValueError, match="delta"):
        resampled_p(7, 3.0, 0.0)
    with pytest.raises(ValueError, match="variance"):
        resampled_margin(-1.0, 7, 3.0, 0.01)
