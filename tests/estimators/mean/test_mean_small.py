"""A few dozen to a thousand rows: there is an interval at every usual level, and it covers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import distmom as dm

LEVELS = (0.95, 0.99, 0.999)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [40, 80, 120, 300, 1_000])
def test_there_is_an_interval(n: int, level: float) -> None:
    x = np.random.default_rng(n).exponential(size=n)
    found = dm.mean(x, rng=0, confidence_level=level)
    assert found.interval is not None and found.interval_reason is None
    assert found.interval[0] < 1.0 < found.interval[1]
    assert found.n_blocks >= 5


def test_more_blocks_are_taken_where_order_statistics_need_them() -> None:
    x = np.random.default_rng(0).normal(size=1_000)
    usual, sure = (dm.mean(x, rng=0, confidence_level=level) for level in LEVELS[1:])
    assert (usual.n_blocks, sure.n_blocks, sure.interval_kind) == (9, 15, "order")
    assert sure.actual_level is not None and sure.actual_level >= 0.999


@pytest.mark.parametrize("n", [45, 300])
@pytest.mark.one_in(2)
def test_they_cover(n: int) -> None:
    """Fails for an honest interval once in a thousand times."""
    covered = 0
    for seed in range(80):
        x = np.random.default_rng([n, seed]).exponential(size=n)
        low, high = dm.mean(x, rng=seed, confidence_level=0.99).interval
        covered += low <= 1.0 <= high
    assert covered >= binom.ppf(1e-3, 80, 0.99)


@pytest.mark.parametrize("kernel", ["gini", "kendall"])
@pytest.mark.parametrize("level", LEVELS)
def test_statistics_of_pairs_have_one_for_300_rows(kernel: str, level: float) -> None:
    g = np.random.default_rng(1)
    data = {"x": g.normal(size=300), "y": g.normal(size=300)}
    columns, truth = ("x", 2.0 / np.sqrt(np.pi)) if kernel == "gini" else (["x", "y"], 0.0)
    found = dm.ustatistic(data, columns, kernel=kernel, rng=0, confidence_level=level)
    assert found.n_blocks == 5 and found.status == "ok"
    assert found.interval is not None and found.interval[0] < truth < found.interval[1]
