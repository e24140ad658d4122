"""Kinds of folders and files that broke other tools, read by `dm.mean`."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flat import flat
from mean_lakes import cut_work, same, write

import distmom as dm
from distmom.estimators.mean import question


def groups(found: Any) -> list[tuple[Any, ...]]:
    """Group values and sample mean of each result."""
    return [(*r.group.values(), r.plain_estimate) for r in found]


def test_hive_null_key(tmp_path: Path) -> None:
    for k, x in (("20", 1.0), ("25", 2.0), ("__HIVE_DEFAULT_PARTITION__", 6.0)):
        write(tmp_path / f"age={k}" / "part-0.parquet", {"x": pa.array([x])})
    found = dm.mean(tmp_path, rng=0)
    assert (found.plain_estimate, found.n_rows) == (3.0, 3)
    by_age = dm.mean(tmp_path, "x", by="age", rng=0)
    assert sorted(groups(by_age), key=str) == [(20, 1.0), (25, 2.0), (None, 6.0)]


def test_keys_that_look_like_numbers_stay_text(tmp_path: Path) -> None:
    for k in ("01001", "11164", "2A001"):
        write(tmp_path / "t" / f"code={k}" / "part-0.parquet", {"x": pa.array([float(len(k))])})
    for h in ("00", "07"):
        write(tmp_path / "u" / f"hour={h}" / "part-0.parquet", {"x": pa.array([1.0])})
    by_code = dm.mean(tmp_path / "t", "x", by="code", rng=0)
    assert [r.group for r in by_code] == [{"code": "01001"}, {"code": "11164"}, {"code": "2A001"}]
    assert dm.mean(tmp_path / "u", "x", where="hour = '07'", rng=0).n_rows == 1
    with pytest.raises(dm.ConfigError, match="hour"):  # and not: nothing matches
        dm.mean(tmp_path / "u", "x", where="hour = 7", rng=0)


def test_marker_files_and_leftovers_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "part-0.parquet", {"x": pa.array([1.0, 3.0])})
    for name in ("_SUCCESS", ".part-0.parquet.crc", "_committed_1", ".DS_Store"):
        (tmp_path / name).write_bytes(b"")
    write(tmp_path / "_temporary" / "part-1.parquet", {"x": pa.array([99.0])})
    found = dm.mean(tmp_path, rng=0)
    assert (found.plain_estimate, found.data["n_files"]) == (2.0, 1)


@pytest.mark.parametrize("names", [("0", "1"), ("1", "0")], ids=["nulls first", "nulls last"])
def test_a_file_of_nulls_alone_does_not_set_the_type(names: tuple[str, str], tmp_path: Path) -> None:
    write(tmp_path / f"{names[0]}.parquet", {"x": pa.nulls(3), "g": pa.nulls(3)})
    write(tmp_path / f"{names[1]}.parquet", {"x": pa.array([2.0, 4.0]), "g": pa.array(["a", "b"])})
    found = dm.mean(tmp_path, "x", rng=0)
    assert (found.plain_estimate, found.n_null) == (3.0, 3)
    by_g = dm.mean(tmp_path, "x", by="g", rng=0)
    assert [(r.group["g"], r.n_rows) for r in by_g] in (
        [(None, 3), ("a", 1), ("b", 1)],
        [("a", 1), ("b", 1), (None, 3)],
    )


def test_types_that_differ_between_files(tmp_path: Path) -> None:
    write(tmp_path / "t/0.parquet", {"x": pa.array([1, 2], pa.int64())})
    write(tmp_path / "t/1.parquet", {"x": pa.array([0.5, 8.5])})
    write(tmp_path / "u/0.parquet", {"x": pa.array([1, 2], pa.int32())})
    write(tmp_path / "u/1.parquet", {"x": pa.array([2**40, 3])})
    write(tmp_path / "v/0.parquet", {"x": pa.array([1, 2])})
    write(tmp_path / "v/1.parquet", {"x": pa.array(["3", "n/a"])})
    assert dm.mean(tmp_path / "t", rng=0).plain_estimate == 3.0
    assert dm.mean(tmp_path / "u", rng=0).plain_estimate == 274877906945.5
    with pytest.raises(dm.DataError) as caught:
        dm.mean(tmp_path / "v", rng=0)
    for word in ("'x'", "int64", "string", "0.parquet", "1.parquet"):
        assert word in str(caught.value)


def test_files_without_rows_or_row_groups(tmp_path: Path) -> None:
    write(tmp_path / "t/0.parquet", {"x": pa.array([], pa.float64())})
    with pq.ParquetWriter(tmp_path / "t/1.parquet", pa.schema([("x", pa.float64())])):
        pass
    write(tmp_path / "t/2.parquet", {"x": pa.array([2.0, 4.0])})
    found = dm.mean(tmp_path / "t", rng=0)
    assert (found.plain_estimate, found.data["n_files"]) == (3.0, 3)
    for i in range(3):
        write(tmp_path / "u" / f"{i}.parquet", {"x": pa.array([], pa.float64())})
    for options in ({}, {"scheme": "swor"}, {"order": "stored"}, {"by": "x"}, {"block_by": "file"}):
        column = {"column": "x"} if "by" not in options else {"column": "y", "by": "x", "missing": "null"}
        with pytest.raises(dm.DistmomError, match=r"no rows|y"):
            flat(dm.mean)(tmp_path / "u", rng=0, **{**column, **options})


def test_a_dot_in_a_name_is_no_path(tmp_path: Path) -> None:
    columns = {"a.b": [1.0, 3.0], "a": [{"b": 10.0}, {"b": 30.0}], "größe (m)": [5.0, 7.0]}
    write(tmp_path / "0.parquet", columns)
    assert dm.mean(tmp_path, "a.b", rng=0).plain_estimate == 2.0
    assert dm.mean(tmp_path, "größe (m)", rng=0).plain_estimate == 6.0


def test_every_codec(tmp_path: Path) -> None:
    for codec in ("snappy", "gzip", "zstd", "lz4", "brotli", "none"):
        write(tmp_path / f"{codec}.parquet", {"x": pa.array([1.0, 3.0])}, compression=codec)
    found = dm.mean(tmp_path, rng=0)
    assert (found.plain_estimate, found.n_rows) == (2.0, 12)


def test_table_formats_are_refused(tmp_path: Path) -> None:
    """Reading the folder of a Delta table as plain files counts removed rows."""
    write(tmp_path / "t/part-0.parquet", {"x": pa.array([100.0, 100.0])})
    write(tmp_path / "t/part-1.parquet", {"x": pa.array([1.0, 3.0])})
    log = tmp_path / "t/_delta_log"
    log.mkdir()
    (log / "00000000000000000000.json").write_text(json.dumps({"add": {"path": "part-0.parquet"}}))
    with pytest.raises(dm.DataError, match="Delta"):
        dm.mean(tmp_path / "t", rng=0)
    write(tmp_path / "i/data/a.parquet", {"x": pa.array([100.0])})
    (tmp_path / "i/metadata").mkdir()
    (tmp_path / "i/metadata/v1.metadata.json").write_text("{}")
    with pytest.raises(dm.DataError, match="Iceberg"):
        dm.mean(tmp_path / "i", rng=0)


def test_files_rewritten_between_two_runs(tmp_path: Path) -> None:
    write(tmp_path / "0.parquet", {"x": pa.array([1.0, 1.0])})
    assert dm.mean(tmp_path, rng=0).plain_estimate == 1.0
    write(tmp_path / "0.parquet", {"x": pa.array([5.0] * 10)})
    found = dm.mean(tmp_path, rng=0)
    assert (found.plain_estimate, found.n_rows) == (5.0, 10)


@pytest.mark.parametrize("on_bad_file", ["error", "skip"])
def test_a_file_replaced_after_planning(
    on_bad_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the old number of rows with new values, nor a mix; and never taken for a bad file."""
    write(tmp_path / "0.parquet", {"x": np.full(100_000, 1.0)})
    write(tmp_path / "1.parquet", {"x": np.full(100_000, 3.0)})
    run = question.run_plan

    def replaced(*args: Any) -> Any:
        write(tmp_path / "1.parquet", {"x": np.full(50_000, 9.0)})
        return run(*args)

    monkeypatch.setattr(question, "run_plan", replaced)
    with pytest.raises(dm.DataError, match=r"file changed since planning: 1\.parquet"):
        dm.mean(dm.scan(tmp_path, on_bad_file=on_bad_file), rng=0)


