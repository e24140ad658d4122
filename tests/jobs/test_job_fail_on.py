"""Statuses that make a job fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from distmom.jobs import run_config

JOB = """pipeline = "summary"
[data]
path = "rows.parquet"
[mean]
columns = "x"
[run]
fail_on = {words}
[output]
files = "found.json"
"""


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ('"contaminated"', 7),
        ('["breakdown point exceeded", "any"]', 7),
        ('"files disagree"', 0),
        ('"outlying"', 2),
    ],
)
def test_the_exit_code_is_seven_and_the_output_is_there(
    tmp_path: Path, words: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.random.default_rng(0).normal(size=5_000)
    x[:3] = 1e9
    pq.write_table(pa.table({"x": x}), tmp_path / "rows.parquet")
    file = tmp_path / "job.toml"
    file.write_text(JOB.format(words=words))
    assert run_config(file, quiet=True) == code
    told = capsys.readouterr().err
    assert ("1 result: contaminated" in told) == (code == 7)  # what ends a job is told, quiet or not
    assert (tmp_path / "found.json").exists() == (code != 2)


@pytest.mark.slow
@pytest.mark.parametrize(("words", "code"), [('["share screened out"]', 7), ('["files disagree"]', 0)])
def test_a_training_fails_on_the_status_of_its_model(tmp_path: Path, words: str, code: int) -> None:
    pytest.importorskip("sklearn")
    (tmp_path / "lake").mkdir()
    g = np.random.default_rng(0)
    for day in range(30):
        x = g.normal(size=300)
        y = 2 * x + g.normal(size=300)
        pq.write_table(
            pa.table({"x": x, "y": y * (1000 if day == 7 else 1)}), tmp_path / f"lake/{day:02}.parquet"
        )
    text = JOB.format(words=words).replace("rows.parquet", "lake").replace('"summary"', '"train"')
    (tmp_path / "job.toml").write_text(
        text.replace('[mean]\ncolumns = "x"', '[train]\nlearner = "regression"')
    )
    assert run_config(tmp_path / "job.toml", quiet=True) == code
    assert (tmp_path / "found.json").exists()
