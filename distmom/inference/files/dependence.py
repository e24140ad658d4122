"""Rows correlated with their neighbours: which units may be taken as independent, if any.

Stretches of neighbouring rows are joined step by step: to stretches of twice the length, to files, to
folders. For independent rows the between-unit estimate of the variance of the mean equals that of rows,
whatever the units. If rows are correlated it grows with the units until these contain all rows that are
correlated: units of that size are as good as independent, and the interval is based on them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from distmom.inference.files.file_effects import FALSE_ALARM, LEAST_FILES, MOST_CELLS, Clusters
from distmom.inference.ladder import scaled_mad
from distmom.inference.steps import CERTAIN
from distmom.numerics.arrays import Floats, Ints

LEAST_UNITS = 10
"""Fewer units than this are not tested."""

MOST_OUTLYING = 4
"""One in this many pieces may have outlying rows; with more, it is unclear which pieces are outlying."""

SERIAL = 2.33
"""Standard errors up to which units may be correlated with the next ones, or with those they join."""

FILES, FOLDERS = "files", "folders"

ENOUGH_UNITS = 60
"""With this many units Student's quantile costs little; more are joined further, to be nearly independent."""


@dataclass(frozen=True)
class Pieces:
    """Means of the smallest units, in the order of the rows: d lines of U pieces.

    Attributes
    ----------
    levels : tuple of (str, ndarray of int64)
        Name of the units of each level, and the number of each piece's unit, from fine to coarse.
    files : ndarray of int64, shape (U,)
        Number of the file, in the order of their names.
    mass : ndarray, shape (U,)
    mean : ndarray, shape (d, U)
    variance : ndarray, shape (d,)
        Variance of a row of mass 1.
    of_mean : ndarray, shape (d,)
        Variance of the mean of all rows if these are independent.
    outlying : int
        Number of outlying blocks that the answer leaves out; if any, far pieces are left out, too.
    """

    levels: tuple[tuple[str, Ints], ...]
    files: Ints
    mass: Floats
    mean: Floats
    variance: Floats
    of_mean: Floats
    outlying: int = 0

    def kept(self) -> Pieces:
        """The same without pieces that are not finite, or that are outlying, if those are left out."""
        some = np.isfinite(self.mean).all(axis=0)
        if not some.any():
            return replace(self, levels=())
        if self.outlying:
            z = (self.mean - np.median(self.mean[:, some], axis=1, keepdims=True)) * np.sqrt(self.mass)
            spread = np.maximum(scaled_mad(z[:, some]), np.sqrt(self.variance))[:, None]
            some &= (np.abs(z) <= max(CERTAIN, 0.5 * math.sqrt(some.size)) * spread).all(axis=0)
        if some.all():
            return self
        levels = tuple((name, np.unique(units[some], return_inverse=True)[1]) for name, units in self.levels)
        files = np.unique(self.files[some], return_inverse=True)[1]
        mass, mean = self.mass[some], self.mean[:, some]
        of_mean = self.of_mean * (self.mass.sum() / mass.sum())
        return replace(self, levels=levels, files=files, mass=mass, mean=mean, of_mean=of_mean)


@dataclass(frozen=True)
class Dependence:
    """The units whose means are as good as independent, if rows are not; `in_order` for sorted rows.

    Attributes
    ----------
    unit : str
    effect : ndarray, shape (d,)
        Variance of the mean by units over that by rows.
    clusters : Clusters or None
        The units; None if no units are independent, or rows are merely sorted.
    """

    unit: str
    effect: Floats
    clusters: Clusters | None = None
    in_order: bool = False


