"""What two samples can be compared by: a kernel of the catalogue, and the same statistic in the test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from distmom.errors import ConfigError
from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.catalogue import auc, energy, mean_difference, mmd
from distmom.numerics.kernels.kernel import Kernel
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
    """One statistic.

    Attributes
    ----------
    name : str
    bandwidth : float
        Of mean discrepancies.
    """

    name: str
    bandwidth: float

    @property
    def kernel(self) -> Kernel:
        """That of the estimate."""
        if self.name == "mean":
            return mean_difference()
        if self.name == "auc":
            return auc()
        if self.name == "energy":
            return energy()
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
        return discrepancy_statistic(units, _similarity(self.name, self.bandwidth), 1.0)


def check_statistics(names: str | Sequence[str]) -> tuple[str, ...]:
    """Names of statistics, distinct.

    Raises
    ------
    ConfigError
        If there is none, or one is not known.
    """
    given = (names,) if isinstance(names, str) else tuple(names)
    wrong = [name for name in given if name not in STATISTICS]
    if wrong or not given:
        what = repr(wrong[0]) if wrong else "none"
        raise ConfigError(f"statistics: must be of {', '.join(STATISTICS)}, not {what}")
    return tuple(dict.fromkeys(given))


def _distance(x: Floats, y: Floats) -> Floats:
    return np.abs(x - y)


def _similarity(name: str, bandwidth: float) -> Pairwise:
    def gauss(x: Floats, y: Floats) -> Floats:
        away = (x - y) / bandwidth
        return np.asarray(np.exp(-0.5 * away * away))

    def laplace(x: Floats, y: Floats) -> Floats:
        return np.asarray(np.exp(-np.abs(x - y) / bandwidth))

    return gauss if name == "mmd" else laplace
