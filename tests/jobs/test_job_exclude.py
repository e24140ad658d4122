"""Files that a job leaves out: patterns below the lake, and lists beside the configuration."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from distmom.jobs import run_config

JOB = """pipeline = "summary"
[data]
path = "lake"
exclude = {exclude}
[mean]
columns = "x"
[output]
files = "found.json"
"""


@pytest.mark.parametrize("exclude", ['"@bad.txt"', '["@bad.txt"]', '["2.parquet", "3.parquet"]'])
def test_a_list_lies_beside_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exclude: str
) -> None:
    folder, elsewhere = tmp_path / "jobs", tmp_path / "elsewhere"
    (folder / "lake").mkdir(parents=True)
    elsewhere.mkdir()
    for number in range(4):
        x = np.random.default_rng(number).normal(size=400)
        pq.write_table(pa.table({"x": x}), folder / "lake" / f"{number}.parquet")
    (folder / "bad.txt").write_text("# bad\n2.parquet\n3.parquet\n")
    (folder / "job.toml").write_text(JOB.format(exclude=exclude))
    monkeypatch.chdir(elsewhere)
    assert run_config(folder / "job.toml", quiet=True) == 0
    assert json.loads((folder / "found.json").read_text())["data"]["n_files"] == 2
