"""The options of a comparison, checked once at the boundary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from distmom.checks import check_choice
from distmom.designs.blocks import FileBlocks, RandomBlocks, UnitBlocks, as_design
from distmom.designs.design import BlockDesign
from distmom.designs.pairs import CompletePairs
from distmom.designs.permutations import Permutations
from distmom.errors import ConfigError
from distmom.estimators.compare.statistics import Compared, wanted_statistics
from distmom.estimators.options import PLAIN_INTERVALS, MeanOptions
from distmom.estimators.ustat.options import UStatOptions, ustat_options
from distmom.numerics.kernels.catalogue import mean_difference
from distmom.numerics.kernels.kernel import Kernel
from distmom.passes.scan import Scan

MOST_TEST_ROWS = 1_000_000


@dataclass(frozen=True)
class CompareOptions:
    """What to compute; see `distmom.compare`."""

    statistics: tuple[Compared, ...]
    test: Permutations
    scans: tuple[Scan, ...]
    design: BlockDesign
    interval: str
    confidence_level: float

    def of(self, kernel: Kernel) -> UStatOptions:
        """The options of one statistic."""
        return ustat_options(
            kernel,
            self.scans,
            self.design,
            CompletePairs(),
            statistic="u",
            joint="coordinatewise",
            project=None,
            interval=self.interval,
            confidence_level=self.confidence_level,
        )

    @property
    def rows(self) -> MeanOptions:
        """How rows form blocks."""
        return self.of(mean_difference()).rows


def compare_options(
    statistics: Any,
    test: Any,
    scans: Sequence[Scan],
    blocks: Any,
    interval: str,
    confidence_level: float,
) -> CompareOptions:
    """Options from the arguments of `distmom.compare`."""
    check_choice("interval", interval, PLAIN_INTERVALS)
    if not isinstance(test, Permutations):
        raise ConfigError(f"test: must be dm.Permutations(n, rows), not {test!r}")
    if test.rows > MOST_TEST_ROWS:
        raise ConfigError(
            f"test: rows: at most {MOST_TEST_ROWS:,}, as all pairs of them are taken, not {test.rows:,}"
        )
    wanted = wanted_statistics(statistics)
    options = CompareOptions(wanted, test, tuple(scans), _design(blocks), interval, confidence_level)
    options.of(mean_difference())
    return options


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
