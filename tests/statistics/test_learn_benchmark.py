"""The benchmark of the learners damages what it says, tests on clean rows, and sums up what it finds."""

from __future__ import annotations

import numpy as np
import pytest

from tests.benchmarks.learn.cells import Cell
from tests.benchmarks.learn.damages import DAMAGES, damaged, file_of
from tests.benchmarks.learn.data_sets import DataSet, data_sets
from tests.benchmarks.learn.judgement import lost
from tests.benchmarks.learn.published import Centres, CoordinateDescent, MedianBlock
from tests.benchmarks.learn.summary import run, summary

G = np.random.default_rng(0)
X = G.normal(size=(1_000, 3))


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("name", DAMAGES)
def test_a_damage_changes_the_share_that_it_says(name: str, labels: bool) -> None:
    y = (X[:, 0] > 0.0).astype(int) if labels else X[:, 0] + 5.0
    found = damaged((X, y), name, 0.05, 0, labels)
    assert found is not None
    changed = (found[0] != X).any(axis=1) | (found[1] != y)
    assert changed.sum() == 50
    assert name != "files" or np.unique(file_of(1_000)[changed]).size == 5


def test_a_share_below_half_a_file_is_no_damage() -> None:
    assert damaged((X[:100], X[:100, 0]), "files", 0.01, 0, False) is None


def test_there_are_twenty_data_sets_of_distinct_names() -> None:
    names = [one.name for one in data_sets()]
    assert len(set(names)) == len(names) >= 20
    assert {one.task for one in data_sets()} == {"regression", "classes", "metric", "clusters"}


@pytest.mark.parametrize("learner", [CoordinateDescent, MedianBlock])
def test_published_learners_bear_what_they_are_made_for(learner: type) -> None:
    y = X @ [1.0, -2.0, 0.5] + 3.0 + 0.1 * G.normal(size=1_000)
    y[:5] = 1e6
    assert np.abs(learner(False, 0).fit(X, y).predict(X[5:]) - y[5:]).mean() < 0.5
    label = np.where(X[:, 0] > 0.0, 7, 4)
    assert (learner(True, 0).fit(X, label).predict(X) == label).mean() > 0.95


@pytest.mark.parametrize("trim", [0.1, None])
def test_published_centres(trim: float | None) -> None:
    rows = np.concatenate([X[:500], X[500:] + 10.0])
    rows[:5] = 1e4
    assert np.abs(np.sort(Centres(2, 0, trim).fit(rows).cluster_centers_[:, 0]) - [0.0, 10.0]).max() < 0.5


def cell(damage: str, ours: list[float], plain: list[float], **peers: float) -> Cell:
    scores = {"ours": ours, "plain": plain, **{who: [score] * len(ours) for who, score in peers.items()}}
    of = DataSet("d", "regression", lambda seed: None)  # type: ignore[arg-type, return-value]
    return Cell(of, damage, {who: tuple(one) for who, one in scores.items()}, "converged", 1.0, 1.0)


def test_a_difference_is_one_if_it_is_large_and_not_chance() -> None:
    assert lost([0.90, 0.92], [0.92, 0.94]) == pytest.approx((0.02, 0.0), abs=1e-12)
    assert lost([0.90, 0.92], [0.92, 0.94]).worse
    assert not lost([0.90, 0.92], [0.904, 0.924]).worse  # certain, but small
    wide = lost([0.90, 0.90], [0.95, 0.89])
    assert wide == pytest.approx((0.02, 0.03), abs=1e-12)
    assert not wide.worse
    assert str(wide) == "+0.020 ± 0.030"
    assert not lost([0.1], [0.9]).worse  # one seed says nothing of chance
    assert lost([-np.inf, 0.9], [0.9, 0.9]).worse
    assert not lost([0.9, 0.9], [-np.inf, 0.9]).worse
    assert not lost([-np.inf, 0.9], [0.9, -np.inf]).worse


def test_equal_learners_are_rarely_called_worse() -> None:
    """Of three differences with mean zero the t statistic is above 2 with probability 0.092 (two degrees).

    Of 2,000 cells 184 are expected; 250 or more are so with probability 5e-7.
    """
    scores = np.random.default_rng(1).normal(0.9, 0.05, (2_000, 2, 3))
    assert sum(lost(ours, plain).worse for ours, plain in scores) < 250


def test_the_summary_counts() -> None:
    peers = {"Huber": 0.9, "RANSAC": 0.5, "SGD": 1.0}
    found = "\n".join(
        summary(
            [
                cell("clean", [0.88, 0.88], [0.95, 0.95], **peers),
                cell("files 5%", [0.89, 0.91], [0.2, 0.2], **peers),
                cell("files 10%", [0.10, 0.10], [0.2, 0.2], **peers),
                cell("label noise 5%", [0.80, 0.96], [0.99, 0.93], **peers),
            ]
        )
    )
    assert "best of Huber and RANSAC in 2 of 4 cells" in found
    assert "all peers in 1 of 4 cells" in found
    assert "worse than the plain one in 2 of 4 cells, 1 of them damaged; 1 more are below" in found
    lines = "1\n  d, clean: 0.880 for 0.950, lost +0.070 ± 0.000; converged"
    assert f"clean cells with a gap of more than 0.01: {lines}" in found


@pytest.mark.slow
def test_the_quick_form_on_two_data_sets(capsys: pytest.CaptureFixture[str]) -> None:
    """Far rows ruin the plain learner, the negative control, and not ours."""
    cells = run(data_sets(["diabetes", "iris"], quick=True), 2, few=True)
    said = capsys.readouterr().out
    assert [one.data.name for one in cells] == ["diabetes"] * 5 + ["iris, metric"] * 5
    assert all(line.count("|") == 10 for line in said.splitlines())
    far = next(one for one in cells if one.damage == "far leverage 5%")
    assert far.mean("plain") < 0.1 < 0.3 < far.mean("ours")
    assert any(text.startswith("clean cells with a gap") for text in summary(cells))
