"""An arm of a few hundred units beside a large one: blocks are as many as the small arm can fill."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import distmom as dm
from distmom.inference.variants.ratios import fewer_blocks
from distmom.theory.intervals import order_rank
from distmom.theory.ladder import ladder_levels

SMALL, LARGE, FAILURE = 300, 9_000, 1e-3
MEAN = float(np.exp(0.5))


def in_eights(x, level):
    """Whether the order statistics of 35 blocks of 8 units of the small arm cover its mean."""
    means = np.sort(x[:280].reshape(35, 8).mean(axis=1))
    rank = order_rank(35, 1.0 - level)
    return means[rank - 1] <= MEAN <= means[-rank]


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.95, 0.99])
@pytest.mark.parametrize("replications", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_a_small_arm_is_covered(level, replications):
    """Negative control: 35 blocks of 8 units. An honest interval fails once in a thousand such tests."""
    covered = eights = 0
    arm = np.repeat(["new", "old"], [SMALL, LARGE])
    for seed in range(replications):
        spent = np.random.default_rng([3, seed]).lognormal(size=arm.size)
        data = {"spent": spent, "arm": arm}
        found = dm.difference(data, "spent", by="arm", control="old", confidence_level=level, rng=seed)
        assert found.n_blocks == 9
        covered += found.interval[0] <= 0.0 <= found.interval[1]
        eights += in_eights(spent, level)
    least = binom.ppf(FAILURE, replications, level)
    assert covered >= least
    if replications > 100:
        assert eights < least


@pytest.mark.parametrize(
    ("n", "finest"),
    [(40, 5), (60, 7), (80, 9), (150, 9), (200, 9), (300, 27), (370, 45), (1_000, 105), (20_000, 945)],
)
def test_the_answer_has_blocks_of_twenty_units(n, finest):
    levels = [k for k in ladder_levels(945) if n >= 8 * k]
    assert fewer_blocks(levels, n) == finest
