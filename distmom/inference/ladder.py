"""Merging fine blocks into the levels of a ladder: by block number and counts of rows, never by values.

One pass over the data fills many fine blocks per group; every coarser partition is then merged from them.
The merge depends only on the numbers and counts of fine blocks, so a coarse partition of exchangeable rows is
as random as the fine one. Its blocks differ by about one fine block, however small the files are and
however many rows a filter or nulls removed.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from distmom.inference.block_sums import CentredSum, Places
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.blocks.weighted_moments import WeightedMoments
from distmom.numerics.median import MAD, lower_median, median_or_nan
from distmom.numerics.own_sums import own_sums

FEW_EFFECTIVE = 0.5
"""If weights leave a smaller share of a group's rows effective, blocks are balanced by effective rows."""

SIXTEENTHS = 16
"""Effective rows are rounded to these, so that positions are computed in integers."""

EXACT_QUOTIENT = 1 << 50
"""Integers a < b K below this bound have the same whole quotient a // b in float64, only faster: the exact
quotient is an integer or at least 1/b away from one, the rounding error at most K 2**-53."""


class Merger:
    """Fine blocks of many groups, ready to be merged to any number of blocks.

    Parameters
    ----------
    blocks : Moments or WeightedMoments
        Fine blocks, shape (n_groups, n_fine), in the order of their numbers; a block without rows has
        count 0.
    width : ndarray of int64, shape (n_groups,), optional
        Number of the group's own blocks if groups have unequal numbers; the others only pad the array. Sums
        skip the padding, so no bit of a group depends on the groups beside it.

    Notes
    -----
    With n rows in the group, fine block i with n_i rows and c_i rows before it goes to the coarse block
    floor(K (c_i + n_i/2) / n), in exact integers; for equal blocks that is i // (n_fine/K). If weights
    leave fewer than half of the rows effective, n_i are the effective rows of the fine blocks, so that blocks
    are balanced by their information. (n is then the sum of n_i, not the effective rows of all rows together:
    a single enormous weight then makes one small block, and does not decide for the others.)
    enormous weight then makes one small block, and does not decide for the others.)

    Means are merged by their masses, the rows or the sums of weights, about one centre per group, the lower
    median of the fine means: an outlying block far away costs no precision, constants stay constants, and a
    power of two as a common factor passes through without rounding. Infinite means propagate as in an
    ordinary sum: infinite, or NaN once both signs have occurred.
    """

    def __init__(self, blocks: BlockState, width: Ints | None = None) -> None:
        self.blocks = blocks
        n_groups, n_fine = blocks.count.shape
        self.width: Ints = np.full(n_groups, n_fine) if width is None else width
        self.weighted = isinstance(blocks, WeightedMoments)
        self.count = blocks.count
        self.filled: Bools = blocks.count > 0
        self.mean: Floats = np.where(self.filled, blocks.mean, np.nan)
        self.n: Ints = blocks.count.sum(axis=1)

    @cached_property
    def n_filled(self) -> Ints:
        """Number of blocks that have rows, per group."""
        return np.asarray(np.count_nonzero(self.filled, axis=1))

    @cached_property
    def effective(self) -> Floats:
        """Effective rows of each block: the rows, unless they have weights."""
        return self.blocks.effective

    @cached_property
    def n_effective(self) -> Ints:
        """Effective rows of all blocks of each group, rounded down."""
        return np.asarray(np.floor(own_sums(self.effective, self.width)).astype(np.int64))

    @cached_property
    def _size(self) -> Ints:
        """The sizes that are balanced when blocks are merged."""
        if not self.weighted:
            return self.count
        few = self.n_effective < FEW_EFFECTIVE * self.n
        sixteenths = np.rint(SIXTEENTHS * self.effective).astype(np.int64)
        return np.where(few[:, None], sixteenths, self.count)

    @cached_property
    def _n_size(self) -> Ints:
        return np.asarray(np.maximum(self._size.sum(axis=1), 1))

    @cached_property
    def constant(self) -> Bools:
        """Groups whose rows all have the same finite value."""
        low = np.min(np.where(self.filled, self.mean, np.inf), axis=1, initial=np.inf)
        high = np.max(np.where(self.filled, self.mean, -np.inf), axis=1, initial=-np.inf)
        still = (~self.filled | (self.blocks.m2 == 0.0)).all(axis=1)
        return np.asarray(still & (low == high) & np.isfinite(low))

    @cached_property
    def _middle(self) -> Ints:
        """Twice the rows before the middle of each fine block."""
        return np.asarray(2 * np.cumsum(self._size, axis=1) - self._size)

    @cached_property
    def _sum(self) -> CentredSum:
        return CentredSum(self.blocks.mass, self.mean, self.filled, self.width)

    def index(self, n_blocks: int | Ints) -> Ints:
        """Coarse block of every fine block, shape (n_groups, n_fine)."""
        return self._index(_of_groups(n_blocks))[:, 0]

    def _index(self, k: Ints) -> Ints:
        """Coarse blocks for K of shape (n_groups or 1, n_levels, 1): shape (n_groups, n_levels, n_fine)."""
        twice = 2 * self._n_size[:, None, None]
        if int(twice.max(initial=1)) * int(k.max(initial=1)) < EXACT_QUOTIENT:
            places = (k.astype(np.float64) * self._middle[:, None, :] / twice).astype(np.int64)
        else:
            places = k * self._middle[:, None, :] // twice
        # empty fine blocks after the last row would point past the last coarse block
        return np.asarray(np.minimum(places, np.maximum(k - 1, 0)))

    def at(self, n_blocks: int | Ints) -> tuple[Ints, Floats]:
        """Rows and means of the blocks of one level, the same for all groups or one per group.

        Parameters
        ----------
        n_blocks : int or ndarray of int64, shape (n_groups,)
            Number of blocks K.

        Returns
        -------
        count : ndarray of int64, shape (n_groups, max K)
        mean : ndarray of float64, shape (n_groups, max K)
            NaN if a block has no rows (and if it is non-finite).
        """
        count, mean = self._at(self._places(_of_groups(n_blocks)))
        return count[:, 0], mean[:, 0]

    def at_levels(self, levels: Ints) -> tuple[Ints, Floats]:
        """As `at` for several levels at once: shape (n_groups, n_levels, max K)."""
        return self._at(self._places(levels.reshape(1, -1, 1)))

    def _at(self, places: Places) -> tuple[Ints, Floats]:
        mass, mean = self._sum.merged(places)
        return (places.sums(self.count) if self.weighted else mass), mean

    def moments_at(self, n_blocks: int | Ints) -> BlockState:
        """As `at`, with the second moments: mean NaN if empty, m2 NaN if the mean is not finite."""
        places = self._places(_of_groups(n_blocks))
        if isinstance(self.blocks, WeightedMoments):
            _, _, _, weight2, mean2, m2 = self.blocks
            mass, mean = self._sum.merged(places)
            squares = CentredSum(weight2, mean2, self.filled, self.width).moments(places, m2)
            return WeightedMoments(places.sums(self.count)[:, 0], mass[:, 0], mean[:, 0], *squares)
        return Moments(*self._sum.moments(places, self.blocks.m2))

    def effective_at(self, n_blocks: int | Ints) -> Floats:
        """Effective rows of the blocks that `at` gives, in the same shape."""
        return self._effective(_of_groups(n_blocks))[0][:, 0]

    def efficiency_at(self, levels: Ints) -> Floats:
        """Effective rows as a share of the rows, of the typical (lower median) block of each level.

        Shape (n_groups, n_levels); 1 without weights, and for groups without rows.
        """
        if not self.weighted:
            return np.ones((self.n.size, levels.size))
        return typical_efficiency(*self._effective(levels.reshape(1, -1, 1)))

    def _effective(self, k: Ints) -> tuple[Floats, Ints]:
        """Effective rows, and rows, of the blocks of levels K as for `_index`."""
        places = self._places(k)
        count = places.sums(self.count)
        if not isinstance(self.blocks, WeightedMoments):
            return count.astype(np.float64), count
        weight, weight2 = places.sums(self.blocks.weight), places.sums(self.blocks.weight2)
        nothing = np.zeros_like(weight)
        merged = WeightedMoments(count, weight, nothing, weight2, nothing, nothing)
        return merged.effective, count

    def _places(self, k: Ints) -> Places:
        """`_index` as positions in one flat array of blocks of all groups and levels."""
        width = max(1, int(k.max(initial=1)))
        index = self._index(k)
        starts = np.arange(0, index.shape[0] * index.shape[1] * width, width)
        return Places(index + starts.reshape(*index.shape[:2], 1), width)

    def sample_mean(self) -> Floats:
        """Mean of all rows of each group; NaN for a group without rows."""
        return self.at(1)[1][:, 0]

    def subset(self, groups: Ints) -> Merger:
        """The same for some of the groups."""
        return Merger(self.blocks.at(groups), self.width[groups])

    def without(self, aside: Bools) -> Merger:
        """The same with some blocks screened out, as if they had no rows."""
        return Merger(self.blocks.without(aside), self.width)


