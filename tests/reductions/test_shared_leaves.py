"""Tests of reductions that take the same leaves: what they have in common is computed once, same bits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.numerics.blocks import leaf

N = 300_000


@pytest.fixture
def calls(monkeypatch):
    """Calls of the kernel of a leaf."""
    found: list[int] = []
    kernel = leaf._kernels.leaf_amid

    def counted(x, rest, *others):
        found.append(x.size + rest.size)
        return kernel(x, rest, *others)

    monkeypatch.setattr(leaf._kernels, "leaf_amid", counted)
    return found


def covariance(lake, batch_rows):
    found = dm.ustatistic(
        dm.scan(lake, batch_rows=batch_rows), ["x", "y"], kernel="covariance", rng=0, executor=dm.Threads(1)
    )
    return found.estimate.tobytes(), found.plain_estimate.tobytes()


def write(folder, nulls):
    g = np.random.default_rng(5)
    gone = g.random(N) < nulls
    table = {"x": pa.array(g.normal(size=N), mask=gone if nulls else None), "y": g.normal(size=N)}
    pq.write_table(pa.table(table), folder / "0.parquet", row_group_size=70_000)
    return folder


def test_means_and_comoments_sum_a_column_without_gaps_once(tmp_path, calls, monkeypatch):
    """Three leaves of two columns; the survey, whose blocks are others, sums them, too."""
    lake = write(tmp_path, 0.0)
    monkeypatch.setattr("distmom.estimators.mean.plan.SMALL_BYTES", 0)
    together = covariance(lake, 98_304)
    assert len(calls) == 12 and sum(calls) == 4 * N
    monkeypatch.setattr("distmom.reductions.beside.shared_leaves", lambda leaves: leaves)
    monkeypatch.setattr("distmom.reductions.block_comoments.shared_leaves", lambda leaves: leaves)
    assert covariance(lake, 98_304) == together
    assert len(calls) == 12 + 18


def test_columns_with_gaps_have_the_bits_of_the_twin(tmp_path, monkeypatch):
    lake = write(tmp_path, 0.05)
    twin = covariance(lake, 98_304)
    monkeypatch.setattr("distmom.estimators.mean.plan.SMALL_BYTES", 0)
    assert covariance(lake, 98_304) == covariance(lake, 10_000) == twin
