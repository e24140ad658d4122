"""Batches that are whole row groups: where they are taken, and that results do not depend on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.cluster.executors.threads import ThreadExecutor
from distmom.lake import BATCH_ROWS, ReadOptions
from distmom.passes.batches import whole_groups

GROUP = 200_000


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("groups")
    for number, n in enumerate((450_000, GROUP, 70_000)):
        x = np.random.default_rng(number).standard_t(3, (2, n))
        table = pa.table({"x": pa.array(x[0], mask=x[1] > 2.0), "y": x[1]})
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=GROUP)
    return folder


def rows_of(data: Any, *columns: str, by: tuple[str, ...] = (), limit: int = 8_000_000_000) -> int:
    executor = ThreadExecutor(2, limit)
    try:
        return whole_groups(dm.scan(data).source, ReadOptions(columns, by), executor).batch_rows
    finally:
        executor.close()


def test_row_groups_are_read_whole_where_they_are_small_and_memory_allows(lake: Path, tmp_path: Path) -> None:
    assert rows_of(lake, "x") == rows_of(lake, "x", "y") == GROUP
    assert rows_of(lake, "x", limit=300_000_000) == BATCH_ROWS
    assert rows_of(lake, "x", by=("y",)) == BATCH_ROWS
    assert rows_of({"x": np.zeros(GROUP)}, "x") == BATCH_ROWS
    pq.write_table(pa.table({"x": np.zeros(2**20 + 1)}), tmp_path / "large.parquet", row_group_size=2**21)
    assert rows_of(tmp_path, "x") == BATCH_ROWS
    pq.write_table(pa.table({"x": np.zeros(GROUP)}), tmp_path / "large.parquet", row_group_size=1_000)
    assert rows_of(tmp_path, "x") == BATCH_ROWS


def test_a_number_that_is_given_holds_and_no_bit_depends_on_it(lake: Path) -> None:
    plans = [
        dm.explain(dm.mean, dm.scan(lake, batch_rows=n), "x", executor=dm.Threads(2))["memory"]["batches"]
        for n in (None, BATCH_ROWS, 1_000_000)
    ]
    assert plans[0] != plans[1] != plans[2] != plans[0]
    found = dm.mean(lake, "x", rng=0)
    for n in (BATCH_ROWS, 77_777):
        assert dm.mean(dm.scan(lake, batch_rows=n), "x", rng=0) == found
