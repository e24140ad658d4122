"""Kernels that are polynomials of differences: exact block statistics from central moments, O(n)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.kernel import Kernel, Part, Ratio, Weights
from distmom.numerics.kernels.sums import Mass, PairSums, Value, add_up, count_tuples


def centred(x: Floats, mass: Mass) -> Floats:
    """Rows minus their mean, in two steps about one of them: a large offset costs no digits."""
    with np.errstate(invalid="ignore", over="ignore"):
        d = x - x[x.shape[0] // 2]
        return np.asarray(d - mass.add(d) / mass.total)


def _mass(x: Floats, weights: Weights) -> Mass:
    return Mass(x.shape[0], None if weights is None else weights[0])


@dataclass(frozen=True)
class Variance(Kernel):
    """(x - y)^2 / 2, whose U-statistic is the sample variance; its V-form divides by n instead of n - 1."""

    name: ClassVar[str] = "variance"

    def from_covariance(self, matrix: Floats) -> tuple[Value, ...]:
        """The only entry."""
        return (matrix[..., 0, 0],)

    def value(self, *rows: Floats) -> Floats:
        """Half the squared difference."""
        with np.errstate(invalid="ignore", over="ignore"):
            d = rows[0] - rows[1]
            return np.asarray(0.5 * (d * d))

    def complete(self, *samples: Floats, rows: bool = True, weights: Weights = None) -> PairSums:
        """From the second and fourth central moments."""
        mass = _mass(samples[0], weights)
        with np.errstate(invalid="ignore", over="ignore"):
            squares = centred(samples[0], mass) ** 2
            s2, s4 = mass.add(squares), mass.add(squares * squares)
            row_means = (mass.at_rows(0.5 * (mass.total * squares + s2)),) if rows else None
            second = (0.5 * mass.total * s4 + 1.5 * s2 * s2) / mass.ordered
            return PairSums(mass.n_pairs, mass.total * s2 / mass.ordered, second, row_means)


@dataclass(frozen=True)
class Covariance(Kernel):
    """(x - y)(x - y)^T / 2 of rows of c columns, whose U-statistic is the sample covariance matrix."""

    name: ClassVar[str] = "covariance"
    columns: ClassVar[int | None] = None

    def from_covariance(self, matrix: Floats) -> tuple[Value, ...]:
        """The matrix itself."""
        return (matrix,)

    def shape(self, columns: int) -> tuple[int, ...]:
        """A c x c matrix."""
        return (columns, columns)

    def value(self, *rows: Floats) -> Floats:
        """Half the outer product of the difference with itself."""
        with np.errstate(invalid="ignore", over="ignore"):
            d = rows[0] - rows[1]
            return np.asarray(0.5 * (d[..., :, None] * d[..., None, :]))

    def complete(self, *samples: Floats, rows: bool = True, weights: Weights = None) -> PairSums:
        """From the co-moments, column by column: without row means only a few columns of memory."""
        mass, c = _mass(samples[0], weights), samples[0].shape[1]
        with np.errstate(invalid="ignore", over="ignore"):
            d = centred(samples[0], mass).T.copy()
            s2, cross = np.empty((c, c)), np.empty((c, c))
            for a in range(c):
                for b in range(a, c):
                    product = d[a] * d[b]
                    s2[a, b] = s2[b, a] = mass.add(product)
                    cross[a, b] = cross[b, a] = mass.add(product * product)
            spread = np.diagonal(s2)
            second = 0.5 * (mass.total * cross + np.multiply.outer(spread, spread)) + s2 * s2
            row_means = None
            if rows:
                outer = d.T[:, :, None] * d.T[:, None, :]
                row_means = (mass.at_rows(0.5 * (mass.total * outer + s2)),)
            return PairSums(mass.n_pairs, mass.total * s2 / mass.ordered, second / mass.ordered, row_means)


@dataclass(frozen=True)
class SquaredDistance(Kernel):
    """Squared Euclidean distance of two rows: twice the trace of the covariance matrix."""

    name: ClassVar[str] = "squared-distance"
    columns: ClassVar[int | None] = None

    def from_covariance(self, matrix: Floats) -> tuple[Value, ...]:
        """Twice the trace, added entry by entry."""
        with np.errstate(invalid="ignore", over="ignore"):
            return (2.0 * np.add.accumulate(np.diagonal(matrix, axis1=-2, axis2=-1), axis=-1)[..., -1],)

    def value(self, *rows: Floats) -> Floats:
        """Squares of the differences, added column by column."""
        return squared_distance(*rows)

    def complete(self, *samples: Floats, rows: bool = True, weights: Weights = None) -> PairSums:
        """From the co-moments; O(n c^2) for the mean of the squared kernel."""
        mass, c = _mass(samples[0], weights), samples[0].shape[1]
        with np.errstate(invalid="ignore", over="ignore"):
            d = centred(samples[0], mass).T.copy()
            q = np.zeros(d.shape[1])
            for column in d:
                q += column * column
            whole, fourth = mass.add(q), mass.add(q * q)
            inner = 0.0  # sum over all ordered pairs of the squared inner products
            for a in range(c):
                for b in range(c):
                    s = mass.add(d[a] * d[b])
                    inner += s * s
            second = (2.0 * (mass.total * fourth + whole * whole) + 4.0 * inner) / mass.ordered
            row_means = (mass.at_rows(mass.total * q + whole),) if rows else None
            return PairSums(mass.n_pairs, 2.0 * mass.total * whole / mass.ordered, second, row_means)


def squared_distance(a: Floats, b: Floats) -> Floats:
    """Squared Euclidean distance over the last axis, columns added in order."""
    with np.errstate(invalid="ignore", over="ignore"):
        d = a[..., 0] - b[..., 0]
        total = np.asarray(d * d)
        for c in range(1, a.shape[-1]):
            d = a[..., c] - b[..., c]
            total = total + d * d
        return total


@dataclass(frozen=True)
class Product(Kernel):
    """(x - x')(y - y') / 2 of two columns, whose U-statistic is their covariance."""

    name: ClassVar[str] = "product"
    columns: ClassVar[int | None] = 2
    first: int = 0
    other: int = 1

    def value(self, *rows: Floats) -> Floats:
        """Half the product of the two differences."""
        with np.errstate(invalid="ignore", over="ignore"):
            d = rows[0] - rows[1]
            return np.asarray(0.5 * (d[..., self.first] * d[..., self.other]))

    def complete(self, *samples: Floats, rows: bool = True, weights: Weights = None) -> PairSums:
        """One entry of the covariance matrix."""
        mass = _mass(samples[0], weights)
        with np.errstate(invalid="ignore", over="ignore"):
            d = centred(samples[0], mass)
            a, b = d[:, self.first], d[:, self.other]
            product = a * b
            saa, sbb, sab = mass.add(a * a), mass.add(b * b), mass.add(product)
            second = 0.5 * (mass.total * mass.add(product * product) + saa * sbb) + sab * sab
            row_means = (mass.at_rows(0.5 * (mass.total * product + sab)),) if rows else None
            return PairSums(mass.n_pairs, mass.total * sab / mass.ordered, second / mass.ordered, row_means)


@dataclass(frozen=True)
class Correlation(Ratio):
    """Pearson's correlation of two columns: covariance over the root of the product of the variances."""

    name: ClassVar[str] = "correlation"
    columns: ClassVar[int | None] = 2

    @property
    def parts(self) -> tuple[Part, ...]:
        """The covariance and the two variances."""
        return tuple(Part(Product(a, b), (0,)) for a, b in ((0, 1), (0, 0), (1, 1)))

    def from_covariance(self, matrix: Floats) -> tuple[Value, ...]:
        """Three entries."""
        return tuple(matrix[..., a, b] for a, b in ((0, 1), (0, 0), (1, 1)))


