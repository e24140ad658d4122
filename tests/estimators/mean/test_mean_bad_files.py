"""Damaged files: one line that names them, or an answer without them that lists them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from flat import flat
from mean_lakes import cut_work, results, same, write

import distmom as dm
from distmom.estimators.mean import plan as mean_plan

WAYS: dict[str, dict[str, Any]] = {
    "random": {},
    "two columns": {"column": ["x", "y"]},
    "grouped": {"by": "k"},
    "grouped, two keys": {"by": ["k", "j"]},
    "filtered": {"where": "y > 0"},
    "stored": {"order": "stored", "n_blocks": 9},
    "block size": {"block_size": 100},
    "samples": {"scheme": "swor", "n_blocks": 9, "block_size": 100},
    "samples, filtered": {"scheme": "swor", "n_blocks": 9, "block_size": 100, "where": "y > -9"},
    "files": {"block_by": "file", "n_blocks": 3},
}
EACH = pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
MANY = 100_000


def rows(i: int, n: int) -> dict[str, Any]:
    g = np.random.default_rng(i)
    return {
        "x": g.normal(size=n),
        "y": g.normal(size=n),
        # the bad file holds a group that nobody else has
        "k": np.where(np.arange(n) % 2 == 0, i % 3, 77 if n == MANY else 5),
        "j": g.integers(0, 2, n).astype(str),
    }


def good_lake(folder: Path) -> Path:
    for i in range(6):
        write(folder / f"{i}.parquet", rows(i, 500 + i))
    return folder


def cut_footer(folder: Path) -> str:
    """The last file of the listing, without its end."""
    path = write(folder / "7.parquet", rows(7, 300))
    path.write_bytes(path.read_bytes()[:-20])
    return path.name


def hurt_page(folder: Path) -> str:
    """A good footer and a good first row group; then page headers that make no sense."""
    path = folder / "8.parquet"
    write(path, rows(8, MANY), compression="none", use_dictionary=False, row_group_size=40_000)
    content = bytearray(path.read_bytes())
    group = pq.read_metadata(path).row_group(1)
    for column in range(group.num_columns):
        start = group.column(column).data_page_offset
        content[start : start + 36] = b"\xff" * 36
    path.write_bytes(content)
    return path.name


DAMAGES = {"footer": cut_footer, "page": hurt_page}


@pytest.fixture(params=DAMAGES)
def damage(request: pytest.FixtureRequest) -> Any:
    return DAMAGES[request.param]


def run(lake: Path, options: dict[str, Any], **more: Any) -> Any:
    return flat(dm.mean)(
        lake, **{"column": "x", "rng": 3, "batch_rows": 10_000, "threads": 2, **options, **more}
    )


@EACH
@pytest.mark.one_in(2)
def test_by_default_the_run_stops_with_one_line(options: dict[str, Any], damage: Any, tmp_path: Path) -> None:
    name = damage(good_lake(tmp_path))
    with pytest.raises(dm.BadFileError) as caught:
        run(tmp_path, options)
    assert name in str(caught.value) and "\n" not in str(caught.value)


def test_a_damaged_page_is_located(tmp_path: Path) -> None:
    hurt_page(good_lake(tmp_path))
    with pytest.raises(dm.BadFileError, match=r"8\.parquet.*row group 1, column 'x'"):
        run(tmp_path, {})


@EACH
def test_skipping_gives_the_lake_without_the_file(options: dict[str, Any], tmp_path: Path) -> None:
    """Bit for bit, since the bad file is the last one: no other changes its place in the order of merging."""
    right = run(good_lake(tmp_path / "good"), options)
    name = cut_footer(good_lake(tmp_path / "bad"))
    found = run(tmp_path / "bad", options, on_bad_file="skip")
    assert same(right, found)
    (record,) = results(found)[0].data["skipped"]
    assert record["file"] == name and name in record["reason"] and "\n" not in record["reason"]
    json.dumps(record)


PARTITIONED = {
    name: WAYS[name] for name in ("random", "two columns", "grouped", "grouped, two keys", "files")
}


@pytest.mark.parametrize("options", PARTITIONED.values(), ids=PARTITIONED)
@pytest.mark.parametrize("max_files", [1, 4, 100])
@pytest.mark.one_in(4)
def test_a_file_bad_in_the_middle_leaves_nothing_behind(
    options: dict[str, Any], max_files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first rows were in the sums, its group was numbered, its NaNs were counted: all that is undone."""
    right = run(good_lake(tmp_path / "good"), options)
    name = hurt_page(good_lake(tmp_path / "bad"))
    cut_work(monkeypatch, max_files=max_files)
    found = run(tmp_path / "bad", options, on_bad_file="skip")
    assert same(right, found)
    assert [s["file"] for s in results(found)[0].data["skipped"]] == [name]
    assert not any((r.group or {}).get("k") == 77 for r in results(found))


