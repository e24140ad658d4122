"""Cells of which those with rows are held: the bits of all cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from distmom.numerics.blocks import sparse_cells
from distmom.numerics.blocks.cells import Cells
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.blocks.sparse_cells import CellTable, SparseCells
from distmom.numerics.samples import sparse_sample
from distmom.numerics.samples.group_sample import GroupSampler
from distmom.numerics.samples.sparse_sample import SparseSampler

GROUPS, BLOCKS, OTHERS = 40, 7, 3


def rows(seed: int, n: int = 400) -> tuple[Any, ...]:
    g = np.random.default_rng(seed)
    x = g.normal(size=n) * 10.0 ** g.integers(-3, 6, n)
    x[g.integers(0, n, 4)] = [np.inf, np.nan, -np.inf, np.inf]
    codes = np.where(g.random(n) < 0.5, g.integers(0, 4, n), g.integers(0, GROUPS, n))
    return x, g.random(n) < 0.1, codes, codes * BLOCKS + g.integers(0, BLOCKS, n), g.uniform(0.1, 2.0, n)


def same(a: Any, b: Any) -> bool:
    return all(p.tobytes() == q.tobytes() for p, q in zip(a, b, strict=True))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("once", [BLOCKS, 0])
def test_leaves_and_their_merges_have_the_bits_of_all_cells(
    compiled: bool, weighted: bool, once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparse_cells, "ROWS_TOGETHER", 150)
    monkeypatch.setattr(sparse_cells, "GROUPS_TOGETHER", 9)
    how = {"weighted": weighted, "compiled": compiled}
    dense, sparse = Cells(**how), SparseCells((OTHERS * BLOCKS, (OTHERS + 1) * BLOCKS), **how)
    width = BLOCKS + (once > 0)
    leaves = []
    for leaf in range(3):
        dense.grow(GROUPS * BLOCKS)
        for part in range(3):
            x, gone, codes, cells, w = rows(10 * leaf + part)
            w = w if weighted else None
            dense.add(x, gone | (codes == OTHERS), cells, w)
            sparse.add(x, gone, cells, w)
        left, right = dense.unload(GROUPS, BLOCKS, once), sparse.take(BLOCKS, once)
        assert right.ids.size == np.count_nonzero(left.count) and np.all(np.diff(right.ids) > 0)
        assert same(left, right.dense(GROUPS, width))
        leaves.append((left, right))
    (a, p), (b, q), _ = leaves
    assert same(a.merge(b, compiled=compiled), p.merge(q, compiled=compiled).dense(GROUPS, width))


@pytest.mark.parametrize("compiled", [False, True])
def test_groups_are_renumbered_left_out_and_cut(compiled: bool) -> None:
    cells = SparseCells((0, 0), compiled=compiled)
    x, gone, _, ids, _ = rows(1)
    cells.add(x, gone, ids)
    table = cells.take(BLOCKS, 0)
    whole = table.dense(GROUPS, BLOCKS)
    where = np.random.default_rng(2).permutation(GROUPS)
    where[5] = -1
    moved = table.renumbered(where, BLOCKS, compiled=compiled).dense(GROUPS, BLOCKS)
    assert table.renumbered(np.arange(GROUPS), BLOCKS, compiled=compiled) is table
    few = np.where(where % 9 == 0, where // 9, -1)
    slow, fast = (table.renumbered(few, BLOCKS, compiled=one) for one in (False, compiled))
    assert np.array_equal(slow.ids, fast.ids) and same(slow.moments, fast.moments)
    none = table.renumbered(np.full(GROUPS, -1), BLOCKS, compiled=compiled)
    assert not none.ids.size and not none.moments.count.size
    for g in range(GROUPS):
        if where[g] >= 0:
            assert same(whole.at(g), moved.at(where[g]))
    assert same(whole.at(slice(10, 20)), table.groups(10, 20, BLOCKS).dense(10, BLOCKS))
    nothing = CellTable(np.empty(0, np.int64), Moments.empty(0))
    assert same(table.merge(nothing, compiled=compiled).dense(GROUPS, BLOCKS), whole)
    assert same(nothing.merge(table, compiled=compiled).dense(GROUPS, BLOCKS), whole)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("together", [300, 10_000])
def test_samples_have_the_rows_of_all_groups(
    compiled: bool, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparse_sample, "ROWS_TOGETHER", together)
    size, bound = 6, np.uint64(1 << 61)
    dense = GroupSampler(size, compiled=False)
    sparse = SparseSampler(size, OTHERS, compiled=compiled)
    for part in range(4):
        x, gone, codes, _, _ = rows(part)
        told = (np.uint64(9), 400 * part, codes, x, gone, GROUPS, bound)
        for a, b in zip(dense.offer(*told), sparse.offer(*told), strict=True):
            assert a.tolist() == b.tolist()
    whole, found = dense.result(GROUPS), sparse.rows()
    mine = np.arange(GROUPS) != OTHERS
    some = found.dense(GROUPS, size)
    assert same((whole.keys[mine], whole.values[mine]), (some.keys[mine], some.values[mine]))
    halves = [
        found.renumbered(np.where(np.arange(GROUPS) % 2 == odd, np.arange(GROUPS), -1)) for odd in (0, 1)
    ]
    assert same(halves[0].merge(halves[1], size, compiled=compiled), found)
    assert same(found.merge(found, size, compiled=compiled), found.merge(found, size))
    assert same(found.of_groups(10, 20).dense(10, size), [a[10:20] for a in some])
