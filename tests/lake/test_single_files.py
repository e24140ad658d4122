"""Small local files that are read in one go give the batches, and the errors, of the long way."""

from __future__ import annotations

import decimal
import os
import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from distmom.errors import DataError, DistmomError
from distmom.lake import Batch, ReadOptions, open_lake, reader
from distmom.lake.files import footers
from distmom.lake.filters import parse_filter
from distmom.memory import allowed
from distmom.passes.scan import as_scan

N = 40


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Whether each file was read in one go."""
    taken: list[bool] = []
    only = reader.only_batch

    def spied(*args: Any) -> Batch | None:
        found = only(*args)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(reader, "only_batch", spied)
    return taken


def told(batch: Batch) -> list[Any]:
    """Everything in a batch."""
    arrays = (*batch.values, *batch.valid, batch.keep, *batch.present)
    masks = [None if a is None else (a.dtype.str, a.flags.writeable, a.tobytes()) for a in arrays]
    return [
        batch.start,
        batch.n_rows,
        batch.n_bytes,
        *masks,
        *(k.to_pylist() for k in (*batch.keys, *batch.units)),
    ]


def outcome(folder: Path, options: ReadOptions, way: pytest.MonkeyPatch | None = None) -> list[Any]:
    """The batches of all files, or the error; of the long way alone if `way` is patched."""
    if way is not None:
        way.setattr(reader, "only_batch", lambda *_: None)
    found: list[Any] = []
    try:
        source = as_scan(folder).source
        read = source.reader(options)
        for file in source.files:
            found.append(file.path)
            found += [told(batch) for batch in read.batches(file)]
    except (DistmomError, OSError) as error:
        found.append((type(error).__name__, str(error)))
    return found


def columns() -> dict[str, pa.Array]:
    """A column of each type that holds numbers, and others."""
    g = np.random.default_rng(0)
    x = g.normal(size=N)
    mask = g.random(N) < 0.2
    return {
        "double": pa.array(x),
        "nulls": pa.array(x, mask=mask),
        "float": pa.array(x.astype(np.float32)),
        "half": pa.array(x.astype(np.float16)),
        "int8": pa.array(g.integers(-9, 9, N).astype(np.int8), mask=mask),
        "uint64": pa.array(g.integers(0, 9, N).astype(np.uint64)),
        "bool": pa.array(x > 0, mask=mask),
        "decimal": pa.array([decimal.Decimal(int(v * 100)) / 100 for v in x], pa.decimal128(9, 2)),
        "date": pa.array([date(2020, 1, 1 + i % 28) for i in range(N)]),
        "time": pa.array([datetime(2020, 1, 1, i % 24, tzinfo=UTC) for i in range(N)]),
        "text": pa.array([f"key {i % 3}" for i in range(N)], mask=mask),
        "coded": pa.array(["a", "b"] * (N // 2)).dictionary_encode(),
        "nothing": pa.nulls(N),
        "uuid": pa.array([uuid.UUID(int=i).bytes for i in range(N)], pa.uuid()),
        "a.b": pa.array(x),
        "a": pa.array([{"b": float(v), "c": i} for i, v in enumerate(x)]),
        "list": pa.array([[float(v), 1.0] for v in x]),
    }


NUMBERS = ("double", "nulls", "float", "int8", "uint64", "bool", "a.b", "nothing")
"""Columns of numbers of at most eight bytes."""


@pytest.mark.parametrize(
    ("options", "alone"),
    [
        (ReadOptions(NUMBERS), True),
        (ReadOptions(("double", "half", "decimal")), False),
        (ReadOptions(("double",), units=("int8", "time")), True),
        (ReadOptions(("double",), units=("int8", "uuid")), False),
        (ReadOptions(("double",), where=parse_filter("nulls > 0 and int8 < 3")), True),
        (ReadOptions(("double",), by=("int8",), present=("date", "nulls")), True),
        (ReadOptions(("double",), by=("text",)), False),  # as a dictionary
        (ReadOptions(("double", "not there")), False),
        (ReadOptions(("double",), batch_rows=N - 1), False),
        (ReadOptions(("double",), batch_rows=N), True),
        (ReadOptions(("double", "k")), True),
        (ReadOptions(("double",), where=parse_filter("k = 1")), None),
        (ReadOptions(("list",), vectors=(("list", 2),)), False),
        (ReadOptions(("text",)), False),
    ],
)
def test_batches_and_errors_are_those_of_the_long_way(
    options: ReadOptions,
    alone: bool | None,
    tmp_path: Path,
    ways: list[bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for folder in ("k=1", "k=2"):
        (tmp_path / folder).mkdir()
        pq.write_table(pa.table(columns()), tmp_path / folder / "0.parquet")
    found = outcome(tmp_path, options)
    assert not alone or ways == [True, True]
    assert alone in (True, None) or not any(ways)
    assert found == outcome(tmp_path, options, monkeypatch)


@pytest.mark.parametrize(
    "written",
    [
        {"row_group_size": 7},
        {"compression": "zstd", "data_page_version": "2.0"},
        {"use_dictionary": False, "write_page_checksum": True},
        {"use_deprecated_int96_timestamps": True},
        {"column_encoding": {"x": "BYTE_STREAM_SPLIT"}, "use_dictionary": False},
    ],
)
def test_files_of_all_kinds(
    written: dict[str, Any], tmp_path: Path, ways: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = pa.table({"x": columns()["nulls"], "time": columns()["time"].cast(pa.timestamp("ns"))})
    for i, table in enumerate((whole, whole.slice(3, 5), whole.slice(0, 0), whole.select(["x"]), whole)):
        pq.write_table(table, tmp_path / f"{i}.parquet", **written)
    for options in (ReadOptions(("x",)), ReadOptions(("x", "time"), missing="null")):
        found = outcome(tmp_path, options)
        assert found == outcome(tmp_path, options, monkeypatch)
        monkeypatch.undo()
    assert len(found) >= 9 or "error" in str(found[-1]).lower()


def test_files_of_other_types_and_columns(
    tmp_path: Path, ways: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    every = columns()
    tables = [{"x": every["double"], "y": every["int8"]}, {"y": every["int8"], "x": every["float"]}]
    tables += [{"x": every["int8"].cast(pa.int32())}, {"x": every["decimal"]}, {"y": every["bool"]}]
    for i, table in enumerate([*tables, *tables]):
        pq.write_table(pa.table(table), tmp_path / f"{i}.parquet")
    options = ReadOptions(("x",), missing="null")
    found = outcome(tmp_path, options)
    assert ways.count(True) == 6  # but for decimals and those without the column
    assert found == outcome(tmp_path, options, monkeypatch)


def test_a_file_that_changes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "0.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0]}), file)
    lake = open_lake(tmp_path)
    read = lake.reader(ReadOptions(("x",)))
    before = file.stat()
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    with pytest.raises(DataError, match=r"file changed since planning: 0\.parquet \(rewritten"):
        list(read.batches(lake.files[0]))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    real = footers.parquet_file

    def slow(*args: Any) -> Any:  # changed while it is read
        found = real(*args)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
        return found

    monkeypatch.setattr(footers, "parquet_file", slow)
    with pytest.raises(DataError, match="file changed since planning"):
        list(read.batches(lake.files[0]))


def test_a_file_too_large_for_its_thread_is_read_the_long_way(tmp_path: Path, ways: list[bool]) -> None:
    pq.write_table(pa.table({"x": columns()["double"]}), tmp_path / "0.parquet")
    lake = open_lake(tmp_path)
    read = lake.reader(ReadOptions(("x",)))
    for n_bytes, way in ((1e9, True), (20_000, False)):
        with allowed(n_bytes):
            assert len(list(read.batches(lake.files[0]))) == 1
        assert ways.pop() is way


@pytest.mark.slow
def test_damaged_files_are_told_as_on_the_long_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte of a file is another one, where PyArrow survives it: behind the pages, in the footer."""
    file = tmp_path / "0.parquet"
    pq.write_table(pa.table({"x": [1.0, None, 3.0], "y": [1, 2, 3]}), file, write_page_checksum=True)
    data, options = file.read_bytes(), ReadOptions(("x",))
    only, damaged = reader.only_batch, 0
    for at in range(0, len(data), 3):
        file.write_bytes(data[:at] + bytes([data[at] ^ 0x11]) + data[at + 1 :])
        monkeypatch.setattr(reader, "only_batch", only)
        found = outcome(tmp_path, options)
        assert found == outcome(tmp_path, options, monkeypatch), at
        damaged += "Error" in str(found)
    assert damaged > 50
