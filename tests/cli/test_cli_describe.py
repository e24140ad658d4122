"""``distmom describe``: tables, JSON, files, exit codes."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def odd_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hundred files, one of which is a thousand times too large."""
    root = tmp_path_factory.mktemp("odd")
    g = np.random.default_rng(0)
    for i in range(200):
        x = g.normal(5.0, 1.0, 100) * (1_000.0 if i == 7 else 1.0)
        pq.write_table(pa.table({"x": x, "name": ["a\x1b[1m", None] * 50}), root / f"{i:03}.parquet")
    return root


def test_the_tables_name_the_file_and_say_what_to_do(distmom: Run, odd_lake: Path) -> None:
    ended = distmom("describe", odd_lake)
    assert ended.code == 0
    out = ended.out
    assert "007.parquet" in out and "about 1,000 times as large" in out and "1 file named" in out
    assert "counted only" in out and "\x1b" not in out
    [gap] = [line for line in out.splitlines() if line.endswith(" 007.parquet")]
    assert gap.split()[0] == "x" and "100.0%" in gap


def test_the_document_is_that_of_python(distmom: Run, odd_lake: Path) -> None:
    told = json.loads(distmom("describe", odd_lake, "--json").out)
    found = dm.describe(odd_lake, rng=0).to_dict()
    assert list(told) == ["schema_version", "results", "named", "data", "run"]
    assert told["results"] == found["results"] and told["named"] == found["named"]
    assert told["named"][0]["reasons"][0]["what"] == "scale"


def test_what_is_printed_ends_with_its_line(distmom: Run, odd_lake: Path) -> None:
    """So notes on standard error never share one with it where both go to one place."""
    for words in (("describe", odd_lake), ("mean", odd_lake, "-c", "x"), ("describe", odd_lake, "--dry-run")):
        ended = distmom(*words)
        assert ended.out.endswith("\n") and ended.err.endswith("\n" * bool(ended.err))


def test_options_and_a_dry_run(distmom: Run, odd_lake: Path) -> None:
    words = ("-c", "x", "--where", "x > 5", "--seed", "3", "--fine", "many", "--json")
    told = json.loads(distmom("describe", odd_lake, *words).out)
    assert [r["column"] for r in told["results"]] == ["x"] and told["results"][0]["minimum"] > 5
    plan = distmom("describe", odd_lake, "--dry-run")
    assert plan.code == 0 and "n columns" in plan.out and "nothing was read" in plan.out
    assert json.loads(distmom("describe", odd_lake, "--dry-run", "--json").out)["plan"]["n_measured"] == 1


@pytest.mark.parametrize("ending", ["json", "parquet", "csv", "html"])
def test_output_files(distmom: Run, odd_lake: Path, tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"out.{ending}"
    assert distmom("describe", odd_lake, "--output", target, "--quiet").code == 0
    if ending == "parquet":
        table = pq.read_table(target)
        assert table["column"].to_pylist() == ["x", "name"] and table["leaves_interval"].to_pylist()[0]
    elif ending == "csv":
        rows = list(csv.DictReader(target.read_text("utf-8").splitlines()))
        assert rows[1]["n_null"] == "10000"
    else:
        assert "007.parquet" in target.read_text("utf-8")


def test_exit_codes(distmom: Run, bad_lake: Path, tmp_path: Path) -> None:
    assert distmom("describe", bad_lake).code == 3
    assert distmom("describe", bad_lake, "--on-bad-file", "skip").code == 4
    assert distmom("describe", bad_lake, "-c", "y").code == 2
    x = np.random.default_rng(0).normal(size=10_000)
    x[:4_000] = np.inf
    pq.write_table(pa.table({"x": x}), tmp_path / "inf.parquet")
    assert distmom("describe", tmp_path / "inf.parquet").code == 5
