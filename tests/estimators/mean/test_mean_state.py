"""Saved states: interrupted runs go on, grown lakes are read where they have grown, all bit by bit."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flat import design
from hypothesis import given, settings
from hypothesis import strategies as st
from mean_lakes import cut_work, same, write
from quick import quick
from small_leaves import patch_leaves
from state_lakes import N, Opened, close, facts, flat_lake, interrupted, run, some_files
from test_mean_bits import QUICK, VARIANTS

import distmom as dm
from distmom.designs.blocks import as_design
from distmom.estimators.mean import plan as mean_plan
from distmom.estimators.mean.blocks import fixed_by
from distmom.estimators.options import MeanOptions

FLAT = VARIANTS | {"units of three columns": {"block_by": ["name", "u", "key"], "column": "y"}}  # no folders
GROWS = {
    name: options
    for name, options in FLAT.items()
    if not fixed_by(
        MeanOptions(as_design(design(dict(options)) or "auto"), contamination=options.get("contamination"))
    )
} | {"contamination, given blocks": {"contamination": 2, "n_blocks": 9, "where": "u > 0.1"}}
EACH = pytest.mark.parametrize("options", quick(FLAT, QUICK))
QUICKLY_GROWS = (*[name for name in QUICK if name in GROWS][::2], "contamination, given blocks")
EACH_THAT_GROWS = pytest.mark.parametrize("options", quick(GROWS, QUICKLY_GROWS))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return flat_lake(tmp_path_factory.mktemp("states") / "lake", N)


@EACH
@pytest.mark.one_in(4)
def test_a_state_changes_no_bit_and_is_shown_again_without_reading(
    lake: Path, tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = run(lake, options)
    state = tmp_path / "s"
    assert same(right, run(lake, options, state=state))
    bytes_before = state.read_bytes()
    opened = Opened(monkeypatch)
    again = run(lake, options, state=state)
    assert same(right, again) and opened.taken() == []
    assert (facts(again)["n_files_before"], facts(again)["n_files_read"]) == (N, 0)
    assert state.read_bytes() == bytes_before
    assert [p.name for p in tmp_path.iterdir()] == ["s"]


@EACH
@pytest.mark.one_in(4)
def test_interrupted_after_any_unit_and_cut_anew(
    lake: Path, tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = run(lake, options)
    opened = Opened(monkeypatch)
    for after in (1, 8):
        state = tmp_path / f"{after}"
        cut_work(monkeypatch, max_files=1)
        assert interrupted(lake, state, after, **{"column": "x", "rng": 7, "threads": 1, **options})
        opened.taken()
        cut_work(monkeypatch, max_files=3)
        assert same(right, run(lake, options, state=state)), after
        if "where" not in options:  # else rows are counted by reading
            assert len(opened.taken()) <= N - after


@pytest.mark.parametrize("options", [{}, {"by": "key"}, {"order": "stored"}], ids=str)
def test_interrupted_within_a_file(
    tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are cut into leaves, at other places before and after."""
    patch_leaves(monkeypatch)
    monkeypatch.setattr(mean_plan, "LARGE_FILE", 0)
    monkeypatch.setattr(mean_plan, "SHARES", 1_000_000)
    g = np.random.default_rng(0)
    for i, n in enumerate((2_500, 100, 1_100)):
        write(tmp_path / "lake" / f"{i}.parquet", {"x": g.normal(size=n), "key": g.integers(0, 4, n)})
    right = run(tmp_path / "lake", options)
    for after in (1, 2, 3):
        state = tmp_path / f"{after}"
        cut_work(monkeypatch, unit_bytes=6_000)
        assert interrupted(tmp_path / "lake", state, after, column="x", rng=7, threads=1, **options)
        cut_work(monkeypatch, unit_bytes=11_000)
        assert interrupted(tmp_path / "lake", state, 1, column="x", rng=7, threads=1, **options)
        cut_work(monkeypatch, unit_bytes=3_000)
        assert same(right, run(tmp_path / "lake", options, state=state, on_bad_file="skip")), after