@pytest.mark.parametrize("column_of", ["gone", "present"])
def test_a_column_that_some_files_lack(column_of: str, tmp_path: Path) -> None:
    write(tmp_path / "0.parquet", {"x": [1.0, 2.0], "y": [1.0, 3.0]})
    write(tmp_path / "1.parquet", {"x": [3.0]} if column_of == "gone" else {"x": [3.0], "y": [5.0]})
    if column_of == "present":
        assert dm.mean(tmp_path, "y", rng=0).n_null == 0
        return
    with pytest.raises(dm.DataError, match=r"'y' is not in 1\.parquet.*missing='null'"):
        dm.mean(tmp_path, "y", rng=0)
    found = dm.mean(dm.scan(tmp_path, missing="null"), "y", rng=0)
    assert (found.plain_estimate, found.n_null, found.n_rows) == (2.0, 1, 3)
    with pytest.raises(dm.ConfigError, match="z"):
        dm.mean(dm.scan(tmp_path, missing="null"), "z", rng=0)


# --- filters


def test_a_filter_that_leaves_files_empty(tmp_path: Path) -> None:
    for i in range(3):
        write(tmp_path / f"{i}.parquet", {"x": np.arange(3.0 * i + 1, 3 * i + 4)})
    found = dm.mean(tmp_path, where="x > 6", rng=0)
    assert (found.plain_estimate, found.n_used, found.n_rows) == (8.0, 3, 3)
    drawn = dm.mean(tmp_path, where="x > 6", rng=0, blocks=dm.SampledBlocks(3, size=2))
    assert drawn.n_used == 3 and 7.0 <= drawn.estimate <= 9.0
    blocks = dm.mean(tmp_path, where="x > 6", rng=0, blocks=dm.FileBlocks(3))
    assert blocks.n_blocks == 1 and blocks.estimate == 8.0, "empty blocks are left out, neither 0 nor NaN"
    for options in ({}, {"order": "stored"}, {"block_by": "file"}):
        with pytest.raises(dm.NoAnswerError, match="no rows left after the filter"):
            flat(dm.mean)(tmp_path, where="x > 60", rng=0, **options)


