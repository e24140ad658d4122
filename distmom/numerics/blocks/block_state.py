"""The interface of all states of blocks, with and without weights of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Bools, Floats, Ints

MANY_CELLS = 1 << 14  # merging them takes about ten microseconds


class BlockState:
    """State of each block: a named tuple of arrays of one shape, the first one of whole numbers.

    `mass` are the weights of block means when blocks are merged; `effective` is the number of rows of
    equal weight that would give the mean of the block its variance ``row_variance / effective``.
    """

    __slots__ = ()
    kernels: ClassVar[Any]
    """`merge_few`, `merge_flat` and `total_rows`, compiled."""

    width: ClassVar[int]
    means: ClassVar[tuple[int, ...]]
    """Quantities stored per block, and the positions of means among them, the block's own first."""

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[Any]:
            """The arrays."""
            ...

        @property
        def count(self) -> Ints:
            """Number of rows of the block."""
            ...

        @property
        def mean(self) -> Floats:
            """Mean of the block; 0 without rows."""
            ...

        @property
        def m2(self) -> Floats:
            """Centred second moment, for weighted rows with the masses w^2; NaN if the mean is not finite."""
            ...

    @property
    def mass(self) -> NDArray[Any]:
        """Share of the block in any mean that it is merged into, up to a common factor; 0 without rows."""
        raise NotImplementedError

    @property
    def effective(self) -> Floats:
        """Effective number of rows."""
        raise NotImplementedError

    @property
    def row_variance(self) -> Floats:
        """Variance of one effective row; NaN with fewer than two rows, or with non-finite ones."""
        raise NotImplementedError

    @property
    def squares(self) -> tuple[NDArray[Any], Floats, Floats]:
        """The masses and means that belong to the second moments, and these moments."""
        raise NotImplementedError

    @staticmethod
    def terms(w: Floats, u: Floats) -> tuple[Floats, ...]:
        """The terms to add over the rows of a block: from their weights w, and u = w (x - shift)."""
        raise NotImplementedError

    @classmethod
    def from_sums(cls, count: Ints, sums: Sequence[Floats], shift: float | Floats) -> Self:
        """The state from the number of rows and the sums of their `terms`."""
        raise NotImplementedError

    def _union(self, other: Self) -> Self:
        """NumPy twin of `merge`."""
        raise NotImplementedError

    def _whole(self) -> Self:
        """NumPy twin of `total`."""
        raise NotImplementedError

    @classmethod
    def of(cls, arrays: Iterable[NDArray[Any]]) -> Self:
        """The state made of these arrays."""
        return cls(*arrays)  # the fields of the named tuple

    @classmethod
    def empty(cls, *shape: int) -> Self:
        """Blocks without rows: all numbers are 0."""
        return cls.of([np.zeros(shape, np.int64), *(np.zeros(shape) for _ in range(cls.width - 1))])

    @classmethod
    def unfilled(cls, *shape: int) -> Self:
        """Arrays still to be filled."""
        return cls.of([np.empty(shape, np.int64), *[np.empty(shape) for _ in range(cls.width - 1)]])

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self)

    def each(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Self:
        """Apply the same change, such as a slice or a reshape, to all arrays."""
        return self.of([change(array) for array in self])

    def at(self, index: Any) -> Self:
        """The same part of all arrays."""
        return self.of([array[index] for array in self])

    def stacked(self, *others: Self) -> Self:
        """These and the others along a new first axis; a view if there are no others."""
        if not others:
            return self.at(None)
        return self.of([np.stack(arrays) for arrays in zip(self, *others, strict=True)])

    def joined(self, other: Self) -> Self:
        """These and the other ones along the last axis."""
        return self.of([np.concatenate(pair, axis=-1) for pair in zip(self, other, strict=True)])

    def without(self, aside: Bools) -> Self:
        """The same with some blocks emptied."""
        return self.each(lambda array: np.where(aside, 0, array))

    def with_means(self, mean: Floats) -> Self:
        """The same with other block means."""
        return self.of(mean if i == self.means[0] else array for i, array in enumerate(self))

    def moved(self, distance: float) -> Self:
        """The state of the same rows with all values shifted by `distance`."""
        away = np.where(self.count > 0, distance, 0.0)
        return self.of(array + away if i in self.means else array for i, array in enumerate(self))

    def merge(self, other: Self, *, compiled: bool = False) -> Self:
        """The union of two disjoint sets of rows, block by block, in new arrays; these come first.

        The order fixes the last bit. `compiled` takes the compiled twin (same bits).
        """
        merge = "merge_few" if self.count.size < MANY_CELLS else "merge_flat"
        if not (compiled and self.kernels.ready(merge, self.count.size)):
            return self._union(other)
        out = self.unfilled(*self.count.shape)  # C-contiguous: flat views are filled
        getattr(self.kernels, merge)(self._flat, other._flat, out._flat)
        return out

    @property
    def _flat(self) -> tuple[NDArray[Any], ...]:
        return tuple([array.reshape(-1) for array in self])

    def total(self, *, compiled: bool = False) -> Self:
        """The union of all blocks along the last axis.

        Two passes about the first block's mean: blocks of one constant give that constant and a second moment
        of exactly 0. Not a merge tree: use it if all blocks are available.
        """
        shape = self.count.shape
        if shape[-1] == 0:
            return self.empty(*shape[:-1])
        if not (compiled and self.kernels.ready("total_rows", self.count.size)):
            return self._whole()
        out = self.empty(*shape[:-1])
        rows = self.each(lambda a: np.ascontiguousarray(a).reshape(-1, shape[-1]))
        self.kernels.total_rows(*rows, *out.each(lambda a: a.reshape(-1)))
        return out
