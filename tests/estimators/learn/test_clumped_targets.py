"""Targets of which many have one value: the model is that of the mean, and no word of doubt is said."""

from __future__ import annotations

import numpy as np
import pytest
from quick import quick

import distmom as dm
from distmom.estimators.learn.doubts.odd_clump import odd_clump
from distmom.inference.share.second_group import second_group
from distmom.numerics.losses.row_risks import LinearRisk
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


def wrong(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Targets of which three tenths have one wrong value, whatever the features."""
    g = np.random.default_rng([seed, 9])
    X = g.normal(size=(N, 5))
    y = X @ W + g.normal(size=N)
    value = {"between": 1.5, "zero between": 0.0, "beyond": 9.0, "positive": 3.0}[name]
    y = np.exp(y) if name == "positive" else y
    y[g.random(N) < 0.3] = value
    return X, y


@pytest.mark.parametrize(
    "name", quick({name: name for name in ("between", "beyond", "positive")}, ["beyond"])
)
def test_a_clump_that_other_targets_do_not_lead_to_is_told(name: str) -> None:
    X, y = wrong(name, 1)
    found = dm.RobustLinearRegression(random_state=0).fit(X, y)
    assert found.status_ == "share far out"
    assert any("which the other targets do not lead to" in note for note in found.notes_)


def odd(X: np.ndarray, y: np.ndarray) -> bool:
    """Of least squares, whose residuals are all that is asked."""
    model = LinearRegression().fit(X, y)
    value = clump(y)[0]
    x = np.r_[model.coef_, model.intercept_]
    return odd_clump(LinearRisk("huber"), x, X, y, value, natural=value == 0.0)


def test_zeros_limits_answers_and_counts_are_never_odd() -> None:
    """Zeros below all others, limits that others come near to, and ties have no chance to be."""
    for seed in range(20):
        for name in DRAWS:
            assert not odd(*rows(name, seed))
        X, y = rows("a limit", seed)
        assert not odd(X, 1.0 - y)  # a limit above, which is not zero
        g = np.random.default_rng([seed, 8])
        near = X @ W + 0.5 * g.normal(size=N)
        assert not odd(X, np.where(np.abs(near) < 0.2, 0.1, near))  # a usual answer that features lead to
        assert odd(*wrong("between", seed)) and odd(*wrong("beyond", seed))


def dead_zone(seed: int, slope: float = 0.5, share: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Changes of which a share is zero as they would be small; features explain a quarter of them."""
    g = np.random.default_rng([seed, 5])
    X = g.normal(size=(N, 5))
    z = slope * (X @ W) + g.normal(size=N)
    small = np.quantile(np.abs(z), share)
    return X, np.where(np.abs(z) < small, 0.0, z - np.sign(z) * small / 2)


def test_zeros_between_that_features_lead_to_are_real() -> None:
    """Even if they lead there seldom; zeros at random are told."""
    for seed in range(20):
        assert not odd(*dead_zone(seed))
        assert odd(*wrong("zero between", seed))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))])
def test_zeros_between_that_may_be_either_are_asked_about(seed: int) -> None:
    """Where features explain a tenth, zeros of small changes and missing ones are alike."""
    for X, y in (dead_zone(seed, 0.25, 0.15), wrong("zero between", seed)):
        found = dm.RobustLinearRegression(random_state=0).fit(X, y)
        assert found.status_ == "converged"
        assert any("changes that did not happen, or missing values?" in note for note in found.notes_)


@pytest.mark.slow
def test_bad_rows_of_clumped_targets_are_borne() -> None:
    """R^2 lost in the mean of eight draws: that of one varies by 0.01."""
    lost = []
    for seed in range(2, 82, 10):
        X, y = rows("visits", seed)
        right = LinearRegression().fit(X, y)
        g = np.random.default_rng(seed + 1)
        bad = g.choice(N, N // 20, replace=False)
        X[bad] += g.normal(0.0, 20.0, (bad.size, 5))
        clean = rows("visits", seed + 2)
        models = dm.RobustLinearRegression(random_state=0).fit(X, y), LinearRegression().fit(X, y)
        lost.append([right.score(*clean) - model.score(*clean) for model in models])
    ours, plain = np.mean(lost, axis=0)
    assert ours < 0.015 and plain > 0.1  # the control


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