def test_a_filter_on_folders_leaves_nothing(tmp_path: Path) -> None:
    for day in (1, 2):
        write(tmp_path / f"day={day}" / "a.parquet", {"x": [float(day)]})
    assert dm.mean(tmp_path, "x", where="day = 2", rng=0).plain_estimate == 2.0
    with pytest.raises(dm.NoAnswerError, match="no rows left after the filter"):
        dm.mean(tmp_path, "x", where="day = 3", rng=0)


def test_a_filter_is_true_row_by_row(tmp_path: Path) -> None:
    """Statistics of row groups never drop NaN rows; a comparison with null is not true."""
    x = pa.array([1.0, np.nan, 5.0, None, 7.0])
    write(tmp_path / "a.parquet", {"x": x, "y": [1.0, 2.0, 3.0, 4.0, 5.0]}, row_group_size=2)
    assert dm.mean(tmp_path, "y", where="not (x > 4)", rng=0).n_rows == 2
    assert dm.mean(tmp_path, "y", where="x > 4", rng=0).n_rows == 2
    assert dm.mean(tmp_path, "y", where="x is null", rng=0).n_rows == 1


# --- keys of groups


def test_keys_beyond_the_precision_of_floats(tmp_path: Path) -> None:
    k = [4873214862074861312, None, 4873214862074861313]
    write(tmp_path / "a.parquet", {"id": pa.array(k, pa.int64()), "x": pa.array([1.0, 2.0, 3.0])})
    found = dm.mean(tmp_path, "x", by="id", rng=0)
    assert sorted(groups(found), key=lambda row: row[1]) == [(k[0], 1.0), (None, 2.0), (k[2], 3.0)]


KEYS: dict[str, tuple[list[Any], pa.DataType]] = {
    "text": (["b", "a", None, "ü", "b", ""], pa.string()),
    "bool": ([True, False, None, True, True, False], pa.bool_()),
    "date": ([date(2024, 1, 2), None, date(2023, 5, 6)] * 2, pa.date32()),
    "float": ([1.5, float("nan"), None, -0.0, 0.0, float("nan")], pa.float64()),
    "unsigned": ([2**64 - 1, 0, None, 1, 2**63, 2**64 - 1], pa.uint64()),
    "nothing": ([None] * 6, pa.null()),
}


