"""Files of some kilobytes that hold gigabytes: refused in one line in time, or read in little memory."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from peak_memory import PRINT_PEAK

import distmom as dm
from distmom.errors import ResourceError
from distmom.lake.files.listing import open_lake
from distmom.lake.source import ReadOptions
from distmom.memory import allowed

LETTERS = 3_000_000


def long_texts(path: Path, letters: int = LETTERS, rows: int = 200) -> Path:
    """Ten rows share one long text, which is stored once."""
    texts = pa.array(["a" * letters, "b"]).take(pa.array(np.arange(rows) >= 10).cast("i4"))
    table = pa.table({"x": np.ones(rows), "g": texts})
    pq.write_table(table, path, compression="zstd", use_dictionary=["g"])
    assert path.stat().st_size < 20_000
    return path


def batches(path: Path, n_bytes: float, **options: object) -> int:
    """Rows read within so many bytes."""
    lake = open_lake(path)
    reader = lake.reader(ReadOptions(**options))  # type: ignore[arg-type]
    with allowed(n_bytes):
        return sum(batch.n_rows for batch in reader.batches(lake.files[0]))


def test_a_text_that_many_rows_share_is_held_once(tmp_path: Path) -> None:
    path = long_texts(tmp_path / "k.parquet", 10_000_000)
    pa.default_memory_pool().release_unused()
    before = pa.default_memory_pool().bytes_allocated()
    assert batches(path, 1e9, columns=("x",), present=("g",)) == 200
    lake = open_lake(path)
    reader = lake.reader(ReadOptions(("x",), present=("g",)))
    for _ in reader.batches(lake.files[0]):
        held = pa.default_memory_pool().bytes_allocated() - before
        assert held < 6 * 10_000_000  # ten rows have it


def test_what_does_not_fit_is_refused_with_file_and_column(tmp_path: Path) -> None:
    path = long_texts(tmp_path / "k.parquet", 30_000_000)
    words = r"k\.parquet: reading a batch takes 12\d MB, more than the 50 MB .* 'g' .*allow more memory_limit"
    with pytest.raises(ResourceError, match=words):
        batches(path, 50e6, columns=("x",), present=("g",))
    assert batches(path, 50e6, columns=("x",)) == 200


@pytest.mark.parametrize("dictionary", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_one_long_text_among_many_short_ones_is_refused(tmp_path: Path, dictionary: bool) -> None:
    """Footers tell of all texts together; the header of the page that a long one makes tells of it."""
    n = 40_000
    for name, longest in (("k", 30_000_000), ("short", 10)):
        texts = pa.array(["a", "b"] * (n // 2 - 1) + ["z" * longest, "a"])
        table = pa.table({"x": np.ones(n), "g": texts})
        pq.write_table(table, tmp_path / f"{name}.parquet", compression="zstd", use_dictionary=dictionary)
    assert (tmp_path / "k.parquet").stat().st_size < 100_000
    words = r"k\.parquet: reading a batch takes \d{3} MB, more than the 100 MB .* column 'g'"
    with pytest.raises(ResourceError, match=words):
        batches(tmp_path / "k.parquet", 100e6, columns=("x",), present=("g",))
    assert batches(tmp_path / "k.parquet", 400e6, columns=("x",), present=("g",)) == n
    assert batches(tmp_path / "k.parquet", 100e6, columns=("x",)) == n
    assert batches(tmp_path / "short.parquet", 100e6, columns=("x",), present=("g",)) == n


def test_lists_of_many_values_are_refused(tmp_path: Path) -> None:
    offsets = pa.array([0, 20_000_000, 20_000_001], pa.int32())
    table = pa.table({"v": pa.ListArray.from_arrays(offsets, pa.array(np.zeros(20_000_001)))})
    pq.write_table(table, tmp_path / "v.parquet", compression="zstd")
    assert (tmp_path / "v.parquet").stat().st_size < 100_000
    with pytest.raises(ResourceError, match=r"column 'v\..* 20,000,001 values in 2 rows"):
        batches(tmp_path / "v.parquet", 100e6, present=("v",))


@pytest.mark.slow
def test_a_later_file_of_a_lake_is_refused_while_it_is_read(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": np.arange(9_000.0), "g": ["b"] * 9_000}), tmp_path / "a.parquet")
    long_texts(tmp_path / "k.parquet", 50_000_000, 20)
    there = dm.Threads(1, memory_limit="300MB")
    for call in (dm.describe, lambda lake, **more: dm.mean(lake, "x", where="g = 'b'", **more)):
        with pytest.raises(dm.ResourceError, match=r"k\.parquet: reading a batch takes 20\d MB"):
            call(tmp_path, executor=there)


def test_a_model_is_measured_before_it_is_inflated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("skops")
    from distmom.estimators.tournament import model_files

    monkeypatch.setattr(model_files, "MOST_BYTES", 10_000_000)
    with zipfile.ZipFile(tmp_path / "m.skops", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * 20_000_000)
    assert (tmp_path / "m.skops").stat().st_size < 40_000
    with pytest.raises(dm.DataError, match=r"m\.skops.* inflates to 20 MB, more than 10 MB"):
        model_files.load_model(str(tmp_path / "m.skops"))


@pytest.mark.slow
def test_a_file_of_4_kilobytes_takes_no_gigabytes(tmp_path: Path) -> None:
    path = long_texts(tmp_path / "k.parquet", 100_000_000, 1_000)
    there = "dm.Threads(2, memory_limit='1GB')"
    for call in ("describe(lake", "mean(lake, 'x', where=\"g = 'b'\""):
        program = f"import distmom as dm\nlake = {str(path)!r}\ndm.{call}, executor={there})\n{PRINT_PEAK}"
        words = [sys.executable, "-W", "ignore", "-c", program]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert int(done.stdout.split()[-1]) < 800
