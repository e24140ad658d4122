"""Incomplete U-statistics: moments of a kernel over given tuples of rows, and variances from few rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations, pairwise, product

import numpy as np

from distmom.numerics.arrays import Floats, Ints, Record
from distmom.numerics.kernels.components import jackknife_by_sample, two_sample_variances
from distmom.numerics.kernels.evaluate import block_sums
from distmom.numerics.kernels.kernel import Kernel, Part, Ratio
from distmom.numerics.kernels.sums import Value, add_up


@dataclass(frozen=True, slots=True, eq=False)
class TupleMoments(Record):
    """Means over the tuples of K samples; P parts of the kernel, each with values of some shape.

    Attributes
    ----------
    count : ndarray of int64, shape (K,)
        Number of tuples.
    mean : ndarray of float64, shape (K, P, ...)
        Means of the parts; NaN without a tuple.
    product : ndarray of float64, shape (K, P, P, ...)
        Means of the products of two parts; for a plain kernel the second moment.
    """

    count: Ints
    mean: Floats
    product: Floats

    @classmethod
    def of(cls, kernel: Kernel, *rows: Floats) -> TupleMoments:
        """Moments over some tuples: their first rows, their second rows, and so on, sample by sample."""
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            values = np.stack([part_value(kernel, part, rows) for part in kernel.parts], axis=1)
            size, n_parts = values.shape[:2]
            mean = np.asarray(add_up(values)) / np.float64(size)
            product = np.empty((n_parts, *mean.shape))
            for a in range(n_parts):
                product[a] = np.asarray(add_up(values[:, a : a + 1] * values)) / np.float64(size)
        return cls(np.array([size], np.int64), mean[None], product[None])

    @classmethod
    def joined(cls, parts: list[TupleMoments]) -> TupleMoments:
        """All samples, in order."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__slots__))

    def values(self, kernel: Kernel) -> Floats:
        """The statistic of each sample, shape (K, ...)."""
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            return np.asarray(kernel.combine(*np.moveaxis(self.mean, 1, 0)), np.float64)

    def variance(self, weights: tuple[Value, ...]) -> Floats:
        """Variance, over the tuples of each sample, of a weighted sum of the parts; shape (K, ...).

        NaN with fewer than two tuples.
        """
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            total: Value = 0.0
            centre: Value = 0.0
            for a, first in enumerate(weights):
                centre = centre + first * self.mean[:, a]
                for b, second in enumerate(weights):
                    total = total + first * second * self.product[:, a, b]
            count = self.count.reshape(-1, *(1,) * (centre.ndim - 1)).astype(np.float64)
            spread = np.maximum(total - centre * centre, 0.0)
            return np.where(count > 1, spread * count / (count - 1.0), np.nan)


def part_value(kernel: Kernel, part: Part, rows: tuple[Floats, ...]) -> Floats:
    """Values of a part at tuples of the kernel's rows: its mean over the choices of its own rows among them.

    So energy distance uses the four pairs across two rows of each sample, as its kernel does.
    """
    starts = np.cumsum((0, *kernel.degrees)).tolist()
    of = [rows[first:last] for first, last in pairwise(starts)]
    choices = product(
        *(combinations(of[s], d) for s, d in zip(part.samples, part.kernel.degrees, strict=True))
    )
    first, *others = (part.kernel.value(*chain.from_iterable(chosen)) for chosen in choices)
    return np.asarray(sum(others, start=first) / (1.0 + len(others)) if others else first)


def part_weights(kernel: Kernel, *means: Value) -> tuple[Value, ...]:
    """Derivatives of the statistic by the means of its parts, at given means.

    A weighted sum of the parts' values with these weights has, up to terms of smaller order, the variance of
    the statistic: 1 for a simple kernel, ``1/D`` and ``-R/D`` for a ratio R = N/D, and so on. Kernels that
    are not ratios add their parts.
    """
    if len(kernel.parts) == 1:
        return (1.0,)
    if not isinstance(kernel, Ratio):
        return tuple(kernel.combine(*unit) for unit in np.eye(len(kernel.parts)).tolist())
    numerator, *denominators = means
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if len(denominators) == 1:
            below = denominators[0]
            return 1.0 / below, -numerator / (below * below)
        first, second = denominators
        root = np.sqrt(first * second)
        half = -0.5 * numerator / root
        return 1.0 / root, half / first, half / second


def row_spreads(kernel: Kernel, groups: list[Floats], weights: tuple[Value, ...]) -> Floats:
    """For each group of rows, the variance of its row means of the weighted parts; shape (groups, ...)."""
    found = []
    for rows in groups:
        sums = block_sums(kernel, rows)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            means: Value = 0.0
            for weight, part in zip(weights, sums, strict=True):
                assert part.row_means is not None
                means = means + weight * part.row_means[0]
            away = means - np.asarray(add_up(means)) / rows.shape[0]
            found.append(np.asarray(add_up(away * away)) / (rows.shape[0] - 1.0))
    return np.stack(found)


def sample_spreads(kernel: Kernel, groups: list[tuple[Floats, ...]]) -> Floats:
    """Contribution of a row of each sample to the variance of a statistic, from groups of rows of each.

    Returns
    -------
    ndarray, shape (groups, samples, ...)
        The variance of the complete statistic is about the sum over samples of these divided by their rows
        n_t. For simple kernels of one row of each sample they are unbiased, otherwise those of the jackknife,
        which are conservative.
    """
    found = []
    for rows in groups:
        sums = block_sums(kernel, *rows)
        if kernel.degrees == (1, 1) and len(kernel.parts) == 1:
            found.append(np.maximum(two_sample_variances(sums[0])[:2], 0.0))
        else:
            each = jackknife_by_sample(kernel, sums)
            found.append(np.stack([one.shape[0] * v for one, v in zip(rows, each, strict=True)]))
    return np.stack(found)


def complete_variance(spread: Value, kernel_variance: Value, degree: int, size: int, n_rows: float) -> Value:
    """Variance of the complete U-statistic of n rows, from the row means of groups of `size` rows.

    Parameters
    ----------
    spread : float or ndarray
        Variance of the row means of a group.
    kernel_variance : float or ndarray
        Variance of the kernel (of the weighted parts).
    degree, size : int
        Rows of a tuple, and of a group: more than four, and more than the degree.
    n_rows : float
        n.

    Notes
    -----
    Pairs: ``E spread = ((g - 2)^2 sigma1 + (g - 2) sigma2)/(g - 1)^2`` with ``sigma2 = Var h - 2 sigma1``
    gives sigma1 (set to 0 if negative), and then ``4 sigma1/n + 2 sigma2/(n (n - 1))``. Triples:
    the jackknife of the groups, which is conservative, times g/n.
    """
    if degree > 2:
        return (degree * (size - 1.0) / (size - degree)) ** 2 * spread / n_rows
    above = spread * (size - 1.0) ** 2 - (size - 2.0) * kernel_variance
    sigma1 = np.clip(above / ((size - 2.0) * (size - 4.0)), 0.0, 0.5 * np.asarray(kernel_variance))
    sigma2 = kernel_variance - 2.0 * sigma1
    return 4.0 * sigma1 / n_rows + 2.0 * sigma2 / (n_rows * (n_rows - 1.0))
