"""Similarities of rows that decay with their distance: the kernels of the maximum mean discrepancy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distmom.errors import ConfigError
from distmom.numerics.arrays import Floats
from distmom.numerics.kernels import fading
from distmom.numerics.kernels.association import weighed
from distmom.numerics.kernels.exponential import exp_of_negative
from distmom.numerics.kernels.kernel import Inlined, Kernel, Weights
from distmom.numerics.kernels.moment import squared_distance
from distmom.numerics.kernels.sums import Mass, PairSums


@dataclass(frozen=True)
class Similarity(Kernel):
    """A function of the distance of two rows, of any number of columns, that decays beyond a bandwidth.

    A row with an infinite value has similarity 0 to every row.
    """

    bandwidth: float
    columns: ClassVar[int | None] = None

    @property
    def rate(self) -> float:
        """Rate at which similarity decays."""
        raise NotImplementedError

    @property
    def compiled(self) -> Inlined:
        """The function of the same name, and the rate."""
        return Inlined(type(self).__name__.lower(), (self.rate,))

    def __post_init__(self) -> None:
        if not (np.isfinite(self.bandwidth) and self.bandwidth > 0.0):
            raise ConfigError(
                f"bandwidth must be a positive number, got {self.bandwidth}; "
                "the median distance of some pairs of rows is a usual choice"
            )


@dataclass(frozen=True)
class Gaussian(Similarity):
    """exp(-d^2 / (2 bandwidth^2)), d the Euclidean distance."""

    name: ClassVar[str] = "rbf"

    @property
    def rate(self) -> float:
        """Rate for the squared distance."""
        return 0.5 / (self.bandwidth * self.bandwidth)

    def value(self, *rows: Floats) -> Floats:
        """The similarity."""
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(exp_of_negative(-(squared_distance(*rows) * self.rate)))


@dataclass(frozen=True)
class Laplace(Similarity):
    """exp(-d / bandwidth), d the sum of absolute differences of the columns."""

    name: ClassVar[str] = "laplace"

    @property
    def rate(self) -> float:
        """Rate for the distance."""
        return 1.0 / self.bandwidth

    def value(self, *rows: Floats) -> Floats:
        """The similarity."""
        a, b = rows
        with np.errstate(invalid="ignore", over="ignore"):
            total = np.abs(a[..., 0] - b[..., 0])
            for c in range(1, a.shape[-1]):
                total = total + np.abs(a[..., c] - b[..., c])
            return np.asarray(exp_of_negative(-(total * self.rate)))

    def complete(self, *samples: Floats, rows: bool = True, weights: Weights = None) -> PairSums | None:
        """In one dimension by sorting."""
        x = samples[0]
        if x.shape[1] > 1:
            return None
        of_x = None if weights is None else weights[0]
        sums, squares = (fading.rows_within(x[:, 0], rate, of_x) for rate in self._rates)
        return weighed(of_x, sums, squares)

    def complete_between(
        self, x: Floats, y: Floats, *, rows: bool = True, weights: Weights = None
    ) -> PairSums | None:
        """In one dimension by sorting both samples together."""
        if x.shape[1] > 1:
            return None
        masses = [Mass(s.shape[0], None if weights is None else weights[t]) for t, s in enumerate((x, y))]
        sums, squares = (fading.rows_between(x[:, 0], y[:, 0], rate, weights) for rate in self._rates)
        with np.errstate(invalid="ignore", over="ignore"):
            whole = masses[0].total * masses[1].total
            mean, second = (masses[0].add(s[0]) / whole for s in (sums, squares))
            row_means = (sums[0] / masses[1].total, sums[1] / masses[0].total)
            return PairSums(masses[0].n_rows * masses[1].n_rows, mean, second, row_means)

    @property
    def _rates(self) -> tuple[float, float]:
        """Rates of the kernel and of its square."""
        return self.rate, 2.0 * self.rate
