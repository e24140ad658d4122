"""A block design of one's own: a design and its layout, and no other room is touched."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.designs.design import BlockDesign
from distmom.numerics.arrays import Ints
from distmom.reductions.layout import Layout, Place


@dataclass(frozen=True)
class StripedLayout(Layout):
    """Row i of a file goes to fine block i mod n."""

    n_blocks: int

    def cells(self, codes: Ints, place: Place, window: Any) -> Ints:
        return codes * self.n_blocks + (place.first_row + np.arange(codes.size)) % self.n_blocks


@dataclass(frozen=True, repr=False)
class StripedBlocks(BlockDesign):
    """Blocks of every n-th row, for rows that resemble their neighbours."""

    n: int = 7

    def layout(self, seed: int, n_fine: int, width: int, n_rows: int | None) -> Layout:
        return StripedLayout(n_fine // width)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pa.Table]:
    folder, g = tmp_path_factory.mktemp("striped"), np.random.default_rng(7)
    parts = [pa.table({"x": g.exponential(size=n), "key": g.integers(0, 2, n)}) for n in (4_001, 150_000, 13)]
    for i, part in enumerate(parts):
        pq.write_table(part, folder / f"{i}.parquet")
    return folder, pa.concat_tables(parts)


def striped_means(files: list[Any], n_fine: int, n: int) -> Any:
    """The obvious twin: fine blocks one after the other make blocks of nearly equal size."""
    fine: list[list[float]] = [[] for _ in range(n_fine)]
    for x in files:
        for i, value in enumerate(x):
            fine[i % n_fine].append(value)
    blocks: list[list[float]] = [[] for _ in range(n)]
    before, total = 0, sum(map(len, fine))
    for rows in fine:
        blocks[n * (2 * before + len(rows)) // (2 * total)] += rows
        before += len(rows)
    return [math.fsum(rows) / len(rows) for rows in blocks]


@pytest.mark.parametrize("place", [dm.Threads(1), dm.Threads(3)], ids=repr)
@pytest.mark.parametrize("batch_rows", [997, 100_000])
def test_a_design_of_ones_own(lake: tuple[Path, pa.Table], place: dm.Threads, batch_rows: int) -> None:
    folder, _ = lake
    files = [pq.read_table(folder / f"{i}.parquet")["x"].to_numpy() for i in range(3)]
    found = dm.mean(
        dm.scan(folder, batch_rows=batch_rows), "x", blocks=StripedBlocks(7), rng=0, executor=place
    )
    plan = dm.explain(dm.mean, folder, "x", blocks=StripedBlocks(7))
    np.testing.assert_allclose(found.block_estimates, striped_means(files, plan["fine_blocks"], 7), rtol=1e-9)
    assert found.estimate == np.sort(found.block_estimates)[3] and found.n_blocks == 7
    assert "StripedBlocks" in found.run["call"]["code"]
    assert plan["n_blocks"] == 7


def test_groups_and_weights_need_nothing_more(lake: tuple[Path, pa.Table]) -> None:
    _, table = lake
    found = dm.mean(table, "x", by="key", blocks=StripedBlocks(5), rng=0)
    assert [r.n_blocks for r in found] == [5, 5]
    both = dm.ustatistic(table, "x", kernel="gini", blocks=StripedBlocks(5), rng=0)
    assert both.n_blocks == 5 and abs(both.estimate - 1.0) < 0.05
