"""Footers that contradict themselves, and schemas deeper than PyArrow's own limit."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.lake import ReadOptions, open_lake
from distmom.lake.files import footers

N = 300
ROWS = b"\x16\xd8\x04"
"""An i64 field of the value 300, as the footer's number of rows is; first of all such in it."""

ORDERS = b"\x19\x1c\x1c\0\0\0"
"""The order of one column, and the end of a footer: there would have to be one for each column."""


def write(path: Path, **columns: object) -> Path:
    pq.write_table(pa.table(columns), path, compression="none", use_dictionary=False, store_schema=False)
    return path


def parts(path: Path) -> tuple[bytes, bytes, bytes]:
    """What stands before the footer, the footer's schema, and the rest of it."""
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - length : -8]
    at = footer.index(ROWS)
    return data[: -8 - length], footer[:at], footer[at:]


def put(path: Path, before: bytes, footer: bytes) -> Path:
    path.write_bytes(before + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    return path


@pytest.mark.parametrize("n", [b"\x16\xda\x04", b"\x16\xd6\x04", b"\x16\x02"])
def test_numbers_of_rows_that_contradict_each_other(tmp_path: Path, n: bytes) -> None:
    (tmp_path / "lake").mkdir()
    file = write(tmp_path / "lake/a.parquet", x=np.arange(float(N)))
    before, schema, rest = parts(file)
    assert dm.mean(file, "x", rng=0).n_rows == N
    put(file, before, schema + n + rest.removeprefix(ROWS))
    for call in (
        lambda: dm.mean(file, "x"),
        lambda: dm.describe(file),
        lambda: dm.mean(file, "x", where="x > 1"),
        lambda: dm.scan(file).count_rows(),
    ):
        with pytest.raises(
            dm.DataError,
            match=r"a\.parquet is damaged: its footer reports .* its "
            r"row groups 300",
        ):
            call()
    write(tmp_path / "lake/b.parquet", x=np.arange(float(N)))
    left = dm.mean(dm.scan(tmp_path / "lake", on_bad_file="skip"), "x", rng=0)
    assert left.n_rows == N and len(left.data["skipped"]) == 1


def test_a_number_of_rows_that_was_never_set(tmp_path: Path) -> None:
    """Plans count the rows that are read: those of the row groups."""
    file = write(tmp_path / "a.parquet", x=np.arange(float(N)))
    before, schema, rest = parts(file)
    put(file, before, schema + b"\x16\0" + rest.removeprefix(ROWS))
    assert pq.read_metadata(file).num_rows == 0
    assert dm.scan(file).count_rows() == dm.mean(file, "x", rng=0).n_rows == N
    assert dm.ustatistic(file, "x", kernel="gini", rng=0).n_rows == N


def test_a_row_group_with_fewer_columns_than_the_schema(tmp_path: Path) -> None:
    x = np.arange(float(N))
    whole, part = write(tmp_path / "a.parquet", x=x, y=x), write(tmp_path / "b.parquet", x=x)
    before, schema, _ = parts(whole)
    rest = parts(part)[2].removesuffix(ORDERS) + b"\0"
    assert len(rest) < len(parts(part)[2])
    file = put(tmp_path / "a.parquet", before, schema + rest)
    for call in (lambda: dm.mean(file, "x"), lambda: dm.describe(file), lambda: dm.mean(file, "y")):
        with pytest.raises(dm.DataError, match=r"a\.parquet is damaged: its schema has 2 stored columns"):
            call()


@pytest.mark.skipif("schema_depth_limit" not in footers.READ_OPTIONS, reason="of newer PyArrow")
def test_columns_that_are_nested_deeper_than_a_hundred_levels(tmp_path: Path) -> None:
    type_, value = pa.float64(), 1.0
    for _ in range(75):
        type_, value = pa.list_(type_), [value]
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": np.arange(40.0), "deep": pa.array([value] * 40, type_)}), file)
    with pytest.raises(OSError, match="too deeply nested"):
        pq.ParquetFile(file)
    assert dm.mean(file, "x", rng=0).plain_estimate == 19.5
    assert [one.column for one in dm.describe(file, rng=0)] == ["x", "deep"]


def test_metadata_are_looked_at_once(tmp_path: Path) -> None:
    table = pa.table({"y": np.zeros(N), "x": np.arange(float(N))})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=N // 3)
    lake = open_lake(tmp_path)
    read = ReadOptions(("x",))
    reader = lake.reader(read)
    every = {(group, column) for group in range(3) for column in range(2)}
    assert reader.checked == {"a.parquet": every}
    with footers.open_parquet(lake.filesystem, lake.root, lake.files[0]) as parquet:
        assert parquet.checked == {(0, 0), (1, 0), (2, 0)}
    assert sum(batch.n_rows for batch in reader.batches(lake.files[0])) == N
    assert not pickle.loads(pickle.dumps(reader)).checked
