"""A metric does not learn from rows that are far from all others, and its blocks are planned as they are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import distmom as dm

pytest.importorskip("sklearn")


def labelled(seed: int, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """One feature of four tells three labels."""
    g = np.random.default_rng(seed)
    y = g.integers(0, 3, n)
    X = g.normal(size=(n, 4))
    X[:, 0] = 4.0 * y + X[:, 0]
    return X, y


def told_apart(model: dm.MahalanobisMetric) -> float:
    """How much the feature that tells labels counts beside the others, in their own units."""
    M = model.get_mahalanobis_matrix()
    return float(M[0, 0] * 11.7 / np.trace(M[1:, 1:]))


@pytest.mark.slow
def test_ten_per_cent_of_displaced_rows_leave_the_metric_as_it_is() -> None:
    X, y = labelled(0)
    clean = dm.MahalanobisMetric(random_state=0).fit(X, y)
    assert clean.accused_share_ == 0.0
    g = np.random.default_rng(1)
    bad = g.choice(len(X), 60, replace=False)
    X[bad] += g.normal(0.0, 20.0, (60, 4)) * X.std(axis=0)
    found = dm.MahalanobisMetric(random_state=0).fit(X, y)
    assert 0.09 < found.accused_share_ < 0.11 and "share screened out" in found.flags_
    few = X[np.setdiff1d(np.arange(len(X)), bad)], y[np.setdiff1d(np.arange(len(X)), bad)]
    assert found.score(*few) > clean.score(*few) - 0.01
    assert told_apart(found) > 1.0

    class Unscreened(dm.MahalanobisMetric):
        _screened = False

    control = Unscreened(random_state=0).fit(X, y)
    assert control.score(*few) < clean.score(*few) - 0.02


def test_a_label_far_out_is_what_a_metric_is_to_tell() -> None:
    X, y = labelled(2)
    X[y == 2, 1] += 60.0
    found = dm.MahalanobisMetric(random_state=0, max_iter=30).fit(X, y)
    assert found.accused_share_ == 0.0


@pytest.mark.parametrize("learner", ["regression", "classification", "ranking"])
def test_explain_tells_the_blocks_that_linear_models_take(learner: str) -> None:
    X, y = labelled(3, 4_000)
    table = pa.table({**dict(zip("abcd", X.T, strict=True)), "y": y})
    told = dm.explain(dm.train, table, learner, target="y")
    found = dm.train(table, learner, target="y", rng=0, options={"max_iter": 30}).model
    assert (told["n_blocks"], told["block_size"]) == (found.n_blocks_, found.block_size_)
