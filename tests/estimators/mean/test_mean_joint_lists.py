"""Mean vectors of list columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flat import flat
from joint_vectors import cloud
from mean_lakes import cut_work, same, write

import distmom as dm


def test_the_mean_of_a_symmetric_layout_is_one_of_its_points(tmp_path: Path) -> None:
    points = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]], float)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(points.ravel()), 2)
    write(tmp_path / "a.parquet", {"p": lists})
    found = dm.mean(tmp_path, "p", joint=True, rng=0, blocks=5)
    assert found.estimate.tolist() == [0.0, 0.0] and found.gap == 0.0
    assert found.columns == ("p[0]", "p[1]") and found.column == "p"


@pytest.mark.parametrize("batch_rows", [2, 131_072])
def test_sliced_lists_null_rows_and_a_batch_of_nulls(tmp_path: Path, batch_rows: int) -> None:
    rows = [[0, 0], [1, 2], [3, 4], None, [7, 8]]
    v = pa.array(rows, pa.list_(pa.float64(), 2))
    write(tmp_path / "t/0.parquet", {"id": range(5), "v": v}, row_group_size=2)
    options = {"joint": True, "rng": 0, "batch_rows": batch_rows}
    found = flat(dm.mean)(tmp_path / "t", "v", **options)
    assert found.plain_estimate.tolist() == [2.75, 3.5] and found.estimate.tolist() == [2.75, 3.5]
    assert (found.n_rows, found.n_used, found.n_null) == (5, 4, 1)
    sliced = flat(dm.mean)(pa.table({"v": v}).slice(1, 3), "v", **options)
    assert sliced.plain_estimate.tolist() == [2.0, 3.0] and sliced.n_null == 1
    write(tmp_path / "t/1.parquet", {"id": [9, 9], "v": pa.array([None, None], v.type)})
    more = flat(dm.mean)(tmp_path / "t", "v", **options)
    assert more.plain_estimate.tolist() == [2.75, 3.5] and (more.n_rows, more.n_null) == (7, 3)


TYPES = {
    "fixed": pa.list_(pa.float64(), 3),
    "list": pa.list_(pa.float64()),
    "large list": pa.large_list(pa.float64()),
    "float32": pa.list_(pa.float32(), 3),
    "float16": pa.list_(pa.float16()),
    "int32": pa.list_(pa.int32(), 3),
}


@pytest.mark.parametrize("type_", TYPES.values(), ids=TYPES)
@pytest.mark.one_in(8)
def test_a_list_column_is_its_columns(tmp_path: Path, type_: pa.DataType, monkeypatch: Any) -> None:
    """The same bits as so many columns, from files and from memory, whatever the batches and units."""
    g = np.random.default_rng(1)
    for i in range(12):
        x = g.integers(-9, 9, (40 + i, 3)).astype(float)
        columns = {name: x[:, j] for j, name in enumerate("abc")}
        write(tmp_path / f"{i:02}.parquet", {**columns, "v": pa.array(x.tolist(), type_)}, row_group_size=17)
    options = {"joint": True, "rng": 2, "threads": 1}
    apart = flat(dm.mean)(tmp_path, ["a", "b", "c"], **options)
    found = flat(dm.mean)(tmp_path, "v", **options)
    assert found.estimate.tolist() == apart.estimate.tolist() and found.radius == apart.radius
    assert np.array_equal(found.block_estimates, apart.block_estimates)
    cut_work(monkeypatch, max_files=1)
    for batch_rows in (1, 7):
        assert same(
            found, flat(dm.mean)(tmp_path, "v", **{**options, "batch_rows": batch_rows, "threads": 2})
        )
    both = dm.mean(tmp_path, ["v", "a"], joint=True, rng=2)
    assert both.columns == ("v[0]", "v[1]", "v[2]", "a") and both.estimate[3] == both.estimate[0]
    table = pa.concat_tables([pq.read_table(tmp_path / f"{i:02}.parquet") for i in range(12)])
    memory = flat(dm.mean)(table, "v", **options)
    assert memory.estimate.tolist() == flat(dm.mean)(table, ["a", "b", "c"], **options).estimate.tolist()
    grouped = dm.mean(tmp_path, "v", joint=True, by="a", rng=2)
    assert isinstance(grouped, dm.Results) and grouped[0].columns == found.columns


def test_sums_of_vectors_are_kept_and_merged(tmp_path: Path) -> None:
    def lake(name: str, numbers: range) -> Path:
        for i in numbers:
            x = cloud(300, 2, seed=i)
            write(tmp_path / name / f"{i}.parquet", {"v": pa.array(x.tolist()), "w": x[:, 0]})
        return tmp_path / name

    options: dict[str, Any] = {"joint": True, "rng": 0}
    first, second = lake("a", range(3)), lake("b", range(3, 5))
    right = dm.mean(first, "v", **options)
    assert right == dm.mean(first, "v", state=tmp_path / "a.state", **options)
    lake("a", range(7, 9))
    grown = dm.mean(first, "v", state=tmp_path / "a.state", **options)
    assert grown == dm.mean(first, "v", **options) and grown.n_rows == 1_500
    assert grown == dm.merge_states(tmp_path / "a.state")
    dm.mean(second, "v", state=tmp_path / "b.state", **options)
    both = dm.merge_states(tmp_path / "a.state", tmp_path / "b.state")
    assert isinstance(both, dm.VectorResult) and both.columns == ("v[0]", "v[1]") and both.n_rows == 2_100
    with pytest.raises(dm.ConfigError, match=r"columns was 'v', now 'v', 'w'"):
        dm.mean(first, ["v", "w"], state=tmp_path / "a.state", joint="coordinatewise", rng=0)


def test_times_are_no_coordinates() -> None:
    times = pa.array(np.arange(200), pa.timestamp("s"))
    with pytest.raises(dm.DataError, match=r"'t' is timestamp\[s\].*only numbers are coordinates"):
        dm.mean(pa.table({"t": times, "x": np.zeros(200)}), ["x", "t"], joint=True)


def test_lists_from_streams_and_frames() -> None:
    import pandas as pd
    import pyarrow.dataset as ds

    x = cloud(2_000, 2)
    table = pa.table({"v": pa.array(x.tolist()), "f": pa.array(x.tolist(), pa.list_(pa.float64(), 2))})
    options: dict[str, Any] = {"joint": True, "rng": 0}
    right = dm.mean(table, "v", **options).estimate.tolist()
    batches = table.to_batches(300)

    def stream() -> Any:
        return pa.RecordBatchReader.from_batches(table.schema, batches)

    assert dm.mean(stream(), "f", **options).estimate.tolist() == right
    assert dm.mean(ds.dataset(table), "v", **options).estimate.tolist() == right
    frame = pd.DataFrame({"v": table["v"].to_pylist()})
    assert dm.mean(frame, "v", **options).estimate.tolist() == right
    with pytest.raises(dm.ConfigError, match=r"stream.*read only once.*'v'.*fixed size"):
        dm.mean(stream(), "v", **options)
    dask_frame = pytest.importorskip("dask.dataframe")
    typed = frame.astype({"v": pd.ArrowDtype(table["v"].type)})
    found = dm.mean(dask_frame.from_pandas(typed, npartitions=3), "v", **options)
    assert found.n_used == 2_000 and np.linalg.norm(found.estimate - right) < found.radius
    uneven = pd.DataFrame({"v": pd.array([[1.0, 2.0]] * 5 + [[1.0]], dtype=typed["v"].dtype)})
    with pytest.raises(dm.DataError, match=r"'v' has a list of length 1 in row \d, .* length 2"):
        dm.mean(dask_frame.from_pandas(uneven, npartitions=2), "v", **options)


def test_lists_of_other_lengths_are_refused_by_name(tmp_path: Path) -> None:
    write(tmp_path / "0.parquet", {"v": pa.array([[1, 2]] * 50), "n": [2] * 50})
    write(tmp_path / "1.parquet", {"v": pa.array([[1, 2]] * 7 + [[1, 2, 3]]), "n": [2] * 7 + [3]})
    with pytest.raises(
        dm.DataError, match=r"1\.parquet: column 'v' .* length 3 in row 7, .* length 2"
    ) as caught:
        dm.mean(tmp_path, "v", joint=True, rng=0)
    assert "\n" not in str(caught.value)
    skipped = dm.mean(dm.scan(tmp_path, on_bad_file="skip"), "v", joint=True, rng=0)
    assert skipped.n_rows == 50 and "length 3" in skipped.data["skipped"][0]["reason"]
    filtered = dm.mean(tmp_path, "v", joint=True, rng=0, where="n = 2")
    assert filtered.estimate.tolist() == [1.0, 2.0] and filtered.n_rows == 57
    with pytest.raises(dm.DataError, match=r"'v' is list.*joint=True"):
        dm.mean(tmp_path, "v", rng=0)
    with pytest.raises(dm.NoAnswerError, match="'v'"):
        dm.mean(pa.table({"v": pa.array([None, None], pa.list_(pa.float64()))}), "v", joint=True)


def test_the_plan_of_a_list_column(tmp_path: Path) -> None:
    g = np.random.default_rng(0)
    write(tmp_path / "0.parquet", {"v": pa.array(g.normal(size=(50, 40)).tolist())})
    plan = dm.explain(dm.mean, tmp_path, "v", joint=True)
    assert plan["n_blocks"] == "auto" and plan["n_units"] == 1
    assert dm.mean(tmp_path, "v", joint=True, executor=dm.Threads(1, memory_limit="200MB")).n_used == 50
    with pytest.raises(dm.ResourceError, match=r"0\.parquet.*projected memory"):
        dm.mean(tmp_path, "v", joint=True, executor=dm.Threads(1, memory_limit="145MB"))
