"""`dm.shuffle`: every row once, in the order that the seed says, on any executor; or nothing at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mean_lakes import Interrupts, dirty_lake, write
from peak_memory import PRINT_PEAK

import distmom as dm
from distmom.cluster import plan_units
from distmom.errors import ConfigError, DataError, ResourceError
from distmom.estimators.shuffle import shuffle as module
from distmom.estimators.shuffle import work as shuffle_work
from distmom.lake.saved import spill
from distmom.numerics.random.philox import resolve_seed
from distmom.numerics.random.shuffle import bucket_order, row_buckets


@pytest.fixture
def small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUCKET_BYTES", 3000)


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.parquet"), key=lambda path: path.relative_to(folder).as_posix())


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [row for path in files_of(folder) for row in pq.ParquetFile(path).read().to_pylist()]


def same_files(a: Path, b: Path) -> bool:
    names = [[path.name for path in files_of(folder)] for folder in (a, b)]
    return names[0] == names[1] and all(
        (a / name).read_bytes() == (b / name).read_bytes() for name in names[0]
    )


def numbered(folder: Path, sizes: list[int]) -> int:
    start = 0
    for i, n in enumerate(sizes):
        write(folder / f"{i:03}.parquet", {"i": np.arange(start, start + n), "x": np.arange(n) * 0.5})
        start += n
    return start


@pytest.mark.usefixtures("small_buckets")
def test_the_order_is_that_of_buckets_and_their_orders(tmp_path: Path) -> None:
    sizes = [300, 0, 1, 500, 200]
    n = numbered(tmp_path / "lake", sizes)
    found = dm.shuffle(tmp_path / "lake", tmp_path / "out", rng=5)
    seed = resolve_seed(5)[0]
    bits = (found.n_files - 1).bit_length()
    assert bits == 3
    buckets = np.concatenate([row_buckets(seed, i, 0, size, bits) for i, size in enumerate(sizes)])
    for bucket, path in enumerate(files_of(tmp_path / "out")):
        mine = np.flatnonzero(buckets == bucket)
        right = mine[bucket_order(seed, bucket, mine.size)]
        assert pq.read_table(path)["i"].to_pylist() == right.tolist()
    assert (found.n_rows, found.read_files) == (n, 5)
    assert left_behind(tmp_path) == ["out"]


@pytest.mark.usefixtures("small_buckets")
@pytest.mark.cluster
@pytest.mark.xdist_group("cluster")
def test_same_bits_on_threads_and_workers_and_for_any_cut(
    tmp_path: Path, client_of: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = dirty_lake(tmp_path / "lake")
    first = dm.shuffle(lake, tmp_path / "first", rng=1, threads=1)
    assert first.n_files > 4
    found = [dm.shuffle(lake, tmp_path / f"w{n}", rng=1, client=client_of(n)) for n in (1, 4)]
    assert same_files(tmp_path / "first", tmp_path / "w1") and same_files(tmp_path / "first", tmp_path / "w4")
    monkeypatch.setattr(module, "plan_units", lambda *a, **k: plan_units(*a, **{**k, "max_files": 1}))
    monkeypatch.setattr(shuffle_work, "SpillWriter", TinyRuns)
    monkeypatch.setattr(module, "SMALL_ROWS", 0)  # compiled
    found.append(dm.shuffle(lake, tmp_path / "cut", rng=1, threads=3))
    assert same_files(tmp_path / "first", tmp_path / "cut")
    assert {f.checksum for f in found} == {first.checksum}
    dm.shuffle(lake, tmp_path / "other", rng=2)
    assert not same_files(tmp_path / "first", tmp_path / "other")


class TinyRuns(spill.SpillWriter):
    """Sorts a few rows at a time."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments, room=500)


