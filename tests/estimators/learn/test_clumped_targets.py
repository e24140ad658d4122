"""Targets of which many have one value: the model is that of the mean, and no word of doubt is said."""

from __future__ import annotations

import numpy as np
import pytest
from quick import quick

import distmom as dm
from distmom.inference.share.second_group import second_group
from distmom.solvers.clumps import clump, unit_of

pytest.importorskip("sklearn")

from sklearn.linear_model import LinearRegression

N = 4_000
W = np.array([1.0, -0.5, 0.5, 0.0, 0.3])

DRAWS = {
    "visits": lambda g, s: np.where(g.random(s.size) < 0.3, 0.0, np.exp(0.5 * s) * g.gamma(2.0, 1.0, s.size)),
    "half are zero": lambda g, s: np.where(
        g.random(s.size) < 0.5, 0.0, np.exp(0.5 * s) * g.gamma(2.0, 1.0, s.size)
    ),
    "mostly zero": lambda g, s: np.where(
        g.random(s.size) < 0.9, 0.0, np.exp(0.5 * s) * g.gamma(2.0, 1.0, s.size)
    ),
    "a limit": lambda g, s: np.maximum(0.0, s + g.normal(size=s.size)),
    "counts": lambda g, s: g.poisson(2.0 * np.exp(0.5 * s) * g.gamma(0.5, 2.0, s.size)).astype(float),
    "15% far from the rest": lambda g, s: np.where(
        g.random(s.size) < 0.15, 0.0, 10.0 + s + g.normal(size=s.size)
    ),
    "answers": lambda g, s: np.clip(np.round(3.0 + s + g.normal(size=s.size)), 1.0, 5.0),
}


def rows(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    g = np.random.default_rng([seed, 7])
    X = g.normal(size=(N, 5))
    return X, DRAWS[name](g, X @ W)


@pytest.mark.parametrize("name", quick({name: name for name in DRAWS}, ["visits"]))
def test_clumped_targets_have_the_model_of_the_mean(name: str) -> None:
    X, y = rows(name, 1)
    found = dm.RobustLinearRegression(random_state=0).fit(X, y)
    assert LinearRegression().fit(X, y).score(X, y) - found.score(X, y) < 0.01
    assert found.status_ == "converged" and found.flags_ == []
    assert any("of the targets are" in note for note in found.notes_)


@pytest.mark.slow
def test_bad_rows_of_clumped_targets_are_borne() -> None:
    X, y = rows("visits", 2)
    right = LinearRegression().fit(X, y)
    g = np.random.default_rng(3)
    bad = g.choice(N, N // 20, replace=False)
    X[bad] += g.normal(0.0, 20.0, (bad.size, 5))
    clean, test = rows("visits", 4)
    found = dm.RobustLinearRegression(random_state=0).fit(X, y)
    plain = LinearRegression().fit(X, y)  # the control
    assert (
        right.score(clean, test) - found.score(clean, test)
        < 0.02
        < right.score(clean, test) - plain.score(clean, test)
    )


def test_units_of_clumped_targets_are_not_those_of_rows_far_out() -> None:
    y = np.r_[np.zeros(500), np.random.default_rng(0).gamma(2.0, 1.0, 500)]
    assert clump(y) == (0.0, 0.5) and clump(y[500:]) == (0.0, 0.0)
    unit = unit_of(y, 0.0, 0.0)
    y[-20:] = 1e9
    assert unit_of(y, 0.0, 0.0) == pytest.approx(unit, rel=0.3)


def test_a_median_beside_zeros_makes_no_second_group() -> None:
    for seed in range(5):
        g = np.random.default_rng(seed)
        y = np.maximum(0.0, g.normal(0.02, 1.0, N))
        assert second_group(np.sort(y)).n == 0
    y = np.r_[np.zeros(N // 2), np.exp(g.normal(size=N // 4)), 1e6 * np.exp(g.normal(size=N // 4))]
    assert second_group(np.sort(y)).n == N // 4
