"""Moments of blocks whose rows have weights: the mergeable state behind weighted block means.

A block's value is the ratio m = sum w x / sum w. Its variance, for independent rows, is that of the sum of
w (x - m), hence sum w^2 (x - m)^2 / (sum w)^2 (the linearised variance of a ratio). So two sets of moments
are kept, one with the masses w and one with the masses w^2, each merged by the formula of Chan, Golub &
LeVeque (1983) with masses instead of counts. The second moment with the masses w, which would be cheaper,
is not informative about that variance: it does not depend on how few rows have most of the weight.

Weights are between `SMALLEST` and `LARGEST`, so that no product of their squares leaves the range of float64;
a smaller one counts as 0, and rows of weight 0 do not count. If all weights equal one power of two, every
number here has the bits of its counterpart in ``moments.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from distmom.numerics.arrays import NOTHING, Bools, Floats, Ints
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.moments import pooled, union
from distmom.numerics.twins import compiled_twin

SMALLEST, LARGEST = 2.0**-200, 2.0**200
LEAST_EFFECTIVE = 2.0
"""With fewer than two effective rows, as with one row, the divisor n - 1 of a variance is meaningless."""


class _WeightedMomentArrays(NamedTuple):
    count: Ints  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    weight: Floats
    mean: Floats
    weight2: Floats
    mean2: Floats
    m2: Floats


class WeightedMoments(_WeightedMomentArrays, BlockState):
    """Moments of the rows of positive weight in each block; all arrays have one shape.

    Attributes
    ----------
    count : ndarray of int64
        Rows of positive weight.
    weight, mean : ndarray of float64
        Sum of w, and the block's value sum w x / sum w; 0 if there are no rows.
    weight2, mean2, m2 : ndarray of float64
        Sum of w^2, sum w^2 x / sum w^2, and sum w^2 (x - mean2)^2.
    """

    __slots__ = ()
    kernels: ClassVar[Any] = compiled_twin(__name__)
    width, means = 6, (2, 4)

    def _union(self, other: WeightedMoments) -> WeightedMoments:
        nothing = np.zeros(self.count.shape)
        mean, _ = union(self.weight, self.mean, nothing, other.weight, other.mean, nothing)
        mean2, m2 = union(self.weight2, self.mean2, self.m2, other.weight2, other.mean2, other.m2)
        return WeightedMoments(
            self.count + other.count,
            self.weight + other.weight,
            mean,
            self.weight2 + other.weight2,
            mean2,
            m2,
        )

    def _whole(self) -> WeightedMoments:
        weight, mean, _ = pooled(self.weight, self.mean, np.zeros(self.count.shape))
        return WeightedMoments(
            self.count.sum(axis=-1), weight, mean, *pooled(self.weight2, self.mean2, self.m2)
        )

    @property
    def mass(self) -> Floats:
        """The sum of the weights."""
        return self.weight

    @property
    def effective(self) -> Floats:
        """(sum w)^2 / sum w^2, the number of rows of equal weight with the same variance of the mean."""
        with np.errstate(invalid="ignore", divide="ignore"):
            rows = self.weight * (self.weight / self.weight2)
        return np.where(self.count > 0, np.clip(rows, 1.0, self.count), 0.0)

    @property
    def row_variance(self) -> Floats:
        """Sum w^2 (x - mean)^2 / sum w^2, times n/(n - 1) with the effective number n of rows.

        Divided by n it is the linearised variance of the block's value. For fixed weights and rows of equal
        variance its expectation is at most that variance, and closer to it than with the number of rows as
        divisor.
        """
        n = self.effective
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            squares = self.m2 + self.weight2 * np.square(self.mean2 - self.mean)
            found = squares / (np.maximum(n, LEAST_EFFECTIVE) - 1.0) * (n / self.weight2)
        return np.where((self.count >= 2) & np.isfinite(found), found, np.nan)

    @property
    def squares(self) -> tuple[Floats, Floats, Floats]:
        """The moments with the masses w^2."""
        return self.weight2, self.mean2, self.m2

    @staticmethod
    def terms(w: Floats, u: Floats) -> tuple[Floats, ...]:
        """w, w d, w^2, w^2 d and w^2 d^2, with d = x - shift."""
        return w, u, w * w, w * u, u * u

    @classmethod
    def from_sums(cls, count: Ints, sums: Sequence[Floats], shift: float | Floats) -> WeightedMoments:
        """Moments from the sums of the `terms`."""
        weight, s1, weight2, s2, s22 = sums
        empty = count == 0
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            mean = s1 / weight + shift
            away = s2 / weight2
            m2 = s22 - s2 * away
            m2[m2 < 0.0] = 0.0
            mean2 = away + shift
        m2[~np.isfinite(mean2)] = np.nan
        for array in (mean, mean2, m2):
            array[empty] = 0.0
        return cls(count.astype(np.int64, copy=False), weight, mean, weight2, mean2, m2)


def plain_rows(w: Floats, rest: Floats = NOTHING) -> Bools | None:
    """Rows whose weight is between `SMALLEST` and `LARGEST`; None if that is every row."""
    # where one is NaN, so are both extremes, which are then within no bounds
    if all(part.min() >= SMALLEST and part.max() <= LARGEST for part in (w, rest) if part.size):
        return None
    plain = np.empty(w.size + rest.size, np.bool_)
    for part, mine in ((w, plain[: w.size]), (rest, plain[w.size :])):
        np.logical_and(part >= SMALLEST, part <= LARGEST, out=mine)
    return plain
