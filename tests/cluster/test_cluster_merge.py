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
