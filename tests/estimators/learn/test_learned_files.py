"""Files whose rows the model fits otherwise are told, files of one kind are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from quick import quick

import distmom as dm
from distmom.estimators.learn.doubts.odd_files import odd_files
from distmom.numerics.losses.pair_risks import RankingRisk
from distmom.numerics.losses.row_risks import LinearRisk, LogisticRisk

pytest.importorskip("sklearn")

N, FILES = 6_000, 60


def lake(folder: Path, bad: tuple[int, ...], kind: str) -> str:
    g = np.random.default_rng(0)
    for number in range(FILES):
        X = g.normal(size=(N // FILES, 3))
        score = X @ [2.0, 1.0, 0.0] * (-1.0 if number in bad else 1.0)
        y = (
            score + g.normal(size=len(X))
            if kind == "number"
            else (score + g.logistic(size=len(X)) > 0).astype(int)
        )
        pq.write_table(
            pa.table({**dict(zip("abc", X.T, strict=True)), "y": y}), folder / f"{number:02}.parquet"
        )
    return str(folder)


LEARNERS = {
    "regression": (dm.RobustLinearRegression(random_state=0, max_iter=60), "number"),
    "classes": (dm.RobustLogisticRegression(random_state=0, max_iter=60), "label"),
    "ranking": (dm.PairwiseRanker(random_state=0, max_iter=60), "number"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_files_of_wrong_targets_are_told_by_name(name: str, tmp_path: Path) -> None:
    from sklearn.base import clone

    learner, kind = LEARNERS[name]
    for folder, bad in (("clean", ()), ("bad", (7, 30))):
        (tmp_path / folder).mkdir()
        path = lake(tmp_path / folder, bad, kind)
        found = clone(learner).fit(path, "y")
        assert ("files disagree" in found.flags_) == bool(bad)
        if bad:
            assert any("2 of 60 files" in note and "07.parquet, 30.parquet" in note for note in found.notes_)
            streamed = clone(learner).fit(path, "y", mode="streaming")
            assert (streamed.notes_, streamed.flags_) == (found.notes_, found.flags_)


def risks(
    g: np.random.Generator, bad: np.ndarray
) -> dict[str, tuple[object, np.ndarray, np.ndarray, np.ndarray]]:
    X = g.normal(size=(N, 3))
    w = np.array([2.0, 1.0, 0.0, 0.0])
    score = X @ w[:3]
    turned = np.where(bad, -score, score)
    heavy = turned + g.standard_t(2.0, N)
    label = (turned + g.logistic(size=N) > 0.0).astype(float)
    rare = (turned + g.logistic(size=N) > 4.0).astype(float)
    shifted = np.array([*w[:3], -4.0])
    return {
        "heavy noise": (LinearRisk("huber"), w, X, heavy),
        "labels": (LogisticRisk(), w, X, label),
        "rare labels": (LogisticRisk(), shifted, X, rare),
        "pairs": (RankingRisk("logistic", 0.0), w[:3], X, heavy),
    }


@pytest.mark.parametrize(
    "name", quick({x: x for x in ("heavy noise", "labels", "rare labels", "pairs")}, ["labels"])
)
def test_files_of_one_kind_are_not_odd_and_turned_ones_are(name: str) -> None:
    """A file is told with a probability below 1e-9; the rare labels of a lake sorted by label are none."""
    files = np.arange(N) * FILES // N
    for seed in range(20):
        risk, w, X, y = risks(np.random.default_rng(seed), np.zeros(N, bool))[name]
        assert odd_files(risk, w, X, y, files) == ()
        order = np.argsort(y, kind="stable")
        if isinstance(risk, LogisticRisk):
            assert odd_files(risk, w, X[order], y[order], files) == ()
    risk, w, X, y = risks(np.random.default_rng(99), files == 5)[name]
    assert odd_files(risk, w, X, y, files) == (5,) or name == "rare labels"
    assert odd_files(risk, w, X, y, np.zeros(N, np.int64)) == ()
