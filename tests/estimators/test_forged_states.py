"""Forged states of all that has one but the mean, and forged models: an answer or one line."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from forged import damaged, other, refusals

import distmom as dm

KINDS: dict[str, Callable[[Path, Path], Any]] = {
    "tournament": lambda lake, state: dm.tournament(lake, ["x", "y"], "t", rng=1, state=state),
    "regression": lambda lake, state: dm.RobustLinearRegression(random_state=1, max_iter=8).fit(
        lake, "t", columns=["x", "y"], state=state
    ),
    "clustering": lambda lake, state: dm.RobustKMeans(2, random_state=1, max_iter=8).fit(
        lake, columns=["x", "y"], state=state
    ),
}
ROWS = np.random.default_rng(0).normal(size=(400, 3))
MODELS: dict[str, Callable[[], Any]] = {
    "regression": lambda: dm.RobustLinearRegression(random_state=0, max_iter=5).fit(ROWS, ROWS[:, 0]),
    "classification": lambda: dm.RobustLogisticRegression(random_state=0, max_iter=5).fit(
        ROWS, ROWS[:, 0] > 0
    ),
    "clustering": lambda: dm.RobustKMeans(2, random_state=0, max_iter=5).fit(ROWS),
    "metric": lambda: dm.MahalanobisMetric(random_state=0, max_iter=5).fit(ROWS, ROWS[:, 0] > 0),
    "ranking": lambda: dm.PairwiseRanker(random_state=0, max_iter=5).fit(ROWS, ROWS[:, 0]),
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forged") / "lake"
    folder.mkdir()
    g = np.random.default_rng(0)
    for i in range(4):
        table = {name: g.normal(size=300) for name in "xyt"}
        pq.write_table(pa.table(table), folder / f"{i}.parquet")
    return folder


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kind", "n"), [("clustering", 8), *(pytest.param(kind, 300, marks=pytest.mark.slow) for kind in KINDS)]
)
def test_forged_states_of_other_runs(lake: Path, tmp_path: Path, kind: str, n: int) -> None:
    good, forged, choice = tmp_path / "good.state", tmp_path / "forged.state", random.Random(kind)
    KINDS[kind](lake, good)
    assert refusals(good, forged, choice, n, lambda: KINDS[kind](lake, forged)) > n / 8


@pytest.mark.filterwarnings("ignore")
@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", [*MODELS])
@pytest.mark.parametrize("n", [20, pytest.param(300, marks=pytest.mark.slow)])
def test_forged_models(tmp_path: Path, kind: str, n: int) -> None:
    """What can be loaded can be used on the rows that it was made for."""
    good, forged, choice = tmp_path / "good", tmp_path / "forged", random.Random(kind)
    made = MODELS[kind]()
    dm.save_model(made, good)
    assert type(dm.load_model(good)) is type(made)
    description, files = json.loads((good / "model.json").read_text()), sorted(good.glob("*.npy"))
    refused = 0
    for _ in range(n):
        shutil.rmtree(forged, ignore_errors=True)
        shutil.copytree(good, forged)
        if choice.random() < 0.6:
            (forged / "model.json").write_text(json.dumps(other(description, choice)))
        else:
            file = choice.choice(files)
            np.save(forged / file.name, damaged(np.load(file), choice))
        try:
            model = dm.load_model(forged)
        except dm.DataError as error:
            assert "\n" not in str(error)
            refused += 1
            continue
        rows = np.zeros((2, model.n_features_in_))
        for use in ("predict", "transform", "decision_function"):
            if hasattr(model, use):
                assert len(getattr(model, use)(rows)) == 2
    assert refused > n / 10
