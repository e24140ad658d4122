"""Count, mean and centred second moment of blocks: the mergeable state behind every block mean.

Two moments of disjoint rows merge by the formula of Chan, Golub & LeVeque (1983); sums of squares are never
formed, so a large common offset costs no digits. An infinite value ruins its block in a way that does not
depend on the order of merging: the mean is what plain addition gives (``inf``, ``-inf``, or NaN once both
have been met) and the second moment is NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Moments(NamedTuple):
    """Moments of the rows in each block; the three arrays have one shape."""

    count: NDArray[np.int64]
    mean: NDArray[np.float64]
    m2: NDArray[np.float64]

    @classmethod
    def empty(cls, *shape: int) -> Moments:
        """Blocks without rows: count, mean and second moment 0."""
        return cls(np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape))

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
        from distmom.numerics.moments_compiled import merge_flat

        out = Moments(np.empty_like(left.count), np.empty_like(left.mean), np.empty_like(left.m2))
        merge_flat(*(a.reshape(-1) for a in (*left, *right, *out)))
        return out
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        count = left.count + right.count
        total = np.maximum(count, 1).astype(np.float64)
        n_left, n_right = left.count.astype(np.float64), right.count.astype(np.float64)
        delta = right.mean - left.mean
        mean = left.mean + delta * (n_right / total)
        m2 = (left.m2 + right.m2) + delta * delta * (n_left * n_right / total)
        strange = ~np.isfinite(delta)
        if strange.any():
            both = np.isfinite(left.mean) & np.isfinite(right.mean)  # the difference alone overflowed
            weighted = left.mean * (n_left / total) + right.mean * (n_right / total)
            mean = np.where(strange, np.where(both, weighted, left.mean + right.mean), mean)
            m2 = np.where(strange, np.where(both, np.inf, np.nan), m2)
    mean = np.where(right.count == 0, left.mean, np.where(left.count == 0, right.mean, mean))
    m2 = np.where(right.count == 0, left.m2, np.where(left.count == 0, right.m2, m2))
    return Moments(count, mean, m2)


def total(moments: Moments) -> Moments:
    """Moments of all blocks along the last axis together.

    Two passes about the first block's mean, so that blocks of one constant give that constant and a second
    moment of exactly 0. Not a merge tree: use it where all blocks are at hand.
    """
    count, mean, m2 = moments
    n = count.sum(axis=-1)
    size = np.maximum(n, 1).astype(np.float64)
    weight = count.astype(np.float64)
    first = np.argmax(count > 0, axis=-1)[..., None] if count.shape[-1] else np.zeros((*n.shape, 1), np.int64)
    centre = np.take_along_axis(mean, first, -1) if count.shape[-1] else np.zeros((*n.shape, 1))
    with np.errstate(invalid="ignore", over="ignore"):
        centre = np.where(np.isfinite(centre), centre, 0.0)
        away = np.where(count > 0, mean - centre, 0.0)
        shift = (weight * away).sum(axis=-1) / size
        rest = away - shift[..., None]
        spread = m2.sum(axis=-1) + (weight * rest * rest).sum(axis=-1)
        whole = centre[..., 0] + shift
    spread = np.where(np.isfinite(whole), spread, np.nan)
    empty = n == 0
    return Moments(n, np.where(empty, 0.0, whole), np.where(empty, 0.0, spread))
