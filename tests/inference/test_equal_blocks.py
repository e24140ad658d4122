"""Blocks of sorted rows are more equal than chance makes them: intervals take the spread within blocks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import distmom as dm
from distmom.estimators.mean.notes import IN_ORDER
from distmom.inference.adaptive import answer_rule
from distmom.numerics.blocks.moments import Moments
from distmom.theory.intervals import order_rank

N, LEVEL, FAILURE = 20_000, 0.99, 1e-3
DISTRIBUTIONS = {
    "normal": (lambda g, n: g.normal(size=n), 0.0),
    "Student 3": (lambda g, n: g.standard_t(3, n), 0.0),
    "gamma 0.5": (lambda g, n: g.standard_gamma(0.5, n), 0.5),
    "Poisson 3": (lambda g, n: g.poisson(3.0, n).astype(float), 3.0),
}


def by_ranks(found):
    """The interval of order statistics alone."""
    ordered = np.sort(found.block_estimates)
    rank = order_rank(ordered.size, 1.0 - LEVEL)
    return ordered[rank - 1], ordered[-rank]


@pytest.mark.parametrize("replications", [25, pytest.param(250, marks=pytest.mark.slow)])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.one_in(4)
def test_sorted_rows_are_covered(distribution, replications):
    """Negative control: the order statistics of the same blocks, which cover far less often."""
    draw, mean = DISTRIBUTIONS[distribution]
    covered = alone = 0
    for seed in range(replications):
        x = np.sort(draw(np.random.default_rng([7, seed]), N))
        found = dm.mean(x, rng=seed)
        assert found.status == "ok" and IN_ORDER in found.notes and found.interval_kind == "order"
        covered += found.interval[0] <= mean <= found.interval[1]
        low, high = by_ranks(found)
        alone += low <= mean <= high
    least = binom.ppf(FAILURE, replications, LEVEL)
    assert covered >= least
    if distribution == "normal" or replications > 100:
        assert alone < least


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.one_in(4)
def test_rows_in_random_order_keep_their_ranks(distribution):
    """False alarms have a probability of about 1e-6."""
    for seed in range(25):
        found = dm.mean(DISTRIBUTIONS[distribution][0](np.random.default_rng([8, seed]), N), rng=seed)
        low, high = (found.estimate + end - np.median(found.block_estimates) for end in by_ranks(found))
        assert found.interval[0] <= low + 1e-12 and high <= found.interval[1] + 1e-12
        assert IN_ORDER not in found.notes


def test_sorted_rows_with_a_few_outlying_ones():
    x = np.sort(np.random.default_rng(0).normal(size=N))
    clean = dm.mean(x, rng=0)
    x[:4] = 1e9
    found = dm.mean(x, rng=0, blocks=dm.RandomBlocks())
    assert "contaminated" in found.flags and IN_ORDER in found.notes
    width, usual = (np.diff(r.interval)[0] for r in (found, clean))
    assert 0.8 < width / usual < 1.25


def test_outlying_rows_of_both_signs_that_cancel_in_a_block_are_no_order():
    """Their squares in kept blocks would make rows seem to vary enormously within blocks."""
    g = np.random.default_rng(1)
    x = g.normal(size=N)
    bad = g.choice(N, 100, replace=False)
    x[bad] = np.repeat([1e6, -1e6], 50)
    found = dm.mean(x, rng=0)
    assert IN_ORDER not in found.notes and np.diff(found.interval)[0] < 0.2


@pytest.mark.parametrize("many_groups", [False, True])
def test_the_share_of_false_alarms_is_that_of_the_distribution(many_groups):
    """The rule itself, on groups of blocks of rows of six distributions."""
    g, shape = np.random.default_rng(2), (200 if many_groups else 20, 105, 12)
    distributions = [
        g.normal(size=shape),
        g.random(shape),
        g.standard_t(2.5, shape),
        g.lognormal(0.0, 2.0, shape),
        (g.random(shape) < 0.3) * 1.0,
        np.sin(3.0 * g.random(shape)),
    ]
    x = np.concatenate(distributions)
    blocks = Moments(
        np.full(x.shape[:2], 12),
        x.mean(axis=2),
        np.square(x - x.mean(axis=2, keepdims=True)).sum(axis=2),
    )
    sample = x[:, :9, 0]
    found = answer_rule(blocks, sample, np.full(len(x), 9), LEVEL)
    assert not found.too_equal.any()
    found = answer_rule(blocks, sample, np.full(len(x), 9), LEVEL, block_source="units")
    assert not found.too_equal.any()
