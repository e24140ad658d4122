"""Count, mean and centred second moment of blocks: the mergeable state behind every block mean.

Two moments of disjoint rows merge by the formula of Chan, Golub & LeVeque (1983); sums of squares are never
formed, so a large common offset costs no digits. An infinite value ruins its block in a way that does not
depend on the order of merging: the mean is what plain addition gives (``inf``, ``-inf``, or NaN once both
have been met) and the second moment is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

MANY_CELLS = 1 << 14  # merging them takes some ten microseconds


class Moments(NamedTuple):
    """Moments of the rows in each block; the three arrays have one shape. See `block_state.BlockState`."""

    count: Ints  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    mean: Floats
    m2: Floats

    @classmethod
    def empty(cls, *shape: int) -> Moments:
        """Blocks without rows: count, mean and second moment 0."""
        return cls(np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape))

    def each(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Moments:
        """The same change, such as a slice or a reshape, to all three arrays."""
        return Moments(change(self.count), change(self.mean), change(self.m2))

    def at(self, index: Any) -> Moments:
        """The same part of all three arrays."""
        return Moments(self.count[index], self.mean[index], self.m2[index])

    def stacked(self, *others: Moments) -> Moments:
        """These and the others along a new first axis; a view if there are no others."""
        if not others:
            return self.at(None)
        return Moments(*(np.stack(arrays) for arrays in zip(self, *others, strict=True)))

    def joined(self, other: Moments) -> Moments:
        """These and the others along the last axis."""
        return Moments(*(np.concatenate(pair, axis=-1) for pair in zip(self, other, strict=True)))

    def without(self, aside: Bools) -> Moments:
        """The same with some blocks emptied of their rows."""
        return Moments(np.where(aside, 0, self.count), self.mean, self.m2)

    def with_means(self, mean: Floats) -> Moments:
        """The same with other block means."""
        return self._replace(mean=mean)

    def moved(self, distance: float) -> Moments:
        """Those of the same rows, all values being greater by a distance."""
        return self._replace(mean=np.where(self.count > 0, self.mean + distance, self.mean))

    def merge(self, other: Moments, *, compiled: bool = False) -> Moments:
        """`merge` of these and the other ones."""
        return merge(self, other, compiled=compiled)

    def total(self, *, compiled: bool = False) -> Moments:
        """`total` of these."""
        return total(self, compiled=compiled)

    @property
    def mass(self) -> Ints:
        """The rows: each counts once."""
        return self.count

    @property
    def effective(self) -> Floats:
        """The rows: each counts once."""
        return self.count.astype(np.float64)

    @property
    def row_variance(self) -> Floats:
        """S^2 with the divisor n - 1; NaN where a block has one row, or its mean is not finite."""
        size = np.maximum(self.count, 2).astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            return np.where((self.count >= 2) & np.isfinite(self.m2), self.m2 / (size - 1.0), np.nan)

    @property
    def nbytes(self) -> int:
        """Bytes of the three arrays."""
        return self.count.nbytes + self.mean.nbytes + self.m2.nbytes


def merge(left: Moments, right: Moments, *, compiled: bool = False) -> Moments:
    """Moments of the union of two disjoint sets of rows, block by block.

    Parameters
    ----------
    left, right : Moments
        Of equal shape. `left` holds the rows that come first; the order fixes the last bit.
    compiled : bool
        Use the compiled twin (same bits).

    Returns
    -------
    Moments
        New arrays; the inputs are left as they are.
    """
    if compiled:
        shape = left.count.shape  # C-contiguous, whatever the inputs: their flat views are filled
        out = Moments(np.empty(shape, np.int64), np.empty(shape), np.empty(shape))
        merge_all = _kernels.merge_few if out.count.size < MANY_CELLS else _kernels.merge_flat
        merge_all(*(a.reshape(-1) for a in (*left, *right, *out)))
        return out
    one = (left.count.astype(np.float64), left.mean, left.m2)
    other = (right.count.astype(np.float64), right.mean, right.m2)
    return Moments(left.count + right.count, *union(*one, *other))


def union(
    mass_left: Floats, left: Floats, q_left: Floats, mass_right: Floats, right: Floats, q_right: Floats
) -> tuple[Floats, Floats]:
    """Mean and centred second moment of two sets of rows together, from those of each and their masses.

    The mass of a row is its factor in both: 1, its weight, or the square of its weight.
    """
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        total = mass_left + mass_right
        total = np.where(total > 0.0, total, 1.0)
        delta = right - left
        mean = left + delta * (mass_right / total)
        q = (q_left + q_right) + delta * delta * (mass_left * mass_right / total)
        strange = ~np.isfinite(delta)
        if strange.any():
            both = np.isfinite(left) & np.isfinite(right)  # the difference alone overflowed
            weighted = left * (mass_left / total) + right * (mass_right / total)
            mean = np.where(strange, np.where(both, weighted, left + right), mean)
            q = np.where(strange, np.where(both, np.inf, np.nan), q)
    mean = np.where(mass_right == 0.0, left, np.where(mass_left == 0.0, right, mean))
    q = np.where(mass_right == 0.0, q_left, np.where(mass_left == 0.0, q_right, q))
    return mean, q


def total(moments: Moments, *, compiled: bool = False) -> Moments:
    """Moments of all blocks along the last axis together.

    Two passes about the first block's mean, so that blocks of one constant give that constant and a second
    moment of exactly 0. Not a merge tree: use it where all blocks are at hand.
    """
    shape = moments.count.shape
    if shape[-1] == 0:
        return Moments.empty(*shape[:-1])
    if compiled:
        out = Moments.empty(*shape[:-1])
        rows = moments.each(lambda a: np.ascontiguousarray(a).reshape(-1, shape[-1]))
        _kernels.total_rows(*rows, *out.each(lambda a: a.reshape(-1)))
        return out
    _, mean, m2 = pooled(moments.count.astype(np.float64), moments.mean, moments.m2)
    return Moments(moments.count.sum(axis=-1), mean, m2)


def pooled(mass: Floats, mean: Floats, q: Floats) -> tuple[Floats, Floats, Floats]:
    """Mass, mean and centred second moment of all blocks along the last axis; for masses see `union`."""
    n = _in_order(mass)
    empty = n == 0.0
    size = np.where(empty, 1.0, n)
    first = np.argmax(mass > 0.0, axis=-1)[..., None]
    centre = np.take_along_axis(mean, first, -1)
    with np.errstate(invalid="ignore", over="ignore"):
        centre = np.where(np.isfinite(centre), centre, 0.0)
        away = mean - centre
        shift = _in_order(np.where(mass > 0.0, mass * away, 0.0)) / size
        rest = away - shift[..., None]
        spread = _in_order(np.where(mass > 0.0, q + mass * rest * rest, 0.0))
        whole = centre[..., 0] + shift
    spread = np.where(np.isfinite(whole), spread, np.nan)
    return n, np.where(empty, 0.0, whole), np.where(empty, 0.0, spread)


def _in_order(terms: Floats) -> Floats:
    """Sum along the last axis, one term after the other."""
    return np.asarray(np.cumsum(terms, axis=-1)[..., -1])
