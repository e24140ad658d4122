"""The runner's decisions, on an executor that does what the test says."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from fake_work import LEAF_ROWS, Spell, expected, listing, record
from hypothesis import given
from hypothesis import strategies as st

from distmom.cluster import Unit, UnitOutcome, Work, plan_units, run_units
from distmom.cluster.account import Account
from distmom.cluster.outcome import Finished
from distmom.errors import DataError, DistmomError, ResourceError

ROWS = [250, 90, 1000, 10, 10, 730, 400, 100, 100, 1, 60]
UNITS = plan_units(listing([8 * n for n in ROWS]), ROWS, unit_bytes=2000, max_files=2, leaf_rows=LEAF_ROWS)
Happens = Callable[[Unit, int], str | BaseException | None]


class Scripted:
    """Executor and tasks in one: units finish in a given order, and ``happens`` tells how."""

    threads = 2
    threads_per_process = 1
    memory = 10**9
    far = False
    account = Account(None)

    def __init__(self, happens: Happens = lambda unit, attempt: None, order: Any = None) -> None:
        self.happens, self.order = happens, order
        self.under_way: list[tuple[Unit, int]] = []
        self.most, self.cancelled, self.submitted = 0, False, Counter[int]()
        self.beside: dict[int, int] = {}
        self.away: str | None = None

    def begin(self, work: Work) -> Scripted:
        self.work = work
        return self

    def close(self) -> None: ...

    def ready(self) -> bool:
        return self.away is None or "workers" in self.away

    def trouble(self) -> str | None:
        return self.away

    def cancel(self) -> None:
        self.cancelled = True

    def submit(self, unit: Unit, attempt: int) -> None:
        self.submitted[unit.number] += 1
        assert self.submitted[unit.number] == attempt
        self.under_way.append((unit, attempt))
        self.beside[unit.number] = len(self.under_way) - 1
        self.most = max(self.most, len(self.under_way))

    def wait(self, timeout: float) -> list[Finished]:
        assert 0 <= timeout <= 1
        if self.away:
            return []
        position = self.order(len(self.under_way)) if self.order else 0
        unit, attempt = self.under_way.pop(position)
        event = self.happens(unit, attempt)
        if isinstance(event, BaseException):
            return [Finished(unit, "failed", error=event)]
        if event == "killed" or event == "lost":
            return [Finished(unit, event)]  # type: ignore[arg-type]
        return [Finished(unit, "done", self.work(unit))]


def run(executor: Scripted, **options: Any) -> Any:
    options.setdefault("pause", 1e-4)
    return run_units(Spell(tuple(ROWS)), UNITS, record, executor, **options)


@given(
    st.integers(0, 2**32),
    st.integers(1, 20),
    st.sampled_from([None, "lost", "killed", OSError("slow down")]),
    st.sets(st.sampled_from([unit.number for unit in UNITS])),
)
def test_arrival_window_and_repetition_never_change_the_result(
    arrival: int, window: int, event: str | BaseException | None, troubled: set[int]
) -> None:
    executor = Scripted(
        lambda unit, attempt: event if unit.number in troubled and attempt == 1 else None,
        random.Random(arrival).randrange,
    )
    result = run(executor, window=window)
    assert result.state == expected(ROWS)
    assert result.n_rows == sum(ROWS)
    assert result.n_retries == (len(troubled) if event else 0)
    assert executor.most <= window
    assert not executor.cancelled


def test_the_default_window_is_four_units_a_thread() -> None:
    executor = Scripted()
    run(executor)
    assert executor.most == 8


def test_reading_is_tried_again_a_limited_number_of_times() -> None:
    bad = UNITS[3].number
    error = ConnectionResetError("s3://key:secret@bucket went away\nsomehow")
    executor = Scripted(lambda unit, attempt: error if unit.number == bad else None)
    with pytest.raises(ResourceError, match=r"^t/2.parquet .*: reading failed 4 times") as caught:
        run(executor)
    assert executor.submitted[bad] == 4
    assert caught.value.__cause__ is error
    assert executor.cancelled
    assert "secret" not in str(caught.value) and "\n" not in str(caught.value)

    executor = Scripted(lambda unit, attempt: error if attempt <= 3 else None)
    assert run(executor).state == expected(ROWS)
    with pytest.raises(ResourceError, match="failed once"):
        run(Scripted(lambda unit, attempt: error), retries=0)


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (
            ZeroDivisionError("division by zero"),
            DistmomError,
            "unexpected ZeroDivisionError: division",
        ),
        (FileNotFoundError(2, "No such file"), DataError, "cannot be read"),
        (PermissionError(13, "denied"), DataError, "cannot be read"),
        (OSError(28, "No space left on device"), ResourceError, "No space left"),
        (MemoryError(), ResourceError, "out of memory"),
        (ModuleNotFoundError("No module named 'distmom'"), ResourceError, "install the client's packages"),
    ],
)
def test_failures_that_would_come_again_are_not_tried_again(
    error: Exception, kind: type[DistmomError], text: str
) -> None:
    bad = UNITS[-1].number
    executor = Scripted(lambda unit, attempt: error if unit.number == bad else None)
    with pytest.raises(kind, match=text) as caught:
        run(executor)
    assert type(caught.value) is kind
    assert str(caught.value).startswith(UNITS[-1].name)
    assert caught.value.__cause__ is error
    assert executor.submitted[bad] == 1
    assert executor.cancelled


def test_expected_failures_pass_through_unwrapped() -> None:
    error = DataError("t/3.parquet: column x is text")
    with pytest.raises(DataError) as caught:
        run(Scripted(lambda unit, attempt: error))
    assert caught.value is error and caught.value.__cause__ is None


def test_a_lost_unit_is_run_again_but_not_for_ever() -> None:
    with pytest.raises(ResourceError, match=r"t/0.parquet.*: lost 4 times"):
        run(Scripted(lambda unit, attempt: "lost" if unit.number == 0 else None))


def test_a_suspect_runs_alone_before_it_is_blamed() -> None:
    # The scheduler blames unit 2 as well, which was only a neighbour of the deadly unit 5.
    executor = Scripted(
        lambda unit, attempt: "killed" if unit.number == 5 or (unit.number == 2 and attempt == 1) else None
    )
    seen: list[int] = []
    with pytest.raises(ResourceError, match="died, most likely out of memory") as caught:
        run(executor, on_outcome=lambda unit, outcome: seen.append(unit.number))
    assert str(caught.value).startswith(UNITS[5].name)
    assert executor.submitted[2] == executor.submitted[5] == 2
    assert executor.beside[5] == 0
    assert {0, 1, 2, 3, 4, 6, 7} <= set(seen)  # what was finished has been handed over


def test_outcomes_are_handed_over_and_skipped_files_listed_in_listing_order() -> None:
    skipped = frozenset({2, 3, 9})
    seen: dict[int, UnitOutcome] = {}
    executor = Scripted(order=lambda n: n - 1)
    work = Spell(tuple(ROWS), skipped)
    result = run_units(work, UNITS, record, executor, on_outcome=lambda u, o: seen.update({u.number: o}))
    assert result.skipped == ("t/2.parquet", "t/3.parquet", "t/9.parquet")
    assert result.state == expected(ROWS, skipped)
    assert list(seen) != sorted(seen) and len(seen) == len(UNITS)


@pytest.mark.parametrize("away", ["it has no workers", "its scheduler does not answer"])
def test_a_cluster_that_is_away_is_waited_for_patiently_but_not_for_ever(away: str) -> None:
    executor = Scripted()
    executor.away = away
    with pytest.raises(ResourceError, match=rf"did not respond for 0.1 seconds \({away}\)"):
        run(executor, patience=0.1)
    assert executor.cancelled


def test_a_cluster_that_comes_back_goes_on() -> None:
    executor = Scripted()
    executor.away = "it has no workers"
    questions = iter([executor.away] * 3)
    executor.trouble = lambda: next(questions, None) or setattr(executor, "away", None)  # type: ignore
    assert run(executor, patience=0.2).state == expected(ROWS)


def test_an_interrupt_cancels_everything() -> None:
    executor = Scripted()

    def interrupt(unit: Unit, outcome: UnitOutcome) -> None:
        if unit.number == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(executor, on_outcome=interrupt)
    assert executor.cancelled


def test_progress_is_told_about_every_unit_once() -> None:
    events: list[Any] = []

    class Told:
        def begin(self, n_units: int, n_bytes: int) -> None:
            events.append(("begin", n_units, n_bytes))

        def advance(self, n_rows: int, n_bytes: int) -> None:
            events.append((n_rows, n_bytes))

        def end(self) -> None:
            events.append("end")

    run(Scripted(), progress=Told())
    total = sum(unit.n_bytes for unit in UNITS)
    assert events[0] == ("begin", len(UNITS), total) and events[-1] == "end"
    assert [sum(column) for column in zip(*events[1:-1], strict=True)] == [sum(ROWS), total]


def test_no_units_no_state() -> None:
    assert run_units(Spell(()), (), record, Scripted()).state is None
