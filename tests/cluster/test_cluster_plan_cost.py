"""What a plan says of its merges and of its bytes, beside what a run does."""

from __future__ import annotations

import pickle

import pytest
from fake_work import listing as listed
from hypothesis import given
from hypothesis import strategies as st

from distmom.cluster import merge_depth, plan_units, scheduler_bytes
from distmom.cluster.plan import SAMPLED
from distmom.lake import FileRef


@given(st.lists(st.integers(1, 400), min_size=1, max_size=60), st.booleans())
def test_depth_is_that_of_the_merges(sizes: list[int], counted: bool) -> None:
    """The twin: the depths of states as the dyadic rule merges them."""
    listing = listed(sizes)
    rows = [10 * size for size in sizes] if counted else None
    units = plan_units(listing, rows, unit_bytes=100, max_files=8, leaf_rows=100)
    whole: list[tuple[int, int, int]] = []
    for number in {unit.index for unit in units if unit.rows is not None}:
        parts = [unit for unit in units if unit.rows is not None and unit.index == number]
        whole.append((0, number, _height([(u.leaf_level, u.leaf_index, 0) for u in parts])))
    whole += [(unit.level, unit.index, 0) for unit in units if unit.rows is None]
    assert _height(sorted(whole, key=lambda node: node[1] << node[0])) <= merge_depth(units, len(sizes))
    if len(sizes) == 1 << (len(sizes) - 1).bit_length() and not counted:
        assert _height(whole) == merge_depth(units, len(sizes))  # a full tree


def _height(nodes: list[tuple[int, int, int]]) -> int:
    """Of the tree over aligned nodes (level, index, height of their own)."""
    held = {(level, index): height for level, index, height in nodes}
    while len(held) > 1:
        level, index = min(held)
        height = held.pop((level, index))
        buddy = held.pop((level, index ^ 1), None)
        up = height if buddy is None else max(height, buddy) + 1
        held[level + 1, index >> 1] = up
    return next(iter(held.values()))


def test_bytes_of_long_plans_are_estimated() -> None:
    day = [(f"2024-01-{i % 28 + 1:02}",) for i in range(40_000)]
    listing = [FileRef(f"day={d[0]}/{i:06}.parquet", 10**7 + i, 10**18 + i, d) for i, d in enumerate(day)]
    units = plan_units(listing, unit_bytes=10**8)
    assert len(units) > 4 * SAMPLED
    exact = sum(len(pickle.dumps(unit, pickle.HIGHEST_PROTOCOL)) for unit in units)
    assert scheduler_bytes(units) == pytest.approx(exact, rel=0.01)
    assert scheduler_bytes(units) < 300 * len(listing)
    assert scheduler_bytes(units[:9]) == sum(len(pickle.dumps(u, pickle.HIGHEST_PROTOCOL)) for u in units[:9])
    assert (scheduler_bytes(()), merge_depth((), 0)) == (0, 0)