@dataclass(frozen=True)
class _Level:
    """The units of one level, `rate` is the probability of a false alarm; most levels raise none, at once."""

    unit: str
    mass: Floats
    mean: Floats
    variance: Floats
    rate: float
    clusters: Clusters

    @property
    def freedom(self) -> float:
        return float(max(self.clusters.n_effective.min() - 1.0, 1.0))

    @cached_property
    def alarm(self) -> bool:
        """Whether units vary more than independent ones: without the one that adds most, and in most."""
        from scipy.special import chdtri

        freedom = np.maximum(self.clusters.n_effective - 1.0, 1.0)
        sure = self.clusters.least_effect * freedom > chdtri(freedom, self.rate)
        if not sure.any():
            return False
        with np.errstate(invalid="ignore", over="ignore"):
            z = (self.mean - np.median(self.mean, axis=1, keepdims=True)) * np.sqrt(self.mass)
        most = np.square(scaled_mad(z)) / self.variance
        return bool((sure & (most > np.exp(MOST_CELLS / np.sqrt(self.clusters.n_cells)))).any())

    @cached_property
    def chained(self) -> bool:
        """Whether stretches are correlated with the next ones, by twice the standard error."""
        if self.unit in (FILES, FOLDERS):
            return False
        pull = self.clusters.pull
        square = np.sum(np.square(pull), axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            next_ones = np.sum(pull[:, 1:] * pull[:, :-1], axis=1)
            return bool((next_ones > SERIAL * square / math.sqrt(pull.shape[1])).any())


def dependence(pieces: Pieces) -> Dependence | None:
    """The units for the interval; None if rows may be taken as independent.

    Notes
    -----
    Rows are called correlated if a level of at least `LEAST_UNITS` units says so, at `FALSE_ALARM` over all
    levels: its variance, without the unit that adds most, is above the chi-squared quantile, and so is that
    of most units. An alarm does not count if coarser units vary less, as when rows are sorted within each
    file. From fine to coarse, the first level is taken that agrees with all coarser ones and whose
    stretches are not correlated with the next ones; it is made coarser while `ENOUGH_UNITS` remain.
    """
    if MOST_OUTLYING * pieces.outlying > pieces.mass.size:
        return None
    pieces = pieces.kept()
    levels = [level for name, units in pieces.levels if (level := _level(pieces, name, units)) is not None]
    if not any(
        one.alarm and not any(_lower(one, later) and not later.alarm for later in levels[i + 1 :])
        for i, one in enumerate(levels)
    ):
        return None
    if in_order(pieces):
        return Dependence("", np.ones(pieces.mean.shape[0]), in_order=True)
    good = [i for i, one in enumerate(levels) if all(_agree(one, later) for later in levels[i + 1 :])]
    apart = [i for i in good if not levels[i].chained]
    many = [i for i in apart if levels[i].clusters.n_cells.min() >= ENOUGH_UNITS]
    found = levels[max(many) if many else min(apart, default=-1)]
    return Dependence(found.unit, found.clusters.effect, found.clusters if apart else None)


def _level(pieces: Pieces, name: str, units: Ints) -> _Level | None:
    """The level of these units; None if they are too few."""
    n = int(units.max(initial=-1)) + 1
    if n < LEAST_UNITS:
        return None
    mass = np.bincount(units, pieces.mass, n).astype(np.float64, copy=False)
    with np.errstate(invalid="ignore", over="ignore"):
        mean = np.stack([np.bincount(units, pieces.mass * line, n) for line in pieces.mean]) / mass
    rate = FALSE_ALARM / max(1, len(pieces.levels)) / pieces.mean.shape[0]
    clusters = Clusters.of_units(mass, mean, pieces.of_mean)
    return _Level(name, mass, mean, pieces.variance, rate, clusters)


def _lower(level: _Level, coarser: _Level) -> bool:
    """Whether coarser units vary less than independent ones would, in some line."""
    from scipy.special import chdtri

    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = coarser.clusters.effect / level.clusters.effect * coarser.freedom
        return bool((ratio < chdtri(coarser.freedom, 1.0 - FALSE_ALARM)).any())


def _agree(level: _Level, coarser: _Level) -> bool:
    """Whether the coarser units show the same variance, up to chance, in all lines.

    For n independent units in m coarser ones the ratio of both variances has variance 2/m (1 - m/n).
    """
    n, m = level.clusters.n_cells.min(), coarser.clusters.n_cells.min()
    with np.errstate(invalid="ignore", divide="ignore"):
        more = coarser.clusters.effect / level.clusters.effect - 1.0
        high = more > SERIAL * math.sqrt(max(2.0 / m * (1.0 - m / n), 0.0))
    return not bool(high.any()) and not _lower(level, coarser)


def in_order(pieces: Pieces) -> bool:
    """Whether rows are sorted by value or by a related column: a monotone curve explains all.

    The curve is fitted to all files in the order of their names, or in that of their means if stretches
    within files show the trend as well. The residual variance must be no more than chance explains.
    """
    from scipy.special import chdtri

    files, mass = pieces.files, pieces.mass
    n_files = int(files.max(initial=0)) + 1
    of_files = np.bincount(files, mass, n_files)
    for line, variance in zip(pieces.mean, pieces.variance, strict=True):
        centre = np.sum(mass * line) / mass.sum()
        total = variance * mass.sum()
        within = max(total - np.sum(mass * np.square(line - centre)), 0.0) / max(mass.sum() - mass.size, 1.0)
        file_means = np.bincount(files, mass * line, n_files) / np.where(of_files > 0.0, of_files, 1.0)
        inside = np.sum(mass * np.square(line - file_means[files]))
        freedom = mass.size - n_files
        trend = freedom > 0 and inside > within * chdtri(freedom, FALSE_ALARM)
        place = np.argsort(np.argsort(file_means, kind="stable"), kind="stable")
        down = np.argsort(-place[files], kind="stable")
        up = np.argsort(place[files], kind="stable")
        curves = [(line, mass), (-line, mass)]
        if trend:
            curves += [(line[up], mass[up]), (-line[down], mass[down])]
        if n_files < LEAST_UNITS and trend:
            curves += [(line - file_means[files], mass)]
        if not any(_monotone(*curve, within) for curve in curves):
            return False
    return True


def _monotone(mean: Floats, mass: Floats, within: float) -> bool:
    """Whether the residuals from a rising curve are explained by the rows' own variance."""
    from scipy.special import chdtri

    fit, n_steps = rising(mean, mass)
    rest, freedom = float(np.sum(mass * np.square(mean - fit))), mean.size - n_steps
    return rest == 0.0 or (freedom > 0 and rest <= within * float(chdtri(freedom, FALSE_ALARM)))


def rising(mean: Floats, mass: Floats) -> tuple[Floats, int]:
    """The rising sequence nearest to the means, and its number of values (pool adjacent violators).

    Examples
    --------
    >>> rising(np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4))
    (array([1. , 2.5, 2.5, 4. ]), 3)
    """
    steps: list[list[float]] = []
    for m, w in zip(mean.tolist(), mass.tolist(), strict=True):
        steps.append([m, w, 1])
        while len(steps) > 1 and steps[-2][0] >= steps[-1][0]:
            value, weight, n = steps.pop()
            last = steps[-1]
            last[0] += (value - last[0]) * weight / (last[1] + weight)
            last[1], last[2] = last[1] + weight, last[2] + n
    return np.repeat([s[0] for s in steps], [int(s[2]) for s in steps]), len(steps)


def levels_of(files: Ints, numbers: Ints, rows: int, folders: Sequence[Ints]) -> tuple[tuple[str, Ints], ...]:
    """The levels of pieces: stretches of doubled length within files, files, folders.

    `files` and `numbers` (of the piece in its file) ascend; `folders` are those of the pieces at each depth,
    from the inmost on.
    """
    found: list[tuple[str, Ints]] = []
    n_files = int(files.max(initial=-1)) + 1
    while True:
        new = (np.diff(files) != 0) | (np.diff(numbers) != 0)
        units = np.concatenate([[0], np.cumsum(new)])
        if units[-1] + 1 <= n_files:
            break
        found.append((f"stretches of {rows:,} rows", units))
        numbers, rows = numbers // 2, 2 * rows
    found.append((FILES, files))
    for folder in folders:
        _, units = np.unique(folder, return_inverse=True)
        if LEAST_FILES <= units.max() + 1 < found[-1][1].max() + 1:
            found.append((FOLDERS, units))
    return tuple(found)
