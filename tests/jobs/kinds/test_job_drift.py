"""The batch job ``drift``: what Python computes, and the job of the repository."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import distmom as dm

Run = Callable[..., Any]


def test_it_writes_what_python_computes(run: Run, folder: Path) -> None:
    (folder / "job.toml").write_text(
        """
        pipeline = "drift"
        data.paths = ["lake/f0.parquet", "lake/f1.parquet"]
        data.batch_rows = 100
        drift = { columns = ["x", "y"], statistics = ["mean", "mmd"], bandwidth = 0.5, permutations = 99 }
        promise.confidence = 0.9
        output.files = ["out.json"]
        """
    )
    assert run(folder / "job.toml", dry_run=True).code == 0
    assert run(folder / "job.toml").code == 0
    pair = [folder / "lake" / f"f{i}.parquet" for i in (0, 1)]
    expected = dm.compare(
        pair,
        ["x", "y"],
        statistics=["mean", dm.kernels.mmd(0.5)],
        confidence_level=0.9,
        rng=0,
        test=dm.Permutations(99),
    )
    found = json.loads((folder / "out.json").read_text())["results"]
    assert [r["p_value"] for r in found] == [r.p_value for r in expected]
    assert [r["estimate"] for r in found] == [r.estimate for r in expected]


def test_the_auc_of_a_score_by_its_label(run: Run, folder: Path) -> None:
    (folder / "job.toml").write_text(
        """
        pipeline = "drift"
        data.path = "lake"
        drift = { columns = "y", by = "kind", samples = ["b", "a"], statistics = "auc", permutations = 99 }
        output.files = ["out.json"]
        """
    )
    lake = dm.scan(folder / "lake")
    ended = run(folder / "job.toml")
    assert ended.code == 0, ended.err
    right = dm.ustatistic(lake, "y", kernel="auc", by={"kind": ["b", "a"]}, rng=0)
    [found] = json.loads((folder / "out.json").read_text())["results"]
    assert found["estimate"] == right.estimate and found["samples"] == ["kind = b", "kind = a"]


def test_values_too_large_for_a_mean_end_in_no_answer(run: Run, folder: Path) -> None:
    """A line of the log of what drifted has a number, or says that there is none."""
    sign = np.random.default_rng(1).integers(0, 2, 600) * 2.0 - 1.0
    for name, more in (("before", 0.0), ("after", 3.0)):
        pq.write_table(pa.table({"x": 1.7e308 * sign, "y": sign + more}), folder / f"{name}.parquet")
    (folder / "job.toml").write_text(
        """
        pipeline = "drift"
        data.paths = ["before.parquet", "after.parquet"]
        drift = { columns = ["x", "y"], permutations = 999 }
        output.files = ["out.json"]
        """
    )
    ended = run(folder / "job.toml")
    assert ended.code == 5 and "y drifted: mean 3, Holm" in ended.err and "x drifted" not in ended.err


def test_there_is_no_state(run: Run, folder: Path) -> None:
    lines = ['pipeline = "drift"', 'data.path = "lake"', 'drift.columns = "x"', 'run.state = "a"']
    (folder / "job.toml").write_text("\n".join([*lines, 'output.files = "o.json"']))
    ended = run(folder / "job.toml")
    assert ended.code == 2 and "line 4" in ended.err and "drop it" in ended.err


def test_drift_is_a_warning_of_the_log(run: Run, folder: Path) -> None:
    (folder / "job.toml").write_text(
        """
        pipeline = "drift"
        data = { path = "lake", where = ["x < 1", "x >= 1"] }
        drift = { columns = "x", statistics = ["auc"], permutations = 199 }
        output.files = "out.json"
        """
    )
    ended = run(folder / "job.toml", log_json=True)
    assert ended.code == 0, ended.err
    (line,) = [line for line in ended.lines() if line["event"] == "drift"]
    assert line["column"] == "x" and line["estimate"] == 1.0 and line["level"] == "warning"
