"""Sums of one U-statistic in a block: the number of tuples, their mean, and the mean at each row."""

from __future__ import annotations

from itertools import accumulate
from math import comb, prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Floats

Value: TypeAlias = Any
"""A float, or an array of the kernel's shape for kernels with a matrix as value."""

LANES = 64
_PIECE = 1 << 12  # number of terms of a lane added one by one: rounding errors stay below 1e-12


class PairSums(NamedTuple):
    """One U-statistic of one block, and the quantities for estimating its variance.

    Attributes
    ----------
    n_tuples : int
        Number of tuples of rows averaged, exact: ``n (n - 1) / 2`` pairs of one sample. In the V-form the
        ordered tuples of rows that may repeat, ``n**2``; for weighted rows those with a positive weight.
    mean : float or ndarray
        The statistic; NaN without a tuple. Weighted rows: a tuple's weight is the product of theirs.
    second : float, ndarray or None
        Mean of the squared kernel over the same tuples; None if unknown.
    row_means : tuple of ndarray, or None
        One array for each sample, rows in the order given: the mean of the kernel over all tuples that
        contain the row. Their variance is zeta_1 up to terms of order 1/n (`components` has the exact
        relation).
    """

    n_tuples: int
    mean: Value
    second: Value | None = None
    row_means: tuple[Floats, ...] | None = None


def count_tuples(degrees: tuple[int, ...], sizes: tuple[int, ...]) -> int:
    """Number of tuples: `degrees` rows of each sample, without their order. Exact for any size."""
    return prod(comb(n, d) for n, d in zip(sizes, degrees, strict=True))


def tuple_mass(
    degrees: tuple[int, ...], sizes: tuple[int, ...], weights: tuple[Floats, ...] | None = None
) -> float:
    """Weight of all tuples, the product of their rows' weights; their number without weights."""
    if weights is None:
        return float(count_tuples(degrees, sizes))
    return prod(float(symmetric_sums(w, d)[d]) for w, d in zip(weights, degrees, strict=True))


def symmetric_sums(weights: Floats, degree: int) -> list[Any]:
    """Sums of the products of 0, 1, … `degree` different weights, by Newton's identities."""
    # products: the last bits of powers depend on the processor
    powers = [add_up(power) for power in accumulate([weights] * degree, np.multiply)]
    found: list[Any] = [1.0]
    for k in range(1, degree + 1):
        terms = [(-1.0) ** (j - 1) * found[k - j] * powers[j - 1] for j in range(1, k + 1)]
        found.append(sum(terms) / k)
    return found


def mass_at_rows(weights: Floats, degree: int) -> Floats:
    """For each row the weight of all tuples of its sample that contain it."""
    sums = symmetric_sums(weights, degree)
    others: Any = np.ones(weights.shape)  # products of the other rows' weights: e_k less w times e_(k - 1)
    for k in range(1, degree):
        others = sums[k] - weights * others
    return np.asarray(weights * others)


class Mass:
    """Weights of pairs of rows: the product of the two rows' weights, 1 without weights.

    Attributes
    ----------
    total : float
        Weight of all rows.
    ordered : float
        Weight of all ordered pairs of different rows.
    others : float or ndarray
        Weight of the rows other than a given one.
    n_rows : int
        Rows with a positive weight.
    n_pairs : int
        Number of pairs of them.
    """

    def __init__(self, n: int, weights: Floats | None = None) -> None:
        self._weights = weights
        self.others: Any
        if weights is None:
            self.total, self.ordered, self.others = float(n), float(n) * (n - 1), n - 1.0
            self.n_rows = n
        else:
            self.total = float(add_up(weights))
            self.others = self.total - weights
            self.ordered = float(add_up(weights * self.others))
            self.n_rows = int(np.count_nonzero(weights))
        self.n_pairs = comb(self.n_rows, 2)

    def add(self, terms: Floats) -> Value:
        """Weighted sum of terms of the rows, shape (n, ...)."""
        return add_up(terms) if self._weights is None else add_up(_along(self._weights, terms) * terms)

    def at_rows(self, sums: Floats) -> Floats:
        """Means over the other rows from weighted sums over them, shape (n, ...)."""
        return np.asarray(sums / (self.others if self._weights is None else _along(self.others, sums)))

    def with_diagonal(self, sums: PairSums, diagonal: Floats) -> PairSums:
        """The V-form of a U-statistic of degree 2: a row and itself are a pair, the others count twice.

        `diagonal` is the kernel at (x, x) for each row, shape (n, ...).
        """
        own = np.ones(diagonal.shape[0]) if self._weights is None else self._weights
        squares = _along(own * own, diagonal)
        whole = self.total * self.total

        def mixed(mean: Value, terms: Floats) -> Value:
            pairs = mean * self.ordered if self.n_pairs else 0.0
            return (pairs + add_up(squares * terms)) / whole

        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            second = None if sums.second is None else mixed(sums.second, diagonal * diagonal)
            rows = None
            if sums.row_means is not None:
                others = _along(self.total - own, diagonal)
                of_others = np.where(others > 0.0, others * sums.row_means[0], 0.0)
                rows = ((of_others + _along(own, diagonal) * diagonal) / self.total,)
            return PairSums(self.n_rows**2, mixed(sums.mean, diagonal), second, rows)


def _along(weights: Floats, terms: Floats) -> Floats:
    """Weights of rows with as many axes as the rows' terms."""
    return weights.reshape(-1, *(1,) * (terms.ndim - 1))


def ascending(values: Floats) -> NDArray[np.intp]:
    """Stable order that sorts the values: the order of ties in NumPy's quick sort depends on the CPU."""
    order = np.argsort(values)
    ordered = values[order]
    if (ordered[1:] == ordered[:-1]).any():
        return np.argsort(values, kind="stable")
    return order


def add_up(terms: Floats) -> Value:
    """Sum along the first axis in a fixed order, the same on every machine.

    Term i goes to lane i modulo 64, lanes are added term by term within pieces, then the pieces and lanes.
    """
    n = terms.shape[0]
    while n > LANES:
        n_rows = -(-n // LANES)
        if n_rows * LANES != n:
            padding = np.zeros((n_rows * LANES - n, *terms.shape[1:]))
            terms = np.concatenate([terms, padding])
        lanes = terms.reshape(n_rows, LANES, *terms.shape[1:])
        pieces = [np.add.reduce(lanes[start : start + _PIECE], axis=0) for start in range(0, n_rows, _PIECE)]
        if len(pieces) == 1:
            terms, n = pieces[0], LANES
        else:
            terms, n = np.concatenate(pieces), LANES * len(pieces)
    if n == 0:
        return np.zeros(terms.shape[1:])[()]
    return np.add.accumulate(terms, axis=0)[-1]
