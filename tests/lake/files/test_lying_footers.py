"""Footers that lie: other numbers of rows, columns in other places, row groups twice, other types."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from thrift_footer import Struct, edited

import distmom as dm
from distmom.lake import ReadOptions, open_lake


def groups(footer: Struct) -> list[Any]:
    found: list[Any] = footer[4][1][1]
    return found


def chunks(footer: Struct, group: int) -> list[Any]:
    found: list[Any] = groups(footer)[group][1][1][1]
    return found


def rows(footer: Struct, *numbers: int) -> None:
    """Numbers of rows of the row groups, which add up to that of the file."""
    for group, n in zip(groups(footer), numbers, strict=True):
        group[3][1] = n
    footer[3][1] = sum(numbers)


def twice(footer: Struct) -> None:
    groups(footer).append(groups(footer)[0])
    footer[3][1] += 100


def of_schema(footer: Struct, element: int, field: int, value: int) -> None:
    footer[2][1][1][element][field][1] = value


LIES: dict[str, Callable[[Struct], Any]] = {
    "a row less": lambda footer: rows(footer, 99, 100),
    "one row": lambda footer: rows(footer, 1, 100),
    "a row more": lambda footer: rows(footer, 101, 100),
    "more rows than there can be": lambda footer: rows(footer, 2**40, 100),
    "rows moved from one group to the other": lambda footer: rows(footer, 107, 93),
    "fewer rows than none": lambda footer: rows(footer, -1, 100),
    "fewer rows than none, made good": lambda footer: rows(footer, -100, 300),
    "a column less": lambda footer: chunks(footer, 1).pop(),
    "a column less everywhere": lambda footer: [chunks(footer, g).pop() for g in (0, 1)],
    "no column": lambda footer: [chunks(footer, g).clear() for g in (0, 1)],
    "columns in another order": lambda footer: chunks(footer, 1).reverse(),
    "columns in another order everywhere": lambda footer: [chunks(footer, g).reverse() for g in (0, 1)],
    "a row group twice": twice,
    "integers for doubles": lambda footer: of_schema(footer, 1, 1, 2),
    "floats for doubles": lambda footer: of_schema(footer, 1, 1, 4),
    "an unknown repetition": lambda footer: of_schema(footer, 1, 3, 7),
    "required where it may be missing": lambda footer: of_schema(footer, 1, 3, 0),
    "lists where there are none": lambda footer: of_schema(footer, 1, 3, 2),
    "more children than columns": lambda footer: of_schema(footer, 0, 5, 2**31 - 1),
    "an offset outside of the file": lambda footer: chunks(footer, 0)[0][3][1][9].__setitem__(1, 2**40),
    "a negative size": lambda footer: chunks(footer, 0)[0][3][1][7].__setitem__(1, -1),
}
OF_ONE_COLUMN = (
    "an unknown repetition",
    "required where it may be missing",
    "lists where there are none",
    "an offset outside of the file",
    "a negative size",
)
"""Lies about ``x`` alone: a profile of all columns is one of the others."""
CALLS: dict[str, Callable[[Any], Any]] = {
    "mean": lambda data: dm.mean(data, "x", rng=0),
    "groups": lambda data: dm.mean(data, "x", by="k", rng=0),
    "stored": lambda data: dm.mean(data, "x", blocks=dm.StoredBlocks(5), rng=0),
    "statistic": lambda data: dm.ustatistic(data, "x", kernel="gini", rng=0),
    "profile": lambda data: dm.describe(data, rng=0),
    "difference": lambda data: dm.difference(data, "x", by="k", rng=0),
    "tournament": lambda data: dm.tournament(data, ["n"], "x", rng=0),
}


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("honest") / "a.parquet"
    x = np.random.default_rng(0).normal(size=200)
    table = pa.table({"x": x, "k": ["a", "b"] * 100, "n": np.arange(200)})
    pq.write_table(table, path, row_group_size=100, use_dictionary=["k"], store_schema=False)
    return path


@pytest.mark.parametrize("lie", LIES)
def test_a_footer_that_lies_is_a_bad_file(tmp_path: Path, honest: Path, lie: str) -> None:
    edited(honest, tmp_path / "b.parquet", LIES[lie])
    with dm.options(executor=dm.Threads(1), warn=False):
        for name, call in CALLS.items():
            if name == "profile" and lie in OF_ONE_COLUMN:
                assert [one["column"] for one in call(tmp_path / "b.parquet").data["left_out"]] == ["x"]
                continue
            with pytest.raises(dm.DistmomError, match=r"b\.parquet") as refused:
                call(tmp_path / "b.parquet")
            assert isinstance(refused.value, dm.DataError) and "\n" not in str(refused.value)
        (tmp_path / "a.parquet").write_bytes(honest.read_bytes())
        left = dm.mean(dm.scan(tmp_path, on_bad_file="skip"), "x", rng=0)
    assert left.plain_estimate == dm.mean(honest, "x", rng=0).plain_estimate and left.n_rows == 200


def test_a_footer_that_is_put_together_again_is_the_same(tmp_path: Path, honest: Path) -> None:
    edited(honest, tmp_path / "a.parquet", lambda footer: None)
    assert (tmp_path / "a.parquet").read_bytes() == honest.read_bytes()
    for call in CALLS.values():
        assert call(tmp_path / "a.parquet") == call(honest)


def test_a_column_that_cannot_be_asked_for_refuses_what_asks_for_it(tmp_path: Path, honest: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(honest.read_bytes())
    edited(honest, tmp_path / "b.parquet", lambda footer: of_schema(footer, 2, 3, 7))
    assert dm.mean(tmp_path, "x", rng=0).n_rows == 400
    with pytest.raises(dm.DataError, match=r"b\.parquet") as refused:
        dm.mean(tmp_path, "x", by="k", rng=0)
    assert "\n" not in str(refused.value)


def test_a_row_group_named_twice_is_seen_by_each_part_of_its_file(tmp_path: Path, honest: Path) -> None:
    """No part of this file has both."""
    edited(honest, tmp_path / "b.parquet", twice)
    source = open_lake(tmp_path / "b.parquet")
    with pytest.raises(dm.DataError, match=r"row group 2 is row group 0 once more"):
        source.row_groups(source.files[0])
    reader = open_lake(honest).reader(ReadOptions(("x",)))
    for start, stop in ((0, 100), (100, 200), (200, 300)):
        with pytest.raises(
            dm.DataError, match=r"b\.parquet is damaged: row group 2 is row group 0 once more"
        ):
            part = dataclasses.replace(reader, root=source.root)
            list(part.batches(source.files[0], start, stop))


def test_row_groups_without_rows_are_not_one(tmp_path: Path) -> None:
    table = pa.table({"x": [1.0, 2.0, 3.0]})
    with pq.ParquetWriter(tmp_path / "a.parquet", table.schema) as writer:
        for part in (table[:0], table[:2], table[:0], table[:0], table[2:], table[:0]):
            writer.write_table(part)
    assert dm.mean(tmp_path, "x", rng=0).n_rows == 3