RICH = pa.schema(
    [
        pa.field("i", pa.int64(), nullable=False, metadata={"unit": "none"}),
        pa.field("text", pa.string()),
        pa.field("large", pa.large_string()),
        pa.field("word", pa.dictionary(pa.int8(), pa.string(), ordered=True)),
        pa.field("many", pa.dictionary(pa.int32(), pa.string())),
        pa.field("time", pa.timestamp("us", tz="Europe/Berlin")),
        pa.field("day", pa.date32()),
        pa.field("wait", pa.duration("ns")),
        pa.field("price", pa.decimal128(12, 3)),
        pa.field("small", pa.float16()),
        pa.field("flag", pa.bool_()),
        pa.field("raw", pa.binary(4)),
        pa.field("nothing", pa.null()),
        pa.field("list", pa.list_(pa.field("element", pa.float32()))),
        pa.field("pair", pa.list_(pa.int16(), 2)),
        pa.field("deep", pa.struct([("a", pa.int32()), ("b", pa.list_(pa.struct([("c", pa.string())])))])),
        pa.field("map", pa.map_(pa.string(), pa.float64())),
        pa.field("view", pa.string_view()),
    ],
    metadata={"made": "by hand"},
)


def rich_rows(n: int, first: int) -> pa.Table:
    g = np.random.default_rng(first)

    def row(i: int) -> dict[str, Any]:
        values: dict[str, Any] = {
            "text": f"wörd {i}", "large": "x" * (i % 50), "word": "abc"[i % 3], "many": f"v{i // 2}",
            "time": 10**15 + i, "day": i, "wait": i * 10**9, "price": Decimal(i) / 8,
            "small": np.float16(i % 7), "flag": i % 2 == 0, "raw": bytes([i % 256] * 4), "nothing": None,
            "list": [float(k) for k in range(i % 4)], "pair": [i % 9, None],
            "deep": {"a": i, "b": [{"c": str(k)} for k in range(i % 3)]}, "map": [("k", i / 4)],
            "view": f"a view of {i}",
        }  # fmt: skip
        return {"i": i, **{name: None if g.random() < 0.15 else value for name, value in values.items()}}

    return pa.Table.from_pylist([row(i) for i in range(first, first + n)], RICH)


@pytest.mark.parametrize("bucket_bytes", [4000, 10**8])
def test_all_types_and_nulls_stay(tmp_path: Path, bucket_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUCKET_BYTES", bucket_bytes)
    for i, n in enumerate([120, 0, 200]):
        options = {"row_group_size": 50, "compression": "zstd"}
        write(tmp_path / "lake" / f"{i}.parquet", rich_rows(n, 1000 * i), **options)
    schema = pq.read_schema(tmp_path / "lake" / "0.parquet")
    found = dm.shuffle(tmp_path / "lake", tmp_path / "out", rng=3)
    for path in files_of(tmp_path / "out"):
        assert pq.read_schema(path).equals(schema, check_metadata=True)
        chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
        assert chunk.compression == "ZSTD"
    assert (found.n_files > 1) == (bucket_bytes == 4000)
    before, after = rows_of(tmp_path / "lake"), rows_of(tmp_path / "out")
    assert [r["i"] for r in after] != [r["i"] for r in before]
    # `repr`: NaN equals itself, 0.0 is not -0.0
    assert sorted(map(repr, after), key=str) == sorted(map(repr, before), key=str)
    first = [pq.read_table(files_of(tmp_path / f)[0])["word"].chunk(0).dictionary for f in ("lake", "out")]
    assert first[0].equals(first[1])  # in its order


def test_dictionaries_that_differ_between_files(tmp_path: Path) -> None:
    narrow = pa.dictionary(pa.int8(), pa.string())
    for i in range(3):
        words = pa.array([f"{i}-{k}" for k in range(90)]).dictionary_encode().cast(narrow)
        write(tmp_path / "lake" / f"{i}.parquet", pa.table({"w": words}))
    dm.shuffle(tmp_path / "lake", tmp_path / "out", rng=0)
    table = pq.read_table(tmp_path / "out")
    assert table.schema.field("w").type == pa.dictionary(pa.int32(), pa.string())  # int8 holds 128 values
    assert sorted(table["w"].to_pylist()) == sorted(f"{i}-{k}" for i in range(3) for k in range(90))


def test_folders_become_columns(tmp_path: Path) -> None:
    for year in (2023, 2024):
        write(tmp_path / "lake" / f"year={year}" / "name=__HIVE_DEFAULT_PARTITION__" / "a.parquet",
              {"x": [year + 0.5] * 5, "year": [year] * 5})  # fmt: skip
    dm.shuffle(tmp_path / "lake", tmp_path / "out", rng=0)
    table = pq.read_table(tmp_path / "out")
    assert table.schema == pa.schema([("x", pa.float64()), ("year", pa.int64()), ("name", pa.string())])
    assert all(row["x"] == row["year"] + 0.5 and row["name"] is None for row in table.to_pylist())
    write(tmp_path / "lake" / "year=2024" / "name=__HIVE_DEFAULT_PARTITION__" / "b.parquet",
          {"x": [1.0], "year": [1999]})  # fmt: skip
    with pytest.raises(DataError, match=r"b\.parquet: column 'year' disagrees with its folder"):
        dm.shuffle(tmp_path / "lake", tmp_path / "again", rng=0)


def test_files_without_rows_and_columns_in_another_order(tmp_path: Path) -> None:
    empty = pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.int64())})
    write(tmp_path / "empty" / "a.parquet", empty)
    found = dm.shuffle(tmp_path / "empty", tmp_path / "none", rng=0)
    assert (found.n_rows, found.n_files) == (0, 1)
    assert pq.read_table(tmp_path / "none").equals(empty)
    write(tmp_path / "empty" / "b.parquet", {"y": [1, 2], "x": [0.5, 1.5]})
    dm.shuffle(tmp_path / "empty", tmp_path / "two", rng=0)
    assert sorted(rows_of(tmp_path / "two"), key=str) == [{"x": 0.5, "y": 1}, {"x": 1.5, "y": 2}]
    required = pa.table({"x": [3.0], "y": [4]}, pa.schema([("x", pa.float64()), ("y", pa.int64())]))
    write(tmp_path / "empty" / "c.parquet",
          required.cast(pa.schema([pa.field(f.name, f.type, False) for f in required.schema])))  # fmt: skip
    dm.shuffle(tmp_path / "empty", tmp_path / "three", rng=0)
    assert len(rows_of(tmp_path / "three")) == 3


