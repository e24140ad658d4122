"""Count, mean and centred second moment of blocks: the mergeable state behind every block mean.

Two moments of disjoint rows merge by the formula of Chan, Golub & LeVeque (1983); sums of squares are never
formed, so a large common offset costs no digits. An infinite value ruins its block in a way that does not
depend on the order of merging: the mean is what plain addition gives (``inf``, ``-inf``, or NaN once both
have been met) and the second moment is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MANY_CELLS = 1 << 14  # merging them takes some ten microseconds


class Moments(NamedTuple):
    """Moments of the rows in each block; the three arrays have one shape."""

    count: NDArray[np.int64]  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    mean: NDArray[np.float64]
    m2: NDArray[np.float64]

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

    @property
    def nbytes(self) -> int:
        """Bytes of the three arrays."""
        return self.count.nbytes + self.mean.nbytes + self.m2.nbytes


@cache
def _kernels() -> Any:
    """The compiled twins, imported on first use."""
    from distmom.numerics import moments_compiled

    return moments_compiled


def stacked(columns: list[Moments]) -> Moments:
    """Moments of equal shape along a new first axis."""
    if len(columns) == 1:
        return columns[0].at(None)
    count, mean, m2 = zip(*columns, strict=True)
    return Moments(np.stack(count), np.stack(mean), np.stack(m2))


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
        merge_all = _kernels().merge_few if out.count.size < MANY_CELLS else _kernels().merge_flat
        merge_all(*(a.reshape(-1) for a in (*left, *right, *out)))
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
        _kernels().total_rows(*rows, *out.each(lambda a: a.reshape(-1)))
        return out
    count, mean, m2 = moments
    n = count.sum(axis=-1)
    size = np.maximum(n, 1).astype(np.float64)
    weight = count.astype(np.float64)
    first = np.argmax(count > 0, axis=-1)[..., None]
    centre = np.take_along_axis(mean, first, -1)
    with np.errstate(invalid="ignore", over="ignore"):
        centre = np.where(np.isfinite(centre), centre, 0.0)
        away = mean - centre
        shift = _in_order(np.where(count > 0, weight * away, 0.0)) / size
        rest = away - shift[..., None]
        spread = _in_order(np.where(count > 0, m2 + weight * rest * rest, 0.0))
        whole = centre[..., 0] + shift
    spread = np.where(np.isfinite(whole), spread, np.nan)
    empty = n == 0
    return Moments(n, np.where(empty, 0.0, whole), np.where(empty, 0.0, spread))


def _in_order(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum along the last axis, one term after the other."""
    return np.asarray(np.cumsum(terms, axis=-1)[..., -1])
