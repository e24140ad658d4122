"""Large states: merged in batches before they go to the client, which changes nothing but their number."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest
from fake_work import (
    LEAF_ROWS,
    Large,
    Spell,
    SpellLarge,
    expected,
    listing,
    record,
    record_large,
)
from hypothesis import given
from hypothesis import strategies as st
from test_cluster_runner import Scripted

from distmom.cluster import Unit, UnitMerger, UnitOutcome, plan_units, run_units
from distmom.cluster.queue import MOST_UNITS, BatchWork, UnitBatch, batch_size, best_cut
from distmom.errors import DataError, DistmomError, ResourceError

ROWS = [100] * 150
UNITS = plan_units(listing([800] * 150), max_files=1)
GB = 10**9


class Far(Scripted):
    """An executor with a way to go, which counts the states that go it."""

    far = True

    def __init__(self, *words: Any, **options: Any) -> None:
        super().__init__(*words, **options)
        self.sizes: list[int] = []
        self.received = 0
        self.beside_first = 0

    def submit(self, unit: Any, attempt: int) -> None:
        self.sizes.append(len(unit.units) if isinstance(unit, UnitBatch) else 1)
        if not self.received:
            self.beside_first += 1
        super().submit(unit, attempt)

    def wait(self, timeout: float) -> Any:
        finished = super().wait(timeout)
        for one in finished:
            if one.outcome is not None:
                state = one.outcome.state
                self.received += 1 if isinstance(state, str) else len(state.states)
        return finished


def run(executor: Far, work: Spell, units: Any = UNITS, **options: Any) -> Any:
    options.setdefault("pause", 1e-4)
    return run_units(work, units, record_large, executor, **options)


@given(
    st.lists(st.integers(1, 2000), min_size=1, max_size=20),
    st.integers(1, 40_000),
    st.integers(1, 5),
    st.randoms(use_true_random=False),
    st.data(),
)
def test_any_batches_in_any_order_give_the_same_root(
    rows: list[int], unit_bytes: int, max_files: int, chance: Any, data: st.DataObject
) -> None:
    files = listing([8 * n for n in rows])
    units = plan_units(files, rows, unit_bytes=unit_bytes, max_files=max_files, leaf_rows=LEAF_ROWS)
    skipped = data.draw(st.frozensets(st.integers(0, len(rows) - 1), max_size=3))
    work = BatchWork(Spell(tuple(rows), skipped), record, len(files))
    tasks: list[Unit | UnitBatch] = []
    while (start := sum(len(t.units) if isinstance(t, UnitBatch) else 1 for t in tasks)) < len(units):
        some = units[start : start + chance.randint(1, 9)]
        tasks.append(UnitBatch(some) if chance.random() < 0.7 else some[0])
    chance.shuffle(tasks)
    merger: UnitMerger[str] = UnitMerger(len(files), record)
    n_rows = 0
    for task in tasks:
        outcome = pickle.loads(pickle.dumps(work(task)))
        n_rows += outcome.n_rows
        if isinstance(task, UnitBatch):
            merger.add(outcome.state)
        else:
            merger.push(task, outcome.state, skipped=bool(outcome.skipped))
    assert merger.result() == expected(rows, skipped)
    assert skipped or n_rows == sum(rows)


@given(
    st.integers(0, 2**32),
    st.integers(1, 20),
    st.sampled_from([None, "lost", "killed", OSError("slow down")]),
    st.sets(st.sampled_from(range(150)), max_size=20),
    st.booleans(),
)
def test_arrival_window_and_repetition_never_change_the_result(
    arrival: int, window: int, event: Any, troubled: set[int], grows: bool
) -> None:
    left = set(troubled)

    def happens(unit: Any, attempt: int) -> Any:
        """The first task with a troubled unit fails."""
        met = left & {u.number for u in (unit.units if isinstance(unit, UnitBatch) else [unit])}
        left.difference_update(met)
        return event if met else None

    executor = Far(happens, random.Random(arrival).randrange)
    result = run(executor, SpellLarge(tuple(ROWS)), window=window, grows=grows)
    assert result.state == expected(ROWS)
    assert result.n_rows == sum(ROWS)
    assert (result.n_retries > 0) == bool(event and troubled)


def test_the_client_gets_few_states_and_holds_fewer() -> None:
    """150 units: one a thread, then sixteen by sixteen, fewer near the end."""
    executor, held = Far(), []

    def watch(unit: Any, outcome: Any) -> None:
        held.append(len(outcome.state.states) if isinstance(unit, UnitBatch) else 1)

    assert run(executor, SpellLarge(tuple(ROWS)), grows=True, on_outcome=watch).state == expected(ROWS)
    assert executor.beside_first == 2
    assert max(executor.sizes) == MOST_UNITS and sum(executor.sizes) == 150
    assert executor.received == sum(held) <= 2 + 3 + 150 / 16 + 2 * 5


def test_small_states_come_one_by_one() -> None:
    executor = Far()
    assert run_units(Spell(tuple(ROWS)), UNITS, record, executor).state == expected(ROWS)
    assert executor.sizes == [1] * 150 and executor.beside_first == 8
    near = Scripted()  # nothing is gained where states have no way to go
    assert run_units(SpellLarge(tuple(ROWS)), UNITS, record_large, near, grows=True).state == expected(ROWS)
    assert len(near.submitted) == 150


def test_states_that_become_large_later_are_noticed() -> None:
    class Growing(SpellLarge):
        def __call__(self, unit: Unit) -> UnitOutcome:
            done = super().__call__(unit)
            return done if unit.number >= 70 else UnitOutcome(str(done.state), done.n_rows, done.n_bytes)

    executor = Far()
    run(executor, Growing(tuple(ROWS)))
    assert executor.sizes[:70] == [1] * 70 and max(executor.sizes) == 16


def test_a_batch_lost_with_its_worker_goes_again_as_it_is() -> None:
    executor = Far(lambda unit, attempt: "lost" if isinstance(unit, UnitBatch) and attempt == 1 else None)
    result = run(executor, SpellLarge(tuple(ROWS)), grows=True)
    assert result.state == expected(ROWS)
    assert result.n_retries == sum(n for n in executor.sizes if n > 1) / 2 > 140
    again = Far(lambda unit, attempt: "lost" if isinstance(unit, UnitBatch) else None)
    with pytest.raises(ResourceError, match=r"^t/\d+.parquet to t/\d+.parquet: lost 4 times"):
        run(again, SpellLarge(tuple(ROWS)), grows=True)


@pytest.mark.parametrize("fate", ["killed", ZeroDivisionError("division by zero")], ids=str)
def test_the_unit_to_blame_is_found_among_those_of_its_batch(fate: Any) -> None:
    def happens(unit: Any, attempt: int) -> Any:
        numbers = [u.number for u in unit.units] if isinstance(unit, UnitBatch) else [unit.number]
        return fate if 77 in numbers else None

    with pytest.raises(DistmomError, match=r"^t/77.parquet: (every worker|unexpected Zero)"):
        run(Far(happens), SpellLarge(tuple(ROWS)), grows=True)


def test_an_error_that_knows_its_file_ends_the_run_at_once() -> None:
    error = DataError("t/77.parquet: column x is text")
    executor = Far(lambda unit, attempt: error if isinstance(unit, UnitBatch) else None)
    with pytest.raises(DataError) as caught:
        run(executor, SpellLarge(tuple(ROWS)), grows=True)
    assert caught.value is error and executor.sizes[2] > 1 and len(executor.submitted) < 12


def test_size_of_batches() -> None:
    assert batch_size(1000, 2, 2_000_000, GB) == 16
    assert batch_size(1000, 2, 100_000_000, GB // 4) == 4, "a state for each bit must fit"
    assert batch_size(1000, 2, 100_000_000, GB // 20) == 1
    assert batch_size(20, 4, 2_000_000, GB) == 5, "all threads shall end together"
    assert batch_size(3, 4, 2_000_000, GB) == batch_size(0, 0, 0, 0) == 1


@pytest.mark.parametrize(
    ("rows", "unit_bytes", "most"),
    [([100] * 500, 1, 1.1), ([6_400] * 16, 800, 1.1), ([300] * 170, 800, 2), ([100, 900] * 100, 800, 2)],
    ids=["files", "parts of large files", "three parts a file", "files and parts"],
)
def test_batches_end_where_their_states_merge_to_few(rows: list[int], unit_bytes: int, most: float) -> None:
    files = listing([8 * n for n in rows])
    units = plan_units(files, rows, unit_bytes=unit_bytes, leaf_rows=LEAF_ROWS)
    assert len(units) >= 500
    work, n_states, n_batches, start = BatchWork(SpellLarge(tuple(rows)), record_large, len(rows)), 0, 0, 3
    while start < len(units):
        n = best_cut(units[start : start + MOST_UNITS])
        n_states += len(work(UnitBatch(units[start : start + n])).state.states)
        n_batches, start = n_batches + 1, start + n
    assert n_states <= most * n_batches + 4 and n_batches <= len(units) / 8


def test_a_large_string_is_what_the_tests_think() -> None:
    assert pickle.loads(pickle.dumps(Large("x"))).nbytes > 10**6
