"""The work that faults meet: everything that takes a cluster through one or several rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.cluster import Call, plan, runner
from distmom.cluster.executors.backends import as_backend
from distmom.estimators.learn import rows as learn_rows
from distmom.passes import regrouping

N_FILES = 24


def write_lake(folder: Path, n_files: int = N_FILES, n_rows: int = 400) -> Path:
    """Heavy tails, four predictions, two features; one file a thousand times too large."""
    folder.mkdir(parents=True)
    g = np.random.default_rng(0)
    for i in range(n_files):
        a, b = g.normal(size=(2, n_rows))
        y = a - b + g.standard_t(3, n_rows)
        columns = {"x": g.standard_t(3, n_rows) * (1e3 if i == 5 else 1.0), "a": a, "b": b, "y": y}
        columns |= {f"p{j}": (0.8 + 0.1 * j) * a - b for j in range(4)}
        pq.write_table(pa.table(columns), folder / f"{i:02}.parquet")
    return folder


def mean(lake: Path, out: Path, executor: Any) -> Any:
    return dm.mean(lake, "x", rng=7, executor=executor)


def pairs(lake: Path, out: Path, executor: Any) -> Any:
    """Rows are counted, sorted on disk, and evaluated."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"MOST_READS": 0, "LEAST_BYTES": 0, "DISK_BYTES": 8_000}.items():
            patch.setattr(regrouping, name, value)
        place = replace(as_backend(executor), scratch=out)  # type: ignore[type-var]
        return dm.ustatistic(lake, "x", kernel="gini", rng=7, executor=place)


def tournament(lake: Path, out: Path, executor: Any) -> Any:
    """Two rounds."""
    names, match = [f"p{j}" for j in range(4)], dm.Match(beta_r=1e9)
    return dm.tournament(lake, names, "y", rng=7, blocks=9, match=match, executor=executor)


def train(lake: Path, out: Path, executor: Any) -> Any:
    """Rows are fetched for four steps at a time, and blocks computed by the workers."""
    learner = dm.RobustLinearRegression(random_state=7, max_iter=12, early_stopping=False)
    how = {"columns": ["a", "b"], "mode": "streaming", "compute": "workers"}
    found = learner.fit(lake, "y", executor=executor, **how)
    return found.coef_.tobytes()


JOBS: dict[str, Callable[..., Any]] = {job.__name__: job for job in (mean, pairs, tournament, train)}


def same(a: Any, b: Any) -> bool:
    return bool(a == b)


def one_file_a_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOST_FILES", "LEAST_FILES"):
        monkeypatch.setattr(plan, name, 1)
    monkeypatch.setattr(learn_rows, "MOST_GATHERED", 1)
    monkeypatch.setattr(learn_rows, "STEPS_AT_ONCE", 4)


class Meanwhile:
    """Calls a function of the number of units of files done so far, over all rounds, in the client."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, then: Callable[[int], None] = lambda _: None) -> None:
        self.n_done = 0
        keep = runner._Run.keep

        def counted(run: Any, unit: Any, outcome: Any) -> None:
            keep(run, unit, outcome)
            if isinstance(getattr(unit, "window", None), Call):
                return  # of blocks of a step, of which there are as many as threads
            self.n_done += 1
            then(self.n_done)

        monkeypatch.setattr(runner._Run, "keep", counted)
