"""One list of tests for every executor: threads, a cluster in this process, worker processes."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from fake_work import (
    LEAF_ROWS,
    Endless,
    Flaky,
    Spell,
    SpellLarge,
    calls,
    expected,
    listing,
    record,
    record_large,
)

from distmom.cluster import Executor, ThreadExecutor, Unit, plan_units, run_units
from distmom.errors import ConfigError, DataError, DistmomError, ResourceError

ROWS = [250, 90, 1000, 10, 10, 730, 400, 100, 100, 1, 60]
FILES = listing([8 * n for n in ROWS])


def units_of(unit_bytes: int = 2000, max_files: int = 2) -> tuple[Unit, ...]:
    return plan_units(FILES, ROWS, unit_bytes=unit_bytes, max_files=max_files, leaf_rows=LEAF_ROWS)


@pytest.mark.parametrize(("unit_bytes", "max_files"), [(1, 1), (2000, 2), (10**6, 11)])
@pytest.mark.parametrize("window", [1, 3, None])
@pytest.mark.one_in(4)
def test_same_bits_whatever_the_units_and_the_window(
    executor: Executor, unit_bytes: int, max_files: int, window: int | None
) -> None:
    skipped = frozenset({2, 8})
    units = units_of(unit_bytes, max_files)
    result = run_units(Spell(tuple(ROWS), skipped), units, record, executor, window=window)
    assert result.state == expected(ROWS, skipped)
    assert result.skipped == ("t/2.parquet", "t/8.parquet")
    assert result.n_retries == 0


@pytest.mark.parametrize("unit_bytes", [1, 2000])
def test_same_bits_where_large_states_are_merged_on_the_way(executor: Executor, unit_bytes: int) -> None:
    rows, skipped = ROWS * 4, frozenset({2, 8, 30})
    units = plan_units(
        listing([8 * n for n in rows]), rows, unit_bytes=unit_bytes, max_files=1, leaf_rows=LEAF_ROWS
    )
    result = run_units(SpellLarge(tuple(rows), skipped), units, record_large, executor, grows=True)
    assert result.state == expected(rows, skipped)
    assert result.skipped == tuple(f"t/{number}.parquet" for number in sorted(skipped))
    assert result.n_retries == 0


def test_several_runs_on_one_executor(executor: Executor) -> None:
    for rows in (ROWS, ROWS[::-1]):
        assert run_units(Spell(tuple(rows)), units_of(1, 2)[:0], record, executor).state is None
        files = listing([8] * len(rows))
        units = plan_units(files, max_files=1)
        assert run_units(Spell(tuple(rows)), units, record, executor).state == expected(rows)


def test_what_the_executor_says_about_itself(executor: Executor) -> None:
    assert executor.threads == 2
    assert executor.threads_per_process in (1, 2)
    assert executor.memory > 10**8


def test_reading_errors_are_tried_again(executor: Executor, tmp_path: Path) -> None:
    units = units_of()
    bad = next(unit for unit in units if unit.first_file == 4)
    for error in (OSError("AWS Error SLOW_DOWN during GetObject"), TimeoutError("read timed out")):
        folder = tmp_path / type(error).__name__
        folder.mkdir()
        work = Flaky(Spell(tuple(ROWS)), str(folder), 4, error, n_times=2)
        result = run_units(work, units, record, executor, pause=0.01)
        assert result.state == expected(ROWS)
        assert result.n_retries == 2
        assert calls(folder, bad) == 3


def test_reading_errors_that_stay_are_reported_with_their_file(executor: Executor, tmp_path: Path) -> None:
    units = units_of()
    work = Flaky(Spell(tuple(ROWS)), str(tmp_path), 4, OSError("connection reset"))
    with pytest.raises(ResourceError, match=r"^t/4.parquet.*failed 3 times \(OSError: connection reset\)"):
        run_units(work, units, record, executor, retries=2, pause=0.01)


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (  # the work is none of ours
            ZeroDivisionError("division by zero"),
            ConfigError,
            r"^t/4.parquet.*unexpected ZeroDivisionError: division by zero, in .*/fake_work.py, line \d+;",
        ),
        (FileNotFoundError(2, "No such file"), DataError, r"^t/4.parquet.*cannot be read"),
        (DataError("t/4.parquet: column x is text"), DataError, r"^t/4.parquet: column x is text$"),
    ],
)
@pytest.mark.one_in(2)
def test_other_errors_stop_the_run_at_once(
    executor: Executor, tmp_path: Path, error: Exception, kind: type[DistmomError], text: str
) -> None:
    units = units_of(1, 1)
    bad = next(unit for unit in units if unit.first_file == 4)
    work = Flaky(Spell(tuple(ROWS)), str(tmp_path), 4, error)
    with pytest.raises(kind, match=text) as caught:
        run_units(work, units, record, executor, window=1)
    assert type(caught.value) is kind
    if not isinstance(error, DistmomError):
        assert type(caught.value.__cause__) is type(error)
    assert calls(tmp_path, bad) == 1
    assert len(list(tmp_path.iterdir())) == bad.number + 1 < len(units)


def test_the_first_error_ends_the_units_that_run(executor: Executor, tmp_path: Path) -> None:
    units = plan_units(listing([1] * 4), max_files=1)
    with pytest.raises(DistmomError, match="division by zero"):
        run_units(Endless(0, 1, str(tmp_path)), units, record, executor)
    deadline = time.monotonic() + 10
    while not (tmp_path / "ended").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    if isinstance(executor, ThreadExecutor):
        executor.close()
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("distmom")]


def test_large_work_is_sent_once(executor: Executor) -> None:
    work = Spell(tuple(ROWS), padding=b"x" * 11_000_000)  # with every task, Dask would warn of a large graph
    assert run_units(work, units_of(), record, executor).state == expected(ROWS)
