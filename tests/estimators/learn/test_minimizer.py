"""Losses of users: minima on every set, and what is refused."""

import numpy as np
import pyarrow as pa
import pytest

import distmom as dm
from distmom.errors import ConfigError

pytest.importorskip("sklearn")


def squared(mean, rows, targets):
    away = mean - rows
    return (away**2).sum(axis=1).mean() / 2, away.mean(axis=0)


def regression(w, rows, targets):
    residual = rows @ w - targets
    return (residual**2).mean() / 2, rows.T @ residual / len(rows)


def outlying(n=2000):
    X = np.random.default_rng(0).normal(size=(n, 3)) + np.array([0.6, 0.5, -0.4])
    X[::100] = 1e6
    return X


@pytest.mark.parametrize(
    ("projection", "minimum"),
    [("none", [0.6, 0.5, -0.4]), ("simplex", [0.55, 0.45, 0.0]), ("ball", [0.342, 0.285, -0.228])],
)
@pytest.mark.one_in(2)
def test_minima_on_sets(projection, minimum):
    found = dm.RobustMinimizer(squared, [0, 0, 0], projection=projection, radius=0.5, random_state=0)
    # block means of 16 rows have sd 0.25 and the last 250 steps are averaged
    assert found.fit(outlying()).parameters_ == pytest.approx(minimum, abs=0.08)


def test_targets_and_lakes():
    X = outlying()
    y = X @ [1.0, 2.0, 3.0]
    one = dm.RobustMinimizer(regression, np.zeros(3), random_state=0, step_rule="decaying", step_size=0.3)
    assert one.fit(X, y).parameters_ == pytest.approx([1, 2, 3], abs=1e-3)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    two = dm.RobustMinimizer(regression, np.zeros(3), random_state=0, step_rule="decaying", step_size=0.3)
    assert two.fit(table, "y").parameters_.tobytes() == one.parameters_.tobytes()


def test_batches_of_rows():
    X = outlying(4000)
    found = dm.RobustMinimizer(squared, [0, 0, 0], random_state=0)
    for start in range(0, 4000, 1000):
        found.partial_fit(X[start : start + 1000])
    assert found.n_iter_ == 4 * (1000 // 176)
    # of each of the last ten steps, which are averaged, a block of 16 rows has a mean of sd 0.25
    assert found.parameters_ == pytest.approx([0.6, 0.5, -0.4], abs=0.4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"loss": 3}, "loss: must be a function"),
        ({"loss": lambda p, x, y: 1.0}, "loss: must return a number and an array"),
        ({"loss": lambda p, x, y: (1.0, np.zeros(2))}, r"gradient of shape \(3,\)"),
        ({"start": [0, np.nan, 0]}, "start: must be finite"),
        ({"projection": "psd"}, "3 numbers do not make a square matrix"),
        ({"projection": "cone"}, "projection"),
    ],
)
def test_what_is_refused(change, words):
    options = {"loss": squared, "start": [0, 0, 0], "random_state": 0} | change
    with pytest.raises(ConfigError, match=words):
        dm.RobustMinimizer(**options).fit(outlying())
