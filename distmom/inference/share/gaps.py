"""Rows that stand apart from all others: a wide and nearly empty gap, far from the centre.

A distribution whose tail decays like a power or faster leaves no such gap with many rows beyond it: the ratio
of the distances of its j-th and (j+1)-th largest row exceeds r with probability r^(-alpha j) (Renyi), which
for alpha = 1.5 and r = exp(J/j) is 1.4e-6, whatever j. Rows beyond such a gap are damage, or a cluster of
their own; what `second_mode` takes for sizes of another order of magnitude is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from distmom.inference.share.modes import second_mode
from distmom.inference.share.runs import Runs
from distmom.numerics.arrays import Floats, Ints

FAR = 30.0
"""Rows this many inner standard deviations away are screened out: rare for clusters, not for codes."""

NEAR = 10.0
"""From this distance on clusters are reported and kept: they are real as often as they are wrong."""

GAP = 10
"""A gap contains at most one row for this many rows beyond it."""

R = 3.0
"""A gap extends at least from a distance to this many times it."""

J = 9.0
"""With j rows beyond, the gap is exp(J / j) wide: by chance in 1.4 of a million places (tail index 1.5)."""

MOST = 0.15
"""No larger share of the rows is flagged: above it, tails cannot show which rows are the majority."""

OTHERS = 2
"""For each flagged row this many kept rows differ from the most frequent value: rare events are no damage."""

FEWEST = 64
"""Smaller samples are not searched."""

FEWEST_BULK = 32
"""Nor are samples with fewer rows than this beside a value that more than half of the rows have."""

ROUNDS = 16
"""Clusters are peeled off one after another, at most this many."""

TRIES = 4
"""If a cluster is kept as a second mode, gaps further out are examined: at most this many in all."""

ANOTHER = 0.8
"""These have at most this share of its rows beyond: a gap's other ends have all but 1 / `GAP`."""


@dataclass(frozen=True)
class Apart:
    """Rows that stand apart from all others.

    Attributes
    ----------
    lo, hi : float
        Kept are the rows with lo < x < hi.
    n_low, n_high : int
        Rows at or below `lo`, at or above `hi`.
    values : tuple of (float, int)
        Up to five values that at least three flagged rows have, with their counts; most frequent first.
    n_mode : int
        Rows beyond a gap of one side that are kept, as sizes of another order of magnitude (`second_mode`).
    times : float, optional
        Of a `second_group`: ratio of its distance from zero to that of the others, by medians.
    from_zero : bool
        Whether distances are from zero; otherwise from the median.
    """

    lo: float = -math.inf
    hi: float = math.inf
    n_low: int = 0
    n_high: int = 0
    values: tuple[tuple[float, int], ...] = ()
    n_mode: int = 0
    times: float | None = None
    from_zero: bool = True

    @property
    def n(self) -> int:
        """Number of flagged rows."""
        return self.n_low + self.n_high


@dataclass(frozen=True)
class _Kept:
    """Rows y[first:last] that are still kept, and the cuts that leave them."""

    first: int
    last: int
    lo: float = -math.inf
    hi: float = math.inf

    @property
    def size(self) -> int:
        """Rows kept."""
        return self.last - self.first


def rows_apart(y_sorted: Floats, far: float = FAR, modes: bool = False) -> Apart:
    """Find rows that are far from all others: above, below, or on both sides.

    Parameters
    ----------
    y_sorted : ndarray of float64
        Sorted finite values; the caller leaves out NaN and infinite ones. Below 64 rows nothing is found.
    far : float
        Least distance from the centre (the median, without a value that most rows have) in standard
        deviations of the rows inside: `FAR`, or `NEAR`.
    modes : bool
        Flag second modes, too: for reports that change nothing.

    Returns
    -------
    Apart

    Notes
    -----
    With j rows at or beyond a distance t from the centre, t ends a gap if at most j / `GAP` rows are between
    t / r and t, r = max(`R`, exp(`J` / j)). Rows beyond it are flagged if t is at least `far` standard
    deviations of the rows within t / `R` (those of the other side count in full), at most the share `MOST` of
    all rows are flagged, and `OTHERS` kept rows for each of them differ from the most frequent value. The
    emptiest gap of a side is taken, the innermost if several tie; the side with the farthest gap goes first,
    then the search starts again. If a second mode is kept, its variance does not hide rows of the other side.
    Values whose squares overflow hide nearer ones until they are removed themselves.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(20.0, 2.0, 10_000)
    >>> rows_apart(np.sort(x)).n
    0
    >>> x[:100] = -9999.0
    >>> apart = rows_apart(np.sort(x))
    >>> apart.n_low, apart.n_high, apart.values
    (100, 0, ((-9999.0, 100),))
    """
    y = y_sorted
    if y.size < FEWEST or y[0] == y[-1]:
        return Apart()
    runs = Runs.of(y)
    kept, n_mode = _Kept(0, y.size), 0
    stays: _Kept | None = None
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for _ in range(ROUNDS):
            peeled, stays = _peel(y, runs, kept, far, modes)
            if stays is not None:
                n_mode = max(n_mode, kept.size - stays.size)
            if peeled is None:
                break
            kept = peeled
    if stays is not None:
        kept = _beside(y, runs, kept, stays, far)
    if not kept.first and kept.last == y.size:
        return Apart(n_mode=n_mode)
    values = Runs.of(np.concatenate([y[: kept.first], y[kept.last :]])).repeated()
    return Apart(kept.lo, kept.hi, kept.first, y.size - kept.last, values, n_mode)


