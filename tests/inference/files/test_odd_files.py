"""Files with other values than all others: false alarms by distribution of file means, and what is found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from distmom.inference.files.odd_files import odd_files
from tests.statistics.dependence_tables import EFFECTS

WEIGHT = np.full(1_000, 1_000.0)
FILES = (5, 8, 10, 24, 50)


def alarms(distribution: str, runs: int, seed: int) -> int:
    """Lakes of files with effects of that distribution, in which one is called odd."""
    g, found = np.random.default_rng(seed), 0
    for n in FILES:
        for size in (0.0, 0.5, 2.0, 30.0):  # of effects, in standard errors of a file's mean
            for _ in range(runs):
                means = g.standard_normal(n) + size * EFFECTS[distribution](g, n)
                found += odd_files(WEIGHT[:n], means, 1_000.0).any()
    return found


@pytest.mark.parametrize("distribution", EFFECTS)
def test_files_of_one_distribution_are_seldom_odd(distribution: str) -> None:
    assert alarms(distribution, 100, 5) <= stats.poisson.ppf(1.0 - 1e-3, 100 * len(FILES) * 4 / 1_000)


@pytest.mark.slow
@pytest.mark.parametrize("distribution", EFFECTS)
def test_false_alarms_are_one_in_a_thousand(distribution: str) -> None:
    assert alarms(distribution, 3_000, 6) <= stats.poisson.ppf(1.0 - 1e-3, 3_000 * len(FILES) * 4 / 1_000)


@pytest.mark.parametrize("distribution", ["pareto 1.5", "student 2.1", "log-normal 2", "rare", "one far row"])
def test_rows_of_heavy_tails_make_no_file_odd(distribution: str) -> None:
    g, found = np.random.default_rng(7), 0
    distributions = {
        "pareto 1.5": lambda n: g.pareto(1.5, n),
        "student 2.1": lambda n: g.standard_t(2.1, n),
        "log-normal 2": lambda n: g.lognormal(0.0, 2.0, n),
        "rare": lambda n: (g.random(n) < 0.01).astype(float),
        "one far row": lambda n: np.concatenate([[1e9], g.standard_normal(n - 1)]),
    }
    for n_files in (5, 12, 50):
        for _ in range(60):
            x = distributions[distribution](n_files * 100).reshape(n_files, 100)
            found += odd_files(np.full(n_files, 100.0), x.mean(axis=1), float(x.var(axis=1).mean())).any()
    assert found <= 2  # P(Poisson(0.18) > 2) = 8e-4


@pytest.mark.parametrize(
    ("n", "bad", "away", "least"),
    [(50, 1, 164, 60), (24, 2, 164, 58), (8, 1, 164, 50), (5, 1, 164, 40), (50, 1, 5, 0)],
)
def test_an_odd_file_is_found(n: int, bad: int, away: float, least: int) -> None:
    g, found = np.random.default_rng(8), 0
    for _ in range(60):
        means = g.standard_normal(n)
        means[:bad] -= away
        odd = odd_files(WEIGHT[:n], means, 1_000.0)
        found += bool(odd[:bad].all() and not odd[bad:].any())
    assert found >= least and (away > 100 or not found)


def test_files_of_one_value_are_not_judged() -> None:
    means = np.zeros(20)
    means[0] = 1.0  # events in one file alone may be real
    assert not odd_files(WEIGHT[:20], means, 1e-6).any()