def left_behind(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "lake")


def test_what_is_refused_before_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = tmp_path / "lake"
    numbered(lake, [10, 10])
    for output, words in {
        tmp_path: "exists; name a new folder",
        lake / "000.parquet": "exists",
        lake / "out": "lies in the lake",
        tmp_path / "no" / "out": "there is no folder",
    }.items():
        with pytest.raises(ConfigError, match=words):
            dm.shuffle(lake, output, rng=0)
    with pytest.raises(ConfigError, match="name Parquet files"):
        dm.shuffle({"x": np.arange(3)}, tmp_path / "out")
    with pytest.raises(ConfigError, match=r"scratch: .* is no folder"):
        dm.shuffle(lake, tmp_path / "out", scratch=tmp_path / "none")
    with pytest.raises(ResourceError, match="a bucket of rows: projected memory"):
        dm.shuffle(lake, tmp_path / "out", memory_limit="250MB", threads=2)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: Free(100))
    with pytest.raises(ResourceError, match="of disk are needed and 100 B are free"):
        dm.shuffle(lake, tmp_path / "out")
    assert left_behind(tmp_path) == [] and len(files_of(lake)) == 2


class Free:
    def __init__(self, free: int) -> None:
        self.free = free


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"i": [1], "x": ["a"]}, r"column 'x' is double in 000\.parquet but string in z\.parquet"),
        ({"i": [1]}, r"column 'x' is in 000\.parquet but not as often in z\.parquet"),
        ({"i": [1], "x": [1.0], "z": [1]}, r"column 'z' is in z\.parquet but not as often in 000\.parquet"),
    ],
)
def test_files_that_do_not_fit_each_other(tmp_path: Path, table: dict[str, Any], words: str) -> None:
    numbered(tmp_path / "lake", [10, 10])
    write(tmp_path / "lake" / "z.parquet", table)
    with pytest.raises(DataError, match=words):
        dm.shuffle(tmp_path / "lake", tmp_path / "out")
    assert left_behind(tmp_path) == []


