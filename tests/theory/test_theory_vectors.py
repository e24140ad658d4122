"""The radius for vectors: Minsker's lemma itself, binomial tails by brute force, simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from shared_rows import resampled_failure

from distmom.numerics.linalg.geometric_median import geometric_median
from distmom.theory.bounds import width_factor
from distmom.theory.partition import poisson_binomial_tail
from distmom.theory.resampled import resampled_p
from distmom.theory.vectors import repeated_vector_factor, resampled_vector_factor, vector_factor


def constant(alpha: float) -> float:
    return (1 - alpha) / math.sqrt(1 - 2 * alpha)


def test_vectors() -> None:
    assert round(vector_factor(7, 0.01) * math.sqrt(7), 1) == 10.6
    for n_blocks in (1, 2, 7, 30):
        m = (n_blocks + 1) // 2
        options = []
        for j in range(1, m + 1):
            alpha = (j - 1) / n_blocks
            p = stats.beta(j, n_blocks - j + 1).ppf(0.01)
            options.append((1 - alpha) / math.sqrt(1 - 2 * alpha) / math.sqrt(p))
        assert vector_factor(n_blocks, 0.01) == pytest.approx(min(options), rel=1e-9)
        assert vector_factor(n_blocks, 0.01) >= width_factor(n_blocks, 0.01)


def test_vector_radius_covers_and_a_shorter_one_does_not() -> None:
    """Plane, K = 5, means of blocks at the origin or far away with small probability."""
    rng = np.random.default_rng(2)
    n_blocks, delta, replications = 5, 0.05, 4000
    radius = vector_factor(n_blocks, delta)
    directions = rng.standard_normal((replications, n_blocks, 2))
    # heavy radial distribution with trace of the covariance 1
    lengths = np.where(rng.random((replications, n_blocks, 1)) < 0.1, math.sqrt(10.0), 0.0)
    points = directions / np.linalg.norm(directions, axis=2, keepdims=True) * lengths
    median = points.mean(axis=1)
    for _ in range(200):
        distance = np.maximum(np.linalg.norm(points - median[:, None], axis=2), 1e-9)
        median = (points / distance[..., None]).sum(axis=1) / (1 / distance).sum(axis=1)[:, None]
    far = np.linalg.norm(median, axis=1)
    limit = stats.binom.isf(1e-9, replications, delta)
    assert (far > radius).sum() <= limit
    # negative control: the sample mean at a fifth of the radius
    assert (np.linalg.norm(points.mean(axis=1), axis=1) > 0.2 * radius).sum() > limit


@given(
    st.integers(1, 9).flatmap(
        lambda k: st.lists(
            st.tuples(*[st.floats(-10, 10).map(lambda v: round(v, 3))] * 2), min_size=k, max_size=k
        )
    ),
    st.floats(0.1, 10.0),
)
def test_the_lemma(points: list[tuple[float, float]], radius: float) -> None:
    """Few points far from a place mean that the geometric median is near to it."""
    x = np.array(points)
    n_far = int((np.linalg.norm(x, axis=1) > radius).sum())
    if 2 * n_far < len(x):
        median = geometric_median(x).point
        assert np.linalg.norm(median) <= constant(n_far / len(x)) * radius * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize(("n_blocks", "outlying"), [(7, 1), (7, 3), (21, 4), (22, 4)])
def test_arbitrary_blocks_count_as_bad(n_blocks: int, outlying: int) -> None:
    delta = 0.01
    options = []
    for j in range(outlying + 1, (n_blocks + 1) // 2 + 1):
        p = stats.beta(j - outlying, n_blocks - j + 1).ppf(delta)
        assert stats.binom.sf(j - outlying - 1, n_blocks - outlying, p) == pytest.approx(delta)
        options.append(constant((j - 1) / n_blocks) / math.sqrt(p))
    assert vector_factor(n_blocks, delta, outlying) == pytest.approx(min(options))
    assert vector_factor(n_blocks, delta, outlying) > vector_factor(n_blocks, delta)
    assert vector_factor(n_blocks, delta, (n_blocks + 1) // 2) == math.inf


def test_a_single_block_is_chebyshev() -> None:
    assert vector_factor(1, 0.04) == pytest.approx(5.0)
    assert vector_factor(2, 0.04) == pytest.approx(1 / math.sqrt(1 - math.sqrt(0.96)))


@pytest.mark.parametrize("n_blocks", [1, 2, 5, 9, 21])
@pytest.mark.parametrize("outlying", [0, 1])
def test_unequal_blocks_by_the_poisson_binomial_distribution(n_blocks: int, outlying: int) -> None:
    """Whatever the sizes of the good blocks: at some rank the tail stays below delta at this radius."""
    g = np.random.default_rng(n_blocks)
    delta = 0.02
    factor = vector_factor(n_blocks, delta, outlying, equal=False)
    if n_blocks <= 2 * outlying:
        assert factor == math.inf
        return
    good = n_blocks - outlying
    for spread in (0.0, 1.0, 3.0):
        variances = np.exp(spread * g.normal(size=good))
        variances /= variances.mean()
        tails = []
        for j in range(outlying + 1, (n_blocks + 1) // 2 + 1):
            radius = factor / constant((j - 1) / n_blocks)
            bad = np.minimum(1.0, variances / radius**2)
            tails.append(poisson_binomial_tail(bad, j - outlying))
        assert min(tails) <= delta * (1 + 1e-9)
    assert factor >= vector_factor(n_blocks, delta, outlying) * (1 - 1e-12)


@pytest.mark.parametrize(("n_blocks", "a"), [(1, 3.0), (7, 50.0), (24, 36.0), (300, 40.0)])
def test_samples(n_blocks: int, a: float) -> None:
    delta = 0.01
    m = (n_blocks + 1) // 2
    by_rank = [resampled_p(n_blocks, a, delta, j) for j in range(1, m + 1)]
    assert by_rank[-1] == resampled_p(n_blocks, a, delta)
    assert resampled_failure(n_blocks, a, by_rank[-1]) <= delta * (1 + 1e-9)
    best = min(constant((j - 1) / n_blocks) / math.sqrt(p) for j, p in enumerate(by_rank, 1))
    found = resampled_vector_factor(n_blocks, a, delta)
    assert best * (1 - 1e-12) <= found <= 1.01 * best, "a grid of ranks loses nothing"
    # blocks that share no rows are the limit
    assert resampled_vector_factor(n_blocks, 1e12, delta) == pytest.approx(
        vector_factor(n_blocks, delta), rel=1e-4
    )
    assert found >= vector_factor(n_blocks, delta) * (1 - 1e-9)


@pytest.mark.parametrize("rank", [1, 2, 4])
@pytest.mark.slow
def test_the_tail_of_samples_at_any_rank_by_simulation(rank: int) -> None:
    """Beta distributed W with the variance that Finner's inequality allows: at least `rank` of 7 are bad."""
    g = np.random.default_rng(rank)
    n_blocks, a, delta, n = 7, 20.0, 0.05, 200_000
    p = resampled_p(n_blocks, a, delta, rank)
    w = g.beta(p * a, (1 - p) * a, n)
    missed = int((g.binomial(n_blocks, w) >= rank).sum())
    assert missed <= n * delta + 5 * math.sqrt(n * delta)


def test_repeated_partitions_have_the_exponential_tail_at_the_best_share() -> None:
    for n_blocks, o in ((7, 0), (11, 0), (35, 3), (105, 10)):
        good, options = n_blocks - o, []
        for alpha in np.linspace(o / n_blocks, 0.5, 2_001)[1:-1].tolist():
            t = (alpha * n_blocks - o) / good

            def excess(p: float, t: float = t, good: int = good) -> float:
                entropy = t * math.log(t / p) + (1 - t) * math.log((1 - t) / (1 - p))
                return good * entropy - math.log(100.0)

            if excess(1e-300) > 0:  # else not even a tiny p is certain enough
                options.append(
                    constant(alpha)
                    / math.sqrt(optimize.brentq(excess, 1e-300, t, xtol=1e-300, maxiter=2_000))
                )
        found = repeated_vector_factor(n_blocks, 0.01, o)
        assert min(options) <= found * (1 + 1e-9) and found <= 1.001 * min(options)
        assert found > vector_factor(n_blocks, 0.01, o), "a binomial tail lies below it"
    assert repeated_vector_factor(6, 0.01, 3) == math.inf
