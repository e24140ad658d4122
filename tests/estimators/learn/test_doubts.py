"""A model's status is the most serious word there is for it; what is clean has none."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest
from quick import quick

import distmom as dm

pytest.importorskip("sklearn")

from sklearn.linear_model import LinearRegression

N = 4_000


def rows(seed: int, noise: str = "normal") -> tuple[np.ndarray, np.ndarray]:
    """Three features, and a linear target with noise of mean zero."""
    g = np.random.default_rng(seed)
    X = g.normal(size=(N, 3))
    e = {
        "normal": lambda: g.normal(size=N),
        "Student 2.1": lambda: g.standard_t(2.1, N),
        "exponential": lambda: g.exponential(size=N) - 1.0,
        "growing": lambda: g.normal(size=N) * np.exp(g.normal(size=N)),
        "log-normal 1.5": lambda: np.exp(1.5 * g.normal(size=N)) - np.exp(1.125),
    }[noise]()
    return X, X @ [3.0, 1.0, 0.0] + e


def test_the_status_of_a_model_and_of_its_training_are_one() -> None:
    X, y = rows(0)
    clean = dm.RobustLinearRegression(random_state=0, max_iter=50).fit(X, y)
    assert (clean.status_, clean.flags_) == ("converged", [])
    X[:1_200], y[:1_200] = 3.0 + 0.3 * X[:1_200], -9.0  # a model of all rows follows these
    with pytest.warns(dm.DoubtfulResultWarning, match="share far out"):
        found = dm.RobustLinearRegression(random_state=0, max_iter=50).fit(X, y)
    assert found.status_ == found.flags_[0] == "share far out"
    assert found.advice_.startswith(("converged: ", "still improving: "))
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    trained = dm.train(table, "regression", target="y", rng=0, options={"max_iter": 50})
    assert trained.status == trained.model.status_ == "share far out" and not trained.ok
    results = dm.Results.of(trained)
    assert results.exit_code == 0 and results.exit_code_if(frozenset({"share far out"})) == 7


@pytest.mark.slow
def test_steps_that_are_missing_are_more_serious_than_rows_that_were_left_out() -> None:
    X, y = rows(1)
    y[:80] = 1e6
    found = dm.RobustLinearRegression(random_state=0, max_iter=50).fit(X, y)
    assert found.status_ == "share screened out" and found.advice_.startswith("converged: ")
    with pytest.warns(dm.DoubtfulResultWarning, match="still improving; share screened out"):
        slow = {"scaling": "robust", "step_size": 0.001, "max_iter": 26}
        few = dm.RobustLinearRegression(random_state=0, **slow).fit(X, y)
    assert few.status_ == "still improving" and few.flags_ == ["share screened out"]


def off(model: dm.RobustLinearRegression, X: np.ndarray, y: np.ndarray) -> float:
    """R^2 that the model loses against least squares, on the same rows."""
    return float(LinearRegression().fit(X, y).score(X, y) - model.score(X, y))


FOLLOWED = {noise: noise for noise in ("normal", "Student 2.1", "exponential", "growing")}


@pytest.mark.parametrize("noise", quick(FOLLOWED, ["exponential"]))
def test_clean_rows_have_no_word_where_the_model_is_that_of_the_mean(noise: str) -> None:
    """Each mean residual exceeds four standard errors with a probability below 1e-4 where it is zero."""
    for seed in range(2):
        X, y = rows(seed, noise)
        found = dm.RobustLinearRegression(random_state=seed, max_iter=40).fit(X, y)
        assert "residuals skewed" not in found.flags_ and off(found, X, y) < 0.02


def test_a_loss_that_does_not_follow_the_mean_is_told_and_the_advice_helps() -> None:
    X, y = rows(0, "log-normal 1.5")
    found = dm.RobustLinearRegression(random_state=0).fit(X, y)
    assert found.status_ == "residuals skewed" and off(found, X, y) > 0.01
    assert 'loss="squared"' in found.notes_[-1]
    squared = dm.RobustLinearRegression(random_state=0, loss="squared").fit(X, y)
    assert "residuals skewed" not in squared.flags_ and off(squared, X, y) < 0.01


@pytest.mark.slow
def test_wrong_targets_among_the_others_are_told_though_they_look_like_noise() -> None:
    X, y = rows(2)
    g = np.random.default_rng(3)
    y += 3.0 * g.normal(size=N)
    wrong = g.random(N) < 0.2
    y[wrong] += 15.0 * np.abs(g.normal(size=wrong.sum()))  # no gap, no second mode
    found = dm.RobustLinearRegression(random_state=0).fit(X, y)
    assert found.flags_ == ["residuals skewed"]


def few_rows(seed: int, wrong: float) -> tuple[np.ndarray, np.ndarray]:
    """300 rows, of whose targets a share is too large, some by little."""
    g = np.random.default_rng(seed)
    X = g.normal(size=(300, 3))
    y = X @ [1.0, 0.5, 0.0] + g.normal(size=300)
    y[: round(300 * wrong)] += 15.0 * np.abs(g.normal(size=round(300 * wrong)))
    return X, y


@pytest.mark.slow
def test_wrong_targets_of_few_rows_are_told_though_they_widen_the_standard_error() -> None:
    """Of thirty wrong ones some twenty lie beyond five spreads, on one side by chance once in a million."""
    for seed in range(3):
        found = dm.RobustLinearRegression(random_state=0).fit(*few_rows(seed, 0.1))
        assert "residuals skewed" in found.flags_
        assert dm.RobustLinearRegression(random_state=0).fit(*few_rows(seed, 0.0)).flags_ == []


def test_wrong_targets_pull_a_model_of_little_noise_by_its_noise() -> None:
    """Huber's loss bends at two spreads of the noise: a tenth of wrong ones pulls by 0.23 of it."""
    g = np.random.default_rng(0)
    X = g.normal(size=(N, 3))
    y = X @ [3.0, 1.0, 0.0]
    e = g.normal(size=N)
    wrong = np.arange(N) % 10 == 0
    e[wrong] = np.abs(30.0 * g.normal(size=wrong.sum()))
    found = dm.RobustLinearRegression(random_state=0).fit(X, y + e)
    assert found.intercept_ < 0.3  # units of the targets alone: 0.5
    rough = dm.RobustLinearRegression(random_state=0, scaling="robust").fit(X, y + e)
    assert rough.intercept_ > 0.4  # where no sample is fitted


