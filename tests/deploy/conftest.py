"""Lakes for all tests of this folder."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight files of heavy-tailed numbers, one of them a thousand times too large."""
    folder = tmp_path_factory.mktemp("deploy") / "lake"
    folder.mkdir()
    g = np.random.default_rng(0)
    for i in range(8):
        x = g.standard_t(3, 5_000) + 1.0
        pq.write_table(pa.table({"x": x * (1e3 if i == 5 else 1.0)}), folder / f"{i}.parquet")
    return folder


@pytest.fixture(scope="session")
def long_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty-four files, which take a while in batches of few rows."""
    folder = tmp_path_factory.mktemp("long")
    g = np.random.default_rng(1)
    for i in range(64):
        pq.write_table(pa.table({"x": g.standard_t(3, 40_000)}), folder / f"{i:02}.parquet")
    return folder


@pytest.fixture(scope="session")
def few_rows(long_lake: Path) -> str:
    """Rows of a batch: with so few, two workers take about a minute, and may leave in it."""
    scan = dm.scan(long_lake / "00.parquet", batch_rows=2)
    dm.mean(scan, "x", executor=dm.Threads(1))
    began = time.monotonic()
    dm.mean(scan, "x", executor=dm.Threads(1))
    of_two = 64 * (time.monotonic() - began) / 2
    return str(max(2, round(2 * of_two / 60)))
