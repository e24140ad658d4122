"""Losses of many candidates on whole blocks whose rows are together, one block after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from distmom.numerics.arrays import Floats, Ints


class RowsOfBlocks(Protocol):
    """Rows of some blocks."""

    @property
    def n_cells(self) -> int:
        """Number of blocks."""
        ...

    def rows(self, cell: int, /) -> Floats:
        """Rows of a block, shape (n, columns)."""
        ...


@dataclass(frozen=True)
class BlockLossTable:
    """What is left of B blocks; m candidates, p asked pairs of candidates.

    Attributes
    ----------
    sizes : ndarray of int64, shape (B,)
        Rows.
    losses : ndarray of float64, shape (B, m)
        Means over the pairs of a block; NaN where a block has none.
    roots : ndarray of float64, shape (B, m)
        Those of the roots; NaN where they were not wanted.
    reach : ndarray of float64, shape (B, m)
        The largest root.
    missing : ndarray of int64, shape (B, m)
        Rows in which a value that the candidate takes is not finite.
    gaps : ndarray of float64, shape (B, p)
        Mean distances of the roots.
    cells : ndarray of int64, shape (B, m)
        Cells of a partition that have rows in the block; 0 of other candidates.
    """

    sizes: Ints
    losses: Floats
    roots: Floats
    reach: Floats
    missing: Ints
    gaps: Floats
    cells: Ints

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(a.nbytes for a in vars(self).values())

    def followed_by(self, other: BlockLossTable) -> BlockLossTable:
        """These blocks and then the other ones."""
        return BlockLossTable(
            *(np.concatenate([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self))
        )


class BlockByBlock(ABC):
    """Evaluates candidates on every block of some rows."""

    def __call__(self, kept: RowsOfBlocks, between: Callable[[], None] = lambda: None) -> BlockLossTable:
        """What is left of the blocks; `between` is called before each and may raise to end the work."""
        found = []
        for cell in range(kept.n_cells):
            between()
            found.append(self.evaluate(kept.rows(cell)))
        return BlockLossTable(*(np.array(each) for each in zip(*found, strict=True)))

    def merge(self, left: BlockLossTable, right: BlockLossTable) -> BlockLossTable:
        """Blocks of both; `left` holds the lower numbers."""
        return left.followed_by(right)

    @abstractmethod
    def evaluate(self, rows: Floats, /) -> tuple[Any, ...]:
        """The fields of a `BlockLossTable` for one block of rows, shape (n, columns)."""
