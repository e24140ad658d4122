"""The large row sample reaches its size wherever there are rows enough, though nobody counts them before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from distmom.cluster.executors.backends import Threads, as_backend
from distmom.designs.blocks import RandomBlocks
from distmom.estimators.mean.plan import POOL
from distmom.estimators.mean.question import MeanQuestion, run_plan
from distmom.estimators.options import MeanOptions
from distmom.numerics.blocks.leaf import LEAF_ROWS
from distmom.passes.scan import scan

FILES = 8


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Eight files of a leaf each, in folders of a key."""
    root, rng = tmp_path_factory.mktemp("lake"), np.random.default_rng(0)
    for i in range(FILES):
        columns = {name: rng.normal(size=LEAF_ROWS) for name in "xyz"} | {"n": np.full(LEAF_ROWS, i)}
        (root / f"k={i}").mkdir()
        pq.write_table(pa.table(columns), root / f"k={i}" / "part.parquet")
    yield root


def sampled(data: Any, columns: list[str], where: str | None = None) -> list[int]:
    """Rows in the large sample of each column."""
    lake = scan(data, where=where)
    question = MeanQuestion(lake, columns, None, MeanOptions.of(lake, RandomBlocks()), rng=0)
    with as_backend(Threads(1)).open() as executor:
        plan: Any = question.plan(executor, None)
        found, _ = run_plan(plan.pass_, 0, executor, None)
    return [pool.keys.size for pool in found.pools]


@pytest.mark.parametrize("columns", [["x"], ["x", "y", "z"]])
def test_the_columns_read_do_not_make_the_sample_smaller(lake: Path, columns: list[str]) -> None:
    assert sampled(lake, columns) == [POOL] * len(columns)


@pytest.mark.parametrize("where", ["k = 3", "n = 3 or n = 4", "x > 0"])
def test_rows_that_pass_a_filter_may_lie_side_by_side(lake: Path, where: str) -> None:
    assert sampled(lake, ["y"], where) == [POOL]


def test_small_partitions_of_a_dask_frame_are_no_large_files() -> None:
    frame = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"x": np.random.default_rng(0).normal(size=80_000)})
    assert sampled(frame.from_pandas(rows, npartitions=40), ["x"]) == [POOL]
