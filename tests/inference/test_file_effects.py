"""Correlated rows of a file: who is called so, and what the interval of whole files covers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from distmom.inference.adaptive import answer_rule
from distmom.inference.files.file_effects import FALSE_ALARM, LEAST_FILES, Clusters
from distmom.inference.ladder import Merger
from distmom.inference.status import Finding
from distmom.numerics.blocks.moments import Moments

RUNS = 1_000
DISTRIBUTIONS: dict[str, Any] = {
    "normal": lambda g, shape: g.standard_normal(shape),
    "exponential": lambda g, shape: g.exponential(size=shape) - 1.0,
    "student 3": lambda g, shape: g.standard_t(3, shape),
    "log-normal": lambda g, shape: g.lognormal(0.0, 1.0, shape) - np.exp(0.5),
}
ROWS: dict[str, Any] = DISTRIBUTIONS | {
    "log-normal 2": lambda g, shape: g.lognormal(0.0, 2.0, shape),
    "pareto 1.5": lambda g, shape: g.pareto(1.5, shape),
    "rare": lambda g, shape: (g.random(shape) < 0.1).astype(float),
}


def clusters(distribution: str, n_files: int, unequal: bool, seed: int) -> tuple[Clusters, np.ndarray, Any]:
    """Files of many rows, with an effect each, in cells by hash; the means, and plain t intervals' reach."""
    g = np.random.default_rng(seed)
    means = DISTRIBUTIONS[distribution](g, (RUNS, n_files))
    sizes = np.rint(
        1000.0 * np.exp(0.7 * g.standard_normal(means.shape) if unequal else np.zeros(means.shape))
    )
    cell = g.integers(0, 945, means.shape) + 945 * np.arange(RUNS)[:, None]
    count = np.bincount(cell.ravel(), sizes.ravel(), RUNS * 945).reshape(RUNS, 945)
    sums = np.bincount(cell.ravel(), (sizes * means).ravel(), RUNS * 945).reshape(RUNS, 945)
    mean = np.divide(sums, count, out=np.zeros_like(sums), where=count > 0)
    found = Clusters.of(Merger(Moments(count.astype(np.int64), mean, 1e-3 * count)))
    estimate = sums.sum(axis=1) / count.sum(axis=1)
    n = np.count_nonzero(count, axis=1)
    error = np.sqrt(np.sum((count * (mean - estimate[:, None])) ** 2, axis=1) * n / (n - 1)) / count.sum(
        axis=1
    )
    return found, estimate, error * stats.t.ppf(0.995, n - 1)


@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize("n_files", [24, 60, 500])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.one_in(6)
def test_the_interval_covers(distribution: str, n_files: int, unequal: bool) -> None:
    found, estimate, reach = clusters(distribution, n_files, unequal, seed=11)
    low, high = found.interval(estimate, 0.01)
    covered, by_t = (low <= 0.0) & (high >= 0.0), np.abs(estimate) <= reach
    few = np.isnan(low)  # files that share cells
    assert np.count_nonzero(few) <= RUNS // 100
    assert np.mean(high[~few] - low[~few]) <= 2.0 * np.mean(2.0 * reach)
    covered |= few
    assert covered.sum() >= by_t.sum() - 2
    if distribution != "log-normal":  # P(Bin(1000, 0.97) < 949) = 2e-4
        assert covered.sum() >= stats.binom.ppf(1e-4, RUNS, 0.97)
        assert n_files > 24 or np.mean(high[~few] - low[~few]) >= np.mean(2.0 * reach)


def test_too_few_files_have_no_interval() -> None:
    found, estimate, _ = clusters("normal", LEAST_FILES - 2, False, seed=1)
    assert np.isnan(found.interval(estimate, 0.01)).all()


def flagged(distribution: str, n_files: int, n_rows: int, unequal: bool, effect: float, runs: int) -> int:
    """How many of the lakes of such rows are said to have correlated rows."""
    g = np.random.default_rng(5)
    spread = np.exp(0.9 * g.standard_normal(n_files)) if unequal else np.ones(n_files)
    sizes = np.maximum(np.rint(n_rows * spread), 1).astype(np.int64)
    number = 0
    for _ in range(0, runs, 100):
        x = ROWS[distribution](g, (100, int(sizes.sum())))
        x += effect * x.std() * np.repeat(g.standard_normal((100, n_files)), sizes, axis=1)
        dealt = x[:, g.permutation(x.shape[1])]
        fine = np.full(105, x.shape[1] // 105) + (np.arange(105) < x.shape[1] % 105)
        rows, cells = (moments(values, each) for values, each in ((dealt, fine), (x, sizes)))
        found = answer_rule(rows, dealt[:, :64], np.full(100, 64), 0.99, files=cells, pays_for_files=True)
        number += np.count_nonzero(found.status & Finding.ROWS_CORRELATED)
    return number


def moments(x: np.ndarray, sizes: np.ndarray) -> Moments:
    """Of consecutive blocks of rows."""
    starts = np.cumsum(sizes) - sizes
    mean = np.add.reduceat(x, starts, axis=1) / sizes
    m2 = np.add.reduceat((x - np.repeat(mean, sizes, axis=1)) ** 2, starts, axis=1)
    return Moments(np.tile(sizes, (x.shape[0], 1)), mean, m2)


@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.slow
def test_exchangeable_rows_are_not_called_correlated(unequal: bool) -> None:
    runs, number = 0, 0
    for distribution in ROWS:
        for n_files, n_rows in ((11, 40), (30, 40), (120, 20)):
            number += flagged(distribution, n_files, n_rows, unequal, 0.0, 300)
            runs += 300
    # at the stated rate 0.63 of 6,300 are expected: P(Poisson > 4) = 4e-4
    assert number <= stats.poisson.ppf(1.0 - 1e-3, runs * FALSE_ALARM)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_correlated_rows_are_called_so(distribution: str) -> None:
    assert (
        flagged(distribution, 60, 100, True, 0.5, 100) >= 98
    )  # negative control of the control: design effect about 40