def test_a_damaged_file_leaves_nothing(tmp_path: Path) -> None:
    numbered(tmp_path / "lake", [5000, 5000])
    victim = tmp_path / "lake" / "001.parquet"
    damaged = bytearray(victim.read_bytes())
    damaged[100:4000] = bytes(3900)
    victim.write_bytes(damaged)
    with pytest.raises(DataError, match="001"):
        dm.shuffle(tmp_path / "lake", tmp_path / "out", threads=1)
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("place", ["spill", "write"])
def test_a_full_disk_leaves_nothing(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    numbered(tmp_path / "lake", [500])

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if place == "spill":
        monkeypatch.setattr(spill.SpillWriter, "_flush", full)
    else:
        monkeypatch.setattr(shuffle_work, "write_parquet", full)
    with pytest.raises(ResourceError, match="No space left on device"):
        dm.shuffle(tmp_path / "lake", tmp_path / "out")
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("when", ["read", "written"])
def test_rows_that_are_lost_on_the_way_are_noticed(
    tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbered(tmp_path / "lake", [500])
    if when == "read":
        honest = shuffle_work.bucket_batches
        monkeypatch.setattr(
            shuffle_work, "bucket_batches", lambda *a: (batch.slice(1) for batch in honest(*a))
        )
    else:
        write_honestly = shuffle_work.write_parquet

        def lossy(path: Path, rows: pa.Table, style: Any) -> int:
            x = rows["x"].to_numpy().copy()
            x[7] += 1.0
            return write_honestly(path, rows.set_column(1, rows.schema.field("x"), pa.array(x)), style)

        monkeypatch.setattr(shuffle_work, "write_parquet", lossy)
    with pytest.raises(ResourceError, match=r"were written, with checksum .* nothing was kept"):
        dm.shuffle(tmp_path / "lake", tmp_path / "out")
    assert left_behind(tmp_path) == []


@pytest.mark.usefixtures("small_buckets")
@pytest.mark.parametrize("after", [1, 4])
def test_an_interrupt_leaves_nothing(tmp_path: Path, after: int) -> None:
    numbered(tmp_path / "lake", [500, 500])
    (tmp_path / "scratch").mkdir()
    with pytest.raises(KeyboardInterrupt):
        dm.shuffle(
            tmp_path / "lake", tmp_path / "out", progress=Interrupts(after), scratch=tmp_path / "scratch"
        )
    assert left_behind(tmp_path) == ["scratch"] and left_behind(tmp_path / "scratch") == []


def test_an_empty_folder_is_filled_with_ordinary_permissions(tmp_path: Path) -> None:
    numbered(tmp_path / "lake", [50])
    (tmp_path / "out").mkdir()
    found = dm.shuffle(tmp_path / "lake", tmp_path / "out", rng=9, scratch=tmp_path)
    assert found.seed == 9 and "50 rows of 1 files" in str(found)
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "out", *files_of(tmp_path / "out"))]
    umask = os.umask(0)
    os.umask(umask)
    assert modes == [0o777 & ~umask, 0o666 & ~umask]
    plan = dm.explain_shuffle(tmp_path / "lake", tmp_path / "new")
    assert (plan["n_rows"], plan["n_buckets"], plan["n_files"]) == (50, 1, 1)


MEASURE = (
    """
import sys
import distmom as dm
from distmom.estimators.shuffle import shuffle
from distmom.lake import spill
shuffle.BUCKET_BYTES = spill.LEAST_RUN = 2_000_000
shuffle.UNIT_BYTES = 1_000_000
dm.shuffle(sys.argv[1], sys.argv[2], threads=2, rng=0)
"""
    + PRINT_PEAK
)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_lake(tmp_path: Path) -> None:
    peaks = []
    for size in (4, 16):  # million rows
        g = np.random.default_rng(0)
        for i in range(size):
            write(tmp_path / f"lake{size}" / f"{i:02}.parquet", {"x": g.normal(size=10**6)})
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, tmp_path / f"lake{size}", tmp_path / f"out{size}"],
            capture_output=True, check=True, text=True,
        )  # fmt: skip
        peaks.append(int(done.stdout))
    assert peaks[1] < 1.1 * peaks[0], peaks
