"""Rows gathered by their numbers: the same as picking them from the whole lake, wherever they lie."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from gather_lakes import all_rows, row_source
from hypothesis import given
from hypothesis import strategies as st
from mean_lakes import dirty_lake, write
from small_leaves import patch_leaves

from distmom.cluster import plan_units
from distmom.errors import BadFileError, DataError, ResourceError
from distmom.lake import reader as lake_reader
from distmom.numerics.samples.wanted_rows import WantedRows, distinct
from distmom.passes import gather
from distmom.passes.gather import gather_rows
from distmom.reductions.rows.gather import ABSENT, NAN, NULL, USED

WHERE = "u > 0.2 and key >= 1"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dirty_lake(tmp_path_factory.mktemp("gather"))


def picked(lake: Path, wanted: np.ndarray, *, filtered: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The definition: all rows, of which some are taken."""
    values, nulls = all_rows(lake, ["x", "y"])
    others, other_nulls = all_rows(lake, ["u", "key"])
    fates = np.full(len(values), USED)
    fates[np.isnan(values).any(axis=1)] = NAN
    fates[nulls.any(axis=1)] = NULL
    if filtered:
        fates[~((others[:, 0] > 0.2) & (others[:, 1] >= 1) & ~other_nulls.any(axis=1))] = ABSENT
    return values[wanted], fates[wanted]


def some_rows(lake: Path, share: float, seed: int = 0) -> np.ndarray:
    n = len(all_rows(lake, ["y"])[0])
    return np.flatnonzero(np.random.default_rng(seed).random(n) < share)


def check(found: Any, expected: tuple[np.ndarray, np.ndarray]) -> None:
    values, fates = expected
    assert found.fates.tolist() == fates.tolist()
    assert np.array_equal(found.values[fates == USED], values[fates == USED])


@pytest.mark.parametrize("share", [0.01, 0.5, 1.0])
@pytest.mark.parametrize("where", [None, WHERE])
def test_gathered_rows_are_those_of_the_lake(lake: Path, share: float, where: str | None) -> None:
    wanted = some_rows(lake, share)
    with row_source(lake, ["x", "y"], where=where) as source:
        found, skipped = gather_rows(source, wanted)
    assert skipped == () and found.fates.size == wanted.size
    check(found, picked(lake, wanted, filtered=where is not None))


