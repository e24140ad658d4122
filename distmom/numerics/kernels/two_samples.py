"""Statistics of two samples: differences of means, distances of distributions, area under the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.kernel import Kernel, Part, Weights
from distmom.numerics.kernels.sums import PairSums, Value, add_up, ascending, count_tuples
from distmom.numerics.ranks.order import run_starts


def _of_inner(name: str) -> Any:
    """The attribute of this name of the kernel of pairs."""
    return property(lambda kernel: getattr(kernel.inner, name))


@dataclass(frozen=True)
class Between(Kernel):
    """A kernel of pairs with one row of each of two samples instead of two rows of one."""

    inner: Kernel
    degrees: ClassVar[tuple[int, ...]] = (1, 1)
    name = _of_inner("name")
    columns = _of_inner("columns")
    least_columns = _of_inner("least_columns")
    compiled = _of_inner("compiled")
    value = _of_inner("value")
    prepare = _of_inner("prepare")
    prepared_value = _of_inner("prepared_value")

    def complete(self, *samples: Floats, rows: bool = True, weights: Weights = None) -> PairSums | None:
        """The kernel's own fast form between samples, if it has one."""
        return self.inner.complete_between(*samples, rows=rows, weights=weights)


@dataclass(frozen=True)
class Discrepancy(Kernel):
    """``sign * (U_XX + U_YY - 2 mean_XY)`` of a kernel of pairs k: how far apart two distributions are.

    The generalized U-statistic of degrees (2, 2) with the kernel ``sign * (k(x, x') + k(y, y') -
    [k(x, y) + k(x, y') + k(x', y) + k(x', y')] / 2)``, in its usual decomposition: the same number exactly.
    With k a distance of negative type and sign -1 it is the energy distance, with k a positive definite
    similarity and sign 1 the squared maximum mean discrepancy. Unbiased (U-form), so it may be negative; the
    V-form is not. If both distributions are equal it is degenerate: of order 1/n, skewed.
    """

    title: str
    inner: Kernel
    sign: float
    degrees: ClassVar[tuple[int, ...]] = (2, 2)

    @property
    def name(self) -> str:
        """The name of the discrepancy."""
        return self.title

    @property
    def columns(self) -> int | None:
        """As the kernel of pairs."""
        return self.inner.columns

    @property
    def parts(self) -> tuple[Part, ...]:
        """U_XX, U_YY and the mean over pairs of one row of each sample."""
        return (Part(self.inner, (0,)), Part(self.inner, (1,)), Part(Between(self.inner), (0, 1)))

    def combine(self, *means: Value) -> Value:
        """The sum of the parts."""
        with np.errstate(invalid="ignore", over="ignore"):
            return self.sign * ((means[0] - means[2]) + (means[1] - means[2]))

    def value(self, *rows: Floats) -> Floats:
        """The kernel of degrees (2, 2)."""
        k, (x, other_x, y, other_y) = self.inner.value, rows
        with np.errstate(invalid="ignore", over="ignore"):
            across = (k(x, y) + k(x, other_y)) + (k(other_x, y) + k(other_x, other_y))
            return np.asarray(self.sign * ((k(x, other_x) + k(y, other_y)) - 0.5 * across))


@dataclass(frozen=True)
class Auc(Kernel):
    """1 if the row of the second sample is the greater, 1/2 if both are equal, else 0.

    The area under the ROC curve of scores of negatives (first sample) and positives (second); times both
    sizes the statistic of Wilcoxon, Mann and Whitney.
    """

    name: ClassVar[str] = "auc"
    degrees: ClassVar[tuple[int, ...]] = (1, 1)

    def value(self, *rows: Floats) -> Floats:
        """By comparison."""
        x, y = rows
        return np.asarray(1.0 * (x < y) + 0.5 * (x == y))

    def complete(self, *samples: Floats, rows: bool = True, weights: Weights = None) -> PairSums:
        """From the order of both samples together: counts are exact, weights are added up."""
        x, y = samples
        pooled = np.concatenate([x, y])
        order = np.argsort(pooled) if weights is None else ascending(pooled)
        first = order < x.size
        runs = run_starts(pooled[order])
        starts = runs[:-1]
        mass = np.ones(pooled.size, np.int64) if weights is None else np.concatenate(weights)[order]
        of_x, of_y = (np.add.reduceat(np.where(side, mass, 0), starts) for side in (first, ~first))
        x_below = np.cumsum(of_x) - of_x
        wins, ties, all_x, all_y = (np.sum(v).item() for v in (of_y * x_below, of_x * of_y, of_x, of_y))
        whole = all_x * all_y
        row_means = None
        if rows:
            run = np.repeat(np.arange(starts.size), np.diff(runs))
            twice = np.empty(pooled.size, mass.dtype)  # twice the sum of the kernel over the other sample
            y_above = all_y - np.cumsum(of_y)
            twice[order] = np.where(first, (2 * y_above + of_y)[run], (2 * x_below + of_x)[run])
            row_means = (twice[: x.size] / (2.0 * all_y), twice[x.size :] / (2.0 * all_x))
        sizes = (x.size, y.size) if weights is None else tuple(int(np.count_nonzero(w)) for w in weights)
        n_pairs = count_tuples((1, 1), sizes)
        return PairSums(n_pairs, (2 * wins + ties) / (2 * whole), (4 * wins + ties) / (4 * whole), row_means)


@dataclass(frozen=True)
class MeanDifference(Kernel):
    """The row of the second sample minus that of the first, whose mean is the difference of the means."""

    name: ClassVar[str] = "mean-difference"
    degrees: ClassVar[tuple[int, ...]] = (1, 1)

    def value(self, *rows: Floats) -> Floats:
        """By subtraction."""
        x, y = rows
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(y - x)

    def complete(self, *samples: Floats, rows: bool = True, weights: Weights = None) -> PairSums:
        """From means and central moments of each sample."""
        x, y = samples
        (mean_x, square_x), (mean_y, square_y) = (
            _mean_and_square(sample, None if weights is None else weights[number])
            for number, sample in enumerate(samples)
        )
        with np.errstate(invalid="ignore", over="ignore"):
            mean = mean_y - mean_x
            second = square_x + square_y + mean * mean
            row_means = (mean_y - x, y - mean_x) if rows else None
        sizes = (x.size, y.size) if weights is None else tuple(int(np.count_nonzero(w)) for w in weights)
        return PairSums(count_tuples((1, 1), sizes), mean, second, row_means)


def _mean_and_square(sample: Floats, weights: Floats | None) -> tuple[float, float]:
    """Mean, and mean squared distance from it."""
    with np.errstate(invalid="ignore", over="ignore"):
        if weights is None:
            mean = float(add_up(sample)) / sample.size
            return mean, float(add_up((sample - mean) ** 2)) / sample.size
        mass = float(add_up(weights))
        mean = float(add_up(weights * sample)) / mass
        return mean, float(add_up(weights * (sample - mean) ** 2)) / mass
