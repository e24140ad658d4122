"""Count, mean and centred second moment of blocks: the mergeable state behind every block mean.

Two moments of disjoint rows merge by the formula of Chan, Golub & LeVeque (1983); sums of squares are never
formed, so a large common offset costs no digits. An infinite value makes its block non-finite in a way that
does not depend on the order of merging: the mean is the result of ordinary addition (``inf``, ``-inf``, or
NaN once both have occurred) and the second moment is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.twins import compiled_twin


class _MomentArrays(NamedTuple):
    count: Ints  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    mean: Floats
    m2: Floats


class Moments(_MomentArrays, BlockState):
    """Moments of the rows in each block; the three arrays have one shape. See `block_state.BlockState`."""

    __slots__ = ()
    kernels: ClassVar[Any] = compiled_twin(__name__)
    width, means = 3, (1,)

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
        """S^2 with the divisor n - 1; NaN if a block has one row, or its mean is not finite."""
        size = np.maximum(self.count, 2).astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            return np.where((self.count >= 2) & np.isfinite(self.m2), self.m2 / (size - 1.0), np.nan)

    @property
    def squares(self) -> tuple[Ints, Floats, Floats]:
        """All three."""
        return self.count, self.mean, self.m2

    @staticmethod
    def terms(w: Floats, u: Floats) -> tuple[Floats, ...]:
        """Differences to the shift and their squares: weights are 1."""
        return u, u * u

    @classmethod
    def from_sums(cls, count: Ints, sums: Sequence[Floats], shift: float | Floats) -> Moments:
        """Moments from sums of ``x - shift`` and of its square."""
        s1, s2 = sums
        n = np.maximum(count, 1).astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            mean = s1 / n
            m2 = s2 - s1 * mean
            m2[m2 < 0.0] = 0.0
            mean += shift
        m2[~np.isfinite(mean)] = np.nan
        empty = count == 0
        mean[empty] = 0.0
        m2[empty] = 0.0
        return cls(count.astype(np.int64, copy=False), mean, m2)

    def _union(self, other: Moments) -> Moments:
        one = (self.count.astype(np.float64), self.mean, self.m2)
        another = (other.count.astype(np.float64), other.mean, other.m2)
        return Moments(self.count + other.count, *union(*one, *another))

    def _whole(self) -> Moments:
        _, mean, m2 = pooled(self.count.astype(np.float64), self.mean, self.m2)
        return Moments(self.count.sum(axis=-1), mean, m2)


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
