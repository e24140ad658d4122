"""A penalty of a classifier is as strong as in units of standard deviations, which outliers do not raise."""

from __future__ import annotations

import numpy as np
import pytest

import distmom as dm
from distmom.estimators.learn.scale import WITHIN, robust_scale
from distmom.numerics.median import MAD

pytest.importorskip("sklearn")

from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler


def slow_scale(column: np.ndarray) -> float:
    """The smaller deviation of a column of which no value is that of most rows."""
    middle = float(np.median(column))
    deviation = MAD * float(np.median([abs(value - middle) for value in column]))
    low, high = middle - WITHIN * deviation, middle + WITHIN * deviation
    clipped = [min(max(value, low), high) for value in column]
    mean = sum(clipped) / len(clipped)
    return min(deviation, (sum((value - mean) ** 2 for value in clipped) / len(clipped)) ** 0.5)


def two_modes(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    g = np.random.default_rng(seed)
    side = g.random(n) < 0.5
    X = np.stack([np.where(side, 4.0, -4.0), np.where(side, 0.0, 3.0)], axis=1) + g.normal(size=(n, 2))
    return X, (X @ [0.5, 0.25] + g.logistic(size=n) > 0.0).astype(int)


def test_scales_are_those_of_loops_over_values_and_never_above_either_deviation() -> None:
    g = np.random.default_rng(0)
    X = np.stack([two_modes(500, 1)[0][:, 0], g.normal(size=500), g.standard_t(2, 500)], axis=1)
    found = robust_scale(X, None, penalised=True).spread
    assert np.allclose(found, [slow_scale(column) for column in X.T], rtol=1e-12)
    usual = robust_scale(X, None).spread
    assert (found <= usual).all()
    assert np.isclose(found[0], X[:, 0].std()) and found[0] < 0.8 * usual[0]
    assert found[1] > 0.9 * usual[1]  # one normal column: the errors of both deviations are 5% and 3%


def test_outliers_move_scales_no_farther_than_the_median_absolute_deviation() -> None:
    X = two_modes(500, 2)[0]
    clean = robust_scale(X, None, penalised=True).spread
    X[:25] = 1e300, -np.inf
    usual, found = robust_scale(X, None).spread, robust_scale(X, None, penalised=True).spread
    assert (found <= usual).all()
    # a twentieth of the values are clipped at three deviations: 4.13² + 7.34² · 9/20 is 6.4²
    assert (found < 1.7 * clean).all()


def test_levels_have_their_standard_deviation_and_constants_the_scale_one() -> None:
    X = np.zeros((900, 3))
    X[::2, 0], X[::90, 1] = 1.0, 1.0  # half of the rows, and one of ninety
    found = robust_scale(X, None, penalised=True).spread
    assert found[0] == pytest.approx(0.5) and found[2] == 1.0
    assert found[1] <= robust_scale(X, None).spread[1]


def test_a_classifier_on_two_modes_is_that_of_standardised_rows() -> None:
    X, y = two_modes(200, 3)
    found = dm.RobustLogisticRegression(random_state=0, max_iter=5).fit(X, y)
    place = StandardScaler().fit(X)
    plain = LogisticRegression(tol=1e-8, max_iter=1_000).fit(place.transform(X), y)
    away = np.abs(found.decision_function(X) - plain.decision_function(place.transform(X))).max()
    # the control: in units of median absolute deviations
    scale = robust_scale(X, None)
    other = LogisticRegression(tol=1e-8, max_iter=1_000).fit(scale.features(X), y)
    stronger = np.abs(other.decision_function(scale.features(X)) - found.decision_function(X)).max()
    assert away < 1e-4 and stronger > 0.02
