from __future__ import annotations

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distmom.errors import ConfigError, DataError, ResourceError
from distmom.lake import ReadOptions, as_filter, open_lake
from distmom.lake.files import footers


def batches(data, columns=("x",), start=0, stop=None, **options):
    source = open_lake(data)
    reader = source.reader(ReadOptions(columns, **options))
    return [batch for file in source.files for batch in reader.batches(file, start, stop)]


def test_only_nulls_in_the_first_file(write, tmp_path, read):
    write("t/0.parquet", {"x": pa.nulls(3), "g": pa.nulls(3)})
    write("t/1.parquet", {"x": pa.array([2.0, 4.0]), "g": pa.array(["a", "b"])})
    rows = read(tmp_path / "t", ("x",), ("g",))
    assert rows.column() == [None, None, None, 2.0, 4.0]
    assert rows.keys == [(None,), (None,), (None,), ("a",), ("b",)]
    (tmp_path / "t/0.parquet").rename(tmp_path / "t/2.parquet")
    assert read(tmp_path / "t", ("x",), ("g",)).column() == [2.0, 4.0, None, None, None]
    assert read(tmp_path / "t", ("x",), where="g = 'a'").column() == [2.0]


def test_numbers_of_different_types_mix_without_truncation(write, tmp_path, read):
    write("t/0.parquet", {"x": pa.array([1, 2], pa.int64())})
    write("t/1.parquet", {"x": pa.array([0.5, 8.5])})
    assert read(tmp_path / "t", ("x",)).mean() == 3.0
    write("u/0.parquet", {"x": pa.array([1, 2], pa.int32())})
    write("u/1.parquet", {"x": pa.array([2**40, 3])})
    assert read(tmp_path / "u", ("x",)).mean() == 274877906945.5
    write("t/2.parquet", {"x": pa.array([True, None])})
    write("t/3.parquet", {"x": pa.array(["1.5"]).cast(pa.decimal128(3, 1))})
    assert read(tmp_path / "t", ("x",)).column() == [1.0, 2.0, 0.5, 8.5, 1.0, None, 1.5]


@pytest.mark.parametrize("first", ["number", "text"])
def test_numbers_and_texts_do_not_mix_in_whatever_order(write, tmp_path, read, first):
    names = ("0", "1") if first == "number" else ("1", "0")
    write(f"t/{names[0]}.parquet", {"x": pa.array([1, 2])})
    write(f"t/{names[1]}.parquet", {"x": pa.array(["3", "n/a"])})
    for by in ((), ("x",)):
        with pytest.raises(DataError) as caught:
            read(tmp_path / "t", () if by else ("x",), by)
        message = str(caught.value)
        for part in ("'x'", "int64", "string", "0.parquet", "1.parquet"):
            assert part in message
        assert "\n" not in message


def test_text_alone_is_refused_as_a_value_with_the_remedy(write, tmp_path, read):
    write("t/0.parquet", {"x": ["1", "2"], "t": pa.array([1, 2], pa.time32("ms")), "v": [[1.0], [2.0]]})
    with pytest.raises(DataError, match=r"column 'x' is string in 0\.parquet: only numbers, .*; cast it"):
        read(tmp_path / "t", ("x",))
    with pytest.raises(DataError, match=r"column 't' is time32\[ms\] .* seconds of the day"):
        read(tmp_path / "t", ("t",))
    with pytest.raises(DataError, match=r"column 'v' is list.* mean vector .* joint=True"):
        read(tmp_path / "t", ("v",))
    with pytest.raises(DataError, match=r"column 'v' is list.* cannot be a key of groups"):
        read(tmp_path / "t", (), ("v",))


def test_empty_files_give_no_batch(write, tmp_path, read):
    write("t/0.parquet", {"x": pa.array([], pa.float64())})
    with pq.ParquetWriter(tmp_path / "t/1.parquet", pa.schema([("x", pa.float64())])):
        pass
    write("t/2.parquet", {"x": pa.array([2.0, 4.0])})
    rows = read(tmp_path / "t", ("x",))
    assert rows.mean() == 3.0 and rows.n_batches == 1
    assert open_lake(tmp_path / "t").row_counts().tolist() == [0, 0, 2]
    assert batches(tmp_path / "t/0.parquet") == batches(tmp_path / "t/1.parquet") == []


