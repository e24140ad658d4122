"""A scan says what is read, lists it once, and is taken wherever data is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.lake import BATCH_ROWS
from distmom.passes.opening import open_data

X = np.random.default_rng(0).normal(size=1_200)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for day in range(6):
        folder = tmp_path / "lake" / f"day={day}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"x": X[200 * day : 200 * day + 200]}), folder / "part.parquet")
    return tmp_path / "lake"


def test_files_schema_and_rows_are_read_once(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = dm.scan(lake)
    assert [file.path for file in scan.files] == [f"day={day}/part.parquet" for day in range(6)]
    assert scan.schema.names == ["x", "day"] and scan.count_rows() == 1_200
    (lake / "day=6").mkdir()
    pq.write_table(pa.table({"x": X[:5]}), lake / "day=6" / "part.parquet")

    def never(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("listed or opened again")

    monkeypatch.setattr("distmom.passes.scan.open_lake", never)
    monkeypatch.setattr("distmom.lake.lake.Lake.row_counts", never)
    assert len(scan.files) == 6 and scan.count_rows() == 1_200


def test_a_scan_gives_what_its_data_gives(lake: Path) -> None:
    plain = dm.mean(lake, "x", rng=0)
    scan = dm.scan(lake)
    assert dm.mean(scan, "x", rng=0) == plain
    assert dm.mean(scan, "x", rng=0) == plain, "again"
    where = dm.mean(lake, "x", rng=0, where="day > 2")
    assert dm.mean(scan, "x", rng=0, where="day > 2") == where
    assert dm.mean(dm.scan(lake, where="day > 2"), "x", rng=0) == where
    assert dm.mean(dm.scan(lake, where=pc.field("day") > 2), "x", rng=0).n_used == where.n_used


def test_files_are_left_out_by_path_pattern_or_folder(lake: Path) -> None:
    rest = dm.mean(lake, "x", rng=0, where="day <> 4", blocks=dm.RandomBlocks(5))
    for words in ("day=4/part.parquet", "day=4/*", "day=4", ["day=4/part.parquet"]):
        found = dm.mean(dm.scan(lake, exclude=words), "x", rng=0, blocks=dm.RandomBlocks(5))
        assert found.estimate == rest.estimate and found.n_used == 1_000
        assert found.data["n_files"] == 5
    assert len(dm.scan(lake, exclude=["day=[0-2]/*", "day=5"]).files) == 2
    (lake.parent / "bad.txt").write_text("# found yesterday\nday=0/part.parquet\nday=[34]/*\n", "utf-8")
    listed = dm.scan(lake, exclude=[f"@{lake.parent / 'bad.txt'}", "day=5"])
    assert [file.path for file in listed.files] == ["day=1/part.parquet", "day=2/part.parquet"]
    with pytest.raises(dm.DataError, match=r"cannot read the list of files gone\.txt"):
        dm.scan(lake, exclude="@gone.txt").files  # noqa: B018


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"exclude": "day=9/*"}, ["exclude", "'day=9/*'", "day=0/part.parquet"]),
        ({"exclude": "*"}, ["exclude", "no file"]),
        ({"nan": "keeep"}, ["nan", "did you mean 'keep'?"]),
        ({"missing": "nul"}, ["missing", "did you mean 'null'?"]),
        ({"on_bad_file": "skipp"}, ["on_bad_file", "did you mean 'skip'?"]),
        ({"batch_rows": 0}, ["batch_rows", "at least 1"]),
        ({"where": "x >"}, ["where"]),
    ],
)
def test_what_is_wrong_ends_in_one_line(lake: Path, options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(dm.ConfigError) as caught:
        dm.mean(dm.scan(lake, **options), "x")
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_a_condition_is_given_once(lake: Path) -> None:
    with pytest.raises(dm.ConfigError, match=r"where: given both in the scan and in the call"):
        dm.mean(dm.scan(lake, where="day > 2"), "x", where="day < 5")


def test_data_in_memory_has_no_files_to_leave_out() -> None:
    with pytest.raises(dm.ConfigError, match="exclude: data in memory"):
        dm.mean(dm.scan(X, exclude="a"))


def test_a_scan_prints_as_the_call_without_secrets(lake: Path) -> None:
    options = {"endpoint": "http://127.0.0.1:9", "secret_key": "hush"}
    scan = dm.scan("s3://bucket/lake", exclude="day=4", nan="keep", storage_options=options)
    assert repr(scan) == "scan('s3://bucket/lake', exclude=('day=4',), nan='keep')"
    found = dm.mean(dm.scan(lake.as_posix(), exclude="day=4"), "x", rng=0)
    code = found.run["call"]["code"]
    assert code == f"dm.mean(dm.scan({lake.as_posix()!r}, exclude=['day=4']), 'x', rng=0)"


def test_a_scan_is_of_data_and_not_of_a_scan(lake: Path) -> None:
    with pytest.raises(dm.ConfigError, match="data: is already a scan"):
        dm.scan(dm.scan(lake), nan="keep")


def test_scans_in_a_list_are_samples_of_their_own(lake: Path) -> None:
    parts = [dm.scan(lake, exclude="day=0"), dm.scan(lake, exclude="day=1")]
    for call in (lambda: dm.mean(parts, "x"), lambda: dm.ustatistic(parts, "x", kernel="gini")):
        with pytest.raises(dm.ConfigError, match=r"samples of their own.*give one scan of all paths"):
            call()
    with pytest.raises(dm.ConfigError, match=r"give a list of two lakes, such as \[scan\('a/'\), scan"):
        dm.ustatistic(parts[0], "x", kernel="auc")
    assert dm.ustatistic(parts, "x", kernel="auc", rng=0).n_rows == 2_000


def test_more_columns_are_read_in_smaller_batches_unless_their_size_is_given(tmp_path: Path) -> None:
    """The answers do not depend on it."""
    columns = {f"x{i}": np.random.default_rng(i).normal(size=30_000) for i in range(17)}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    few, many = (open_data(dm.scan(tmp_path), list(columns)[:n], None)[1] for n in (16, 17))
    assert few.batch_rows == BATCH_ROWS > many.batch_rows > 1
    given = dm.scan(tmp_path, batch_rows=1_000)
    assert open_data(given, list(columns), None)[1].batch_rows == 1_000
    assert dm.mean(given, list(columns), rng=0) == dm.mean(tmp_path, list(columns), rng=0)
