"""The model is the end of the descent or the fit to the sample, whichever is better."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import distmom as dm
from distmom.estimators.learn.end import finish, fits
from distmom.estimators.learn.ranker import share_in_order
from distmom.numerics.losses.row_risks import LinearRisk
from distmom.solvers import optimality
from distmom.solvers.screen import RowScreen
from distmom.solvers.status import FITTED, WORSE_STEPS


def labelled(n: int, seed: int, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    g = np.random.default_rng(seed)
    X = g.normal(size=(n, 5)) * [1.0, 2.0, 0.5, 1.0, 3.0] + 7.0
    odds = (X - 7.0) @ [1.0, -0.25, 1.0, 0.0, 0.0] + shift
    return X, (g.uniform(size=n) < expit(odds)).astype(int)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_model_of_few_rows_is_the_fit_to_all_of_them(n_classes: int) -> None:
    X, y = labelled(600, n_classes)
    if n_classes == 3:
        y += X[:, 3] > 7.0
    found = dm.RobustLogisticRegression(random_state=0, max_iter=5).fit(X, y)
    assert found.status_ == "converged" and found.advice_ == str(FITTED) and not found.flags_
    scale = found._begun.scale
    plain = LogisticRegression(C=1.0, tol=1e-8, max_iter=10_000).fit(scale.features(X), y)
    odds = plain.decision_function(scale.features(X))
    assert np.abs(found.decision_function(X) - odds).max() < 0.01
    # the control: so few steps on blocks end elsewhere
    steps = dm.RobustLogisticRegression(random_state=0, max_iter=5, scaling="robust").fit(X, y)
    assert np.abs(steps.decision_function(X) - odds).max() > 0.05


def test_further_batches_begin_at_the_fit() -> None:
    X, y = labelled(600, 2)
    found = dm.RobustLogisticRegression(random_state=0, max_iter=60).fit(X, y)
    begun = found._begun
    assert (begun.state.x == begun.found).all()
    assert np.allclose(begun.coordinates.point(begun.found), begun.x)


def rare(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return labelled(n, seed, -4.5)


def test_steps_on_blocks_without_rare_labels_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the rows is displaced by 20 deviations, so blocks hold 7 rows, mostly without an event."""
    X, y = rare(10_000, 0)
    T, t = rare(10_000, 1)
    g = np.random.default_rng(2)
    X[::10] += g.normal(0.0, 20.0, (1_000, 5)) * X.std(axis=0)

    def loss() -> tuple[dm.RobustLogisticRegression, float]:
        found = dm.RobustLogisticRegression(random_state=0, max_iter=150).fit(X, y)
        p = found.predict_proba(T)
        return found, float(-np.log(p[np.arange(len(t)), t]).mean())

    base = float(-(t.mean() * np.log(t.mean()) + (1 - t.mean()) * np.log(1 - t.mean())))
    found, good = loss()
    assert good < base and found.advice_ == str(WORSE_STEPS)
    assert {"share screened out"} <= set(found.flags_)
    monkeypatch.setattr(finish, "ERRORS", np.inf)  # the control: the descent is always taken
    assert loss()[1] > base


def screen_of(rows: np.ndarray) -> RowScreen:
    return RowScreen(np.diag([*np.ones(rows.shape[1]), 0.0]))


def test_rows_far_out_do_not_decide() -> None:
    g = np.random.default_rng(3)
    x = g.normal(size=(2_000, 1))
    x[:100] *= 30.0
    y = x[:, 0] + 0.5 * g.normal(size=2_000)
    y[:100] = -x[:100, 0]  # bad rows, which the second fit follows halfway
    right, wrong = np.array([1.0, 0.0]), fits.SampleFit(np.array([0.6, 0.0]), 2_000, True)
    risk = LinearRisk("huber")
    assert fits.better(risk, right, wrong, x, y, screen_of(x)) > optimality.ERRORS
    every = risk.losses(wrong.x, x[:, None], y[:, None]) - risk.losses(right, x[:, None], y[:, None])
    assert every.mean() < 0.0  # the control


