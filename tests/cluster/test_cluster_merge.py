from __future__ import annotations

import pytest
from fake_work import LEAF_ROWS, Spell, expected, listing, record
from hypothesis import given
from hypothesis import strategies as st

from distmom.cluster import UnitMerger, plan_units

ROWS = st.lists(st.integers(1, 2000), min_size=1, max_size=20)


@given(ROWS, st.integers(1, 40_000), st.integers(1, 20), st.randoms(use_true_random=False), st.data())
def test_any_cut_and_any_order_of_arrival_give_the_same_root(
    rows: list[int], unit_bytes: int, max_files: int, chance: object, data: st.DataObject
) -> None:
    files = listing([8 * n for n in rows])
    units = plan_units(files, rows, unit_bytes=unit_bytes, max_files=max_files, leaf_rows=LEAF_ROWS)
    skipped = data.draw(st.frozensets(st.integers(0, len(rows) - 1), max_size=3))
    work = Spell(tuple(rows), skipped)
    merger = UnitMerger(len(files), record)
    arrival = list(units)
    chance.shuffle(arrival)  # type: ignore[attr-defined]
    for unit in arrival:
        outcome = work(unit)
        merger.push(unit, outcome.state, skipped=bool(outcome.skipped))
    assert merger.result() == expected(rows, skipped)


@given(
    st.lists(st.integers(1, 2000), min_size=1, max_size=12),
    st.lists(st.integers(1, 2000), max_size=6),
    st.tuples(st.integers(1, 40_000), st.integers(1, 40_000)),
    st.integers(0, 40),
    st.randoms(use_true_random=False),
)
def test_another_merger_goes_on_from_what_is_held(
    rows: list[int], more: list[int], unit_bytes: tuple[int, int], n_done: int, chance: object
) -> None:
    """Interrupted after some units, cut anew, and by then perhaps with more files."""
    files = listing([8 * n for n in rows])
    first = UnitMerger(len(files), record)
    cut = {"leaf_rows": LEAF_ROWS, "max_files": 3}
    units = list(plan_units(files, rows, unit_bytes=unit_bytes[0], done=first.merged().done, **cut))
    chance.shuffle(units)  # type: ignore[attr-defined]
    for unit in units[:n_done]:
        first.push(unit, Spell(tuple(rows))(unit).state)
    rows = rows + more
    files = listing([8 * n for n in rows])
    second = UnitMerger(len(files), record)
    second.add(first.merged())
    units = list(plan_units(files, rows, unit_bytes=unit_bytes[1], done=second.merged().done, **cut))
    chance.shuffle(units)  # type: ignore[attr-defined]
    for unit in units:
        second.push(unit, Spell(tuple(rows))(unit).state)
    assert second.result() == expected(rows)
    assert not plan_units(files, rows, done=second.merged().done, **cut)


def test_few_states_are_held_while_units_come_in_order() -> None:
    rows = [1000] * 500
    units = plan_units(listing([8000] * 500), rows, unit_bytes=2000, leaf_rows=LEAF_ROWS)
    work, merger, most = Spell(tuple(rows)), UnitMerger(500, record), 0
    assert len(units) > 1000
    for unit in units:
        merger.push(unit, work(unit).state)
        most = max(most, merger.n_held)
    assert most <= 9 + 4
    assert merger.result() == expected(rows)


def test_missing_units_are_an_error_and_an_empty_listing_has_no_state() -> None:
    assert UnitMerger(0, record).result() is None
    units = plan_units(listing([1] * 4), max_files=1)
    merger = UnitMerger(4, record)
    for unit in units[1:]:
        merger.push(unit, "x")
    with pytest.raises(ValueError, match="not all"):
        merger.result()