def test_a_dot_is_part_of_a_name_and_only_the_asked_column_is_read(write, tmp_path, read):
    noise = np.random.default_rng(0).normal(size=5_000)
    path = write(
        "t/0.parquet",
        {"a.b": noise, "a": pa.array([{"b": v} for v in noise]), "größe (m)": noise + 5, "other": noise},
        compression="none", use_dictionary=False,
    )  # fmt: skip
    assert read(tmp_path / "t", ("a.b", "größe (m)")).values[3] == (noise[3], noise[3] + 5)
    # destroy every other column's data: the asked one must still be read
    metadata = pq.read_metadata(path)
    data = bytearray(path.read_bytes())
    for i in range(1, 4):
        chunk = metadata.row_group(0).column(i)
        data[chunk.data_page_offset : chunk.data_page_offset + chunk.total_compressed_size] = bytes(
            chunk.total_compressed_size
        )
    path.write_bytes(data)
    assert read(path, ("a.b",)).column() == noise.tolist()
    with pytest.raises(DataError, match="row group 0, column 'größe"):
        read(path, ("a.b", "größe (m)"))


def test_field_of_a_struct_is_not_taken_for_a_column(write, tmp_path, read):
    write("t/0.parquet", {"a": pa.array([{"b": 10.0}])})
    with pytest.raises(ConfigError, match=r"no column 'a\.b' in .*: 'a' is a struct"):
        read(tmp_path / "t", ("a.b",))
    with pytest.raises(DataError, match=r"column 'a' is struct.* store the field wanted as a column"):
        read(tmp_path / "t", ("a",))


def test_misspelled_names_get_a_suggestion(write, tmp_path, read):
    write("t/0.parquet", {"amount": [1.0], "country": ["x"]})
    with pytest.raises(ConfigError, match=r"no column 'amuont' in .*; did you mean 'amount'\?"):
        read(tmp_path / "t", ("amuont",))
    with pytest.raises(ConfigError, match=r"did you mean 'country'\?"):
        read(tmp_path / "t", (), ("Country",))
    with pytest.raises(ConfigError, match="there is 'amount', 'country'"):
        read(tmp_path / "t", ("zzz",))
    with pytest.raises(ConfigError, match="name each column by itself: 'amount', 'country'"):
        read(tmp_path / "t", ("amount, country",))


@pytest.mark.parametrize("lacking", [0, 1])
def test_column_that_some_files_lack(write, tmp_path, read, lacking):
    write(f"t/{lacking}.parquet", {"y": [1.0]})
    write(f"t/{1 - lacking}.parquet", {"x": [3.0], "y": [1.0], "s": ["a"]})
    with pytest.raises(DataError, match=rf"'x' .*{lacking}\.parquet.*missing='null'"):
        read(tmp_path / "t", ("x",))
    rows = read(tmp_path / "t", ("x", "y"), ("s",), missing="null")
    assert sorted(rows.values, key=str) == [(3.0, 1.0), (None, 1.0)]
    assert sorted(rows.keys, key=str) == [("a",), (None,)]
    assert read(tmp_path / "t", ("y",), where="x is null", missing="null").n_batches == 2
    with pytest.raises(ConfigError, match="no column 'z'"):
        read(tmp_path / "t", ("z",), missing="null")


def test_two_columns_of_one_name(tmp_path):
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0]), pa.array([3.0])], names=["x", "x", "y"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"file a\.parquet has 2 columns called 'x'"):
        batches(tmp_path / "a.parquet")
    assert batches(tmp_path / "a.parquet", ("y",))[0].values[0].tolist() == [3.0]


def test_destroyed_page_header_names_file_row_group_and_column(write, tmp_path):
    values = np.random.default_rng(0).normal(size=50_000)
    path = write(
        "t/0.parquet",
        {"y": values, "x": values},
        compression="none",
        use_dictionary=False,
        row_group_size=30_000,
    )
    chunk = pq.read_metadata(path).row_group(1).column(1)
    data = bytearray(path.read_bytes())
    data[chunk.data_page_offset : chunk.data_page_offset + 36] = b"\xff" * 36
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"file 0\.parquet is damaged in row group 1, column 'x': ") as caught:
        batches(tmp_path / "t", ("y", "x"))
    assert "\n" not in str(caught.value)
    assert len(batches(tmp_path / "t", ("y",))) == 1
    assert sum(batch.n_rows for batch in batches(tmp_path / "t", ("x",), 0, 30_000)) == 30_000


def test_random_bytes_in_the_header(write, tmp_path):
    path = write("0.parquet", {"x": np.ones(50_000)}, compression="none", use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[4:40] = np.random.default_rng(1).bytes(36)
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"file 0\.parquet is damaged in row group 0, column 'x'"):
        batches(path)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet at all", None])
