"""Which fine blocks make the blocks whose U-statistics are taken, in every group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distmom.inference.ladder import Merger
from distmom.numerics.arrays import Bools, Ints
from distmom.numerics.blocks.moments import Moments
from distmom.reductions.rows.keep_rows import BlockRange


@dataclass(frozen=True)
class CellMap:
    """Blocks of all groups, numbered one group after the other."""

    n_blocks: Ints  # (n_groups,): blocks of each group, empty ones included
    cells: Ints  # (n_groups, n_fine): number of the block that each fine block goes to
    sizes: Ints  # rows of each block
    lowered: Bools  # (n_groups,): the number that was given exceeds what the rows of the group can fill

    @property
    def starts(self) -> Ints:
        """Number of the first block of each group, and last of all the number of blocks."""
        return np.concatenate([[0], np.cumsum(self.n_blocks)])

    def kept(self, first: int = 0, stop: int | None = None) -> BlockRange:
        """What a unit of work that keeps the blocks first … stop - 1, or all, needs to know."""
        stop = self.sizes.size if stop is None else stop
        low = int(np.searchsorted(self.starts, first, side="right")) - 1
        high = int(np.searchsorted(self.starts, stop, side="left"))
        mine = self.cells[low:high] - first
        inside = (mine >= 0) & (mine < stop - first)
        return BlockRange(
            low, np.where(inside, mine, -1).astype(np.int32), self.sizes[first:stop], first_cell=first
        )


def map_blocks(count: Ints, n_blocks: Ints, lowered: Bools) -> CellMap:
    """Merge fine blocks by their used rows, of shape (n_groups, n_fine), as the levels of the ladder are."""
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
