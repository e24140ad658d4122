"""Windows of order statistics: the mean of what is left when some extremes go, and the spread of it.

Any window that leaves out a share of the rows and has a small spread has nearly the right mean, whatever the
rows that are bad: see `given_share`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from distmom.inference.share.gaps import rows_apart
from distmom.numerics.arrays import Floats

KAPPA = 1.25
"""A window may have so many times the least spread: 1 believes the given share, more the data."""

MISS = 1e-6
"""Probability that a sample has more bad rows than allowed for, if the given share of all rows is bad."""

SHARES = (0.0001, 0.001, 0.01, 0.05)
"""Shares of extremes without which the mean is shown."""


@dataclass(frozen=True)
class Window:
    """A window of order statistics: y[low : m - high]."""

    mean: float
    sd: float
    low: int
    high: int


class Windows:
    """Mean and variance of every window of a sample that leaves out at most so many rows.

    Parameters
    ----------
    y_sorted : ndarray of float64
        Sorted finite values, m of them.
    most : int
        Largest number of rows that a window leaves out, at most m // 2.

    Notes
    -----
    Sums go from the centre outward, so what lies far out takes no digits from what is inside. Squares that
    overflow make a window's spread infinite.
    """

    def __init__(self, y_sorted: Floats, most: int) -> None:
        self.y, self.most = y_sorted, most
        self.centre = float(y_sorted[y_sorted.size // 2])
        with np.errstate(over="ignore", invalid="ignore"):
            d = y_sorted - self.centre
            below, above, middle = d[:most][::-1], d[d.size - most :], d[most : d.size - most]
            self._below, self._below2 = _sums(below), _sums(below * below)
            self._above, self._above2 = _sums(above), _sums(above * above)
            self._middle, self._middle2 = float(middle.sum()), float(np.square(middle).sum())

    def best(self, t: int) -> Window:
        """Window of least variance among those that leave out t rows; of equals the lowest.

        Examples
        --------
        >>> import numpy as np
        >>> Windows(np.array([1.0, 2.0, 3.0, 4.0, 1e9]), 1).best(1)
        Window(mean=2.5, sd=1.118033988749895, low=0, high=1)
        """
        low = np.arange(t + 1)
        left, right, size = self.most - low, self.most - t + low, self.y.size - t
        with np.errstate(over="ignore", invalid="ignore"):
            mean = (self._middle + self._below[left] + self._above[right]) / size
            variance = (self._middle2 + self._below2[left] + self._above2[right]) / size - mean * mean
        variance = np.where(np.isfinite(variance), np.maximum(variance, 0.0), np.inf)
        at = int(np.argmin(variance))
        return Window(self.centre + float(mean[at]), math.sqrt(float(variance[at])), at, t - at)


def _sums(x: Floats) -> Floats:
    """Sums of the first 0, 1, 2, … values."""
    return np.concatenate([np.zeros(1), np.cumsum(x)])


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
    from scipy.stats import binom

    return int(binom.ppf(1.0 - MISS, m, share))


@dataclass(frozen=True)
class GivenShare:
    """Mean of rows of which a share may be bad.

    Attributes
    ----------
    estimate : float
        Mean of the rows that are kept.
    sd, least_sd : float
        Standard deviation of the kept rows, and the least of all windows that leave out `allowed` rows.
    ends : tuple of float
        Least and greatest kept row: with all rows at hand, average those between.
    left_out, allowed : int
        Sampled rows that are left out, and that may be bad.
    bias : float
        Half-width that the bad rows account for, if the good rows spread as little as a window of them can.
    bias_bound : float
        The same for all good rows among those that do not stand apart, however much they spread.
    more_apart : bool
        More rows stand apart than are allowed for: they are left out, and neither half-width holds.
    cut_ties : bool
        An end cuts through equal rows; those between the ends are then not the kept ones.
    kept : int
        Rows that are averaged.
    """

    estimate: float
    sd: float
    least_sd: float
    ends: tuple[float, float]
    left_out: int
    allowed: int
    bias: float
    bias_bound: float
    more_apart: bool
    cut_ties: bool
    kept: int

    def halfwidth(self, level: float = 0.99, n_averaged: int | None = None, exact: bool = False) -> float:
        """Half-width of an interval at a confidence level.

        Parameters
        ----------
        level : float
        n_averaged : int, optional
            Rows that were averaged; those kept of the sample if not given.
        exact : bool
            Allow for the bad rows as well; else for sampling alone, by the normal law.
        """
        sampling = NormalDist().inv_cdf(0.5 + level / 2) * self.sd / math.sqrt(n_averaged or self.kept)
        return sampling + (self.bias if exact else 0.0)


def given_share(y_sorted: Floats, share: float, n: int) -> GivenShare:
    """Average rows of which a given share may be anything.

    What stands apart is left out; if the rest spreads more than `KAPPA` times the least spread possible, the
    largest window that does not.

    Parameters
    ----------
    y_sorted : ndarray of float64
        Sorted finite rows of a uniform sample.
    share : float
        Bad rows, as a share of all.
    n : int
        All rows: those of the sample, or more.

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

    Of all sets of m - t rows one that spreads least is a window, so its spread is at most sd G, and the error
    at most (1 + `KAPPA`) sd G sqrt(e / (1 - 2e)), beside that of mean G. No estimator can promise less than
    sd sqrt(e / (1 - 2e)) for all laws.

    Nobody can know sd G. `bias` has the least spread in its place, and holds where the good rows spread no
    more than that. `bias_bound` has the root of the sum of squares of the rows that `rows_apart` leaves,
    about their mean, divided by m - t, which sd G never exceeds if G is among them. Where the least spread is
    zero (events rarer than bad rows), `bias` is that bound, too.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=10_000)
    >>> x[:100] = 1e6
    >>> got = given_share(np.sort(x), 0.01, 10_000)
    >>> round(got.estimate, 3), got.left_out, round(got.bias, 2)
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
    widest = _sd(y[apart.n_low : m - apart.n_high]) * math.sqrt((m - apart.n) / (m - t))
    if not more and apart.n_mode and (modes := rows_apart(y, modes=True)).n <= t:
        apart = modes  # sizes of another order are among the rows that may be bad, if they all are
    first, last = apart.n_low, m - apart.n_high
    if not more and not _sd(y[first:last]) <= KAPPA * least:
        first, last = _largest(windows, m - (last - first), t, KAPPA * least)
        first, last = _without_ties(y, first, last, t)
    kept = y[first:last]
    ties = bool((first and y[first - 1] == y[first]) or (last < m and y[last] == y[last - 1]))
    factor = math.sqrt(t / (m - 2 * t))
    bound = (_sd(kept) + widest) * factor if t else 0.0
    bias = (_sd(kept) + least) * factor if t and least else bound
    ends = (float(kept[0]), float(kept[-1]))
    return GivenShare(
        _mean(kept), _sd(kept), least, ends, m - kept.size, t, bias, bound, more, ties, kept.size
    )


