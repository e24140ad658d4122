"""Sums of |x - y| over all pairs by sorting: each gap between neighbours counts once per pair straddling it.

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

    The first is the same, bit for bit, with and without row sums; those need an argsort instead of a sort.
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
        found = np.empty(x.size)
        found[order] = _distances(ordered, masses)
    return total, found


def _total(ordered: Floats, masses: Floats | None) -> float:
    """Sum over all pairs, gap by gap; a piece at a time, because pieces stay in the cache."""
    n, sums = ordered.size, []
    weighted = None if masses is None else _beside(masses)
    for start in range(0, n - 1, _PIECE):
        gaps = np.diff(ordered[start : start + _PIECE + 1])
        if weighted is None:
            below = np.arange(start + 1.0, start + 1.0 + gaps.size)
            gaps *= below * (n - below)
        else:
            gaps *= weighted[0][start : start + _PIECE] * weighted[1][start : start + _PIECE]
        sums.append(add_up(gaps))
    return float(add_up(np.array(sums)))


def _beside(weights: Floats) -> tuple[Floats, Floats]:
    """Weight of the rows below and above each gap of sorted rows."""
    return np.cumsum(weights)[:-1], np.cumsum(weights[::-1])[-2::-1]


def _distances(ordered: Floats, other: Floats | None) -> Floats:
    """For each place of an order the sum of its distances to all places, weighted if `other`.

    A gap lengthens the distances to all rows passed so far, from below and from above. The rows are processed
    in pieces, which stay in the cache; sums carry over, so the length of a piece does not change a bit.
    """
    sums = np.zeros(ordered.size)
    _pass(ordered, other, sums)
    _pass(ordered[::-1], None if other is None else other[::-1], sums[::-1])
    return sums


def _pass(ordered: Floats, other: Floats | None, sums: Floats) -> None:
    """Add to each place its distances to the places before it."""
    mass = so_far = 0.0
    for start in range(0, ordered.size - 1, _PIECE):
        stop = min(start + _PIECE, ordered.size - 1)
        gaps = np.abs(np.diff(ordered[start : stop + 1]))
        if other is None:
            gaps *= np.arange(start + 1.0, stop + 1.0)
        else:
            passed = other[start:stop].copy()
            passed[0] += mass
            np.cumsum(passed, out=passed)
            mass = passed[-1]
            gaps = np.where(passed > 0.0, passed * gaps, 0.0)  # without rows even an infinite gap counts 0
        gaps[0] += so_far
        np.cumsum(gaps, out=gaps)
        so_far = gaps[-1]
        sums[start + 1 : stop + 1] += gaps


def rows_between(x: Floats, y: Floats, weights: tuple[Floats, ...] | None) -> tuple[Floats, Floats]:
    """Sums of |x_i - y_j|: over j for each row of x, and over i for each row of y."""
    pooled = np.concatenate([x, y])
    order = np.argsort(pooled) if weights is None else ascending(pooled)
    first = order < x.size
    mass = np.ones(pooled.size) if weights is None else np.concatenate(weights)[order]
    with np.errstate(invalid="ignore", over="ignore"):
        ordered = pooled[order]
        of_first, of_other = (np.where(mine, 0.0, mass) for mine in (first, ~first))
        sums = np.where(first, _distances(ordered, of_first), _distances(ordered, of_other))
    found = np.empty(pooled.size)
    found[order] = sums
    return found[: x.size], found[x.size :]
