"""Similarities of rows that fade with their distance: the kernels of the maximum mean discrepancy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distmom.errors import ConfigError
from distmom.numerics import tile_types
from distmom.numerics.kernels.exponential import exp_of_negative
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.moment import squared_distance
from distmom.numerics.kernels.sums import Floats


def _check_bandwidth(bandwidth: float) -> None:
    if not (np.isfinite(bandwidth) and bandwidth > 0.0):
        raise ConfigError(
            f"bandwidth must be a positive number, got {bandwidth}; "
            "the median distance of some pairs of rows is a usual choice"
        )


@dataclass(frozen=True)
class Gaussian(Kernel):
    """exp(-d^2 / (2 bandwidth^2)), d the Euclidean distance of two rows of any number of columns.

    A row with an infinite value resembles no row at all.
    """

    bandwidth: float
    name: ClassVar[str] = "rbf"
    columns: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        _check_bandwidth(self.bandwidth)

    @property
    def compiled(self) -> tile_types.Gaussian:
        """The rate at which similarity fades."""
        return tile_types.Gaussian(0.5 / (self.bandwidth * self.bandwidth))

    def value(self, *rows: Floats) -> Floats:
        """The similarity."""
        with np.errstate(invalid="ignore", over="ignore"):
            return exp_of_negative(-(squared_distance(*rows) * self.compiled.rate))


@dataclass(frozen=True)
class Laplace(Kernel):
    """exp(-d / bandwidth), d the sum of absolute differences of the columns of two rows.

    A row with an infinite value resembles no row at all.
    """

    bandwidth: float
    name: ClassVar[str] = "laplace"
    columns: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        _check_bandwidth(self.bandwidth)

    @property
    def compiled(self) -> tile_types.Laplacian:
        """The rate at which similarity fades."""
        return tile_types.Laplacian(1.0 / self.bandwidth)

    def value(self, *rows: Floats) -> Floats:
        """The similarity."""
        a, b = rows
        with np.errstate(invalid="ignore", over="ignore"):
            total = np.abs(a[..., 0] - b[..., 0])
            for c in range(1, a.shape[-1]):
                total = total + np.abs(a[..., c] - b[..., c])
            return exp_of_negative(-(total * self.compiled.rate))