def _largest(windows: Windows, least: int, most: int, sd: float) -> tuple[int, int]:
    """Ends of the largest window that leaves out `least` to `most` rows and spreads at most `sd`."""
    while least < most:
        middle = (least + most) // 2
        if windows.best(middle).sd <= sd:
            most = middle
        else:
            least = middle + 1
    best = windows.best(most)
    return best.low, windows.y.size - best.high


def _without_ties(y: Floats, first: int, last: int, t: int) -> tuple[int, int]:
    """Rows that equal those cut off go with them where at most t are left out."""
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


@dataclass(frozen=True)
class WithoutExtremes:
    """The mean without a share of the rows, and what left with them.

    Attributes
    ----------
    share : float
        Rows left out, as a share; the window of least spread decides which.
    mean : float
        Mean of the rest.
    ends : tuple of float
        Its least and greatest row.
    of_variance, of_mean : float
        Share of the sample's variance, and of its mean, that left; NaN where the whole has none or overflows.
    """

    share: float
    mean: float
    ends: tuple[float, float]
    of_variance: float
    of_mean: float


def without_extremes(y_sorted: Floats, shares: tuple[float, ...] = SHARES) -> tuple[WithoutExtremes, ...]:
    """Show how much of mean and variance few extreme rows carry.

    Parameters
    ----------
    y_sorted : ndarray of float64
        Sorted finite rows; without any the result is empty.
    shares : tuple of float
        Shares of rows to leave out, below one half each; rounded up to whole rows.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.append(np.arange(990.0), np.full(10, 1e6))
    >>> one = without_extremes(x, (0.01,))[0]
    >>> one.mean, one.ends, round(one.of_mean, 2)
    (494.5, (0.0, 989.0), 0.95)
    """
    y, m = y_sorted, y_sorted.size
    if not m:
        return ()
    numbers = [min(math.ceil(share * m - 1e-9), (m - 1) // 2) for share in shares]
    windows = Windows(y, max(numbers, default=0))
    mean, sd = _mean(y), _sd(y)
    found = []
    for share, t in zip(shares, numbers, strict=True):
        best = windows.best(t)
        kept = y[best.low : m - best.high]
        # the variance and the sum of the whole that the kept rows bring in, about the mean of the whole
        with np.errstate(over="ignore", invalid="ignore"):
            around = float(np.square(kept - mean).sum()) / m
        of_variance = 1.0 - around / sd**2 if 0.0 < sd < 1e154 else math.nan
        of_mean = 1.0 - _mean(kept) * (kept.size / m) / mean if mean and math.isfinite(mean) else math.nan
        found.append(
            WithoutExtremes(share, _mean(kept), (float(kept[0]), float(kept[-1])), of_variance, of_mean)
        )
    return tuple(found)


def _mean(x: Floats) -> float:
    """Mean about the middle row; infinite only if that overflows."""
    centre = float(x[x.size // 2])
    with np.errstate(over="ignore", invalid="ignore"):
        return centre + float((x - centre).mean())


def _sd(x: Floats) -> float:
    """Standard deviation (divisor the rows); infinite if squares overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        sd = float((x - x[x.size // 2]).std())
    return sd if math.isfinite(sd) else math.inf
