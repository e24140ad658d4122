"""Permutation tests of two samples: statistics of all reassignments of units from sums over units.

A statistic of two samples is made of sums over the rows of units, or over pairs of rows of two units. These
sums are computed once, so each reassignment of the units costs no more than adding them up.

References
----------
Lehmann & Romano (2022), Testing Statistical Hypotheses, chapter 17 (permutation tests are exact).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.random.philox import Key, words
from distmom.numerics.ranks.order import dense_ranks

Pairwise = Callable[[Floats, Floats], Floats]

Statistic = Callable[[Floats], tuple[Floats, Floats]]
"""Maps the units of the second sample (1, else 0; shape (n, n_units)) to the difference of the samples.

Also returns the size of the terms of that difference; both of shape (n,).
"""

AT_ONCE = 1_000
"""Reassignments that are evaluated together."""

PAIRS_AT_ONCE = 1 << 20

TIE = 1e-12
"""Relative to the size of its parts: statistics closer than this are ties, and count as extreme."""


class Units(NamedTuple):
    """Rows of units that are exchangeable if both samples have one distribution.

    Attributes
    ----------
    values : ndarray of float64
        Rows, those of each unit together: first the units of the first sample, then those of the second.
    starts : ndarray of int64, shape (n_units + 1,)
        First row of each unit, and the number of all rows.
    n_first : int
        Units of the first sample.
    """

    values: Floats
    starts: Ints
    n_first: int

    @property
    def n_units(self) -> int:
        """Units of both samples."""
        return self.starts.size - 1

    @property
    def counts(self) -> Floats:
        """Rows of each unit."""
        return np.diff(self.starts).astype(np.float64)

    @property
    def second(self) -> Floats:
        """1 for units of the second sample, else 0."""
        return (np.arange(self.n_units) >= self.n_first).astype(np.float64)

    def sums(self, values: Floats) -> Floats:
        """Sums over the rows of each unit."""
        return np.add.reduceat(values, self.starts[:-1])

    def pair_sums(self, value: Pairwise) -> Floats:
        """Sums over pairs of different rows, one from each of two units: shape (n_units, n_units)."""
        found = np.zeros((self.n_units, self.n_units))
        for i, (start, stop) in enumerate(
            zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        ):
            step = max(1, PAIRS_AT_ONCE // (self.values.size - start))
            for low in range(start, stop, step):
                mine, others = self.values[low : min(low + step, stop)], self.values[start:]
                across = value(mine[:, None], others[None, :]).sum(axis=0)
                found[i, i:] += np.add.reduceat(across, self.starts[i:-1] - start)
            found[i, i] -= float(value(self.values[start:stop], self.values[start:stop]).sum())
        return found + np.triu(found, 1).T


def mean_statistic(units: Units) -> Statistic:
    """Absolute difference of the means."""
    counts, sums = units.counts, units.sums(units.values)

    def of(second: Floats) -> tuple[Floats, Floats]:
        n2, s2 = second @ counts, second @ sums
        first, other = (sums.sum() - s2) / (counts.sum() - n2), s2 / n2
        return np.abs(other - first), np.abs(first) + np.abs(other)

    return of


def area_statistic(units: Units) -> Statistic:
    """Distance of the area under the ROC curve from one half, by midranks."""
    ranks = midranks(units.values)
    counts, sums = units.counts, units.sums(ranks)

    def of(second: Floats) -> tuple[Floats, Floats]:
        n2 = second @ counts
        area = ((second @ sums) / n2 - 0.5 * (n2 + 1.0)) / (counts.sum() - n2)
        return np.abs(area - 0.5), np.ones(n2.size)

    return of


def discrepancy_statistic(units: Units, value: Pairwise, sign: float) -> Statistic:
    """``sign * (U_XX + U_YY - 2 mean_XY)``: energy distance (|x - y|, -1) or mean discrepancy (+1)."""
    counts, pairs = units.counts, units.pair_sums(value)
    of_unit, n = pairs.sum(axis=1), counts.sum()

    def of(second: Floats) -> tuple[Floats, Floats]:
        n2 = second @ counts
        n1 = n - n2
        of_second = np.einsum("pg,pg->p", second @ pairs, second)
        across = second @ of_unit - of_second
        of_first = of_unit.sum() - 2.0 * across - of_second
        inside = of_first / (n1 * (n1 - 1.0)) + of_second / (n2 * (n2 - 1.0))
        between = 2.0 * across / (n1 * n2)
        return sign * (inside - between), np.abs(inside) + np.abs(between)

    return of


def midranks(values: Floats) -> Floats:
    """Ranks from 1 on; ties share the mean of their ranks."""
    ranks, starts = dense_ranks(values)
    return np.asarray((0.5 * (starts[:-1] + 1 + starts[1:]))[ranks])


def p_values(units: Units, statistics: list[Statistic], key: Key, n_permutations: int) -> list[float | None]:
    """Share of the reassignments, including the observed one, with a statistic at least as extreme.

    Parameters
    ----------
    units : Units
    statistics : list of Statistic
        Evaluated on the same reassignments.
    key : int
        Key of the draws.
    n_permutations : int
        Number of reassignments drawn.

    Returns
    -------
    list of float or None
        If the units are exchangeable, each is at most p with probability at most p, for every p. None if
        the statistic is not finite, for example if values are too large to be added. Reassignments with a
        non-finite statistic count as extreme.
    """
    found = []
    for statistic in statistics:
        value, size = statistic(units.second[None, :])
        found.append(value[0] - TIE * size[0])
    extreme = [1] * len(statistics)
    for second in reassignments(units, key, n_permutations):
        for number, statistic in enumerate(statistics):
            extreme[number] += int(np.count_nonzero(~(statistic(second)[0] < found[number])))
    told = zip(found, extreme, strict=True)
    return [count / (n_permutations + 1) if np.isfinite(value) else None for value, count in told]


def reassignments(units: Units, key: Key, n_permutations: int) -> Iterator[Floats]:
    """Random choices of the second sample's units, with its size kept, uniform: a few rows at a time."""
    n = units.n_units
    for first in range(0, n_permutations, AT_ONCE):
        count = min(AT_ONCE, n_permutations - first)
        numbers = words(key, 0, count * n, first=first * n).reshape(count, n)
        chosen = np.argsort(numbers, axis=1, kind="stable")[:, units.n_first :]
        second = np.zeros((count, n))
        np.put_along_axis(second, chosen, 1.0, axis=1)
        yield second