@pytest.mark.slow
def test_a_rare_level_of_a_column_is_no_damage() -> None:
    g = np.random.default_rng(4)
    X = np.column_stack([np.ones(N), g.normal(size=(N, 2)), g.random(N) < 0.05]).astype(float)
    y = X @ [0.0, 1.0, 1.0, 8.0] + g.normal(size=N)
    found = dm.RobustLinearRegression(random_state=0).fit(X, y)
    assert (found.status_, found.accused_share_) == ("converged", 0.0)
    assert found.coef_[-1] == pytest.approx(8.0, abs=0.5)


@pytest.mark.slow
def test_noise_that_grows_with_the_features_is_no_damage() -> None:
    g = np.random.default_rng(5)
    X = g.normal(size=(N, 3))
    y = X.sum(axis=1) + 0.3 * (X**2).sum(axis=1) * g.normal(size=N)
    found = dm.RobustLinearRegression(random_state=0).fit(X, y)
    assert (found.status_, found.accused_share_) == ("converged", 0.0)
    bad = g.choice(N, N // 25, replace=False)
    X[bad] *= 8.0  # without their targets: the control
    assert dm.RobustLinearRegression(random_state=0).fit(X, y).accused_share_ > 0.02


def blobs(g: np.random.Generator) -> np.ndarray:
    X = g.normal(size=(N, 2)) + np.where(np.arange(N)[:, None] % 2, [8.0, 0.0], [0.0, 0.0])
    X[:60] = g.normal([4.0, 500.0], size=(60, 2))  # a small cluster far out
    return X


@pytest.mark.slow
def test_clusters_far_out_stay_and_rows_that_are_none_are_left_out() -> None:
    g = np.random.default_rng(6)
    X = blobs(g)
    kept = dm.RobustKMeans(3, random_state=0, n_init=2).fit(X)
    assert kept.n_dropped_ == 0 and kept.cluster_centers_[:, 1].max() == pytest.approx(500.0, abs=1.0)
    scattered = g.normal(size=(N, 2)) + np.where(np.arange(N)[:, None] % 2, [8.0, 0.0], [0.0, 0.0])
    scattered[:200] *= 1e5 * (1.0 + g.random((200, 1)))
    found = dm.RobustKMeans(2, random_state=0, scaling="none", n_init=2).fit(scattered)
    assert found.status_ == found.flags_[0] == "share screened out" and found.n_dropped_ > 150
    assert sorted(found.cluster_centers_[:, 0].round(0).tolist()) == [0.0, 8.0]


@pytest.mark.filterwarnings("ignore:block_size")
@pytest.mark.parametrize("bad", ["x", "y"])
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_of_infinite_rows_there_is_no_answer(bad: str, share: float) -> None:
    g = np.random.default_rng(0)
    data = {"x": g.normal(size=600), "z": g.normal(size=600)}
    data["y"] = data["x"] + 2.0 * data["z"]
    data[bad] = np.where(g.random(600) < share, np.inf, data[bad])
    for learner in (dm.RobustLinearRegression(random_state=0), dm.PairwiseRanker(random_state=0)):
        if share < 1.0:
            with suppress(dm.NoAnswerError):
                learner.fit(data, "y")
                assert learner.status_ != "converged"
            continue
        with pytest.raises(dm.DistmomError, match="each of the 600 rows has an infinite value"):
            learner.fit(data, "y")
