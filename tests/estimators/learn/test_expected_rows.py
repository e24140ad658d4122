"""Rows that a fit will fetch are gathered in one pass over the files, and are those of fetches one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distmom as dm
from distmom.estimators.learn import rows as learn_rows
from distmom.estimators.learn.rows import ArrayRows, Reserve

pytest.importorskip("sklearn")


@given(st.sets(st.integers(0, 60), min_size=1), st.lists(st.integers(0, 60), unique=True))
def test_a_reserve_serves_what_a_dictionary_does_and_is_dropped_at_another_row(
    held: set[int], asked: list[int]
) -> None:
    numbers = np.array(sorted(held))
    reserve = Reserve(numbers, ArrayRows(np.stack([numbers, -numbers], axis=1).astype(float), numbers / 2.0))
    slow = {row: ([float(row), -float(row)], row / 2.0) for row in held}
    found = reserve.fetch(np.array(asked, np.int64))
    if set(asked) <= held:
        assert found is not None
        assert found.features.tolist() == [slow[row][0] for row in asked]
        assert found.targets.tolist() == [slow[row][1] for row in asked]
    else:
        assert found is None and reserve.rows is None
        assert reserve.fetch(numbers) is None  # nothing is held any longer


@pytest.fixture
def gathered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of each pass over the files for the rows of a fit."""
    seen: list[int] = []
    gather = learn_rows.gather_rows

    def counting(source, wanted, progress=None):
        seen.append(wanted.size)
        return gather(source, wanted, progress)

    monkeypatch.setattr(learn_rows, "gather_rows", counting)
    return seen


def lake_of(folder: Path, far: float = 0.0, n: int = 30_000) -> Path:
    """Rows, a share of them with a feature far out."""
    g = np.random.default_rng(0)
    X = g.normal(size=(n, 2))
    y = X @ [1.0, -2.0] + g.normal(size=n)
    bad = g.random(n) < far
    X[bad, 0], y[bad] = 8.0 + g.normal(size=bad.sum()), -30.0  # near enough for the survey to leave them in
    folder.mkdir()
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": y})
    for i in range(3):
        pq.write_table(table.slice(i * n // 3, n // 3), folder / f"{i}.parquet")
    return folder


def fit(lake: Path, mode: str, **options: object) -> dm.RobustLinearRegression:
    return dm.RobustLinearRegression(random_state=0, max_iter=10).fit(lake, "y", mode=mode, **options)


def test_the_rows_before_the_first_step_take_one_pass(tmp_path: Path, gathered: list[int]) -> None:
    lake = lake_of(tmp_path / "lake")
    streamed = fit(lake, "streaming")
    assert len(gathered) == 1
    held = fit(lake, "resident")
    assert np.array_equal(streamed.coef_, held.coef_) and streamed.n_used_ == held.n_used_


def test_blocks_that_become_smaller_than_was_thought_take_a_second_pass(
    tmp_path: Path, gathered: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn_rows, "MOST_GATHERED", 1)  # 64 steps at once, not all rows
    lake = lake_of(tmp_path / "lake", 0.04, 90_000)
    streamed = fit(lake, "streaming")
    assert len(gathered) == 2 and gathered[1] < gathered[0] < 90_000 and streamed.accused_share_ > 0.0
    assert np.array_equal(streamed.coef_, fit(lake, "resident").coef_)


def test_where_memory_is_short_the_steps_wait_for_their_own_pass(
    tmp_path: Path, gathered: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = lake_of(tmp_path / "lake")
    right = fit(lake, "streaming")
    del gathered[:]
    monkeypatch.setattr(learn_rows, "MOST_GATHERED", 1)
    monkeypatch.setattr(learn_rows, "STEPS_AT_ONCE", 1)
    found = fit(lake, "streaming")
    assert len(gathered) > 3
    room = 2 * found.n_blocks_ * found.block_size_  # a quarter more than the rows of a step, and the sample
    assert max(gathered) <= max(room, 8_192)
    assert np.array_equal(found.coef_, right.coef_)


def test_labels_are_not_taken_from_rows_without_them(tmp_path: Path, gathered: list[int]) -> None:
    g = np.random.default_rng(0)
    X = g.normal(size=(20_000, 2))
    names = np.where(X[:, 0] + g.normal(size=20_000) > 0.0, "yes", "no")
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "y": names}), tmp_path / "one.parquet")
    models = [
        dm.RobustLogisticRegression(random_state=0, max_iter=10).fit(tmp_path, "y", mode=mode)
        for mode in ("streaming", "resident")
    ]
    assert len(gathered) == 2  # one for each model
    assert np.array_equal(models[0].coef_, models[1].coef_) and list(models[0].classes_) == ["no", "yes"]


@pytest.mark.parametrize("mode", ["streaming", "resident"])
def test_an_even_number_of_blocks_is_told_once(tmp_path: Path, mode: str) -> None:
    lake = lake_of(tmp_path / "lake")
    model = dm.RobustLinearRegression(random_state=0, max_iter=5, n_blocks=10)
    with pytest.warns(UserWarning) as said:
        model.fit(lake, "y", mode=mode)
    assert sum("10 is even" in str(one.message) for one in said) == 1