def any_gap(y_sorted: Floats, far: float = NEAR) -> bool:
    """Whether there is any gap this far out; without one, no rows stand apart here or further out."""
    y, some = y_sorted, y_sorted.size >= FEWEST and y_sorted[0] != y_sorted[-1]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return bool(some and (_found(y, Runs.of(y), _Kept(0, y.size), far) or (0, ()))[1])


def _peel(y: Floats, runs: Runs, kept: _Kept, far: float, modes: bool) -> tuple[_Kept | None, _Kept | None]:
    """One round: the rows kept without the farthest cluster, and those kept without second modes."""
    some = _found(y, runs, kept, far)
    if some is None:
        return None, None
    c, found = some
    stays: _Kept | None = None
    looked_at: list[_Kept] = []
    for side, gaps in found:
        for cut in gaps:
            left = _cut(y, kept, c, cut, side)
            if left == kept or not _admitted(y, runs, left):
                break
            if modes or not (left in looked_at or _mode(y, kept, left, c, cut)):
                return left, stays
            looked_at.append(left)
            above = kept.last - left.last >= left.first - kept.first
            without = _Kept(kept.first, left.last) if above else _Kept(left.first, kept.last)
            if stays is None or without.size < stays.size:
                stays = without
    return None, stays


def _found(y: Floats, runs: Runs, kept: _Kept, far: float) -> tuple[float, list[tuple[int, _Gaps]]] | None:
    """The centre, and the gaps of each side that has any, the farthest first; None for too few rows."""
    value, count = runs.mode(kept.first, kept.last)
    bulk = y[kept.first : kept.last]
    zeros = 2 * count > bulk.size  # one value dominates: the others are examined
    if zeros:
        start = int(np.searchsorted(bulk, value))
        bulk = np.concatenate([bulk[:start], bulk[start + count :]])
    if bulk.size < FEWEST_BULK:
        return None
    c = float(bulk[bulk.size // 2])
    most = min(int(MOST * y.size), bulk.size // 3)
    sides = _Sides(bulk - c, most, far, abs(value - c) if zeros else 0.0)
    found = [(side, gaps) for side in (1, -1, 0) if (gaps := sides.gaps(side)) is not None]
    found.sort(key=lambda item: (-item[1].at, -abs(item[0])))
    return c, found


def _admitted(y: Floats, runs: Runs, left: _Kept) -> bool:
    """Whether this many rows may be flagged."""
    accused = y.size - left.size
    others = left.size - runs.mode(left.first, left.last)[1]
    return accused <= MOST * y.size and OTHERS * accused <= others


def _beside(y: Floats, runs: Runs, kept: _Kept, stays: _Kept, far: float) -> _Kept:
    """The rows kept if the variance of a second mode does not count: codes on the other side are found."""
    above = stays.last < kept.last
    inner = rows_apart(y[stays.first : stays.last], far)
    if above and inner.n_low:
        left = _Kept(kept.first + inner.n_low, kept.last, inner.lo, kept.hi)
    elif not above and inner.n_high:
        left = _Kept(kept.first, kept.last - inner.n_high, kept.lo, inner.hi)
    else:
        return kept
    return left if _admitted(y, runs, left) else kept


def _cut(y: Floats, kept: _Kept, c: float, cut: float, side: int) -> _Kept:
    """The rows kept within a cut on one side of the centre, or on both (side 0)."""
    first, last, lo, hi = kept.first, kept.last, kept.lo, kept.hi
    if side <= 0 and (f := int(np.searchsorted(y, c - cut, side="right"))) > first:
        first, lo = f, c - cut
    if side >= 0 and (b := int(np.searchsorted(y, c + cut, side="left"))) < last:
        last, hi = b, c + cut
    return _Kept(first, last, lo, hi)


def _mode(y: Floats, kept: _Kept, left: _Kept, c: float, cut: float) -> bool:
    """Whether the rows that this cut takes away are a second mode, above or, as a mirror image, below."""
    above, below = y[left.last : kept.last], y[kept.first : left.first]
    low, high = int(np.searchsorted(y, c - cut, side="right")), int(np.searchsorted(y, c + cut))
    inside = y[max(left.first, low) : min(left.last, high)]
    if above.size >= below.size:
        return second_mode(inside, above, y[:low], left.hi)
    return second_mode(-inside[::-1], -below[::-1], -y[high:][::-1], -left.lo)


@dataclass(frozen=True)
class _Gaps:
    """Distances that end a gap, ascending, and for each the rows beyond and the rows in it."""

    distance: Floats
    beyond: Ints
    inside: Floats

    @property
    def at(self) -> float:
        """Distance at the end of the emptiest gap, the innermost if several tie."""
        return float(self.distance[np.argmin(self.inside)])

    def __iter__(self) -> Iterator[float]:
        """Cuts inside the gaps: the emptiest first, then those that end at another cluster further out."""
        gaps: _Gaps | None = self
        for _ in range(TRIES):
            if gaps is None or not gaps.distance.size:
                return
            at = int(np.argmin(gaps.inside))
            yield float(gaps.distance[at]) / math.sqrt(R)
            out = gaps.beyond <= ANOTHER * gaps.beyond[at]
            gaps = _Gaps(gaps.distance[out], gaps.beyond[out], gaps.inside[out])


@dataclass(frozen=True)
class _Sides:
    """Distances d from the centre, ascending, and the criteria for far rows."""

    d: Floats
    most: int
    far: float
    least: float

    def gaps(self, side: int) -> _Gaps | None:
        """Gaps above (1), below (-1), or on both sides (0) of the centre; None if there is none."""
        d, floor = self.d, self.floor
        if not max(d[-1] if side >= 0 else 0.0, -d[0] if side <= 0 else 0.0) >= floor:
            return None
        below = -d[::-1]
        above, under = (x[int(np.searchsorted(x, 0.0, side="right")) :] for x in (d, below))
        if side > 0:
            return self._gaps((above,), floor, lambda: d)
        if side < 0:
            return self._gaps((under,), floor, lambda: below)
        return self._gaps((above, under), floor, lambda: d[np.argsort(np.abs(d), kind="stable")])

    @cached_property
    def floor(self) -> float:
        """Distance below which no row is far, whatever the gap: the clean case ends here.

        A gap with j <= `most` rows beyond leaves out at most j + j / `GAP` rows, so the rows inside contain
        all but that many at either end, and their sum of squares about their mean.
        """
        edge = self.most + self.most // GAP + 1
        middle = self.d[edge : self.d.size - edge]
        if not middle.size:
            return self.far * self.least
        spread = float(middle.std()) * math.sqrt(middle.size / self.d.size)
        return max(self.far * spread * (1.0 - 1e-9), self.far * self.least)

    def _gaps(
        self, distances: tuple[Floats, ...], floor: float, ordered: Callable[[], Floats]
    ) -> _Gaps | None:
        """Gaps among the distances of one side or two; `ordered` gives all d, those left out last first."""
        t = np.concatenate([u[int(np.searchsorted(u, floor)) :] for u in distances])
        t.sort(kind="stable")
        t = t[np.append(True, t[1:] != t[:-1])] if t.size else t
        n = sum(u.size for u in distances)
        at = _ranks(distances, t, "left")
        j = n - at
        t, at, j = t[j <= self.most], at[j <= self.most], j[j <= self.most]
        inside = at - _ranks(distances, t / np.maximum(R, np.exp(np.minimum(J / j, 700.0))), "right")
        ok = inside * GAP <= j
        if not ok.any():
            return None
        t, j, inside = t[ok], j[ok], inside[ok]
        spread = _spreads(ordered(), self.d.size - n + _ranks(distances, t / R, "right"))
        ok = (spread > 0) & (t >= self.far * spread)
        return _Gaps(t[ok], j[ok], inside[ok] / j[ok]) if ok.any() else None


def _ranks(distances: tuple[Floats, ...], t: Floats, side: Literal["left", "right"]) -> Ints:
    """Number of distances less than t, or at most t."""
    return np.asarray(sum(np.searchsorted(u, t, side) for u in distances))


def _spreads(d: Floats, sizes: Ints) -> Floats:
    """Standard deviation of the first k of d, for several k."""
    some = np.maximum(sizes, 1)
    mean = np.cumsum(d)[some - 1] / some
    variance = np.cumsum(d * d)[some - 1] / some - mean * mean
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))
