"""Files as other writers leave them: each is read rightly, or refused in one line that says what it is."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.cli.program import program

X = pa.table({"x": np.arange(300.0), "g": ["a", "b", "c"] * 100})
ONE = dm.RandomBlocks(1)


def refused(data: object, *words: str) -> None:
    with pytest.raises(dm.DataError) as caught:
        dm.mean(data, "x", rng=0)
    said = str(caught.value)
    assert "\n" not in said
    assert all(word in said for word in words), said


def test_int96_times_of_all_years(tmp_path: Path) -> None:
    times = np.array(["1000-01-01", "2020-01-01", "9999-12-31"], "M8[us]")
    table = pa.table({"t": pa.array(times), "x": [1.0, 2.0, 4.0]})
    pq.write_table(table, tmp_path / "i.parquet", use_deprecated_int96_timestamps=True)
    right = (times.astype(np.int64).astype(object).sum() / 3) * 1e-6
    found = dm.mean(tmp_path / "i.parquet", "t", blocks=ONE).estimate
    assert found == datetime(4340, 1, 1, 8)
    assert abs((found - datetime(1970, 1, 1)).total_seconds() - right) < 1e-3
    late = dm.mean(tmp_path / "i.parquet", "x", where="t > '2100-01-01'", blocks=ONE)
    assert (late.estimate, late.n_rows) == (4.0, 1)
    by = dm.mean(tmp_path / "i.parquet", "x", by="t", blocks=ONE)
    assert [one.group["t"].year for one in by] == [1000, 2020, 9999]


def flipped(path: Path, *, checksums: bool) -> Path:
    pq.write_table(X, path, write_page_checksum=checksums, compression="none", use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[1000] ^= 0x40
    path.write_bytes(data)
    return path


def test_page_checksums_are_compared(tmp_path: Path) -> None:
    refused(flipped(tmp_path / "a.parquet", checksums=True), "a.parquet", "column 'x'", "checksum")
    lake = tmp_path / "lake"
    lake.mkdir()
    flipped(lake / "bad.parquet", checksums=True)
    pq.write_table(X, lake / "good.parquet", write_page_checksum=True)
    found = dm.mean(dm.scan(lake, on_bad_file="skip"), "x", blocks=ONE)
    assert found.estimate == X["x"].to_numpy().mean()
    assert [one["file"] for one in found.data["skipped"]] == ["bad.parquet"]
    # without checksums nobody can know
    assert dm.mean(flipped(tmp_path / "b.parquet", checksums=False), "x", blocks=ONE).n_rows == 300


def with_more_rows(path: Path, stored: int, told: int) -> None:
    """A file whose footer tells of more rows than its pages hold."""
    pq.write_table(pa.table({"x": np.arange(float(stored))}), path, compression="none", use_dictionary=False)
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    start = len(data) - 8 - length
    places = [i for i in range(start, len(data) - 8) if data[i] == 2 * stored]
    for first in places:
        for second in places:
            changed = bytearray(data)
            changed[first] = changed[second] = 2 * told
            path.write_bytes(changed)
            try:
                found = pq.read_metadata(path)
                group = found.row_group(0)
                if found.num_rows == told == group.num_rows and group.column(0).num_values == stored:
                    return
            except (OSError, pa.ArrowException):
                continue
    raise AssertionError("no footer of that kind")


def test_rows_that_a_footer_tells_of_and_the_pages_lack(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    with_more_rows(lake / "bad.parquet", 33, 47)
    refused(lake / "bad.parquet", "bad.parquet", "33", "47")
    pq.write_table(X, lake / "good.parquet")
    found = dm.mean(dm.scan(lake, on_bad_file="skip"), "x", blocks=ONE)
    assert found.estimate == X["x"].to_numpy().mean(), "nothing of the bad file counts"


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_texts_that_are_stored_by_their_differences(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "d.parquet"
    pq.write_table(X, path, use_dictionary=False, column_encoding={"g": encoding})
    plain = tmp_path / "p.parquet"
    pq.write_table(X, plain)
    for words in ({"by": "g"}, {"where": "g = 'b'"}, {"where": "g in ('a', 'c')"}):
        found, right = ([*np.atleast_1d(dm.mean(p, "x", rng=0, **words))] for p in (path, plain))
        assert [one.n_rows for one in found] == [one.n_rows for one in right]
    assert dm.mean(path, "x", blocks=dm.UnitBlocks("g", n=3)).n_units == 3
    assert dm.describe(path)["g"].n_null == 0


def test_a_link_to_nothing_is_not_passed_over(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    (lake / "day=1").mkdir(parents=True)
    pq.write_table(X, lake / "day=1/a.parquet")
    pq.write_table(X, tmp_path / "b.parquet")
    link = lake / "day=1/b.parquet"
    link.symlink_to(tmp_path / "b.parquet")
    assert dm.mean(lake, "x").n_rows == 600
    (tmp_path / "b.parquet").unlink()
    for data in (lake, f"{lake}/**", f"{lake}/day=*/*.parquet", lake / "day=1"):
        refused(data, "b.parquet", "links to", "does not exist")
    assert dm.mean(f"{lake}/day=*/a*", "x").n_rows == 300, "the link is not asked for"
    link.rename(lake / "day=1/_b.parquet")
    assert dm.mean(lake, "x").n_rows == 300, "as hidden files are"


def test_output_of_a_spark_stream(tmp_path: Path) -> None:
    pq.write_table(X, tmp_path / "a.parquet")
    (tmp_path / "_spark_metadata").mkdir()
    (tmp_path / "_spark_metadata/0").write_text("v1\n")
    for data in (tmp_path, f"{tmp_path}/*.parquet"):
        refused(data, "the output of a Spark stream", "@list.txt")
    assert dm.mean(tmp_path / "a.parquet", "x").n_rows == 300


def test_a_name_that_is_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(X, tmp_path / "a.parquet")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.parquet")).write_bytes(b"")
    refused(tmp_path, r"\xff.parquet", "not UTF-8", "rename")
    assert program.run(["mean", str(tmp_path), "-c", "x"]) == 3


def test_other_files_beside_the_data(tmp_path: Path) -> None:
    pq.write_table(X, tmp_path / "a.parquet")
    (tmp_path / "README.md").write_text("words about the data, longer than a footer")
    refused(tmp_path, "README.md is not a Parquet file", "exclude='README.md'")
    assert dm.mean(dm.scan(tmp_path, exclude="README.md"), "x").n_rows == 300
    (tmp_path / "b.parquet").write_text("words")
    refused(dm.scan(tmp_path, exclude="README.md"), "damaged or not a Parquet file")


def test_a_stray_file_beside_the_folders(tmp_path: Path) -> None:
    (tmp_path / "k=1").mkdir()
    pq.write_table(X, tmp_path / "k=1/a.parquet")
    pq.write_table(X, tmp_path / "stray.parquet")
    assert dm.mean(tmp_path, "x").n_rows == 600
    for words in ({"by": "k"}, {"where": "k = 1"}):
        told = r"partition keys differ: 'k' in .* but none in stray.*; give the folders of one kind only$"
        with pytest.raises(dm.DistmomError, match=told):
            dm.mean(tmp_path, "x", **words)


def test_a_folder_of_nulls_and_one_of_that_name(tmp_path: Path) -> None:
    for n, folder in enumerate(("k=__HIVE_DEFAULT_PARTITION__", "k=%5F_HIVE_DEFAULT_PARTITION__")):
        (tmp_path / folder).mkdir()
        pq.write_table(X.slice(0, 100 + n), tmp_path / folder / "a.parquet")
    found = dm.mean(tmp_path, "x", by="k", blocks=ONE)
    assert [(one.group["k"], one.n_rows) for one in found] == [
        (None, 100),
        ("__HIVE_DEFAULT_PARTITION__", 101),
    ]


def test_a_name_too_long_for_an_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(X, tmp_path / "a.parquet")
    words = ["mean", str(tmp_path / "a.parquet"), "-c", "x", "--output"]
    assert program.run([*words, str(tmp_path / ("r" * 300 + ".json"))]) == 2
    assert "237 bytes, not 305" in capsys.readouterr().err
    assert program.run([*words, str(tmp_path / ("r" * 232 + ".json"))]) == 0
