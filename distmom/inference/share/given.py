"""The mean of rows of which a given share may be bad.

Any set that leaves out a share of the rows and has a small variance has nearly the right mean, whatever the
bad rows are. So the largest window of order statistics with nearly the least scale is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from distmom.inference.share.gaps import rows_apart
from distmom.inference.share.tails import quantile
from distmom.inference.share.windows import Windows, mean_of, sd_of
from distmom.numerics.arrays import Floats

KAPPA = 1.25
"""A window may have this many times the least standard deviation: 1 trusts the given share, more the data."""

MISS = 1e-6
"""Probability that a sample has more bad rows than allowed for, if the given share of all rows is bad."""


def allowance(share: float, m: int, n: int) -> int:
    """Rows of a uniform sample that may be bad, if a share of all rows is.

    Parameters
    ----------
    share : float
        Bad rows, as a share of all.
    m, n : int
        Rows of the sample, and all rows.

    Returns
    -------
    int
        The share of n rows, rounded up, if the sample has them all; else the binomial quantile that is
        exceeded with probability `MISS` (sampling without replacement has thinner tails).

    Examples
    --------
    >>> allowance(0.01, 10_000, 10_000), allowance(0.01, 65_536, 10**9)
    (100, 780)
    """
    if m >= n:
        return math.ceil(share * n - 1e-9)
    return quantile(1.0 - MISS, m, share)


@dataclass(frozen=True)
class GivenShare:
    """Mean of rows of which a share may be bad.

    Attributes
    ----------
    estimate : float
        Mean of the rows that are kept.
    sd, least_sd : float
        Standard deviation of the kept rows, and the least one of all windows that leave out `allowed` rows.
    ends : tuple of float
        Least and greatest kept row: if all rows are available, average those between.
    left_out, allowed : int
        Number of sampled rows that are left out, and number that may be bad.
    bias_bound : float
        Margin of error due to the bad rows, whatever the variance of the good rows among those that do
        not stand apart.
    more_apart : bool
        More rows stand apart than are allowed for: they are left out, and neither margin of error is valid.
    cut_ties : bool
        An end cuts through equal rows; those between the ends are then not the kept ones.
    kept : int
        Number of rows that are averaged.
    """

    estimate: float
    sd: float
    least_sd: float
    ends: tuple[float, float]
    left_out: int
    allowed: int
    bias_bound: float
    more_apart: bool
    cut_ties: bool
    kept: int

    def margin(self, level: float = 0.99, n_averaged: int | None = None, exact: bool = False) -> float:
        """Margin of error of an interval at a confidence level.

        Parameters
        ----------
        level : float
        n_averaged : int, optional
            Number of rows that were averaged; by default the kept rows of the sample.
        exact : bool
            Allow for the bad rows as well, by `bias_bound`; else for sampling alone, by the normal
            distribution.
        """
        sampling = NormalDist().inv_cdf(0.5 + level / 2) * self.sd / math.sqrt(n_averaged or self.kept)
        return sampling + (self.bias_bound if exact else 0.0)


def given_share(y_sorted: Floats, share: float, n: int) -> GivenShare:
    """Average rows of which a given share may be arbitrary.

    Rows that stand apart are left out. If the standard deviation of the rest exceeds `KAPPA` times the least
    possible, the largest window that does not exceed it is taken.

    Parameters
    ----------
    y_sorted : ndarray of float64
        Sorted finite rows of a uniform sample.
    share : float
        Bad rows, as a share of all.
    n : int
        Number of all rows: those of the sample, or more.

    Raises
    ------
    ValueError
        If a third of the sampled rows or more may be bad.

    Notes
    -----
    Theorem. Of m rows at most t are bad, t < m/3. Let G be m - t good rows, S any set of m - k rows, k <= t,
    and e = t/m. Then |mean S - mean G| <= (sd S + sd G) sqrt(e / (1 - 2e)).

    Proof. In a set of numbers with standard deviation sd, all but a share h of them have a mean within
    sd sqrt(h / (1 - h)) of that of all (Cauchy and Schwarz; sharp for an atom). S and G share at least
    m - k - t rows, so G lacks at most t of the m - k rows of S, and S at most k of the m - t rows of G:
    h <= t / (m - t), h / (1 - h) <= e / (1 - 2e). Once from S to what they share, once from there to G.

    Among all sets of m - t rows a window has the least standard deviation, so this is at most sd G, and the
    error is at most (1 + `KAPPA`) sd G sqrt(e / (1 - 2e)), beside that of mean G. No estimator can guarantee
    less than sd sqrt(e / (1 - 2e)) for all distributions.

    sd G cannot be known. `bias_bound` replaces it by the root of the sum of squares about their mean of the
    rows that `rows_apart` leaves, divided by m - t, which sd G never exceeds if G is among them.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=10_000)
    >>> x[:100] = 1e6
    >>> got = given_share(np.sort(x), 0.01, 10_000)
    >>> round(got.estimate, 3), got.left_out, round(got.bias_bound, 2)
    (0.006, 100, 0.2)
    """
    y, m = y_sorted, y_sorted.size
    t = allowance(share, m, n)
    if 3 * t >= m:
        raise ValueError(
            f"share must leave less than a third of the sampled rows, got {share:g} ({t} of {m} rows)"
        )
    windows = Windows(y, t)
    least = windows.best(t).sd
    apart = rows_apart(y)
    more = apart.n > t
    widest = sd_of(y[apart.n_low : m - apart.n_high]) * math.sqrt((m - apart.n) / (m - t))
    if not more and apart.n_mode and (modes := rows_apart(y, modes=True)).n <= t:
        apart = modes  # sizes of another order of magnitude count as bad rows, if all of them may be
    first, last = apart.n_low, m - apart.n_high
    if not more and not sd_of(y[first:last]) <= KAPPA * least:
        first, last = _largest(windows, m - (last - first), t, KAPPA * least)
        first, last = _without_ties(y, first, last, t)
    kept = y[first:last]
    ties = bool((first and y[first - 1] == y[first]) or (last < m and y[last] == y[last - 1]))
    factor = math.sqrt(t / (m - 2 * t))
    bound = (sd_of(kept) + widest) * factor if t else 0.0
    ends = (float(kept[0]), float(kept[-1]))
    return GivenShare(mean_of(kept), sd_of(kept), least, ends, m - kept.size, t, bound, more, ties, kept.size)


def _largest(windows: Windows, least: int, most: int, sd: float) -> tuple[int, int]:
    """Ends of the largest window without `least` to `most` rows, of standard deviation at most `sd`."""
    while least < most:
        middle = (least + most) // 2
        if windows.best(middle).sd <= sd:
            most = middle
        else:
            least = middle + 1
    best = windows.best(most)
    return best.low, windows.y.size - best.high


def _without_ties(y: Floats, first: int, last: int, t: int) -> tuple[int, int]:
    """Rows equal to those cut off are left out with them, if at most t are left out."""
    m = y.size
    if last < m and y[last] == y[last - 1]:
        at = int(np.searchsorted(y, y[last]))
        if first + m - at <= t:
            last = at
    if first > 0 and y[first] == y[first - 1]:
        at = int(np.searchsorted(y, y[first], side="right"))
        if at + m - last <= t:
            first = at
    return first, last
