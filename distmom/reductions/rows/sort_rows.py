"""Rows on their way to disk: with the number of their block, and of the bucket that the block is in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.pairs.regroup import NOT_OURS
from distmom.reductions.rows.keep_rows import BlockRange, EachKeeper, KeepEach, RowKeeper, UsedHere

Labels = NDArray[np.uint16] | NDArray[np.int32]
Buckets = NDArray[np.uint16]

Put = Callable[[Sequence[Floats], Labels, Buckets], None]
"""Takes rows: their columns, the place of the block of each row among those of its bucket, and the bucket."""


@dataclass(frozen=True)
class BlockBuckets:
    """The buckets of the blocks of one set.

    Attributes
    ----------
    blocks : BlockRange
        All blocks of the set.
    bucket : ndarray of uint16, shape (n_blocks,)
        Of each block.
    label : ndarray of uint16 or int32, shape (n_blocks,)
        Place of the block among those of its bucket.
    """

    blocks: BlockRange
    bucket: Buckets
    label: Labels


@dataclass(frozen=True)
class SortEach(UsedHere):
    """As `KeepEach` finds the block of every row, but for all blocks: rows are put into buckets.

    The window of a unit has, of stored blocks, the number in the lake of the first row of each of its files.

    Attributes
    ----------
    keep : KeepEach
    buckets : tuple of BlockBuckets
        Of the blocks of each of its parts.
    put : callable
        Takes the rows.
    """

    keep: KeepEach
    buckets: tuple[BlockBuckets, ...]
    put: Put

    def begin(self, n_files: int, window: Any = None) -> EachKeeper:
        """An accumulator for a unit."""
        keepers = [
            RowKeeper(part, replace(mine.blocks, first_rows=window), _Sorter(mine, self.put))
            for part, mine in zip(self.keep.parts, self.buckets, strict=True)
        ]
        return EachKeeper(self.keep, keepers)


class _Sorter:
    """Takes rows by their blocks, as `CellRows` does; whoever reads them again counts them."""

    whole = True

    def __init__(self, buckets: BlockBuckets, put: Put) -> None:
        self._buckets = buckets
        self._put = put

    def add(self, columns: Sequence[Floats], gone: Bools | None, cells: Ints) -> None:
        """Put rows that count."""
        ours = cells != NOT_OURS
        if gone is not None:
            ours &= ~gone
        if not ours.all():
            rows = np.flatnonzero(ours)
            columns, cells = [x[rows] for x in columns], cells[rows]
        if cells.size:
            self._put(columns, self._buckets.label[cells], self._buckets.bucket[cells])