@dataclass(frozen=True)
class ThirdMoment(Kernel):
    """(2x - y - z)(2y - x - z)(2z - x - y) / 6: its mean over triples is the third central moment."""

    name: ClassVar[str] = "third-moment"
    degrees: ClassVar[tuple[int, ...]] = (3,)

    def value(self, *rows: Floats) -> Floats:
        """The product of the three differences from the other two."""
        x, y, z = rows
        with np.errstate(invalid="ignore", over="ignore"):
            xy, xz, yz = x - y, x - z, y - z
            return np.asarray((xy + xz) * (yz - xy) * (xz + yz) / -6.0)

    def complete(self, *samples: Floats, rows: bool = True, weights: Weights = None) -> PairSums:
        """From power sums of the centred rows, without the row itself for its row mean."""
        if weights is not None:
            return self._weighed(samples[0], weights[0])
        n = samples[0].size
        with np.errstate(invalid="ignore", over="ignore"):
            d = centred(samples[0], Mass(n))
            squares = d * d
            s2, s3 = add_up(squares), add_up(squares * d)
            mean = n * s3 / ((n - 1.0) * (n - 2.0))
            row_means = None
            if rows:
                a1, a2, a3 = -d, s2 - squares, s3 - squares * d  # sums over the other rows
                total = (squares * d * ((n - 1.0) * (n - 2.0) / 2.0) + (n - 2.0) * a3) / 3.0
                total -= 0.5 * ((n - 2.0) * (squares * a1 + d * a2) + (a1 * a2 - a3))
                total += d * (a1 * a1 - a2)
                row_means = (total / ((n - 1.0) * (n - 2.0) / 2.0),)
            return PairSums(count_tuples((3,), (n,)), mean, None, row_means)

    def _weighed(self, x: Floats, weights: Floats) -> PairSums:
        """From power sums of the rows other than each one, by their weights and by the weights' squares."""
        mass = Mass(x.size, weights)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            d = centred(x, mass)
            # products: the last bits of powers depend on the processor
            powers = np.ones_like(d), d, d * d, d * d * d
            terms = [mass_ * power for mass_ in (weights, weights * weights) for power in powers]
            w1, a1, a2, a3, w2, b1, b2, b3 = (add_up(term) - term for term in terms)
            pairs = w1 * w1 - w2  # ordered pairs of different other rows
            total = (d * d * d * pairs + 2.0 * (a3 * w1 - b3)) / 3.0
            total -= d * d * (a1 * w1 - b1) + d * (a2 * w1 - b2) + (a1 * a2 - b3)
            total += 2.0 * d * (a1 * a1 - b2)
            mean = add_up(weights * total) / add_up(weights * pairs)
            return PairSums(count_tuples((3,), (mass.n_rows,)), mean, None, (total / pairs,))

    def v_form(self, sums: PairSums, *samples: Floats, weights: Weights = None) -> PairSums:
        """The ordinary central moment: division by n, or by the weight of all rows."""
        mass = _mass(samples[0], weights)
        with np.errstate(invalid="ignore", over="ignore"):
            d = centred(samples[0], mass)
            squares = d * d
            m2, m3 = mass.add(squares) / mass.total, mass.add(squares * d) / mass.total
            rows = (squares * d / 3.0 + 2.0 * m3 / 3.0 - d * m2,)
        return PairSums(mass.n_rows**3, m3, None, rows if sums.row_means is not None else None)
