"""The options of a comparison, checked once at the boundary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from distmom.checks import check_choice, check_count
from distmom.errors import ConfigError
from distmom.estimators.compare.statistics import check_statistics
from distmom.estimators.options import PLAIN_INTERVALS, MeanOptions
from distmom.estimators.ustat.options import UStatOptions, ustat_options
from distmom.numerics.kernels.catalogue import mean_difference
from distmom.numerics.kernels.kernel import Kernel

MOST_TEST_ROWS = 1_000_000


@dataclass(frozen=True)
class CompareOptions:
    """What to compute; see `distmom.compare`."""

    statistics: tuple[str, ...]
    bandwidth: float | None
    n_permutations: int
    test_rows: int
    shared: dict[str, Any]

    def of(self, kernel: Kernel) -> UStatOptions:
        """The options of one statistic."""
        plain = {"scheme": "partition", "statistic": "u", "pairs": "complete", "n_pairs": None}
        return ustat_options(kernel, joint="coordinatewise", project=None, **plain, **self.shared)  # type: ignore[arg-type]

    @property
    def rows(self) -> MeanOptions:
        """How rows form blocks."""
        return self.of(mean_difference()).rows


def compare_options(
    statistics: str | Sequence[str],
    bandwidth: float | None,
    n_permutations: int,
    test_rows: int,
    **shared: Any,
) -> CompareOptions:
    """Options from the arguments of `distmom.compare`; `shared` are those of `distmom.ustatistic`."""
    check_choice("interval", shared["interval"], PLAIN_INTERVALS)
    check_count("n_permutations", n_permutations)
    check_count("test_rows", test_rows)
    if test_rows > MOST_TEST_ROWS:
        raise ConfigError(
            f"test_rows: at most {MOST_TEST_ROWS:,}, as all pairs of them are taken, not {test_rows:,}"
        )
    names = check_statistics(statistics)
    good = isinstance(bandwidth, (int, float)) and not isinstance(bandwidth, bool) and bandwidth > 0
    if bandwidth is not None and not good:
        raise ConfigError(f"bandwidth: must be a positive number, not {bandwidth!r}")
    if bandwidth is not None and not any(name.startswith("mmd") for name in names):
        raise ConfigError("bandwidth: is of statistics='mmd'; drop it, or add that statistic")
    options = CompareOptions(names, bandwidth, n_permutations, test_rows, shared)
    options.of(mean_difference())
    return options
