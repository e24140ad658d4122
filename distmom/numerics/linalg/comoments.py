"""Counts, means and co-moments of blocks of rows: the mergeable state behind every covariance.

Two states of disjoint rows merge by the formula of Chan, Golub & LeVeque (1983). Products are of differences
from the block's own mean, so neither an offset nor another block's outlying rows cost any digits.
A block with an infinite value has a co-moment of NaN: it is non-finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.blocks.leaf import middle_value
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)


class Comoments(NamedTuple):
    """Co-moments of blocks in an array of any shape, for rows of c columns.

    Attributes
    ----------
    rows : ndarray of int64, shape (...)
    mean : ndarray, shape (..., c)
    product : ndarray, shape (..., c, c)
        Sums of the products of differences from the mean.
    """

    rows: Ints
    mean: Floats
    product: Floats

    def reshape(self, *shape: int) -> Comoments:
        """The same blocks in an array of another shape."""
        c = self.mean.shape[-1]
        return Comoments(
            self.rows.reshape(shape), self.mean.reshape(*shape, c), self.product.reshape(*shape, c, c)
        )

    def at(self, groups: Ints) -> Comoments:
        """Some lines of the first axis, in any order."""
        return Comoments(self.rows[groups], self.mean[groups], self.product[groups])

    def spread(self, n_groups: int, places: Ints) -> Comoments:
        """More lines of the first axis: these at the `places`, the others empty."""
        out = Comoments(*(np.zeros((n_groups, *a.shape[1:]), a.dtype) for a in self))
        for target, source in zip(out, self, strict=True):
            target[places] = source
        return out

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(a.nbytes for a in self)

    def merge(self, other: Comoments) -> Comoments:
        """Co-moments of the rows of both, block by block; these come first."""
        with np.errstate(invalid="ignore", over="ignore"):
            n = np.maximum(self.rows + other.rows, 1).astype(np.float64)
            delta = other.mean - self.mean
            share = (other.rows / n)[..., None]
            both = (self.rows * (other.rows / n))[..., None, None]
            outer = delta[..., :, None] * delta[..., None, :]
            mean = self.mean + delta * share
            product = (self.product + other.product) + outer * both
        some, more = self.rows > 0, other.rows > 0
        mean = np.where(more[..., None], np.where(some[..., None], mean, other.mean), self.mean)
        mine, theirs = some[..., None, None], more[..., None, None]
        product = np.where(theirs, np.where(mine, product, other.product), self.product)
        return Comoments(self.rows + other.rows, mean, product)

    def pooled(self, cells: Ints, n_cells: int) -> Comoments:
        """Co-moments of larger blocks: block i of the first axis goes to ``cells[i]``, in two passes."""
        c = self.mean.shape[-1]
        rows = np.zeros(n_cells, np.int64)
        np.add.at(rows, cells, self.rows)
        some = np.flatnonzero(self.rows > 0)
        mine, weight = cells[some], self.rows[some].astype(np.float64)
        centre, shift = np.zeros((n_cells, c)), np.zeros((n_cells, c))
        centre[mine[::-1]] = self.mean[some[::-1]]  # the first block with rows
        n = np.maximum(rows, 1)[:, None]
        product = np.zeros((n_cells, c, c))
        with np.errstate(invalid="ignore", over="ignore"):
            np.add.at(shift, mine, weight[:, None] * (self.mean[some] - centre[mine]))
            mean = centre + shift / n
            d = self.mean[some] - mean[mine]
            about = self.product[some] + weight[:, None, None] * (d[:, :, None] * d[:, None, :])
            np.add.at(product, mine, about)
        return Comoments(rows, mean, product)


def leaf_comoments(
    columns: Sequence[Floats],
    gone: Bools | None,
    cells: Ints,
    n_cells: int,
    *,
    rest: Sequence[Floats] = (),
    compiled: bool = False,
) -> Comoments:
    """Co-moments of the rows of one leaf in each cell.

    Parameters
    ----------
    columns : sequence of ndarray of float64, shape (n,)
        Values; arbitrary where `gone`.
    gone : ndarray of bool, shape (n + size of the rest,), or None
        Rows that do not count.
    cells : ndarray of int64, shape (n + size of the rest,)
    n_cells : int
    rest : sequence of ndarray of float64
        Further values of the leaf, so that two batches need not be copied together.
    compiled : bool
        Use the compiled twin (same bits).
    """
    rows, size = np.empty((cells.size, len(columns))), columns[0].size
    for a, x in enumerate(columns):
        rows[:size, a] = x
    for a, x in enumerate(rest):
        rows[size:, a] = x
    shift = np.array([middle_value(x, gone) for x in rows.T])
    shift = np.where(np.isfinite(shift), shift, 0.0)
    if gone is not None:
        rows, cells = rows[~gone], cells[~gone]
    count = np.bincount(cells, minlength=n_cells).astype(np.int64)
    n, c = np.maximum(count, 1).astype(np.float64)[:, None], len(columns)
    first, left = np.zeros((n_cells, c)), np.zeros((n_cells, c))
    product = np.zeros((n_cells, c, c))
    with np.errstate(invalid="ignore", over="ignore"):
        if compiled:
            _kernels.add_rows(rows, cells, shift, first)
            mean = np.where(count[:, None] > 0, shift + first / n, 0.0)
            _kernels.add_products(rows, cells, mean, left, product)
        else:
            for a in range(c):
                first[:, a] = np.bincount(cells, rows[:, a] - shift[a], n_cells)
            mean = np.where(count[:, None] > 0, shift + first / n, 0.0)
            d = rows - mean[cells]
            for a in range(c):
                left[:, a] = np.bincount(cells, d[:, a], n_cells)
                for b in range(a, c):
                    product[:, a, b] = np.bincount(cells, d[:, a] * d[:, b], n_cells)
        for a in range(c):  # the mean was rounded: correct for the remainder
            product[:, a, a:] -= left[:, a, None] * left[:, a:] / n
            product[:, a:, a] = product[:, a, a:]
    return Comoments(count, mean, product)