@pytest.mark.parametrize("options", [WAYS["stored"], WAYS["samples"]], ids=["stored", "samples"])
def test_rows_counted_before_are_left_out_all_the_same(options: dict[str, Any], tmp_path: Path) -> None:
    """Blocks were laid out with the bad file's rows, which then do not come: they are smaller."""
    name = hurt_page(good_lake(tmp_path))
    found = run(tmp_path, options, on_bad_file="skip")
    assert found.n_rows == found.n_used == sum(500 + i for i in range(6))
    assert [s["file"] for s in found.data["skipped"]] == [name]
    assert found.plain_estimate == pytest.approx(
        run(tmp_path, {}, on_bad_file="skip").plain_estimate, abs=1e-12
    )


def test_several_bad_files_in_one_unit_and_in_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good_lake(tmp_path)
    bad = [hurt_page(tmp_path), cut_footer(tmp_path)]
    (tmp_path / "3.parquet").write_bytes(b"not a Parquet file")
    (tmp_path / "0.parquet").write_bytes(b"")
    right = ["0.parquet", "3.parquet", *sorted(bad)]
    for max_files in (1, 3, 100):
        cut_work(monkeypatch, max_files=max_files)
        found = run(tmp_path, {}, on_bad_file="skip")
        assert [s["file"] for s in found.data["skipped"]] == right
        assert found.n_rows == sum(500 + i for i in (1, 2, 4, 5))


def test_a_large_bad_file_is_not_cut_under_skip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Part of it may be readable: all or nothing of a file, however large."""
    right = run(good_lake(tmp_path / "good"), {})
    hurt_page(good_lake(tmp_path / "bad"))
    monkeypatch.setattr(mean_plan, "LARGE_FILE", 0)
    monkeypatch.setattr(mean_plan, "SHARES", 1_000_000)
    cut_work(monkeypatch, unit_bytes=100_000, leaf_rows=1 << 17)
    found = run(tmp_path / "bad", {}, on_bad_file="skip")
    assert found.n_rows == right.n_rows and same(right, found)


def test_nothing_but_bad_files(tmp_path: Path) -> None:
    for i in range(3):
        (tmp_path / f"{i}.parquet").write_bytes(b"PAR1PAR1")
    for options in ({}, {"order": "stored"}, {"scheme": "swor"}, {"by": "k"}):
        with pytest.raises(dm.DataError, match=r"0\.parquet") as caught:
            run(tmp_path, options, on_bad_file="skip")
        assert "\n" not in str(caught.value)


def test_files_that_do_not_fit_are_skipped_too(tmp_path: Path) -> None:
    """A column that is missing, or of a type that has no mean, in one file."""
    good_lake(tmp_path)
    write(tmp_path / "8.parquet", {"y": [1.0]})
    write(tmp_path / "9.parquet", {"x": ["text"], "y": [1.0]})
    with pytest.raises(dm.BadFileError, match=r"8\.parquet"):
        run(tmp_path, {})
    found = run(tmp_path, {}, on_bad_file="skip")
    assert [s["file"] for s in found.data["skipped"]] == ["8.parquet", "9.parquet"]
    assert found.n_rows == sum(500 + i for i in range(6))


def test_the_printed_result_names_what_was_skipped(tmp_path: Path) -> None:
    name = cut_footer(good_lake(tmp_path))
    text = str(run(tmp_path, {"by": "k"}, on_bad_file="skip"))
    assert f"skipped {name}" in text
