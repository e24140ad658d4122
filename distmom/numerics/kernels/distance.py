"""Distances between rows: Gini's mean difference and the mean Euclidean distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.kernel import Inlined, Kernel, Weights
from distmom.numerics.kernels.moment import centred, squared_distance
from distmom.numerics.kernels.sums import Mass, PairSums
from distmom.numerics.ranks.sorted_sums import rows_between, sums_within


def mean_distance(x: Floats, *, rows: bool, weights: Weights = None) -> PairSums:
    """U-statistic of |x - y| in one dimension, by sorting: O(n log n)."""
    of_x = None if weights is None else weights[0]
    mass = Mass(x.size, of_x)
    total, sums = sums_within(x, of_x, rows=rows)
    with np.errstate(invalid="ignore", over="ignore"):
        row_means = None if sums is None else (mass.at_rows(sums),)
        second = 2.0 * mass.total * mass.add(centred(x, mass) ** 2) / mass.ordered
        return PairSums(mass.n_pairs, 2.0 * total / mass.ordered, second, row_means)


def mean_distance_between(x: Floats, y: Floats, weights: Weights = None) -> PairSums:
    """Mean of |x - y| over all x of one sample and y of the other, by sorting both together."""
    of_x, of_y = (None, None) if weights is None else weights
    masses = Mass(x.size, of_x), Mass(y.size, of_y)
    sums = rows_between(x, y, weights)
    with np.errstate(invalid="ignore", over="ignore"):
        mean = masses[0].add(sums[0]) / (masses[0].total * masses[1].total)
        second = 0.0  # E (x - y)^2 = Var x + Var y + (E x - E y)^2, about a row of y
        centres = []
        for rows, mass in zip((x, y), masses, strict=True):
            away = rows - y[y.size // 2]
            centres.append(mass.add(away) / mass.total)
            second += mass.add((away - centres[-1]) ** 2) / mass.total
        second += (centres[0] - centres[1]) ** 2
        row_means = (sums[0] / masses[1].total, sums[1] / masses[0].total)
    return PairSums(masses[0].n_rows * masses[1].n_rows, mean, second, row_means)


@dataclass(frozen=True)
class Gini(Kernel):
    """``|x - y|``, whose U-statistic is Gini's mean difference; half of it over the mean: Gini index."""

    name: ClassVar[str] = "gini"

    def value(self, *rows: Floats) -> Floats:
        """The absolute difference."""
        with np.errstate(invalid="ignore", over="ignore"):
            return np.abs(rows[0] - rows[1])

    compiled: ClassVar[Inlined] = Inlined("absolute")

    def complete(self, *samples: Floats, rows: bool = True, weights: Weights = None) -> PairSums:
        """By sorting."""
        return mean_distance(samples[0], rows=rows, weights=weights)

    def complete_between(
        self, x: Floats, y: Floats, *, rows: bool = True, weights: Weights = None
    ) -> PairSums:
        """By sorting both samples together."""
        return mean_distance_between(x, y, weights)


@dataclass(frozen=True)
class Distance(Kernel):
    """Euclidean distance of two rows of any number of columns."""

    name: ClassVar[str] = "distance"
    columns: ClassVar[int | None] = None

    def value(self, *rows: Floats) -> Floats:
        """The root of the squared distance."""
        with np.errstate(invalid="ignore", over="ignore"):
            return np.sqrt(squared_distance(*rows))

    compiled: ClassVar[Inlined] = Inlined("euclidean")

    def complete(self, *samples: Floats, rows: bool = True, weights: Weights = None) -> PairSums | None:
        """In one dimension by sorting."""
        x = samples[0]
        return mean_distance(x[:, 0].copy(), rows=rows, weights=weights) if x.shape[1] == 1 else None

    def complete_between(
        self, x: Floats, y: Floats, *, rows: bool = True, weights: Weights = None
    ) -> PairSums | None:
        """In one dimension by sorting both samples together."""
        return mean_distance_between(x[:, 0], y[:, 0], weights) if x.shape[1] == 1 else None