def _of_groups(n_blocks: int | Ints) -> Ints:
    """One level for all groups or one for each, as `Merger` takes several."""
    return np.asarray(n_blocks, dtype=np.int64).reshape(-1, 1, 1)


def typical_efficiency(effective: Floats, count: Ints) -> Floats:
    """Effective rows as a share of the rows, of the typical block along the last axis; 1 without any rows."""
    share = lower_median(np.where(count > 0, effective / np.maximum(count, 1), np.nan))
    return np.where(np.isnan(share), 1.0, share)


def average_efficiency(effective: Floats, count: Ints, width: Ints) -> Floats:
    """Effective rows as a share of the rows, of the `width` blocks of each group; 1 without any rows."""
    rows = count.sum(axis=1)
    return np.where(rows > 0, own_sums(effective, width) / np.maximum(rows, 1), 1.0)


def rows_at(fine: Merger, levels: Ints) -> Ints:
    """Effective rows of each group, from the typical block of each level: shape (n_groups, n_levels)."""
    return np.floor(fine.efficiency_at(levels) * fine.n[:, None]).astype(np.int64)


def scaled_mad(values: Floats) -> Floats:
    """1.4826 times the median distance from the median, line by line: a robust standard deviation."""
    with np.errstate(invalid="ignore", over="ignore"):
        away = np.abs(values - median_or_nan(values)[..., None])
        # an infinite value is infinitely far from everything, also from an infinite median
        away = np.where(np.isinf(values), np.inf, away)
        mad = MAD * median_or_nan(away)
    return np.where(np.isnan(mad), 0.0, mad)


