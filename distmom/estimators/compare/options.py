"""The options of a comparison, checked once at the boundary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from distmom.checks import check_choice, did_you_mean
from distmom.designs.blocks import FileBlocks, RandomBlocks, UnitBlocks, as_design
from distmom.designs.design import BlockDesign
from distmom.designs.pairs import CompletePairs
from distmom.designs.permutations import Permutations
from distmom.errors import ConfigError
from distmom.estimators.options import PLAIN_INTERVALS, RETIRED_INTERVALS
from distmom.estimators.ustat.options import UStatOptions, ustat_options
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
from distmom.passes.scan import Scan

MOST_TEST_ROWS = 1_000_000

PLAIN: dict[str, Callable[[], Kernel]] = {"mean": mean_difference, "auc": auc, "energy": energy}
STATISTICS = (*PLAIN, "mmd", "mmd-laplace")


@dataclass(frozen=True)
class CompareOptions:
    """What to compute; see `distmom.compare`."""

    statistics: tuple[Compared, ...]
    test: Permutations
    means: UStatOptions  # of the difference of means: how rows form blocks

    def of(self, statistic: Compared) -> UStatOptions:
        """The options of one statistic."""
        return replace(self.means, kernel=statistic.kernel)


def compare_options(
    statistics: Any,
    test: Any,
    scans: Sequence[Scan],
    blocks: Any,
    interval: str,
    confidence_level: float,
) -> CompareOptions:
    """Options from the arguments of `distmom.compare`."""
    check_choice("interval", interval, PLAIN_INTERVALS, RETIRED_INTERVALS)
    if not isinstance(test, Permutations):
        raise ConfigError(f"test: must be dm.Permutations(n, rows), not {test!r}")
    if test.rows > MOST_TEST_ROWS:
        raise ConfigError(
            f"test: rows: must be at most {MOST_TEST_ROWS:,}, since all pairs are compared, not {test.rows:,}"
        )
    wanted, design = wanted_statistics(statistics), _design(blocks)
    how: dict[str, Any] = {"statistic": "u", "joint": "coordinatewise", "project": None}
    how |= {"interval": interval, "confidence_level": confidence_level}
    return CompareOptions(
        wanted, test, ustat_options(mean_difference(), scans, design, CompletePairs(), **how)
    )


def _design(blocks: Any) -> BlockDesign:
    """The design, if two samples can be compared in it: random blocks, of rows or of units."""
    design = as_design(blocks)
    plain = isinstance(design, RandomBlocks) and design == RandomBlocks(design.n)
    if plain or (isinstance(design, (UnitBlocks, FileBlocks)) and design.size is None):
        return design
    raise ConfigError(
        f"blocks: a comparison takes 'auto', a number, UnitBlocks or FileBlocks, not {design!r}; "
        "for another design use distmom.ustatistic with the kernel"
    )


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
        if self.name in PLAIN:
            return PLAIN[self.name]()
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
        raise ConfigError(f"statistics: must be at least one of {', '.join(STATISTICS)}, not none")
    return tuple(dict.fromkeys(_wanted(one) for one in each))


def _wanted(one: Any) -> Compared:
    if isinstance(one, str) and one in STATISTICS:
        return Compared(one)
    for name, kernel in PLAIN.items():
        if isinstance(one, Kernel) and one == kernel():
            return Compared(name)
    inner = one.inner if isinstance(one, Discrepancy) and one.name == "mmd" else None
    if isinstance(inner, Gaussian):
        return Compared("mmd", inner.bandwidth)
    if isinstance(inner, Laplace):
        return Compared("mmd-laplace", inner.bandwidth)
    raise ConfigError(
        f"statistics: must be one of {', '.join(STATISTICS)}, or dm.kernels.mmd(bandwidth), not {one!r}"
        f"{did_you_mean(str(one), STATISTICS)}"
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