@pytest.mark.parametrize("cut", [{"max_files": 1}, {"max_files": 3}, {"unit_bytes": 500, "leaf_rows": 64}])
@pytest.mark.parametrize("batch_rows", [7, 1000])
def test_the_cut_into_units_and_batches_changes_nothing(
    lake: Path, cut: dict[str, int], batch_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch_leaves(monkeypatch)
    wanted = some_rows(lake, 0.3)
    monkeypatch.setattr(gather, "plan_units", lambda *a, **k: plan_units(*a, **{**k, **cut}))
    with row_source(lake, ["x", "y"], where=WHERE, batch_rows=batch_rows) as source:
        found, _ = gather_rows(source, wanted)
    check(found, picked(lake, wanted, filtered=True))


@pytest.mark.cluster
@pytest.mark.xdist_group("workers")
@pytest.mark.parametrize("n_workers", [1, 4])
def test_workers_find_the_same_rows(lake: Path, client_of: Callable[[int], Any], n_workers: int) -> None:
    wanted = some_rows(lake, 0.4)
    with row_source(lake, ["x", "y"], where=WHERE, client=client_of(n_workers)) as source:
        found, _ = gather_rows(source, wanted)
    check(found, picked(lake, wanted, filtered=True))


def test_only_files_and_row_groups_with_wanted_rows_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(40):
        write(tmp_path / f"{i:02}.parquet", {"x": np.arange(1000.0) + 1000 * i}, row_group_size=100)
    read: list[tuple[str, int, int]] = []
    honest = lake_reader._read

    def noted(parquet: Any, assembler: Any, batch_rows: int, file: Any, start: int, stop: int) -> Any:
        read.append((file.path, start, stop))
        return honest(parquet, assembler, batch_rows, file, start, stop)

    monkeypatch.setattr(lake_reader, "_read", noted)
    wanted = np.array([3005, 3110, 3999, 17_450])
    with row_source(tmp_path, "x", threads=1) as source:
        found, _ = gather_rows(source, wanted)
    assert found.values[:, 0].tolist() == wanted.tolist()
    assert sorted(read) == [("03.parquet", 5, 111), ("03.parquet", 999, 1000), ("17.parquet", 450, 451)]
    with row_source(tmp_path, "x") as source:
        assert gather_rows(source, np.array([], np.int64))[0].values.shape == (0, 1)
    assert len(read) == 3


def test_rows_in_memory_and_of_lists() -> None:
    data = {"x": np.arange(10.0), "y": np.arange(10.0) ** 2}
    with row_source(data, ["y", "x"]) as source:
        found, _ = gather_rows(source, np.array([2, 3, 9]))
    assert found.values.tolist() == [[4.0, 2.0], [9.0, 3.0], [81.0, 9.0]]


def test_what_becomes_of_nan(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": [1.0, np.nan, np.inf, 4.0]})
    with row_source(tmp_path, "x", nan="keep") as source:
        assert gather_rows(source, np.arange(3))[0].used.tolist() == [True] * 3
    with row_source(tmp_path, "x", nan="raise") as source:
        assert gather_rows(source, np.array([0, 2, 3]))[0].used.all()
        with pytest.raises(DataError, match=r"a\.parquet: column 'x' is NaN in row 1"):
            gather_rows(source, np.array([0, 1]))


def test_a_damaged_file_stops_or_is_left_out(lake: Path, tmp_path: Path) -> None:
    for path in lake.rglob("*.parquet"):
        write(tmp_path / path.relative_to(lake), pq.read_table(path, partitioning=None), row_group_size=100)
    with row_source(tmp_path, ["x", "y"], on_bad_file="skip") as source:
        victim = next(f for f in source.files if f.path.endswith("007.parquet"))
        damaged = (tmp_path / victim.path).read_bytes()
        damaged = damaged[:4] + bytes(300) + damaged[304:]
        (tmp_path / victim.path).write_bytes(damaged)
    wanted = some_rows(lake, 0.5)
    with row_source(tmp_path, ["x", "y"]) as source, pytest.raises(BadFileError, match="007"):
        gather_rows(source, wanted)
    with row_source(tmp_path, ["x", "y"], on_bad_file="skip") as source:
        found, skipped = gather_rows(source, wanted)
        first = source.rows[: source.files.index(next(f for f in source.files if "007" in f.path))].sum()
    assert [s.file for s in skipped] == [victim.path]
    values, fates = picked(lake, wanted)
    inside = (wanted >= first) & (wanted < first + 35 * 3 + 7)
    check(found, (values, np.where(inside, ABSENT, fates)))


def test_wrong_numbers_and_too_many_are_refused(lake: Path) -> None:
    with row_source(lake, "x") as source:
        for wrong in ([3, 3], [4, 2], [-1], [source.n_rows]):
            with pytest.raises(ValueError, match="distinct, ascending"):
                gather_rows(source, np.array(wrong))
        source.executor.memory = 2000  # type: ignore[misc]
        with pytest.raises(ResourceError, match=r"100 rows of 1 values .* need 6\.8 kB"):
            gather_rows(source, np.arange(100))


@given(st.sets(st.integers(0, 3000), max_size=60), st.lists(st.integers(0, 900), min_size=1, max_size=5))
def test_wanted_rows_come_out_as_they_went_in(rows: set[int], sizes: list[int]) -> None:
    starts = np.concatenate([[0], np.cumsum(sizes)])
    kept = np.array(sorted(r for r in rows if r < starts[-1]), np.int64)
    window = WantedRows.of(kept, starts[:-1])
    assert window.rows().tolist() == kept.tolist() and window.n_wanted == kept.size
    found = [part + start for part, start in zip(window.by_file(), starts, strict=False)]
    assert np.concatenate(found).tolist() == kept.tolist()
    for part, size in zip(window.by_file(), sizes, strict=True):
        assert ((part >= 0) & (part < size)).all()


def test_a_window_of_many_rows_takes_a_bit_for_each() -> None:
    some = np.flatnonzero(np.random.default_rng(0).random(100_000) < 0.2)
    assert WantedRows.of(some, np.array([0])).packed.nbytes <= 12_500
    assert WantedRows.of(some[::100], np.array([0])).packed.nbytes == 4 * some[::100].size
    far = np.array([0, 1 << 40])
    assert WantedRows.of(far, np.array([0])).rows().tolist() == far.tolist()


@given(st.lists(st.integers(0, 50)))
def test_distinct_numbers(numbers: list[int]) -> None:
    assert distinct(np.array(numbers, np.int64)).tolist() == sorted(set(numbers))
