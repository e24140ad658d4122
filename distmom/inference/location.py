"""The robust mean from the kept fine blocks: as precise as the mean of all rows, yet robust.

The median of K block means is low by about skewness * sd / (6 * block size) for skewed distributions, and its
variance is up to pi/2 times that of the mean of all rows. Here each fine block pulls the answer away from
that median by its share of the rows times its distance, but by no more than a cutoff: an M-estimate with
Huber's (1964) score, two steps from the median. The cutoff T solves sum min(pull^2/T^2, 1) = z, as in Wang,
Zheng, Zhou & Zhou (2021, "A new principle for tuning-free Huber regression"). So at most about z blocks are
cut, whatever the distribution, with hardly any bias: Lee & Valiant (2022, "Optimal sub-Gaussian mean
estimation in R") remove the weight of log(1/delta)/3 observations. A bad block moves the
answer by T, about 1/sqrt(z) standard errors.

z is small (`FEW`) if blocks thin out outwards, as for every distribution with finite variance. If the
farthest stand apart from the others the cutoff is at most se/sqrt(K), with the scale of the middle of
the blocks: a bad block then costs less than it costs the median of K blocks, 1.25/sqrt(K) standard errors.

Simulated on 24 distributions at 300 to 100,000 rows: risk 0.5 to 1.13 times that of the sample mean (the
median of blocks 0.6 to 3.7 times). With up to 30 of 300, 1,000 or 10,000 rows 10 to 1,000 standard deviations
away, the mean squared error is on average 0.65 times that of the median of blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distmom.inference.answers import OfGroups
from distmom.inference.ladder import Merger
from distmom.numerics.arrays import Bools, Floats, Ints

FEW = 5.0
"""Number of blocks that are cut if none stand apart."""

WIDE, NARROW = 2.0, 1.25
"""Least cutoff in standard deviations of a block mean: if no blocks stand apart, and if some do."""

GAP = 5.0
"""The j farthest blocks stand apart if the next one is nearer by a factor of (GAP j)^(1/j). Under a Pareto
tail of index 2, at the limit of finite variance, j blocks do with probability (GAP j)^-2 (Renyi), and any
number of them with less than 7%."""

ROUNDS = 2


@dataclass(frozen=True)
class Location(OfGroups):
    """The robust mean of each group, and the terms of an interval around it: shape (n_groups,).

    Attributes
    ----------
    centre : ndarray
        Lower median of the blocks of the answer.
    estimate : ndarray
        The robust mean; equal to `centre` if that is the answer.
    se : ndarray
        Its standard error, from the cut pulls; NaN if the answer is `centre`.
    skewness : ndarray
        Skewness of the estimate.
    freedom : ndarray
        Degrees of freedom of the standard error.
    """

    centre: Floats
    estimate: Floats
    se: Floats
    skewness: Floats
    freedom: Floats

    @classmethod
    def median(cls, centre: Floats) -> Location:
        """The median alone."""
        unknown = np.full(centre.shape, np.nan)
        return cls(centre, centre, unknown, unknown, unknown)


def location(kept: Merger, centre: Floats, n_blocks: Ints, se: Floats) -> Location:
    """The robust mean of each group.

    Parameters
    ----------
    kept : Merger
        The fine blocks that are kept, shape (n_groups, n_fine).
    centre : ndarray of float64, shape (n_groups,)
        Lower median of the means of the blocks of the answer.
    n_blocks : ndarray of int64, shape (n_groups,)
        Number of those, K.
    se : ndarray of float64, shape (n_groups,)
        Standard error of the mean of all rows, by the middle of the blocks.

    Returns
    -------
    Location
        The `centre` alone if a kept block is non-finite, or there is only one block.
    """
    mass = np.where(kept.filled, kept.blocks.mass, 0.0)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        share = mass / _sum(mass)[:, None]
        n_fine = 1.0 / _sum(share * share)  # the equivalent number of blocks of equal size
        narrow = np.minimum(n_blocks, n_fine / NARROW**2)
        few = np.minimum(np.minimum(FEW, n_fine / WIDE**2), narrow)
        most = se / np.sqrt(narrow)
        at = centre
        for _ in range(ROUNDS):
            pull = np.where(kept.filled, share * (kept.mean - at[:, None]), 0.0)
            far = np.sort(np.abs(pull), axis=1)[:, ::-1]
            cut = _cutoff(far, few)
            cut = np.where(_apart(far, narrow, kept.n_filled), np.minimum(cut, most), cut)[:, None]
            pull = np.clip(pull, -cut, cut)
            at = at + _sum(pull)
        pull = np.where(kept.filled, pull - share * _sum(pull)[:, None], 0.0)
        spread = np.sqrt(_sum(np.square(pull)))
        skewness = _sum((pull / spread[:, None]) ** 3)
        spread *= np.sqrt(n_fine / (n_fine - 1.0))
    found = np.isfinite(at) & (n_blocks > 1)
    each = (np.where(found, value, np.nan) for value in (spread, skewness, n_fine - 1.0))
    return Location(centre, np.where(found, at, centre), *each)


def _sum(values: Floats) -> Floats:
    """Sum of each line, in order: blocks without rows change no bit."""
    return np.asarray(np.cumsum(values, axis=1)[:, -1]) if values.shape[1] else np.zeros(len(values))


def _cutoff(far: Floats, z: Floats) -> Floats:
    """The T at which sum min(pull^2/T^2, 1) = z, for the distances of pulls in descending order."""
    most = np.where(far[:, :1] > 0.0, far[:, :1], 1.0)
    squares = np.square(far / most)
    rest = np.cumsum(squares[:, ::-1], axis=1)[:, ::-1]
    j = np.arange(far.shape[1])
    t2 = np.where(z[:, None] > j, rest / (z[:, None] - j), np.inf)
    first = np.argmax(squares <= t2, axis=1)  # the others are not cut
    return np.asarray(most[:, 0] * np.sqrt(np.take_along_axis(t2, first[:, None], 1)[:, 0]))


def _apart(far: Floats, z: Floats, n_filled: Ints) -> Bools:
    """Whether some of the farthest blocks, up to z and half of all, are beyond a gap."""
    j = np.arange(1, far.shape[1])
    some = (j <= z[:, None]) & (2 * j <= n_filled[:, None])
    beyond = far[:, :-1] > far[:, 1:] * np.power(GAP * j, 1.0 / j)
    return np.asarray((some & beyond & (far[:, 1:] > 0.0)).any(axis=1))
