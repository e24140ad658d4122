"""Rows to be sorted on disk, each with its block and the bucket of the block."""

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
"""Takes rows: their columns, the place of each row's block in its bucket, and the bucket."""


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
        Place of the block in its bucket.
    """

    blocks: BlockRange
    bucket: Buckets
    label: Labels


@dataclass(frozen=True)
class SortEach(UsedHere):
    """Finds the block of every row like `KeepEach`, but for all blocks: rows are put into buckets.

    For stored blocks, the window of a unit has the number, in the lake, of the first row of each of its
    files.

    Attributes
    ----------
    keep : KeepEach
    buckets : tuple of BlockBuckets
        Buckets of the blocks of each part.
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
    """Takes rows by their blocks, like `CellRows`; they are counted when they are read again."""

    whole = True

    def __init__(self, buckets: BlockBuckets, put: Put) -> None:
        self._buckets = buckets
        self._put = put

    def add(self, columns: Sequence[Floats], gone: Bools | None, cells: Ints) -> None:
        """Add the rows that count."""
        ours = cells != NOT_OURS
        if gone is not None:
            ours &= ~gone
        if not ours.all():
            rows = np.flatnonzero(ours)
            columns, cells = [x[rows] for x in columns], cells[rows]
        if cells.size:
            self._put(columns, self._buckets.label[cells], self._buckets.bucket[cells])