def row_bound(levels: Ints, n: Ints, n_sample: Ints, n_most: Ints) -> Bools:
    """Whether each level has blocks of enough rows for a scale: shape (n_groups, n_levels).

    `n` are the rows of each group; with weights its effective rows at each level (`rows_at`).

    Notes
    -----
    n/K >= max(8, 5/(1 - q)), with q the share of the most frequent value in the row sample. If one value
    dominates, small blocks that consist of it alone would make the typical block look constant, and every
    other block outlying; with 5/(1 - q) rows only e^-5 of the blocks are of that kind. In integers, so that
    no rounding decides: n (v - c) >= 5 v K, with the value c times among v sampled rows.
    """
    k = levels[None, :]
    rows = n if n.ndim == 2 else n[:, None]
    seen = np.maximum(n_sample, 1)[:, None]
    others = np.where(n_sample > 0, n_sample - n_most, 1)[:, None]
    return np.asarray((rows >= 8 * k) & (rows * others >= 5 * seen * k))


FEWEST = 9
"""Levels of up to this many blocks are kept however few units there are: else five could not be tested."""


def enough_units(levels: Ints, n_units: Ints) -> Bools:
    """Whether each level has blocks of at least eight units, or is one of the coarsest: (n_groups, n_levels).

    Blocks of one or two units have the distribution of a unit: their median is that of units, not the mean,
    and for a skewed distribution finer levels would contradict coarser ones.
    """
    k = levels[None, :]
    return np.asarray((n_units[:, None] >= 8 * k) | (k <= FEWEST))


def most_frequent(sample: Floats, n_sample: Ints) -> Ints:
    """How often the most frequent value occurs in each group's row sample (padded with NaN at the end).

    Exact if it exceeds 3/8 of the sample; below, where it changes nothing, less may be returned.

    Notes
    -----
    A sample is sorted only if it may have so frequent a value: of c equal values in v places, cut into
    ceil(v/3) runs of three, at least c - ceil(v/3) have an equal one to the left in their own run.
    """
    width = sample.shape[1]
    if width < 2:
        return np.minimum(n_sample, 1)
    most = np.zeros_like(n_sample)
    close = np.count_nonzero(sample[:, 1:] == sample[:, :-1], axis=1)
    close += np.count_nonzero(sample[:, 2:] == sample[:, :-2], axis=1)
    busy = np.flatnonzero(close > 3 * n_sample // 8 - -(-n_sample // 3))
    if busy.size:
        ordered = np.sort(sample[busy], axis=1)
        place = np.arange(width - 1)
        broken = np.maximum.accumulate(np.where(ordered[:, 1:] == ordered[:, :-1], -1, place), axis=1)
        most[busy] = np.minimum(1 + (place - broken).max(axis=1), n_sample[busy])
    return most