def test_a_fit_is_not_believed_for_the_rows_that_it_has_seen() -> None:
    """With 400 parameters its losses on its own rows are some ten standard errors below the true model's.

    Corrected, the difference is as many above them; it is below -4 with a probability far under 1e-6.
    """
    g = np.random.default_rng(4)
    x = g.normal(size=(4_000, 400))
    y = g.normal(size=4_000)
    fit = np.append(np.linalg.lstsq(x, y, rcond=None)[0], 0.0)
    true, risk = np.zeros(401), LinearRisk("huber", threshold=9.0)

    def errors(whole: bool) -> float:
        return fits.better(risk, true, fits.SampleFit(fit, 4_000, whole), x, y, screen_of(x))

    assert errors(False) > -optimality.ERRORS
    assert errors(True) < -optimality.ERRORS  # the control


def test_only_a_minimum_is_a_fit() -> None:
    g = np.random.default_rng(5)
    x = g.normal(size=(500, 2))
    y = x.sum(axis=1) + g.normal(size=500)
    best = np.linalg.lstsq(np.column_stack([x, np.ones(500)]), y, rcond=None)[0]
    risk = LinearRisk("huber", threshold=9.0)
    assert fits.settled(risk, best, x, y, None)
    assert not fits.settled(risk, best + 0.3, x, y, None)
    assert not fits.settled(risk, best, x[:4], y[:4], None)


def test_squares_are_not_compared() -> None:
    assert fits.has_bounded_slope(LinearRisk("huber")) and not fits.has_bounded_slope(LinearRisk("squared"))


def ranked(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A difference of two features that are nearly equal."""
    g = np.random.default_rng(seed)
    X = g.normal(size=(n, 1)) + 0.03 * g.normal(size=(n, 2))
    return X, 20.0 * (X[:, 1] - X[:, 0]) + 0.1 * g.normal(size=n)


def test_the_model_of_a_ranking_is_logistic_regression_on_pairs() -> None:
    X, y = ranked(150, 6)
    T, t = ranked(1_000, 7)
    found = dm.PairwiseRanker(random_state=0, max_iter=5).fit(X, y)
    assert found.status_ == "converged" and found.advice_ == str(FITTED) and not found.flags_
    i, j = np.nonzero(y[:, None] != y)
    plain = LogisticRegression(fit_intercept=False, C=150**1.5 / (150 * 149), max_iter=1_000)
    scaled = X / found._begun.scale.spread
    plain.fit(scaled[i] - scaled[j], y[i] > y[j])
    odds, scores = (T / found._begun.scale.spread) @ plain.coef_[0], found.predict(T)
    assert np.corrcoef(scores, odds)[0, 1] > 0.999
    assert share_in_order(t, scores) > share_in_order(t, odds) - 0.002
    # the control: so few steps from nothing
    steps = dm.PairwiseRanker(random_state=0, max_iter=5, scaling="robust").fit(X, y)
    assert steps.score(T, t) < share_in_order(t, odds) - 0.1


def test_rows_far_out_have_little_weight_in_the_fit_of_a_ranking() -> None:
    """Displaced by 20 deviations in all directions, so that no gap separates the nearest of them."""
    X, y = ranked(600, 8)
    T, t = ranked(1_000, 9)
    g = np.random.default_rng(10)
    X[:30] += g.normal(0.0, 20.0, (30, 2))
    found = dm.PairwiseRanker(random_state=0, max_iter=5).fit(X, y)
    assert found.score(T, t) > 0.95
    i, j = np.nonzero(y[:, None] > y)
    d = X[np.r_[i, j]] - X[np.r_[j, i]]
    plain = LogisticRegression(fit_intercept=False).fit(d, np.repeat([1, 0], len(i)))
    assert share_in_order(t, T @ plain.coef_[0]) < 0.7  # the control
