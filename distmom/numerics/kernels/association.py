"""Association of two columns by the order of their values: Kendall's tau, concordance index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.kernels.kernel import Kernel, Part, Ratio, Weights
from distmom.numerics.kernels.sums import Mass, PairSums, count_tuples
from distmom.numerics.ranks.order import OrderCounts, dense_ranks, order_counts, run_starts, tied_pairs
from distmom.numerics.ranks.order_weights import order_masses, untied_masses


def signs(rows: tuple[Floats, ...], column: int) -> NDArray[np.int8]:
    """Sign of the difference of two rows in one column, by comparison: infinities may be equal, too."""
    a, b = rows[0][..., column], rows[1][..., column]
    return (a > b).astype(np.int8) - (a < b).astype(np.int8)


def counted(n: int, twice_sum: int, second: float, twice_rows: Ints | None) -> PairSums:
    """PairSums of a kernel whose values are halves, from twice its sums over pairs and at each row."""
    n_pairs = count_tuples((2,), (n,))
    row_means = None if twice_rows is None else (twice_rows / (2.0 * (n - 1)),)
    return PairSums(n_pairs, twice_sum / (2 * n_pairs), second, row_means)


def weighed(weights: Floats | None, sums: Floats, second: Floats) -> PairSums:
    """PairSums of rows, weighted or not, from the sums of the kernel and of its square at each row."""
    mass = Mass(sums.size, weights)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):  # no pairs, a row without others
        mean, square = mass.add(sums) / np.float64(mass.ordered), mass.add(second) / np.float64(mass.ordered)
        return PairSums(mass.n_pairs, mean, square, (mass.at_rows(sums),))


@dataclass(frozen=True)
class Kendall(Kernel):
    """Sign of (x - x')(y - y'): its U-statistic is Kendall's tau-a, pairs tied in either column count 0."""

    name: ClassVar[str] = "kendall"
    columns: ClassVar[int | None] = 2

    def value(self, *rows: Floats) -> Floats:
        """1 for a concordant, -1 for a discordant pair, 0 for a tied one."""
        return np.asarray(signs(rows, 0) * signs(rows, 1), np.float64)

    def complete(self, *samples: Floats, rows: bool = True, weights: Weights = None) -> PairSums:
        """From exact counts, or sums of weights."""
        if weights is not None:
            alike, unlike = order_masses(*_columns(samples[0]), weights[0])
            return weighed(weights[0], alike - unlike, alike + unlike)
        n = samples[0].shape[0]
        pairs, by_row = order_counts(*_columns(samples[0]), rows=rows)
        untied = (pairs.concordant + pairs.discordant) / count_tuples((2,), (n,))
        twice_rows = None if by_row is None else 2 * (by_row.concordant - by_row.discordant)
        return counted(n, 2 * (pairs.concordant - pairs.discordant), untied, twice_rows)


def _columns(sample: Floats) -> tuple[Floats, Floats]:
    return sample[:, 0].copy(), sample[:, 1].copy()


@dataclass(frozen=True)
class Untied(Kernel):
    """1 if two rows differ in one of two columns, else 0."""

    column: int
    name: ClassVar[str] = "untied"
    columns: ClassVar[int | None] = 2

    def value(self, *rows: Floats) -> Floats:
        """By comparison."""
        return np.asarray(rows[0][..., self.column] != rows[1][..., self.column], np.float64)

    def complete(self, *samples: Floats, rows: bool = True, weights: Weights = None) -> PairSums:
        """From the sizes of ties, or their weights."""
        n = samples[0].shape[0]
        values = samples[0][:, self.column].copy()
        if weights is not None:
            untied_by = untied_masses(values, weights[0])
            return weighed(weights[0], untied_by, untied_by)
        twice_rows = None
        if rows:
            ranks, starts = dense_ranks(values)
            twice_rows = 2 * (n - np.diff(starts)[ranks])
        else:
            starts = run_starts(np.sort(values))
        untied = count_tuples((2,), (n,)) - tied_pairs(starts)
        return counted(n, 2 * untied, untied / count_tuples((2,), (n,)), twice_rows)


@dataclass(frozen=True)
class KendallB(Ratio):
    """Kendall's tau-b: tau-a over the root of the product of the shares of pairs untied in each column."""

    name: ClassVar[str] = "kendall-b"
    columns: ClassVar[int | None] = 2

    @property
    def parts(self) -> tuple[Part, ...]:
        """The sign of the product, and the pairs untied in the first and in the second column."""
        return tuple(Part(kernel, (0,)) for kernel in (Kendall(), Untied(0), Untied(1)))


@dataclass(frozen=True)
class Ordered(Kernel):
    """1 if two rows' scores are ordered as their outcomes, 1/2 for equal scores, 0 for equal outcomes."""

    name: ClassVar[str] = "ordered"
    columns: ClassVar[int | None] = 2

    def value(self, *rows: Floats) -> Floats:
        """By comparison; rows are (outcome, score)."""
        product = signs(rows, 0) * signs(rows, 1)
        differ = rows[0][..., 0] != rows[1][..., 0]
        return np.asarray(0.5 * (differ * 1.0 + product))

    def complete(self, *samples: Floats, rows: bool = True, weights: Weights = None) -> PairSums:
        """From exact counts, or sums of weights."""
        if weights is not None:
            outcome, score = _columns(samples[0])
            alike, unlike = order_masses(outcome, score, weights[0])
            rest = untied_masses(outcome, weights[0]) - unlike  # alike and half of the ties
            return weighed(weights[0], 0.5 * (rest + alike), 0.25 * (rest + 3.0 * alike))
        n = samples[0].shape[0]
        pairs, by_row = order_counts(*_columns(samples[0]), rows=rows)
        halves = _score_ties(pairs)
        second = (4 * pairs.concordant + halves) / (4 * count_tuples((2,), (n,)))
        twice_rows = None if by_row is None else 2 * by_row.concordant + _score_ties(by_row)
        return counted(n, 2 * pairs.concordant + halves, second, twice_rows)


def _score_ties(counts: OrderCounts) -> Ints:
    """Rows (or pairs) with equal scores and different outcomes."""
    return counts.y_tied - counts.both_tied  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Concordance(Ratio):
    """Concordance index of an outcome and a score: pairs in the right order over comparable pairs.

    Rows are (outcome, score). Pairs with equal outcomes cannot be compared; equal scores count 1/2. For
    outcomes 0 and 1 it is the area under the ROC curve.
    """

    name: ClassVar[str] = "concordance"
    columns: ClassVar[int | None] = 2

    @property
    def parts(self) -> tuple[Part, ...]:
        """Pairs in the right order, and comparable pairs."""
        return (Part(Ordered(), (0,)), Part(Untied(0), (0,)))