@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_every_kind(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values, type_ = KEYS[kind]
    x = np.arange(6.0)
    for i in range(2):
        part = slice(3 * i, 3 * i + 3)
        write(tmp_path / f"{i}.parquet", {"k": pa.array(values[part], type_), "x": x[part]})

    def name(value: Any) -> Any:
        return "NaN" if value != value else value + 0.0 if isinstance(value, float) else value

    right: dict[Any, list[float]] = {}
    for value, number in zip(values, x.tolist(), strict=True):
        right.setdefault(name(value), []).append(number)
    found = dm.mean(tmp_path, "x", by="k", rng=0)
    assert {name(r.group["k"]): r.plain_estimate for r in found} == {k: np.mean(v) for k, v in right.items()}
    cut_work(monkeypatch, max_files=1)
    assert same(found, dm.mean(tmp_path, "x", by="k", rng=0))
    table = found.to_arrow()
    assert table.num_rows == len(right) and table.column_names[0] == "k"
    json.dumps(found.to_dict(), allow_nan=False)


def test_several_keys_with_folders_among_them(tmp_path: Path) -> None:
    for day in (1, 2):
        columns = {"k": ["a", None, "a", "b"], "x": [1.0, 2.0, 3.0, 4.0 * day]}
        write(tmp_path / f"day={day}" / "p.parquet", columns)
    found = dm.mean(tmp_path, "x", by=["k", "day"], rng=0)
    assert {tuple(r.group.values()): r.plain_estimate for r in found} == {
        ("a", 1): 2.0,
        ("a", 2): 2.0,
        ("b", 1): 4.0,
        ("b", 2): 8.0,
        (None, 1): 2.0,
        (None, 2): 2.0,
    }
    assert all(list(r.group) == ["k", "day"] for r in found)


def test_groups_agree_with_a_filter_for_each(tmp_path: Path) -> None:
    """A group, and a lake that holds no other rows: the same counts and sample mean, and close estimates."""
    g = np.random.default_rng(0)
    for i in range(3):
        write(tmp_path / f"{i}.parquet", {"k": g.integers(0, 3, 2_000), "x": g.normal(size=2_000)})
    for r in dm.mean(tmp_path, "x", by="k", rng=0):
        alone = dm.mean(tmp_path, "x", where=f"k = {r.group['k']}", rng=0)
        assert (r.n_rows, r.n_used) == (alone.n_rows, alone.n_used)
        assert r.plain_estimate == pytest.approx(alone.plain_estimate, rel=1e-12)
        assert r.estimate == pytest.approx(alone.estimate, abs=0.15)


def test_groups_that_are_empty_small_or_non_finite(tmp_path: Path) -> None:
    n = 3_000
    k = np.array(["large"] * (n - 8) + ["small"] * 3 + ["nulls"] * 2 + ["non-finite"] * 3)
    x = np.random.default_rng(0).normal(size=n)
    x[-3:] = np.inf
    mask = k == "nulls"
    write(tmp_path / "a.parquet", {"k": k, "x": pa.array(x, mask=mask)})
    found = {r.group["k"]: r for r in dm.mean(tmp_path, "x", by="k", rng=0)}
    assert found["large"].status == "ok"
    assert found["small"].flags == ("sample mean, no guarantee",) and np.isfinite(found["small"].estimate)
    assert found["nulls"].flags == ("no rows",) and (found["nulls"].n_null, found["nulls"].n_used) == (2, 0)
    assert found["non-finite"].status == "no finite answer" and np.isnan(found["non-finite"].estimate)
    with pytest.raises(dm.NoAnswerError, match="no rows left"):
        dm.mean(tmp_path, "x", by="k", where="k = 'nobody'", rng=0)
    only = dm.mean(tmp_path, "x", by="k", where="k = 'small' or k = 'nulls'", rng=0)
    assert sorted(r.group["k"] for r in only) == ["nulls", "small"], "groups that the filter empties are gone"
