"""Sums of |x - y| over all pairs by sorting: gaps between neighbours, each as often as pairs straddle it.

All terms are non-negative, so nothing cancels, and equal values have gaps of exactly 0: their order matters
for weights only.
"""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.sums import add_up, ascending

_PIECE = 1 << 15


def sums_within(x: Floats, weights: Floats | None, *, rows: bool) -> tuple[float, Floats | None]:
    """Sum of |x_i - x_j| over all i < j, and for each row over all other rows (None without `rows`).

    The first is the same, bit for bit, with and without row sums; those take an argsort instead of a sort.
    """
    if not rows and weights is None:
        order, ordered = None, np.sort(x)
    else:
        order = np.argsort(x) if weights is None else ascending(x)
        ordered = x[order]
    masses = None if weights is None else weights[order]
    with np.errstate(invalid="ignore", over="ignore"):
        total = _total(ordered, masses)
        if not rows or order is None:
            return total, None
        gaps = np.diff(ordered)
        below, above = _beside(masses, x.size)
        sums = np.zeros(x.size)
        sums[1:] = _spans(below, gaps)
        sums[:-1] += _spans(above[::-1], gaps[::-1])[::-1]
    found = np.empty(x.size)
    found[order] = sums
    return total, found


def _total(ordered: Floats, masses: Floats | None) -> float:
    """Sum over all pairs, gap by gap; a piece at a time, for pieces stay in the cache."""
    n, sums = ordered.size, []
    weighted = None if masses is None else _beside(masses, n)
    for start in range(0, n - 1, _PIECE):
        gaps = np.diff(ordered[start : start + _PIECE + 1])
        if weighted is None:
            below = np.arange(start + 1.0, start + 1.0 + gaps.size)
            gaps *= below * (n - below)
        else:
            gaps *= weighted[0][start : start + _PIECE] * weighted[1][start : start + _PIECE]
        sums.append(add_up(gaps))
    return float(add_up(np.array(sums)))


def _beside(weights: Floats | None, n: int) -> tuple[Floats, Floats]:
    """Weight of the rows below and above each gap of n sorted rows."""
    if weights is None:
        below = np.arange(1.0, n)
        return below, n - below
    return np.cumsum(weights)[:-1], np.cumsum(weights[::-1])[-2::-1]


def _spans(passed: Floats, gaps: Floats) -> Floats:
    """Sums of distances to the rows passed so far, after each gap: it lengthens all of them."""
    return np.cumsum(
        np.where(passed > 0.0, passed * gaps, 0.0)
    )  # without rows passed also an infinite gap is 0


def rows_between(x: Floats, y: Floats, weights: tuple[Floats, ...] | None) -> tuple[Floats, Floats]:
    """Sums of |x_i - y_j|: over j for each row of x, and over i for each row of y."""
    pooled = np.concatenate([x, y])
    order = np.argsort(pooled) if weights is None else ascending(pooled)
    first = order < x.size
    mass = np.ones(pooled.size) if weights is None else np.concatenate(weights)[order]
    with np.errstate(invalid="ignore", over="ignore"):
        gaps = np.diff(pooled[order])
        sums = np.where(
            first, _across(gaps, np.where(first, 0.0, mass)), _across(gaps, np.where(first, mass, 0.0))
        )
    found = np.empty(pooled.size)
    found[order] = sums
    return found[: x.size], found[x.size :]


def _across(gaps: Floats, other: Floats) -> Floats:
    """Sum of the distances from each place of the pooled order to the places of the other sample."""
    below, above = _beside(other, other.size)
    sums = np.zeros(other.size)
    sums[1:] = _spans(below, gaps)
    sums[:-1] += _spans(above[::-1], gaps[::-1])[::-1]
    return sums
