"""The fit of a ranking to pairs of a sample, and losses of its rows, beside loops over all pairs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from distmom.estimators.learn.end.fits import SampleFit, _optimism
from distmom.numerics.losses.block_risk import pairs_in_turn
from distmom.numerics.losses.pair_risks import RankingRisk
from distmom.solvers.fits.rankings import fit_of_pairs, fit_of_rankings
from distmom.solvers.optimality import standard_errors


@given(n=st.integers(3, 40), most=st.integers(0, 900))
def test_rows_have_equally_many_partners(n: int, most: int) -> None:
    first, second = pairs_in_turn(n, most)
    assert (first != second).all() and len(first) <= max(n, most)
    assert len({frozenset(pair) for pair in zip(first.tolist(), second.tolist(), strict=True)}) == len(first)
    counts = np.bincount(np.concatenate([first, second]), minlength=n)
    assert counts.min() == counts.max() >= 2
    if n % 2 and most >= n * (n - 1) // 2:
        assert len(first) == n * (n - 1) // 2  # all


def sample(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    g = np.random.default_rng(seed)
    x = g.normal(size=(n, 3)) * [1.0, 3.0, 0.5]
    return x, np.round(x @ [1.0, 0.5, -1.0] + g.normal(size=n))  # with ties


def pair_loss(w: np.ndarray, x: np.ndarray, y: np.ndarray, i: int, j: int) -> float:
    sign = (y[i] > y[j]) * 1.0 - (y[i] < y[j]) * 1.0
    return math.log1p(math.exp(-sign * float(w @ (x[i] - x[j])))) * (sign != 0.0)


def test_the_fit_is_the_minimum_over_all_pairs() -> None:
    n, penalty = 41, 0.01
    x, y = sample(n, 0)
    weights = np.random.default_rng(1).uniform(0.1, 1.0, n)
    z = np.column_stack([x, np.ones(n)])

    def slow(w: np.ndarray) -> float:
        total = loss = 0.0
        for i in range(n):
            for j in range(i):
                total += weights[i] * weights[j]
                loss += weights[i] * weights[j] * pair_loss(w, x, y, i, j)
        return loss / total + 0.5 * penalty * float(w @ w)

    found = fit_of_pairs(RankingRisk("logistic", penalty), z, y, weights, np.eye(4))
    assert found is not None and abs(found[3]) < 1e-9
    best = minimize(slow, np.zeros(3), options={"gtol": 1e-7}).x
    assert np.allclose(found[:3], best, atol=1e-4)
    # in other coordinates it is the same
    basis = np.array([[1.0, 0.2, 0.0, 0.1], [0.2, 2.0, 0.3, 0.0], [0.0, 0.3, 1.5, 0.0], [0.1, 0.0, 0.0, 1.0]])
    elsewhere = fit_of_pairs(RankingRisk("logistic", penalty), z @ basis, y, weights, basis)
    assert elsewhere is not None and np.allclose((basis @ elsewhere)[:3], best, atol=1e-4)


def test_without_different_outcomes_or_a_smooth_loss_there_is_no_fit() -> None:
    x, y = sample(21, 2)
    z, ones = np.column_stack([x, np.ones(21)]), np.ones(21)
    assert fit_of_pairs(RankingRisk(), z, ones, ones, np.eye(4)) is None
    assert fit_of_pairs(RankingRisk("hinge"), z, y, ones, np.eye(4)) is None


def test_losses_of_rows_are_means_over_their_pairs() -> None:
    n, w = 31, np.array([0.5, -1.0, 2.0])
    x, y = sample(n, 3)
    risk = RankingRisk("logistic", 0.1)
    slow = [sum(pair_loss(w, x, y, i, j) for j in range(n) if j != i) / (n - 1) for i in range(n)]
    found = risk.row_losses(w, x, y)
    assert np.allclose(found, np.array(slow) + 0.05 * float(w @ w), rtol=1e-12)
    assert found.mean() == pytest.approx(risk.losses(w, x[None], y[None])[0], rel=1e-12)


def test_losses_of_two_rankings_are_compared_in_units_of_their_error() -> None:
    """Two of equal risk: the variance of the comparison is 1, and of 200 its estimate is off by 0.1.

    Outside of four such errors it is once in 10,000 times; without the degree of the pairs it is near 4.
    """
    risk, ratios = RankingRisk(), []
    for seed in range(200):
        g = np.random.default_rng(seed)
        x = g.normal(size=(101, 2))
        y = x.sum(axis=1) + g.logistic(size=101)
        values = [risk.row_losses(np.array(w), x, y) for w in ([1.0, 0.2], [0.2, 1.0])]
        ratios.append(standard_errors(values[0] - values[1]) / risk.least_rows)
    assert 0.6 < float(np.square(ratios).mean()) < 1.4


def test_the_fit_gives_rows_far_out_less_weight_if_they_follow_another_order() -> None:
    x, y = sample(200, 5)
    weights, ones = np.ones(200), np.ones(200)
    x[:10] *= 20.0
    weights[:10] = 0.01
    for far, kept in ((y[:10], ones), (-y[:10], weights)):  # their outcomes go with the features, or do not
        z = np.column_stack([x, np.ones(200)])
        outcomes = np.concatenate([far * 20.0, y[10:]])
        found = fit_of_rankings(RankingRisk("logistic", 1e-3), z, outcomes, weights, np.eye(4))
        expected = fit_of_pairs(RankingRisk("logistic", 1e-3), z, outcomes, kept, np.eye(4))
        assert found is not None and expected is not None
        assert np.allclose(found, expected, atol=1e-4)


@pytest.mark.slow
def test_what_a_fit_gains_from_having_seen_its_pairs_is_estimated() -> None:
    """Losses on new rows exceed those on rows of the fit by as much on average, up to four errors.

    Losses of other parameters on the same rows are subtracted, which have seen none.
    """
    risk, gains, estimates = RankingRisk(), [], []
    other, first = np.array([0.6, 0.0, 0.0, 0.0, 0.0]), np.arange(1_000) < 500
    for seed in range(40):
        g = np.random.default_rng(seed)
        x = g.normal(size=(1_000, 5))
        y = x[:, 0] + g.logistic(size=1_000)
        z = np.column_stack([x, np.ones(1_000)])
        v = fit_of_pairs(risk, z[first], y[first], np.ones(500), np.eye(6))
        assert v is not None
        seen, new = (
            (risk.row_losses(v[:5], x[k], y[k]) - risk.row_losses(other, x[k], y[k])).mean()
            for k in (first, ~first)
        )
        gains.append(new - seen)
        estimates.append(_optimism(risk, SampleFit(v[:5], 500, False), x[first], y[first]))
    error = np.std(np.subtract(gains, estimates), ddof=1) / math.sqrt(len(gains))
    assert abs(np.mean(gains) - np.mean(estimates)) < 4.0 * error
    assert np.mean(gains) > 4.0 * error  # the control: without it