def test_files_that_are_no_parquet(write, tmp_path, content):
    path = write("t/1.parquet", {"x": np.ones(10)})
    path.write_bytes(path.read_bytes()[:-20] if content is None else content)
    with pytest.raises(DataError, match=r"file 1\.parquet is damaged or not a Parquet file: ") as caught:
        batches(tmp_path / "t")
    assert "\n" not in str(caught.value)
    write("t/2.parquet", {"x": np.ones(10)})  # the damaged first file does not hide the schema
    lake = open_lake(tmp_path / "t")
    assert lake.schema().names == ["x"]
    reader = lake.reader(ReadOptions(("x",)))
    with pytest.raises(DataError, match=r"1\.parquet"):
        list(reader.batches(lake.files[0]))
    assert len(list(reader.batches(lake.files[1]))) == 1


def test_file_rewritten_after_planning(write, tmp_path):
    write("t/0.parquet", {"x": np.full(1000, 1.0)})
    write("t/1.parquet", {"x": np.full(1000, 3.0)})
    lake = open_lake(tmp_path / "t")
    reader = lake.reader(ReadOptions(("x",)))
    write("t/1.parquet", {"x": np.full(500, 9.0)}, compression="none")
    assert len(list(reader.batches(lake.files[0]))) == 1
    with pytest.raises(DataError, match=r"file changed since planning: 1\.parquet \(size \d+ -> \d+ bytes\)"):
        list(reader.batches(lake.files[1]))
    (tmp_path / "t/1.parquet").unlink()
    with pytest.raises(DataError, match=r"file changed since planning: 1\.parquet \(deleted\)"):
        list(reader.batches(lake.files[1]))
    status = (tmp_path / "t/0.parquet").stat()
    os.utime(tmp_path / "t/0.parquet", ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))
    with pytest.raises(DataError, match=r"0\.parquet \(rewritten, same size\)"):
        list(reader.batches(lake.files[0]))
    with pytest.raises(DataError, match=r"0\.parquet \(rewritten, same size\)"):
        lake.row_counts()


