"""Dask DataFrames as data: partitions are computed where their rows are reduced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import distmom as dm

dd = pytest.importorskip("dask.dataframe")

ROWS = 3_000
X = np.random.default_rng(0).normal(size=ROWS)
FRAME = pd.DataFrame({"x": X, "k": np.arange(ROWS) % 3, "name": "a"})


@pytest.fixture
def frame() -> Any:
    return dd.from_pandas(FRAME, npartitions=5)


def test_it_is_the_lake_of_its_partitions(frame: Any) -> None:
    found = dm.mean(frame, "x", rng=0)
    assert found.n_rows == ROWS and found.plain_estimate == pytest.approx(X.mean(), rel=1e-12)
    assert dm.mean(frame, "x", rng=0, executor=dm.Threads(1)) == found
    assert dm.mean(frame["x"], rng=0) == found
    assert dm.mean(frame.repartition(npartitions=2), "x", rng=0).estimate != found.estimate


def test_groups_filters_and_row_counts(frame: Any) -> None:
    groups = dm.mean(frame, "x", by="k", where="x > 0 and name == 'a'", rng=0)
    assert [r.n_rows for r in groups] == [int(((k == FRAME.k) & (X > 0)).sum()) for k in range(3)]
    for blocks in (dm.StoredBlocks(), dm.SampledBlocks(5, 100)):
        assert np.isfinite(dm.mean(frame, "x", rng=0, blocks=blocks).estimate)


def test_units_may_lie_in_several_partitions(frame: Any) -> None:
    whole = dm.mean(FRAME, "x", where="x > 0", rng=0, blocks=dm.UnitBlocks(["k", "name"]))
    found = dm.mean(frame, "x", where="x > 0", rng=0, blocks=dm.UnitBlocks(["k", "name"]))
    assert (found.n_units, found.n_blocks) == (whole.n_units, whole.n_blocks) == (3, whole.n_blocks)
    assert found.estimate == pytest.approx(whole.estimate, rel=1e-12)


def test_expressions_are_computed_lazily(frame: Any) -> None:
    found = dm.mean(frame.assign(y=frame.x * 2 + 1)[frame.k == 1], "y", rng=0)
    assert found.plain_estimate == pytest.approx(2 * X[FRAME.k == 1].mean() + 1, rel=1e-12)


def test_a_partition_that_fails_is_named(frame: Any) -> None:
    def fail(part: pd.DataFrame) -> pd.DataFrame:
        if len(part) and part.index[0] >= 1_200:
            raise ValueError("no such sensor")
        return part

    with pytest.raises(dm.DataError, match=r"partition [234] of the Dask frame failed.*no such sensor"):
        dm.mean(frame.map_partitions(fail, meta=FRAME.head(0)), "x", rng=0)


def test_other_collections_are_refused() -> None:
    import dask.bag as db

    with pytest.raises(dm.ConfigError, match="only Dask DataFrames"):
        dm.mean(db.from_sequence([1.0, 2.0]), rng=0)


@pytest.mark.cluster
@pytest.mark.xdist_group("cluster")
def test_on_a_cluster_also_persisted(frame: Any, processes_client: Any) -> None:
    here = dm.mean(frame, "x", rng=0)
    assert dm.mean(frame, "x", rng=0, executor=processes_client) == here
    held = processes_client.persist(frame)
    assert dm.mean(held, "x", rng=0, executor=processes_client) == here
    assert dm.mean(held.assign(z=1.0), "x", rng=0, executor=processes_client) == here
