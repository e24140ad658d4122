"""Which fine blocks make the blocks whose U-statistics are taken, in every group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distmom.inference.ladder import Merger, most_frequent
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.blocks.moments import Moments
from distmom.reductions.state import MeanState
from distmom.theory import ladder_levels

LEAST_ROWS = 64
"""Rows of the blocks that the automatic rule is told about: the statistic of few rows is too skewed."""

LEAST_BLOCKS = 5
"""With fewer blocks there is nothing to test: one block, and the plain statistic."""


@dataclass(frozen=True)
class CellMap:
    """Blocks of all groups, numbered one group after the other.

    Attributes
    ----------
    n_blocks : ndarray of int64, shape (n_groups,)
        Blocks of each group, empty ones included.
    cells : ndarray of int64, shape (n_groups, n_fine)
        Number of the block that each fine block goes to.
    sizes : ndarray of int64
        Rows of each block.
    lowered : ndarray of bool, shape (n_groups,)
        The number that was given exceeds what the rows of the group can fill.
    """

    n_blocks: Ints
    cells: Ints
    sizes: Ints
    lowered: Bools

    @property
    def starts(self) -> Ints:
        """Number of the first block of each group, and last of all the number of blocks."""
        return np.concatenate([[0], np.cumsum(self.n_blocks)])


def map_blocks(count: Ints, n_blocks: Ints, lowered: Bools) -> CellMap:
    """Merge fine blocks by their used rows, as the levels of the ladder are.

    Parameters
    ----------
    count : ndarray of int64, shape (n_groups, n_fine)
        Used rows of the fine blocks.
    n_blocks : ndarray of int64, shape (n_groups,)
    lowered : ndarray of bool, shape (n_groups,)
    """
    nothing = np.zeros(count.shape)
    inside = Merger(Moments(count, nothing, nothing)).index(n_blocks)
    starts = np.cumsum(n_blocks) - n_blocks
    cells = inside + starts[:, None]
    sizes = np.bincount(cells.ravel(), count.ravel(), minlength=int(n_blocks.sum()))
    return CellMap(n_blocks, cells, sizes.astype(np.int64), lowered)


def given_numbers(n: Ints, wanted: int, degree: int) -> tuple[Ints, Bools]:
    """Blocks of each group where their number is given: as many, or so few that each has a tuple of rows."""
    most = np.maximum(n // degree, 1)
    return np.minimum(wanted, most), (most < wanted) & (n > 0)


def automatic_numbers(count: Ints, n: Floats, state: MeanState, degree: int) -> Ints:
    """Blocks of each group for the automatic rule: the finest level whose blocks have enough rows.

    `n` are the rows of each group; weighted ones count as so many of equal weight.

    Those are 64 rows (or ten times the degree), and 5/(1 - q) where the share q of the rows has one value: a
    block of this value alone would look constant. One block where that leaves fewer than five.
    """
    levels = np.asarray(ladder_levels(count.shape[1]), np.int64)
    n_sample, n_most = _most_frequent(state)
    others = np.maximum(n_sample - n_most, 0)
    k = levels[None, :]
    usable = n[:, None] >= max(LEAST_ROWS, 10 * degree) * k
    usable &= (n_sample[:, None] == 0) | (n[:, None] * others[:, None] >= 5 * n_sample[:, None] * k)
    usable &= (k <= np.count_nonzero(count, axis=1)[:, None]) & (k >= LEAST_BLOCKS)
    return np.asarray(np.where(usable, k, 1).max(axis=1))


def _most_frequent(state: MeanState) -> tuple[Ints, Ints]:
    """Rows in the sample of each group, and how many of them have the most frequent value of a column.

    Of the columns that vary the one with the most frequent value counts; one that never varies limits nobody.
    """
    n_groups = len(state.keys)
    size, most = np.zeros(n_groups, np.int64), np.zeros(n_groups, np.int64)
    for sample in state.samples:
        size = np.isfinite(sample.keys).sum(axis=1)
        mine = most_frequent(sample.values, size)
        most = np.maximum(most, np.where(mine < size, mine, 0))
    return size, most