def test_what_is_remembered_of_one_file_is_not_taken_for_another(write, tmp_path):
    """Files whose columns lie elsewhere, or have another type, in turn with those like the first."""
    layouts = [{"x": [1.0], "y": [5.0]}, {"y": [5.0], "x": [2.0]}, {"x": pa.array([3], pa.int8())}]
    for number in range(9):
        write(f"t/{number}.parquet", layouts[number // 2 % 3])
    lake = open_lake(tmp_path / "t")
    reader = lake.reader(ReadOptions(("x",)))
    found = [batch.values[0].tolist() for file in lake.files for batch in reader.batches(file)]
    assert found == [[1.0], [1.0], [2.0], [2.0], [3.0], [3.0], [1.0], [1.0], [2.0]]
    again = pickle.loads(pickle.dumps(reader))  # without what it remembers: that cannot be sent
    assert again == reader
    assert [batch.values[0][0] for file in lake.files for batch in again.batches(file)] == [
        v for (v,) in found
    ]


def test_file_rewritten_while_it_is_read(write, tmp_path):
    path = write("t/0.parquet", {"x": np.full(1000, 1.0)})
    lake = open_lake(tmp_path / "t")
    stream = lake.reader(ReadOptions(("x",), batch_rows=100)).batches(lake.files[0])
    next(stream)
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match=r"file changed since planning: 0\.parquet"):
        list(stream)


def test_rewritten_lake_is_read_anew_in_the_same_process(write, tmp_path, read):
    write("t/0.parquet", {"x": [1.0, 1.0]})
    assert read(tmp_path / "t", ("x",)).column() == [1.0, 1.0]
    write("t/0.parquet", {"x": [5.0] * 10})
    assert read(tmp_path / "t", ("x",)).column() == [5.0] * 10


def test_every_codec(write, tmp_path, read):
    for codec in ("none", "snappy", "gzip", "zstd", "lz4", "brotli"):
        write(f"t/{codec}.parquet", {"x": [1.0, 3.0]}, compression=codec)
    rows = read(tmp_path / "t", ("x",))
    assert rows.mean() == 2.0 and len(rows.values) == 12


def test_codec_that_is_not_available(write, tmp_path, read):
    path = write("t/0.parquet", {"x": [1.0]}, compression="snappy")
    before, after = b"\x18\x01x\x15\x02", b"\x18\x01x\x15\x06"  # path and codec: SNAPPY, LZO
    assert path.read_bytes().count(before) == 1
    path.write_bytes(path.read_bytes().replace(before, after))
    with pytest.raises(DataError, match=rf"0\.parquet cannot be read by pyarrow {pa.__version__}: .*LZO"):
        read(tmp_path / "t", ("x",))


def test_narrow_and_wide_types_from_files(write, tmp_path, read):
    write("half.parquet", {"x": np.full(100, 1000, "f2")})
    assert read(tmp_path / "half.parquet", ("x",)).mean() == 1000.0
    x = np.arange(5794, dtype="f4")
    write("whole.parquet", {"x": x})
    assert sum(read(tmp_path / "whole.parquet", ("x",)).column()) == 16782321
    write("wide/a.parquet", {"x": pa.array([2**63 - 1, 1])})
    write("wide/b.parquet", {"x": pa.array([2**62, 2**62])})
    assert read(tmp_path / "wide", ("x",)).mean() == 4.611686018427387904e18


def test_null_nan_and_infinity_are_kept_apart(write, read):
    path = write("a.parquet", {"x": pa.array([1.0, None, float("nan"), float("inf"), 2.0])})
    (batch,) = batches(path)
    assert batch.valid[0].tolist() == [True, False, True, True, True]
    assert np.isnan(batch.values[0][2]) and np.isposinf(batch.values[0][3])


def test_filter_leaves_files_without_rows(write, tmp_path, read):
    for i in range(3):
        write(f"p/{i}.parquet", {"x": np.arange(3.0 * i + 1, 3 * i + 4)})
    rows = read(tmp_path / "p", ("x",), where="x > 6")
    assert rows.column() == [7.0, 8.0, 9.0]
    assert rows.n_batches == 3  # rows that are filtered out are still seen


def test_files_that_the_folders_exclude_are_not_opened(write, tmp_path, read):
    write("t/day=1/a.parquet", {"x": [1.0]})
    write("t/day=2/b.parquet", {"x": [2.0]})
    write("t/day=3/c.parquet", {"x": [3.0]}).write_bytes(b"damaged")
    lake = open_lake(tmp_path / "t")
    reader = lake.reader(ReadOptions(("x",), where=as_filter("day = 2 and x > 0", lake)))
    assert [reader.excludes(file) for file in lake.files] == [True, False, True]
    assert read(tmp_path / "t", ("x",), where="day = 2 and x > 0").column() == [2.0]
    with pytest.raises(DataError, match=r"day=3/c\.parquet"):
        read(tmp_path / "t", ("x",), where="day >= 2 and x > 0")


def test_nothing_stored_is_asked_for(write, tmp_path, read):
    write("t/day=1/a.parquet", {"x": np.arange(10.0)}, row_group_size=4)
    lake = open_lake(tmp_path / "t")
    reader = lake.reader(ReadOptions((), ("day",), batch_rows=3))
    assert [(b.start, b.n_rows) for b in reader.batches(lake.files[0])] == [(0, 3), (3, 3), (6, 3), (9, 1)]
    assert [(b.start, b.n_rows) for b in reader.batches(lake.files[0], 2, 7)] == [(2, 1), (3, 3), (6, 1)]
    assert read(tmp_path / "t", (), ("day",)).keys == [(1,)] * 10


@pytest.fixture(scope="module")
def ragged(tmp_path_factory) -> Path:
    """1,000 rows in row groups of 1 to 200, with nulls, texts and a dictionary."""
    path = tmp_path_factory.mktemp("ragged") / "a.parquet"
    rng = np.random.default_rng(0)
    n = 1000
    table = pa.table(
        {
            "x": pa.array(np.arange(n, dtype=float), mask=rng.random(n) < 0.1),
            "s": pa.array([f"k{i % 7}" if i % 11 else None for i in range(n)]),
        }
    )
    with pq.ParquetWriter(path, table.schema) as writer:
        start = 0
        for size in [1, 200, 37, 0, 163, 199, 100, 150, 150]:
            writer.write_table(table.slice(start, size))
            start += size
    return path


@given(st.integers(1, 400), st.integers(0, 1000), st.integers(0, 1100))
def test_any_range_of_rows_in_any_batches(ragged, batch_rows, start, length):
    table = pq.read_table(ragged)
    found = batches(ragged, ("x",), start, start + length, by=("s",), batch_rows=batch_rows)
    expected = table.slice(start, length)
    position = start
    values, keys = [], []
    for batch in found:
        assert batch.start == position and 0 < batch.n_rows <= batch_rows
        position += batch.n_rows
        valid = np.ones(batch.n_rows, bool) if batch.valid[0] is None else batch.valid[0]
        values += [v if ok else None for v, ok in zip(batch.values[0].tolist(), valid.tolist(), strict=True)]
        keys += batch.keys[0].to_pylist()
    assert values == expected["x"].to_pylist()
    assert keys == expected["s"].to_pylist()
    assert all(not batch.valid[0].all() for batch in found if batch.valid[0] is not None)


def test_bytes_of_batches_add_up_to_the_columns_size(ragged):
    metadata = pq.read_metadata(ragged)
    groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
    size = sum(group.column(0).total_compressed_size for group in groups if group.num_rows)
    assert sum(batch.n_bytes for batch in batches(ragged, batch_rows=64)) == size


def test_batches_do_not_grow_with_the_row_group(write):
    path = write(
        "a.parquet", {"x": np.arange(2_000_000.0), "y": np.zeros(2_000_000)}, row_group_size=2_000_000
    )
    lake = open_lake(path)
    before = pa.total_allocated_bytes()
    peak = 0
    for batch in lake.reader(ReadOptions(("x",))).batches(lake.files[0]):
        assert batch.n_rows <= 98_304
        peak = max(peak, pa.total_allocated_bytes() - before)
    assert peak < 8_000_000  # the column is 16 MB


def test_reader_is_small_and_picklable(write, tmp_path):
    for day in range(30):
        write(f"t/day={day}/a.parquet", {"x": [1.0], "country": ["DE"]})
    lake = open_lake(tmp_path / "t")
    where = as_filter("day >= 3 and country in ('DE', 'FR') and x between 0.5 and 2", lake)
    reader = lake.reader(ReadOptions(("x",), ("country", "day"), where))
    data = pickle.dumps(reader)
    assert len(data) < 2_000
    again = pickle.loads(data)
    assert again == reader
    assert [len(list(again.batches(file))) for file in lake.files if file.partition[0] in ("2", "3")] == [
        0,
        1,
    ]


def test_reading_does_not_read_the_whole_lakes_footers(write, tmp_path, monkeypatch):
    for i in range(5):
        write(f"t/{i}.parquet", {"x": [float(i)]})
    lake = open_lake(tmp_path / "t")
    opened = []
    real = footers.parquet_file
    monkeypatch.setattr(footers, "parquet_file", lambda *a: opened.append(1) or real(*a))
    lake.reader(ReadOptions(("x",)))
    assert len(opened) == 1


def test_schema_has_the_partition_columns(write, tmp_path):
    write("t/a=1/b=x/f.parquet", {"x": [1.0], "a": ["1"]})
    assert open_lake(tmp_path / "t").schema() == pa.schema(
        [("x", pa.float64()), ("a", pa.int64()), ("b", pa.string())]
    )


def test_operating_system_errors_keep_their_number(write, tmp_path, monkeypatch):
    write("t/0.parquet", {"x": [1.0]})
    lake = open_lake(tmp_path / "t")

    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(footers, "parquet_file", fail)
    with pytest.raises(OSError, match=r"file 0\.parquet: .*Input/output error") as caught:
        list(lake.row_counts())
    assert caught.value.errno == 5


@pytest.mark.parametrize(
    ("cause", "error", "message"),
    [
        (
            pa.ArrowMemoryError("malloc of size 9 failed"),
            ResourceError,
            "there is not enough memory to read it",
        ),
        (
            pa.ArrowNotImplementedError("no such encoding"),
            DataError,
            r"cannot be read by pyarrow \d.*: no such enc",
        ),
        (PermissionError(13, "Permission denied"), DataError, r"0\.parquet: permission denied"),
    ],
)
def test_failures_that_are_no_damage(write, tmp_path, monkeypatch, cause, error, message):
    write("t/0.parquet", {"x": [1.0]})
    lake = open_lake(tmp_path / "t")

    def fail(*_):
        raise cause

    monkeypatch.setattr(footers, "parquet_file", fail)
    with pytest.raises(error, match=message):
        lake.row_counts()


def test_one_reader_serves_several_threads(write, tmp_path, read):
    for i in range(8):
        write(f"t/{i}.parquet", {"x": np.arange(20_000.0) + i, "s": [f"k{j % 5}" for j in range(20_000)]})
    lake = open_lake(tmp_path / "t")
    reader = lake.reader(ReadOptions(("x",), ("s",), as_filter("s != 'k3'", lake), batch_rows=1_000))

    def total(file):
        return sum(float(batch.values[0][batch.keep].sum()) for batch in reader.batches(file))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(total, lake.files)) == [total(file) for file in lake.files]
