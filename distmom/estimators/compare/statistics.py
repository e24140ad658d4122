"""What two samples can be compared by: a kernel of the catalogue, and the same statistic in the test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from distmom.errors import ConfigError
from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.catalogue import auc, energy, mean_difference, mmd
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.similarity import Gaussian, Laplace
from distmom.numerics.kernels.two_samples import Discrepancy
from distmom.numerics.permutation_test import (
    Pairwise,
    Statistic,
    Units,
    area_statistic,
    discrepancy_statistic,
    mean_statistic,
)

STATISTICS = ("mean", "auc", "energy", "mmd", "mmd-laplace")


class Compared(NamedTuple):
    """One statistic; the bandwidth, of mean discrepancies, is that of the rows where none is given."""

    name: str
    bandwidth: float | None = None

    def at(self, width: float) -> Compared:
        """The same with a bandwidth."""
        return self._replace(bandwidth=self.bandwidth or width)

    @property
    def kernel(self) -> Kernel:
        """That of the estimate."""
        if self.name == "mean":
            return mean_difference()
        if self.name == "auc":
            return auc()
        if self.name == "energy":
            return energy()
        assert self.bandwidth is not None
        return mmd(self.bandwidth, "rbf" if self.name == "mmd" else "laplace")

    @property
    def bears_infinities(self) -> bool:
        """Whether it is finite for infinite values."""
        return self.name == "auc"

    def test(self, units: Units) -> Statistic:
        """The statistic of the permutation test."""
        if self.name == "mean":
            return mean_statistic(units)
        if self.name == "auc":
            return area_statistic(units)
        if self.name == "energy":
            return discrepancy_statistic(units, _distance, -1.0)
        assert self.bandwidth is not None
        return discrepancy_statistic(units, _similarity(self.name, self.bandwidth), 1.0)


def wanted_statistics(given: Any) -> tuple[Compared, ...]:
    """The statistics that words and kernels mean, distinct.

    ConfigError if there is none, or one is not known.
    """
    each = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
    if not each:
        raise ConfigError(f"statistics: must be of {', '.join(STATISTICS)}, not none")
    return tuple(dict.fromkeys(_wanted(one) for one in each))


def _wanted(one: Any) -> Compared:
    if isinstance(one, str) and one in STATISTICS:
        return Compared(one)
    for name, kernel in (("mean", mean_difference), ("auc", auc), ("energy", energy)):
        if isinstance(one, Kernel) and one == kernel():
            return Compared(name)
    inner = one.inner if isinstance(one, Discrepancy) and one.name == "mmd" else None
    if isinstance(inner, Gaussian):
        return Compared("mmd", inner.bandwidth)
    if isinstance(inner, Laplace):
        return Compared("mmd-laplace", inner.bandwidth)
    raise ConfigError(
        f"statistics: must be of {', '.join(STATISTICS)}, or dm.kernels.mmd(bandwidth), not {one!r}"
    )


def _distance(x: Floats, y: Floats) -> Floats:
    return np.abs(x - y)


def _similarity(name: str, bandwidth: float) -> Pairwise:
    def gauss(x: Floats, y: Floats) -> Floats:
        away = (x - y) / bandwidth
        return np.asarray(np.exp(-0.5 * away * away))

    def laplace(x: Floats, y: Floats) -> Floats:
        return np.asarray(np.exp(-np.abs(x - y) / bandwidth))

    return gauss if name == "mmd" else laplace
