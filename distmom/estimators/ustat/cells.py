"""The blocks of every partition of the rows counted by a first pass; there is one unless `repeats`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.mean.rule.answers import row_and_cell_blocks
from distmom.estimators.ustat.few_rows import least_rows
from distmom.estimators.ustat.options import UStatOptions
from distmom.inference.ladder import most_frequent
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.blocks.block_state import BlockState
from distmom.passes.counted import CellMap, given_numbers, map_blocks
from distmom.reductions.rows.block_kernel import BlockStatistics
from distmom.reductions.state import MeanState
from distmom.theory.ladder import ladder_levels

LEAST_ROWS = 64
"""Rows of the blocks given to the automatic rule: the statistic of fewer rows is too skewed."""

LEAST_BLOCKS = 5
"""With fewer blocks there is nothing to test: one block, and the statistic of all rows."""

Cells = tuple[CellMap, ...]
"""The blocks of each partition; all partitions have the same number for each group."""


def fine_blocks_of(plan: MeanPlan, state: MeanState) -> list[BlockState]:
    """The fine blocks of each partition, of shape (columns, groups, fine blocks)."""
    layout = plan.blocks.layout
    if layout.repeats == 1:
        return [row_and_cell_blocks(plan, state.moments)[0]]
    width = layout.n_blocks // layout.repeats
    return [state.moments.at((..., slice(r * width, (r + 1) * width))) for r in range(layout.repeats)]


def cells_of(plan: MeanPlan, states: Sequence[MeanState], options: UStatOptions) -> list[Cells]:
    """The blocks of every group, merged from the counted fine blocks, for each sample.

    All samples have the same number of blocks, limited by the smallest sample; so do partitions.
    """
    fine = [[blocks.at(0) for blocks in fine_blocks_of(plan, state)] for state in states]
    wanted, degrees, none = plan.blocks.n_blocks, options.kernel.degrees, np.zeros(len(states[0].keys), bool)
    if wanted is not None:
        rows = [of_sample[0].count.sum(axis=1) for of_sample in fine]
        found = [given_numbers(n, wanted, least_rows(d)) for n, d in zip(rows, degrees, strict=True)]
    else:
        found = [
            (automatic_numbers(one.count, one.total().effective, state, degree), none)
            for of_sample, state, degree in zip(fine, states, degrees, strict=True)
            for one in of_sample
        ]
    numbers, lowered = np.min([k for k, _ in found], axis=0), np.any([low for _, low in found], axis=0)
    return [tuple(map_blocks(one.count, numbers, lowered) for one in of_sample) for of_sample in fine]


def automatic_numbers(count: Ints, n: Floats, state: MeanState, degree: int) -> Ints:
    """Blocks of each group for the automatic rule: the finest level whose blocks have enough rows.

    `n` are the rows of each group; for weighted rows, their effective number.

    Enough are 64 rows (or ten times the degree), and 5/(1 - q) if a share q of the rows has one value: a
    block with this value alone would look constant. Five blocks may have half of these 64 rows; if even that
    is too much, there is one block.
    """
    n_sample, n_most = _most_frequent(state)
    others = np.maximum(n_sample - n_most, 0)[:, None]
    k, usable = _levels(n, count.shape[1], degree)
    usable &= (n_sample[:, None] == 0) | (n[:, None] * others >= 5 * n_sample[:, None] * k)
    usable &= k <= np.count_nonzero(count, axis=1)[:, None]
    return np.asarray(np.where(usable, k, 1).max(axis=1))


def _levels(n: Floats, n_fine: int, degree: int) -> tuple[Ints, Bools]:
    """The levels of the ladder, and those in which the blocks of each group have enough rows.

    If no level qualifies, the lowest level may have half as many rows.
    """
    k, least = np.asarray(ladder_levels(n_fine), np.int64)[None, :], max(LEAST_ROWS, 10 * degree)
    enough = (n[:, None] >= least * k) & (k >= LEAST_BLOCKS)
    few = (n[:, None] >= max(LEAST_ROWS // 2, 10 * degree) * k) & (k == LEAST_BLOCKS)
    return k, enough | few


def expected_cells(
    plans: Sequence[MeanPlan], n_rows: Sequence[int], degrees: tuple[int, ...]
) -> list[CellMap]:
    """The blocks of each sample if its rows are complete, evenly spread over blocks, and in one group."""
    k = plans[0].blocks.n_blocks
    if k is None:
        each = []
        for plan, n, degree in zip(plans, n_rows, degrees, strict=True):
            level, usable = _levels(np.array([float(n)]), plan.blocks.n_fine, degree)
            each.append(int(np.where(usable, level, 1).max()))
        k = min(each)
    else:
        wanted = k
        k = min(
            int(given_numbers(np.array([n]), wanted, least_rows(degree))[0][0])
            for n, degree in zip(n_rows, degrees, strict=True)
        )
    found = []
    for n in n_rows:
        count = np.full((1, k), n // k, np.int64)
        count[0, : n % k] += 1
        found.append(map_blocks(count, np.array([k]), np.zeros(1, np.bool_)))
    return found


def _most_frequent(state: MeanState) -> tuple[Ints, Ints]:
    """Rows in the sample of each group, and how many have the most frequent value of a column.

    Of the columns that vary, the one with the most frequent value counts; constant columns are ignored.
    """
    n_groups = len(state.keys)
    size, most = np.zeros(n_groups, np.int64), np.zeros(n_groups, np.int64)
    for sample in state.samples:
        size = np.isfinite(sample.keys).sum(axis=1)
        mine = most_frequent(sample.values, size)
        most = np.maximum(most, np.where(mine < size, mine, 0))
    return size, most


def plan_of_partition(plan: MeanPlan, number: int) -> MeanPlan:
    """The plan with the layout of one partition, for assigning rows to its blocks."""
    layout = plan.blocks.layout
    if layout.repeats == 1:
        return plan
    return replace(plan, reduction=replace(plan.reduction, layout=layout.partitions[number]))


def joined(partitions: Sequence[BlockStatistics], cells: Cells) -> BlockStatistics:
    """The blocks of all partitions: group by group, and within a group partition by partition."""
    if len(partitions) == 1:
        return partitions[0]
    group = np.repeat(np.arange(cells[0].n_blocks.size), cells[0].n_blocks)
    order = np.argsort(np.tile(group, len(partitions)), kind="stable")
    return reduce(BlockStatistics.followed_by, partitions).take(order)
