"""Classifiers of several classes: where they begin, and whom they accuse; and the penalty by default."""

from __future__ import annotations

import numpy as np
import pytest

import distmom as dm
from distmom.solvers import pilot
from distmom.solvers.fits import several_classes

pytest.importorskip("sklearn")

from sklearn.datasets import load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

W = np.array([[1.5, 0.0, -1.0], [0.0, 1.5, 1.0], [-1.5, -1.5, 0.0]])


def rows(seed: int, n: int = 3_000) -> tuple[np.ndarray, np.ndarray]:
    """Three classes by three features with long tails, two of them nearly collinear."""
    g = np.random.default_rng([seed, 3])
    X = np.exp(0.6 * g.normal(size=(n, 3)))
    X[:, 2] = X[:, 0] + 0.1 * X[:, 2]
    return X, (X @ W.T + g.gumbel(size=(n, 3))).argmax(axis=1)


def test_a_descent_begins_at_a_fit_of_all_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(0)
    plain = LogisticRegression(max_iter=5_000).fit(X, y).predict_proba(X)

    def away() -> float:
        found = dm.RobustLogisticRegression(random_state=0, max_iter=12).fit(X, y)
        return float(np.abs(found.predict_proba(X) - plain).mean())

    assert away() < 0.004
    monkeypatch.setattr(several_classes, "MOST_PRODUCTS", 0)  # the control: too many for a fit
    assert away() > 0.005


def test_far_rows_of_several_classes_are_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(1)
    g = np.random.default_rng(4)
    X[::10] += g.normal(0.0, 20.0, (300, 3)) * X.std(axis=0)  # no gap between them and the tails
    found = dm.RobustLogisticRegression(random_state=0, max_iter=12).fit(X, y)
    assert found.status_ == "share screened out" and 0.02 < found.accused_share_ < 0.1
    monkeypatch.setattr(pilot, "OF_LABELS", 2.0)  # the control: whatever their labels
    blind = dm.RobustLogisticRegression(random_state=0, max_iter=12).fit(X, y)
    assert not blind.accused_share_


def test_the_penalty_falls_with_the_rows() -> None:
    X, y = rows(2, 1_300)
    X = X[:, :2]
    for n, alpha in ((400, 1 / 400), (1_300, 1 / 1_300)):
        models = [
            dm.RobustLogisticRegression(random_state=0, max_iter=12, **given).fit(X[:n], y[:n] > 0)
            for given in ({}, {"alpha": alpha})
        ]
        assert (models[0].coef_ == models[1].coef_).all()
    with pytest.raises(dm.ConfigError, match=r'^alpha: must be "auto" or a number of at least 0, not'):
        dm.RobustLogisticRegression(alpha="none").fit(X, y)


@pytest.mark.slow
def test_wrong_labels_do_no_more_harm_than_to_the_plain_learner() -> None:
    """Of a tenth of the labels of wine: one split in 24 says little, their mean has an error of 0.004."""
    X, y = load_wine(return_X_y=True)
    gains = []
    for seed in range(24):
        at, rest, labels, right = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
        g = np.random.default_rng(seed)
        bad = g.choice(len(at), len(at) // 10, replace=False)
        labels[bad] = (labels[bad] + g.integers(1, 3, bad.size)) % 3
        plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)).fit(at, labels)
        scores = [
            dm.RobustLogisticRegression(random_state=seed, **given).fit(at, labels).score(rest, right)
            for given in ({}, {"alpha": 1e-3})
        ]
        gains.append([score - plain.score(rest, right) for score in scores])
    ours, before = np.mean(gains, axis=0)
    assert ours > -0.01 and before < -0.012  # the control: less of a penalty


@pytest.mark.slow
def test_digits_with_far_rows_are_told_from_one_another() -> None:
    X, y = load_digits(return_X_y=True)
    at, rest, labels, right = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))
    clean = plain.fit(at, labels).score(rest, right)
    g = np.random.default_rng(0)
    bad = g.choice(len(at), len(at) // 10, replace=False)
    at[bad] += g.normal(0.0, 20.0, (bad.size, 64)) * at.std(axis=0)
    found = dm.RobustLogisticRegression(random_state=0).fit(at, labels)
    assert found.status_ == "share screened out" and found.score(rest, right) > clean - 0.015
    assert plain.fit(at, labels).score(rest, right) < clean - 0.02
