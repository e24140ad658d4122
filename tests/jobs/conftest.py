"""Small lakes, the demonstration lake, and configurations of batch jobs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from job_example import SUMMARY

from distmom.jobs import run_config


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    def lines(self) -> list[dict[str, Any]]:
        """Standard error as JSON lines."""
        return [json.loads(line, parse_constant=refuse) for line in self.err.splitlines()]


def refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """A job in this process."""

    def job(file: Path, **options: Any) -> Ended:
        capsys.readouterr()
        code = run_config(file, **options)
        return Ended(code, *capsys.readouterr())

    return job


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a lake of three files and a configuration, ``job.toml``."""
    lake = tmp_path / "lake"
    lake.mkdir()
    for number in range(3):
        x = np.random.default_rng(number).exponential(size=400)
        pq.write_table(pa.table({"x": x, "y": x + 1, "kind": ["a", "b"] * 200}), lake / f"f{number}.parquet")
    (tmp_path / "job.toml").write_text(SUMMARY)
    return tmp_path
