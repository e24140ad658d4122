"""A few files whose values differ from all others: a reversed sign, another unit, a shift.

Each file's mean is compared with those of the others. File means may have a heavy-tailed distribution, so
distance alone is not enough: there must be a gap to all others that means of one distribution would hardly
leave, or the others must differ by no more than their rows explain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distmom.inference.answers import RuleAnswer
from distmom.inference.ladder import scaled_mad
from distmom.numerics.arrays import Bools, Floats, Ints

LEAST_FILES = 5
"""Fewer files are not tested."""

MOST = 5
"""One in this many files may be odd."""

NEAR, FAR = 8.0, 40.0
"""Least distance of an odd file from the middle, in robust scales; and the standard errors of its rows from
which on it is odd without a gap, if the others differ by chance alone."""

GAPS = (40.0, 12.0, 8.0, 6.0)
"""Least ratio to the distance of all others at which one, two, three, or more files are odd by a gap; others
count as at least `LEAST_AWAY` away."""

LEAST_AWAY, BY_CHANCE = 2.0, 0.05

ROUNDING = 1e-6
"""A little more than the relative difference that the order of summation causes in means of files."""


def odd_files(mass: Floats, mean: Floats, within: float) -> Bools:
    """Which files are odd, from their rows, their means and the variance of rows within files.

    Notes
    -----
    False alarms in 20,000 lakes each of 5 to 200 files, whose means have normal, exponential, Student-3 or
    log-normal effects of 0 to 30 standard errors of a file mean: at most 0.15 in 1,000 for the first three,
    and 1.2 for log-normal ones (0.9 with five files). One row however far out moves its file by at most the
    root of the number of files in standard errors. Of files whose rows are independent, one that is 60
    standard errors off is found among ten or more in 93 of 100, 164 off among five in 87, else in all.
    """
    from scipy.special import chdtri

    n = mean.size
    nobody = np.zeros(n, np.bool_)
    if n < LEAST_FILES or not np.isfinite(mean).all() or not within > 0.0:
        return nobody
    away, spread = np.abs(mean - np.median(mean)), float(scaled_mad(mean[None])[0])
    if spread == 0.0:
        return nobody
    error = np.sqrt(within / mass)
    distance = away / np.maximum(spread, error)
    order = np.argsort(-distance, kind="stable")
    far = distance[order]
    for j in range(1, max(1, n // MOST) + 1):
        gap = GAPS[min(j, len(GAPS)) - 1]
        if far[j - 1] >= max(gap * max(far[j], LEAST_AWAY), NEAR):
            nobody[order[:j]] = True
            return nobody
    odd = away >= FAR * error
    freedom = n - 1 - np.count_nonzero(odd)
    if n < 2 * MOST or not 0 < n - 1 - freedom <= n // MOST:
        return nobody
    others = float(np.sum(np.square(away / error)[~odd]))
    return odd if others <= chdtri(freedom, BY_CHANCE) else nobody


def may_be_odd(files: Ints, n_files: int, x: Floats, parts: Ints, variance: Floats) -> Bools:
    """In which parts of the rows `odd_files` may find some: a cheap necessary condition.

    Parameters
    ----------
    files : ndarray of int64, shape (n,)
        Numbers of the rows' files, below `n_files`.
    n_files : int
    x : ndarray of float64, shape (n,)
    parts : ndarray of int64, shape (n,)
        Number of each row's part.
    variance : ndarray of float64, shape (P,)
        Variance of a row of each part.
    """
    found = np.zeros(variance.size, np.bool_)
    if n_files < LEAST_FILES:
        return found
    n_cells, cells = variance.size * n_files, parts * n_files + files
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        every = np.bincount(cells, minlength=n_cells).reshape(-1, n_files).astype(np.float64)
        sums = np.bincount(cells, x, n_cells).reshape(-1, n_files)
        for part, spread in enumerate(variance.tolist()):
            some = every[part] > 0.0
            mass = every[part, some]
            if mass.size < LEAST_FILES:
                continue
            mean = sums[part, some] / mass
            between = np.sum(mass * np.square(mean - sums[part].sum() / mass.sum()))
            within = (spread * mass.sum() - between) / max(mass.sum() - mass.size, 1.0)
            near = (1.0 - ROUNDING) * NEAR * np.sqrt(within / mass)
            found[part] = not (np.abs(mean - np.median(mean)) < near).all()
    return found


@dataclass(frozen=True)
class Rest:
    """The rows of the files that are kept.

    Attributes
    ----------
    odd : tuple of str
        Names of the files that are left out.
    mean, variance : ndarray, shape (d,)
        Mean and variance of the rows that are kept.
    mass : float
    """

    odd: tuple[str, ...]
    mean: Floats
    variance: Floats
    mass: float

    def answer(self, answer: RuleAnswer, delta: float) -> RuleAnswer:
        """The answer for the rows that are kept: their mean, if blocks of all rows showed nothing outlying.

        In small files it is left to chance how many rows of the odd files a block has, so blocks of all rows
        are only shifted to it.
        """
        from scipy.special import ndtri

        half = -ndtri(0.5 * delta) * np.sqrt(self.variance / self.mass)
        moved = (self.mean - answer.estimate)[:, None]
        exact = 0.5 * (answer.intervals.cantelli_high - answer.intervals.cantelli_low)
        ends = {
            "order_low": self.mean - half,
            "order_high": self.mean + half,
            "cantelli_low": self.mean - exact,
            "cantelli_high": self.mean + exact,
            "cantelli_centre": self.mean.copy(),
        }
        had = {
            name: np.where(np.isfinite(getattr(answer.intervals, name)), new, np.nan)
            for name, new in ends.items()
        }
        changes: dict[str, Any] = {
            "estimate": self.mean.copy(),
            "file_estimate": answer.estimate.copy(),
            "block_estimates": answer.block_estimates + moved,
            "ball_means": answer.ball_means + moved,
            "intervals": replace(answer.intervals, **dict[str, Any](had)),
        }
        return replace(answer, **changes)
