"""Objects of other packages: read as they mean, or refused in one line."""

from __future__ import annotations

import decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

import distmom as dm

ONE = dm.RandomBlocks(1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"x": np.arange(1000.0)}), tmp_path / "a.parquet", row_group_size=100)
    return tmp_path / "a.parquet"


def test_what_a_dataset_says_beside_its_files(file: Path) -> None:
    plain = dm.mean(file, "x", rng=0)
    assert dm.mean(ds.dataset(str(file)), "x", rng=0).estimate == plain.estimate, "read as the file"
    schema = pa.schema([("x", pa.float32()), ("y", pa.int8())])
    more = ds.dataset(str(file), schema=schema)
    assert dm.mean(more, "x", blocks=ONE).n_rows == 1000
    with pytest.raises(dm.NoAnswerError, match="1000 null"):
        dm.mean(more, "y")


def test_datasets_of_paths_and_of_parts_of_files(file: Path) -> None:
    schema, local = pa.schema([("x", pa.float64())]), pafs.LocalFileSystem()
    paths = ds.FileSystemDataset.from_paths(
        [str(file)], schema=schema, format=ds.ParquetFileFormat(), filesystem=local
    )
    assert dm.mean(paths, "x", blocks=ONE).estimate == 499.5
    [fragment] = ds.dataset(str(file)).get_fragments()
    part = fragment.subset(row_group_ids=[0])
    some = ds.FileSystemDataset([part], schema, ds.ParquetFileFormat())
    found = dm.mean(some, "x", blocks=ONE)
    assert (found.estimate, found.n_rows) == (49.5, 100)


def test_read_options_of_a_dataset(tmp_path: Path) -> None:
    times = pa.table({"t": pa.array(np.array(["2020-01-01T00:00:00.000000001"] * 3, "M8[ns]"))})
    pq.write_table(times, tmp_path / "i.parquet", use_deprecated_int96_timestamps=True)
    options = ds.ParquetReadOptions(coerce_int96_timestamp_unit="ms")
    data = ds.dataset(str(tmp_path / "i.parquet"), format=ds.ParquetFileFormat(read_options=options))
    assert dm.mean(data, "t", blocks=ONE).estimate.microsecond == 0


def test_integers_beyond_64_bits() -> None:
    for data in ([2**70], {"x": [1, 2**70]}):
        with pytest.raises(dm.DataError, match="64 bits"):
            dm.mean(data)


def test_frames_with_two_columns_of_one_name() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.zeros((300, 2)), columns=["a", "a"])
    with pytest.raises(dm.ConfigError, match=r"[Dd]uplicate column names"):
        dm.mean(frame, "a")


def test_two_columns_of_one_name_hinder_those_alone_who_ask_for_it() -> None:
    rows = [pa.array(np.random.default_rng(k).normal(size=300)) for k in range(3)]
    table = pa.Table.from_arrays(rows, names=["x", "x", "y"])
    right = dm.mean({"y": rows[2]}, "y", rng=0)
    told = "the data has 2 columns called 'x'; rename them"
    for data in (lambda: table, table.to_reader):
        assert dm.mean(data(), "y", where="y > -9", rng=0).estimate == right.estimate
        found = dm.describe(data(), rng=0)
        assert list(found.columns) == ["y"]
        assert found.data["left_out"] == [{"column": "x", "reason": told}] and found.exit_code == 4
        for call, args, options in (
            (dm.mean, "x", {}),
            (dm.mean, "y", {"where": "x > 0"}),
            (dm.mean, "y", {"by": "x"}),
            (dm.RobustLinearRegression().fit, "y", {}),
        ):
            with pytest.raises(dm.BadFileError, match="2 columns called 'x'"):
                call(data(), args, **options)
    accumulator = dm.MeanAccumulator("y", rng=0)
    accumulator.update(table)
    assert accumulator.result().estimate == right.estimate


def test_a_dask_array() -> None:
    array = pytest.importorskip("dask.array").ones(300)
    with pytest.raises(dm.ConfigError, match=r"only Dask DataFrames.*to_dask_dataframe"):
        dm.mean(array)


def test_columns_that_could_be_meant() -> None:
    table = pa.table({"x": np.arange(300.0), "carrier": ["a", "b", "c"] * 100, "w": np.ones(300)})
    by = dm.mean(table.select(["x", "carrier"]), by="carrier", blocks=ONE)
    assert [one.column for one in by] == ["x"] * 3
    weighted = dm.mean(table.select(["x", "w"]), weights="w", blocks=ONE)
    assert weighted.estimate == 149.5


def test_the_columns_that_have_a_mean_are_named(tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(300.0), "carrier": ["a"] * 300, "y": np.ones(300)})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(dm.ConfigError, match=r"missing; choose one of 'x', 'y'$"):
        dm.mean(tmp_path)
    with pytest.raises(dm.ConfigError, match="write it in single quotes: 'UA'"):
        dm.mean(tmp_path, "x", where="carrier = UA")
    with pytest.raises(dm.DataError, match="an element of the lists"):
        dm.mean(pa.table({"x": [1.0] * 300, "v": [[1, 2]] * 300}), "x", by="v")


@pytest.mark.parametrize("type_", [pa.decimal32(5, 1), pa.decimal64(5, 1)])
def test_narrow_decimals_as_keys(type_: pa.DataType) -> None:
    keys = pa.array([decimal.Decimal("1.5"), decimal.Decimal("2.5"), None] * 100, type_)
    table = pa.table({"x": np.arange(300.0), "k": keys})
    found = dm.mean(table, "x", by="k", blocks=ONE)
    assert [one.group["k"] for one in found] == [None, decimal.Decimal("1.5"), decimal.Decimal("2.5")]
    assert dm.mean(table, "x", blocks=dm.UnitBlocks("k", n=2)).n_units == 3
