"""Centres of clusters of some rows: seeds, Lloyd's rounds, and a cap on the cost of a row.

A row costs its squared distance to the nearest centre, or a cap if that is less. Scattered outlying rows then
cost the same wherever the centres are. A centre on one of them gains the cap of one row; that of a small
cluster gains the caps of all its rows. This distinguishes small clusters from outlying rows, which neither
means nor blocks can do: both have a small share and are far away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.random.philox import stream_key, uniform

PASSES, ROUNDS = 5, 30

CANDIDATES = 8
"""Rows that are tried for each seed: more than a few, since outlying ones are among them."""

MOST_LEFT_OUT = 2_000
"""Rows beyond the cap that are searched for a cluster."""

LEAST = 8
"""Number of distinct rows that form a cluster, in a sample of four times as many per cell; fewer may be
outlying rows, and equal ones a code."""

NEAR = 4.0
"""Rows of a cluster are within this many times the squared distance of most rows from their centre."""

COMMON, TIMES = 0.85, 36.0
"""The cap: this many times the squared distance within which this share of the rows falls."""


class Centres(NamedTuple):
    """Centres (k, d), the shares of the rows in their cells, without those beyond the cap, and the cap.

    `left_out` is the share of rows beyond the cap that are as close together as those of a cluster.
    """

    points: Floats
    shares: Floats
    cap: float
    left_out: float


def centres_of(rows: Floats, k: int, n_starts: int, seed: int) -> Centres:
    """The best of several starts, repeated as the cap follows the distances found.

    At first the cap is the distance of most rows from their middle, so that nothing small counts.

    References
    ----------
    Arthur & Vassilvitskii (2007), k-means++; of several candidates the best, as in scikit-learn.
    """
    key = stream_key(seed, "kmeans/start")
    with np.errstate(over="ignore", invalid="ignore"):
        middle = np.median(np.clip(rows, -1e300, 1e300), axis=0)
        sample = _Sample(rows - middle, k)
        cap = _cap(sample.squares(np.zeros_like(middle)[None])[:, 0]) / TIMES
        points: Floats | None = None
        for number in range(PASSES):
            searched = [] if points is None else [sample.refined(points, cap, np.zeros(0))]
            for start in range(n_starts):
                draws = uniform(key, start, 2 * k * CANDIDATES, node=1 + number)
                searched.append(sample.refined(sample.seeds(k, cap, draws), cap, draws[::-1]))
            points = min(searched, key=lambda found: sample.badness(found, cap))
            nearest = sample.squares(points).min(axis=1)
            before, cap = cap, _cap(nearest)
            if abs(cap - before) <= 0.01 * before or not np.isfinite(cap):
                break
        assert points is not None
        cell, kept = sample.cells(points, cap)
        n_together = sample.together(~kept, NEAR / TIMES * cap)
    counts = np.bincount(cell[kept], minlength=k)
    return Centres(points + middle, counts / len(rows), cap, n_together / len(rows))


def together(rows: Floats, cap: float) -> bool:
    """Whether `LEAST` distinct rows of these are as close together as rows of a cluster with this cap."""
    with np.errstate(over="ignore", invalid="ignore"):
        sample = _Sample(rows - np.median(rows, axis=0), 1)
        return sample.together(np.ones(len(rows), np.bool_), NEAR / TIMES * cap) >= LEAST


def _cap(squares: Floats) -> float:
    """From squared distances without zeros, since many rows may be equal; infinite if all are zero."""
    apart = squares[squares > 0.0]
    if not apart.size:
        return np.inf
    return TIMES * float(np.quantile(np.minimum(apart, 1e300), COMMON))


class _Sample:
    """Rows about their middle, their squared lengths, which are first of equal ones, and the least cell."""

    def __init__(self, rows: Floats, k: int) -> None:
        self.rows = np.where(np.isfinite(rows), rows, 1e200)
        self.distinct = np.zeros(len(rows), np.bool_)
        self.distinct[np.unique(self.rows, axis=0, return_index=True)[1]] = True
        self.least = max(1, min(LEAST, int(self.distinct.sum()) // (4 * k)))
        self.lengths = (self.rows * self.rows).sum(axis=1)

    def squares(self, centres: Floats) -> Floats:
        """Squared distances to centres, shape (n, k); those of outlying rows may be infinite."""
        found = self.lengths[:, None] - 2.0 * (self.rows @ centres.T) + (centres * centres).sum(axis=1)
        return np.where(np.isnan(found), np.inf, np.maximum(found, 0.0))

    def badness(self, centres: Floats, cap: float) -> tuple[int, float]:
        """Number of cells with too few rows, and the mean cost of a row."""
        squares = self.squares(centres)
        cell, nearest = squares.argmin(axis=1), squares.min(axis=1)
        counts = np.bincount(cell[(nearest <= cap) & self.distinct], minlength=len(centres))
        return int((counts < self.least).sum()), float(np.minimum(nearest, cap).mean())

    def cells(self, centres: Floats, cap: float) -> tuple[NDArray[np.intp], Bools]:
        """The nearest centre of each row, and which rows are within the cap of it."""
        squares = self.squares(centres)
        cell = squares.argmin(axis=1)
        return cell, np.asarray(squares[np.arange(len(cell)), cell] <= cap)

    def together(self, some: Bools, near: float) -> int:
        """The largest number of these rows near one of them; 0 if they form no cluster."""
        rows = self.rows[some & self.distinct & (self.lengths < 1e100)][:MOST_LEFT_OUT]
        if len(rows) < self.least:
            return 0
        count = int((_Sample(rows, 1).squares(rows) <= near).sum(axis=1).max())
        return count if count >= self.least else 0

    def seeds(self, k: int, cap: float, draws: Floats) -> Floats:
        """Row after row: of a few drawn by their cost, the one that leaves the least cost."""
        costs = np.full(len(self.rows), cap)
        chosen: list[int] = []
        for tries in draws[: k * CANDIDATES].reshape(k, CANDIDATES):
            row, costs = self._seed(costs, tries)
            chosen.append(row)
        return self.rows[chosen].copy()

    def _seed(self, costs: Floats, draws: Floats) -> tuple[int, Floats]:
        """One more seed, and the costs of the rows with it."""
        reached = np.cumsum(np.where(np.isfinite(costs), costs, 1.0))
        places = np.searchsorted(reached, draws * reached[-1], side="right")
        places = np.minimum(places, len(costs) - 1)
        then = np.minimum(self.squares(self.rows[places]), costs[:, None])
        enough = ((then < costs[:, None]) & self.distinct[:, None]).sum(axis=0) >= self.least
        best = int(np.where(enough == enough.any(), then.sum(axis=0), np.inf).argmin())
        return int(places[best]), then[:, best]

    def refined(self, centres: Floats, cap: float, draws: Floats) -> Floats:
        """Lloyd's rounds; a centre with too few rows moves to a row drawn by its cost."""
        k = len(centres)
        for _ in range(ROUNDS):
            cell, kept = self.cells(centres, cap)
            counts = np.bincount(cell[kept], minlength=k)
            member = np.zeros((int(kept.sum()), k))
            member[np.arange(len(member)), cell[kept]] = 1.0
            moved = np.where(
                counts[:, None] > 0, (member.T @ self.rows[kept]) / np.maximum(counts, 1)[:, None], centres
            )
            distinct = np.bincount(cell[kept & self.distinct], minlength=k)
            for c in np.flatnonzero(distinct < self.least)[: draws.size // CANDIDATES]:
                tries, draws = draws[:CANDIDATES], draws[CANDIDATES:]
                others = np.delete(moved, c, axis=0)
                costs = np.minimum(self.squares(others).min(axis=1, initial=np.inf), cap)
                moved[c] = self.rows[self._seed(costs, tries)[0]]
            if (moved == centres).all():
                break
            centres = moved
        return centres
