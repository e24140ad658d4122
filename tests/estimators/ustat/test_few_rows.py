"""Blocks need several rows of each sample: with one the median over blocks is that of the kernel's values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import distmom as dm
from distmom.estimators.ustat.few_rows import few_rows_note

CARRIED = "dominated by few rows"
AUC = float(norm.cdf(1 / np.sqrt(2)))
"""Of normal rows against others that are larger by 1: 0.760."""


def samples(seed: int, few: int = 60, shift: float = 1.0) -> list[np.ndarray]:
    g = np.random.default_rng(seed)
    return [g.normal(size=5_000), g.normal(shift, size=few)]


@pytest.mark.slow
def test_the_scarcer_sample_decides_how_many_blocks_there_are() -> None:
    """Sixty rows in 60 blocks gave 0.84 to 0.89 on these data."""
    each = []
    for seed in range(25):
        found = dm.ustatistic(samples(seed), kernel="auc", blocks=101, rng=0)
        assert found.n_blocks == 10 and found.status == CARRIED
        assert found.notes[0] == "blocks lowered from 101 to 10: a block needs 6 rows of each sample"
        each.append(found.estimate)
    # the mean of 25 has standard error 0.008; it lies 4 of them off once in 15,000 times
    assert abs(np.mean(each) - AUC) < 0.032
    alone = dm.ustatistic(samples(0), kernel="auc", blocks=9, rng=0)  # the negative control
    assert alone.n_blocks == 9 and alone.status == "ok" and not alone.notes


@pytest.mark.parametrize("kernel", ["auc", "mean-difference", "energy", dm.kernels.mmd(1.0)])
def test_every_kernel_of_two_samples(kernel: Any) -> None:
    found = dm.ustatistic(samples(1), kernel=kernel, blocks=31, rng=0)
    assert (found.n_blocks, found.status) == (10, CARRIED) and found.interval is not None
    plan = dm.explain(dm.ustatistic, samples(1), kernel=kernel, blocks=31, rng=0)
    assert plan["n_blocks"] == 10


def test_a_comparison_and_disjoint_pairs() -> None:
    for one in dm.compare(samples(2), blocks=31, rng=0, test=dm.Permutations(99)):
        assert (one.n_blocks, one.status) == (10, CARRIED)
    found = dm.ustatistic(samples(2), kernel="auc", pairs="disjoint", blocks=31, rng=0)
    assert (found.n_blocks, found.n_pairs, found.status) == (10, 60, CARRIED)


def test_one_sample_is_lowered_too() -> None:
    x = np.random.default_rng(0).exponential(size=60)
    found = dm.ustatistic(x, kernel="gini", blocks=31, rng=0)
    assert (found.n_blocks, found.status) == (10, CARRIED)
    assert abs(found.estimate - 1.0) < 0.5 and "needs 6 rows" in found.notes[0]


def test_groups_are_lowered_each_by_itself() -> None:
    a, b = samples(3)
    groups = [{"x": a, "g": np.arange(a.size) % 2}, {"x": b, "g": np.arange(60) % 10 // 9}]
    many, few = dm.ustatistic(groups, "x", by="g", kernel="auc", blocks=9, rng=0)
    assert (many.n_blocks, many.status) == (9, "ok") and (few.n_blocks, few.status) == (1, CARRIED)


def test_enough_rows_to_fill_blocks_but_few_for_a_median() -> None:
    """A thousand rows in 101 blocks, AUC 0.98: simulated, the median is off by three standard errors."""
    found = dm.ustatistic(samples(4, 1_000, 2.9), kernel="auc", blocks=101, rng=0)
    assert found.n_blocks == 101 and found.status == CARRIED and "at most 54 blocks" in found.notes[0]
    found = dm.ustatistic(samples(4, 1_000, 2.9), kernel="auc", blocks=53, rng=0)
    assert found.status == "ok" and abs(found.estimate - norm.cdf(2.9 / np.sqrt(2))) < 0.005
    assert few_rows_note([1_000], 101, "rows") is None  # of one sample the number of rows is plain to see


def test_units_of_the_scarcer_sample() -> None:
    a, b = samples(5, 600)
    both = [{"x": a, "u": np.arange(5_000) // 2}, {"x": b, "u": np.arange(600) // 10}]
    found = dm.ustatistic(both, "x", kernel="auc", blocks=dm.UnitBlocks("u", 31), rng=0)
    assert found.status == CARRIED and "60 units of a sample make 31 blocks" in found.notes[0]
    assert "60 units make 31 blocks" in found.notes[1]
    free = dm.ustatistic(both, "x", kernel="auc", blocks=dm.UnitBlocks("u"), rng=0)
    assert any("fewer than 10 units per block" in note for note in free.notes)


@pytest.mark.parametrize(("size", "status"), [(253, CARRIED), (1_000, "ok")])
def test_drawn_samples_have_few_rows_of_one(size: int, status: str) -> None:
    found = dm.ustatistic(samples(6), kernel="auc", blocks=dm.SampledBlocks(101, size=size), rng=0)
    assert found.status == status and (status == "ok") == (not found.notes)


def test_files_of_parquet_say_the_same(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    both = samples(7)
    for name, x in zip("ab", both, strict=True):
        pq.write_table(pa.table({"x": x}), tmp_path / f"{name}.parquet")
    lakes = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    found = dm.ustatistic(lakes, "x", kernel="auc", blocks=101, rng=0)
    assert (found.n_blocks, found.status) == (10, CARRIED)
