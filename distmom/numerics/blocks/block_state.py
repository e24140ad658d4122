"""What every state of blocks offers, whether their rows have weights or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, Self

from numpy.typing import NDArray

from distmom.numerics.arrays import Bools, Floats, Ints


class BlockState(Protocol):
    """What is known of each block: a named tuple of arrays of one shape, weighted or not.

    `mass` is what block means are weighted with when blocks are merged; `effective` the number of rows of
    equal weight that would give the mean of the block its variance ``row_variance / effective``.
    """

    def __iter__(self) -> Iterator[Any]:
        """The arrays."""
        ...

    @property
    def count(self) -> Ints:
        """Rows that carry the block."""
        ...

    @property
    def mean(self) -> Floats:
        """Mean of the block; 0 without rows."""
        ...

    @property
    def m2(self) -> Floats:
        """Centred second moment, with weights that of the masses w^2; NaN where the mean is not finite."""
        ...

    @property
    def mass(self) -> NDArray[Any]:
        """Share of the block in any mean that it is merged into, up to a common factor; 0 without rows."""
        ...

    @property
    def effective(self) -> Floats:
        """Effective number of rows."""
        ...

    @property
    def row_variance(self) -> Floats:
        """Variance of one effective row, NaN where fewer than two rows, or strange ones, cannot tell."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        ...

    @classmethod
    def empty(cls, *shape: int) -> Self:
        """Blocks without rows."""
        ...

    def each(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Self:
        """The same change, such as a slice or a reshape, to all arrays."""
        ...

    def at(self, index: Any) -> Self:
        """The same part of all arrays."""
        ...

    def stacked(self, *others: Self) -> Self:
        """These and the others along a new first axis."""
        ...

    def joined(self, other: Self) -> Self:
        """These and the other ones along the last axis."""
        ...

    def without(self, aside: Bools) -> Self:
        """The same with some blocks emptied of their rows."""
        ...

    def with_means(self, mean: Floats) -> Self:
        """The same with other block means."""
        ...

    def moved(self, distance: float) -> Self:
        """Those of the same rows, all values being greater by a distance."""
        ...

    def merge(self, other: Self, *, compiled: bool = False) -> Self:
        """The union of two disjoint sets of rows, block by block."""
        ...

    def total(self, *, compiled: bool = False) -> Self:
        """All blocks along the last axis together."""
        ...