@EACH_THAT_GROWS
@pytest.mark.one_in(3)
def test_a_lake_that_grows_at_its_end_gives_the_bits_of_one_run(
    lake: Path, tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Opened(monkeypatch)
    some, state = tmp_path / "lake", tmp_path / "s"
    for first, last in ((0, 3), (3, 4), (4, N)):
        some_files(lake, some, range(first, last))
        right = run(some, options)
        opened.taken()
        found = run(some, options, state=state)
        assert same(right, found), (first, last)
        assert opened.taken() == [f"{i:03}.parquet" for i in range(first, last)]
        assert (facts(found)["n_files_before"], facts(found)["n_files_read"]) == (first, last - first)


def test_one_file_a_day_reads_the_bytes_of_one_file(tmp_path: Path) -> None:
    class Counted:
        total = read = 0

        def begin(self, n_units: int, n_bytes: int) -> None:
            self.total += n_bytes

        def advance(self, n_rows: int, n_bytes: int) -> None:
            self.read += n_rows

        def end(self) -> None: ...

    for day in range(20):
        g = np.random.default_rng(day)
        file = write(tmp_path / "lake" / f"day={day:03}" / "a.parquet", {"x": g.normal(size=200 + day)})
        counted = Counted()
        with dm.options(progress=counted):
            found = dm.mean(tmp_path / "lake", "x", rng=0, state=tmp_path / "s")
        assert counted.read == 200 + day
        assert counted.total <= file.stat().st_size
    assert same(found, dm.mean(tmp_path / "lake", "x", rng=0))


@given(st.integers(0, 2**32), st.integers(1, 4))
@settings(max_examples=8)
def test_any_history_of_growth_and_interruptions(
    tmp_path_factory: pytest.TempPathFactory, lake: Path, chance: int, max_files: int
) -> None:
    """Files come in any order, runs are cut short anywhere: all counts are those of one run."""
    dice = random.Random(chance)
    folder = tmp_path_factory.mktemp("history")
    order = list(range(N))
    if dice.random() < 0.7:
        dice.shuffle(order)
    ordered = order == sorted(order)
    there, state, some = 0, folder / "s", folder / "lake"
    with pytest.MonkeyPatch.context() as patch:
        while there < N:
            step = dice.randint(1, 4)
            some_files(lake, some, order[there : there + step])
            there += step
            cut_work(patch, max_files=dice.randint(1, max_files))
            if dice.random() < 0.5:
                interrupted(some, state, dice.randint(1, 3), column="x", rng=7, by="key")
        found = run(some, {"by": "key"}, state=state)
    right = run(some, {"by": "key"})
    if ordered:
        assert same(found, right)
    close(found, right)


@EACH_THAT_GROWS
@pytest.mark.one_in(3)
def test_files_that_come_in_between(lake: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    some, state = tmp_path / "lake", tmp_path / "s"
    for numbers in ((1, 4, 9), (0, 6, 10), (2, 3, 5, 7, 8)):
        some_files(lake, some, numbers)
        found = run(some, options, state=state)
        close(found, run(some, options))
        assert facts(found)["n_files_read"] == len(numbers)


def test_a_run_interrupted_among_late_files(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some, cut = tmp_path / "lake", {"column": "x", "rng": 7}
    some_files(lake, some, (2, 5, 8))
    run(some, {}, state=tmp_path / "s")
    some_files(lake, some, (0, 1, 3, 6, 9, 10))
    cut_work(monkeypatch, max_files=1)
    for after in range(1, 6):
        copy = tmp_path / f"{after}"
        copy.write_bytes((tmp_path / "s").read_bytes())
        assert interrupted(some, copy, after, **cut)
        right = tmp_path / f"{after}-right"
        right.write_bytes((tmp_path / "s").read_bytes())
        assert same(run(some, {}, state=copy), run(some, {}, state=right))


def test_files_of_a_lake_may_change_while_it_is_not_read_yet(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unread files hold nothing that is believed: they may go, or be rewritten."""
    some, state = some_files(lake, tmp_path / "lake", range(N)), tmp_path / "s"
    cut_work(monkeypatch, max_files=1)
    assert interrupted(some, state, 3, column="x", rng=7, threads=1)
    (some / "008.parquet").unlink()
    write(some / "009.parquet", {"x": np.arange(5.0)})
    close(run(some, {}, state=state), run(some, {}))
