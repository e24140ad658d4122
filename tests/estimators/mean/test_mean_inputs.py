"""Kinds of data that `dm.mean` takes: frames, datasets and streams of batches give the bits of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from flat import flat
from mean_lakes import write

import distmom as dm
from distmom.lake import ReadOptions, open_lake

RNG = np.random.default_rng(0)
COLUMNS = {
    "x": RNG.standard_t(3, 20_000),
    "k": np.arange(20_000) % 3,
    "u": np.arange(20_000) // 7,
    "a.b": np.ones(20_000),
}
TABLE = pa.table(COLUMNS)


def reader(rows: int) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(rows))


class Stream:
    """Nothing but the stream half of the PyCapsule interface: no length."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return reader(1_000).__arrow_c_stream__(requested_schema)


KINDS = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "mapping": lambda: COLUMNS,
    "batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: reader(777),
    "capsule stream": Stream,
    "dataset in memory": lambda: ds.dataset(TABLE),
    "scanner": lambda: ds.dataset(TABLE).scanner(batch_size=999),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options", [{}, {"by": "k", "where": "x > 0"}, {"n_blocks": 7}, {"block_by": "u"}], ids=str
)
@pytest.mark.one_in(2)
def test_every_kind_gives_the_bits_of_a_table(kind: str, options: dict[str, Any]) -> None:
    same = flat(dm.mean)(TABLE, "x", rng=0, **options)
    found = flat(dm.mean)(KINDS[kind](), "x", rng=0, **options)
    pairs = (
        zip([found], [same], strict=True)
        if isinstance(found, dm.MeanResult)
        else zip(found, same, strict=True)
    )
    assert all(a == b for a, b in pairs)


@pytest.mark.parametrize("batch_rows", [1_000, 10**6])
def test_batches_of_a_stream_are_cut_and_numbered(batch_rows: int) -> None:
    found = dm.mean(dm.scan(reader(19_999), batch_rows=batch_rows), "x", rng=0)
    assert isinstance(found, dm.MeanResult) and found == dm.mean(TABLE, "x", rng=0)


def test_a_dataset_of_parquet_files_is_their_lake(tmp_path: Path) -> None:
    for i in range(4):
        write(tmp_path / f"k={i}" / "part.parquet", {"x": np.arange(50.0) + i})
    lake = dm.mean(tmp_path, "x", by="k", rng=0)
    dataset = ds.dataset(tmp_path, partitioning="hive")
    assert all(a == b for a, b in zip(dm.mean(dataset, "x", by="k", rng=0), lake, strict=True))


def test_a_filter_inside_a_dataset_is_honoured(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": np.arange(100.0), "k": np.arange(100) % 2})
    found = dm.mean(ds.dataset(tmp_path).filter(pc.field("k") == 1), "x", rng=0)
    assert found.n_rows == 50 and found.plain_estimate == 50.0


def test_other_formats_and_dotted_names_stream(tmp_path: Path) -> None:
    import pyarrow.feather as feather

    feather.write_feather(TABLE, tmp_path / "a.arrow", compression="uncompressed")
    dataset = ds.dataset(tmp_path, format="ipc")
    assert dm.mean(dataset, "a.b", rng=0).plain_estimate == 1.0
    stored: dict[str, Any] = {"rng": 0, "blocks": dm.StoredBlocks()}
    assert dm.mean(dataset, "x", **stored) == dm.mean(TABLE, "x", **stored)


def test_a_stream_that_needs_two_passes_is_refused() -> None:
    for options in ({"order": "stored"}, {"block_size": 100}, {"scheme": "swor"}):
        with pytest.raises(dm.ConfigError, match="read only once"):
            flat(dm.mean)(reader(100), "x", rng=0, **options)


def test_a_stream_that_breaks_is_one_line() -> None:
    def broken() -> Any:
        yield TABLE.to_batches(1_000)[0]
        raise pa.ArrowInvalid("connection lost")

    stream = pa.RecordBatchReader.from_batches(TABLE.schema, broken())
    with pytest.raises(dm.DataError, match=r"stream broke after row 1000: .*connection lost"):
        dm.mean(stream, "x", rng=0)


def test_times_of_a_stream_and_of_a_dask_frame_are_counted_from_one_day() -> None:
    import dask.dataframe as dd

    start = np.datetime64("2031-05-06T07:08:09.123456789", "ns")
    times = start + np.arange(10_000) * np.timedelta64(3, "ns")
    table = pa.table({"t": times})
    want = dm.mean(table, "t", rng=0)
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(999))
    assert dm.mean(stream, "t", rng=0) == want
    parts = dd.from_pandas(pd.DataFrame({"t": times}), npartitions=3)
    away = dm.mean(parts, "t", rng=0).plain_estimate - want.plain_estimate
    assert abs(away.total_seconds()) < 2e-6


def test_empty_streams_and_names() -> None:
    with pytest.raises(dm.NoAnswerError, match="no rows"):
        dm.mean(pa.RecordBatchReader.from_batches(TABLE.schema, []), "x", rng=0)
    with pytest.raises(dm.ConfigError, match="'y'"):
        dm.mean(reader(100), "y", rng=0)
    twice = pa.RecordBatchReader.from_batches(pa.schema([("x", pa.float64())] * 2), [])
    with pytest.raises(dm.DataError, match="2 columns called 'x'"):
        dm.mean(twice, "x", rng=0)


def test_values_of_a_frame_are_read_where_they_lie() -> None:
    frame = pl.DataFrame(COLUMNS)
    source = open_lake(frame)
    first = next(source.reader(ReadOptions(("x",))).batches(source.files[0]))
    assert first.values[0].ctypes.data == frame["x"].to_arrow().buffers()[1].address
