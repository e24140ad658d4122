"""The batch job ``train`` and the command: model, learning curve, checkpoints, refusals."""

from __future__ import annotations

import inspect
import json
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from job_example import ROOT, TEMPLATES

import distmom as dm
from distmom.cli.program import program
from distmom.jobs.keys import RUN
from distmom.jobs.kinds.train import OPTIONS, TRAIN
from distmom.state import State

pytest.importorskip("sklearn")

Run = Callable[..., Any]
TEMPLATE = TEMPLATES / "train.toml"

TRAINING = """
pipeline = "train"
[data]
path = "lake"
[train]
learner = "metric"
labels = "kind"
model = "model"
curve = ["curve.csv", "curve.svg"]
[options]
steps = 60
[run]
threads = 1
[output]
files = ["out.json"]
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "lake").mkdir()
    g = np.random.default_rng(0)
    for i in range(3):
        X, y = g.normal(size=(500, 2)), g.integers(0, 3, 500)
        X[:, 0] += 3.0 * y
        pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "kind": y}), tmp_path / "lake" / f"{i}.parquet")
    (tmp_path / "job.toml").write_text(TRAINING)
    return tmp_path


def test_it_writes_model_curve_and_result(run: Run, place: Path) -> None:
    ended = run(place / "job.toml")
    assert ended.code == 0, ended.err
    expected = dm.MahalanobisMetric(random_state=0, max_iter=60).fit(place / "lake", "kind")
    model = dm.load_model(place / "model")
    assert isinstance(model, dm.MahalanobisMetric)
    assert model.components_.tobytes() == expected.components_.tobytes()
    assert model.get_params() == expected.get_params() and model.status_ == expected.status_
    assert list(model.feature_names_in_) == ["a", "b"]
    rows = pd.DataFrame({"a": np.arange(4.0), "b": 1.0})
    assert model.set_params(random_state=1).transform(rows).tobytes() == expected.transform(rows).tobytes()
    assert {p.suffix for p in (place / "model").iterdir()} == {".json", ".npy"}
    curve = pa.csv.read_csv(place / "curve.csv")
    assert curve["objective"].to_pylist() == expected.history_["objective"].tolist()
    assert curve.column_names == ["step", "objective", "block", "gradient_norm", "skipped", "held_out"]
    assert (place / "curve.svg").read_text("utf-8").startswith("<svg")
    document = json.loads((place / "out.json").read_text())
    [result] = document["results"]
    assert (result["learner"], result["n_steps"], result["n_blocks"]) == ("MahalanobisMetric", 60, 11)
    assert result["n_rows"] == 1500 and document["data"]["n_files"] == 3 and document["run"]["seed"] == 0
    assert sorted(p.name for p in place.iterdir()) == [
        *("curve.csv", "curve.svg", "job.toml", "lake", "model", "out.json")
    ]
    again = run(place / "job.toml")  # an earlier model is replaced
    assert again.code == 0


def test_the_command_takes_a_state(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = place / "s.state"
    (place / "short.toml").write_text(TRAINING.replace("steps = 60", "steps = 30"))
    assert program.run(["train", str(place / "short.toml"), "--state", str(state), "--quiet"]) == 0
    assert program.run(["train", str(place / "job.toml"), "--state", str(state), "--quiet"]) == 0
    capsys.readouterr()
    model = dm.load_model(place / "model")
    assert isinstance(model, dm.MahalanobisMetric)
    whole = dm.MahalanobisMetric(random_state=0, max_iter=60).fit(place / "lake", "kind")
    assert model.components_.tobytes() == whole.components_.tobytes()
    assert program.run(["train", str(place / "job.toml"), "--dry-run"]) == 0
    err = capsys.readouterr().err
    assert "n_rows 1500" in err and "n_blocks 11" in err and "mode resident" in err


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=lambda s: s.name)
@pytest.mark.parametrize("mode", ["resident", "streaming"])
def test_a_job_that_is_stopped_goes_on_with_the_same_bits(
    place: Path, how: signal.Signals, mode: str
) -> None:
    state = place / "s.state"
    endless = TRAINING.replace("steps = 60", "steps = 1000000")
    endless = endless.replace("[options]", f'mode = "{mode}"\n[options]')
    endless = endless.replace("[run]", "[run]\ncheckpoint_seconds = 0.1")
    (place / "job.toml").write_text(endless)
    words = [
        sys.executable,
        "-m",
        "distmom",
        "train",
        str(place / "job.toml"),
        "--state",
        str(state),
        "--quiet",
    ]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        while not state.exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(how)
        _, err = process.communicate(timeout=240)
    assert process.returncode == (130 if how is signal.SIGINT else -9) and "Traceback" not in err
    saved = State(state).load("training")
    assert saved is not None
    steps = saved.facts["n_steps"] + 40
    assert steps > 40 and not (place / "model").exists()
    (place / "job.toml").write_text(endless.replace("1000000", str(steps)))
    subprocess.run(words, check=True)
    model = dm.load_model(place / "model")
    assert isinstance(model, dm.MahalanobisMetric)
    whole = dm.MahalanobisMetric(random_state=0, max_iter=steps).fit(place / "lake", "kind")
    assert model.components_.tobytes() == whole.components_.tobytes()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("steps = 60", "alpha = 1.0", "line 11: options.alpha: is not an option of MahalanobisMetric"),
        ("steps = 60", "blocks = 0", "line 11: options.blocks: must be"),
        ('learner = "metric"', 'learner = "trees"', "line 6: train.learner: must be one of"),
        ("curve.csv", "curve.txt", "line 9: train.curve"),
        ('model = "model"', 'model = "lake"', "line 8: train.model: model .* holds no model"),
        ("threads = 1", "batch_rows = 9", "line 13: run.batch_rows"),
        ('labels = "kind"', 'labels = "kinds"', "kinds"),
    ],
)
def test_mistakes_name_the_line(run: Run, place: Path, old: str, new: str, words: str) -> None:
    (place / "job.toml").write_text(TRAINING.replace(old, new))
    ended = run(place / "job.toml")
    assert ended.code == 2 and re.search(words, ended.err), ended.err
    assert not (place / "out.json").exists() and not (place / "model").exists()


def test_the_template_shows_every_key() -> None:
    text = re.sub(r"(?m)^# (?=\w+ = )", "", TEMPLATE.read_text())
    shown = tomllib.loads(text)
    assert set(shown["options"]) | {"n_clusters", "n_blocks", "max_iter", "temperature", "n_init"} == set(
        OPTIONS
    )
    assert set(shown["train"]) | {"labels"} == set(TRAIN)
    known = {spec.name or key for key, spec in OPTIONS.items()}
    taken: set[str] = set()
    for kind in ("MahalanobisMetric", "PairwiseRanker", "RobustKMeans", "RobustLinearRegression"):
        taken |= set(inspect.signature(getattr(dm, kind)).parameters) - {"init", "random_state"}
    assert known == taken
    assert set(shown["run"]) < set(RUN)


@pytest.mark.slow
def test_the_job_of_the_repository_runs(run: Run, demo: Path, tmp_path: Path) -> None:
    text = (
        (ROOT / "pipelines/train.toml")
        .read_text()
        .replace('"../demo/damaged"', f'"{demo}/damaged"')
        .replace("../demo/", "")
    )
    (tmp_path / "job.toml").write_text(text)
    assert run(tmp_path / "job.toml").code == 0
    model = dm.load_model(tmp_path / "delays")
    assert isinstance(model, dm.RobustLinearRegression)
    delay, distance = model.coef_
    # a minute of delay at the start is one at the end, though 1.4% of the rows have milliseconds; a plain
    # mini-batch cannot tell
    assert 0.85 < delay < 1.15 and -0.02 < distance < 0.0
