"""The robust scorer inside scikit-learn: outliers in a test fold do not decide."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

import distmom as dm
from distmom.numerics.losses.table import LOSSES


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    return X, X @ np.array([1.0, -2.0, 0.5]) + 0.1 * rng.normal(size=600)


def test_it_is_the_mean_of_the_losses_on_clean_rows(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    model = LinearRegression().fit(X, y)
    losses = (y - model.predict(X)) ** 2
    se = losses.std() / np.sqrt(losses.size)
    assert -dm.robust_scorer("squared")(model, X, y) == pytest.approx(losses.mean(), abs=4 * se)


def test_outlying_rows_in_a_fold_do_not_choose_the_model(data: tuple[np.ndarray, np.ndarray]) -> None:
    """Two outlying targets in each test fold, none in training: the sample mean prefers the wrong model."""
    X, y = data
    outlying = y.copy()
    folds = list(KFold(3).split(X))
    tests = np.concatenate([test[:2] for _, test in folds])
    outlying[tests] = 1e5 * np.sign(y[tests])
    clean = [(np.setdiff1d(train, tests), test) for train, test in folds]

    class Scaled(Ridge):
        """Predicts 50 times too much for `alpha` 0: nearer to the outlying rows, useless elsewhere."""

        def predict(self, X):  # type: ignore[no-untyped-def]
            return super().predict(X) * (50.0 if self.alpha == 1e-9 else 1.0)

    grid = {"alpha": [1e-9, 1e-3]}
    robust = GridSearchCV(Scaled(), grid, scoring=dm.robust_scorer("squared"), cv=clean).fit(X, outlying)
    plain = GridSearchCV(Scaled(), grid, scoring="neg_mean_squared_error", cv=clean).fit(X, outlying)
    assert robust.best_params_ == {"alpha": 1e-3}
    assert plain.best_params_ == {"alpha": 1e-9}


@pytest.mark.parametrize("loss", ["log", "zero_one"])
def test_classification(loss: str, data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    labels = np.where(y > 0, "late", "punctual")
    scores = cross_val_score(LogisticRegression(), X, labels, scoring=dm.robust_scorer(loss), cv=3)
    assert np.all((scores > -0.3) & (scores <= 0))


def test_a_label_never_seen_costs_much_but_not_everything(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    model = LogisticRegression().fit(X, y > 0)
    losses = dm.robust_scorer("log").row_losses(model, X[:2], np.array([True, 7], object))
    assert losses[0] < 20 and 700 < losses[1] < 710


def test_predictions_that_are_not_numbers_lose(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data

    class Broken:
        def predict(self, X):  # type: ignore[no-untyped-def]
            return np.full(len(X), np.nan)

    assert dm.robust_scorer("squared")(Broken(), X, y) == -np.inf


def test_pickles_and_repeats(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    scorer = dm.robust_scorer("absolute", rng=3, blocks=9)
    model = LinearRegression().fit(X, y)
    again = pickle.loads(pickle.dumps(scorer))
    assert again == scorer and again(model, X, y) == scorer(model, X, y)
    assert dm.robust_scorer("absolute", rng=4, blocks=9)(model, X, y) != scorer(model, X, y)


def test_wrong_arguments_end_in_one_line(data: tuple[np.ndarray, np.ndarray]) -> None:
    for arguments, words in (
        (("squares",), ["loss", "'squared'"]),
        ((3,), ["loss", "3"]),
    ):
        with pytest.raises(dm.ConfigError) as caught:
            dm.robust_scorer(*arguments)
        assert all(word in str(caught.value) for word in words)
    with pytest.raises(dm.ConfigError, match="rng"):
        dm.robust_scorer("squared", rng=None)
    with pytest.raises(dm.ConfigError, match="blocks: must be a whole number"):
        dm.robust_scorer("squared", blocks=0)
    X, y = data
    with pytest.raises(dm.ConfigError, match="one number per row"):
        dm.robust_scorer(lambda t, p: 0.0)(LinearRegression().fit(X, y), X, y)


def test_losses_by_hand() -> None:
    truth, predicted = np.array([0.0, 1.0, 1.0]), np.array([0.5, 3.0, 1.0])
    assert LOSSES["squared"](truth, predicted).tolist() == [0.25, 4.0, 0.0]
    assert LOSSES["absolute"](truth, predicted).tolist() == [0.5, 2.0, 0.0]
    assert LOSSES["huber"](truth, predicted).tolist() == [0.125, 1.5, 0.0]
    assert LOSSES["pinball"](truth, predicted).tolist() == [0.25, 1.0, 0.0]
    assert LOSSES["zero_one"](truth, predicted).tolist() == [1.0, 1.0, 0.0]
    assert LOSSES["log"](np.array([1.0, 0.0]), np.array([0.5, 0.75])) == pytest.approx(-np.log([0.5, 0.25]))
