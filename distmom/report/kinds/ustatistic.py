"""The result of a robust U-statistic: one kernel, one group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distmom.remedies import OF_BLOCKS, Remedies
from distmom.report.estimate import COUNTS, INTERVAL, SHARED, Entry, JointResult


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class UStatisticResult(JointResult):
    """A robust U-statistic, its interval, and what it was computed from.

    Attributes
    ----------
    column : str
        The columns of a row.
    kernel : str
    columns : tuple of str
        For a matrix: names of its rows and columns.
    estimate : float, or ndarray of shape (c, c)
        Lower median of the statistics of the blocks; NaN if there is no finite answer.
    intervals : ndarray, shape (c, c, 2), or None
        For the entries of a matrix: simultaneous intervals at the confidence level.
    plain_estimate : float, or ndarray of shape (c, c)
        The ordinary statistic over all tuples of rows that share a block, without screening.
    statistic : {"u", "v"}
    pairs : str
    n_pairs : int
        Total number of tuples of rows that were averaged, over all blocks.
    samples : tuple of str
        Names of the samples, in the kernel's order; empty for one sample.
    n_used_by_sample : tuple of int or None
        Used rows of each sample; None for one sample.
    sigma1_squared, sigma2_squared : float or None
        For a kernel of pairs: typical variances of its projections, Var h = 2 sigma_1^2 + sigma_2^2; None for
        other kernels, and if the variance is estimated from the blocks.
    block_estimates : ndarray of float64, shape (n_blocks,) or (n_blocks, c, c)
        Statistics of the blocks whose lower median is the estimate: of all partitions, one after the other.
    """

    kernel: str
    statistic: str
    pairs: str
    n_pairs: int
    samples: tuple[str, ...] = ()
    n_used_by_sample: tuple[int, ...] | None = None
    sigma1_squared: float | None = None
    sigma2_squared: float | None = None

    kind: ClassVar[str] = "Robust U-statistic"
    remedies: ClassVar[Remedies] = OF_BLOCKS
    told_by: ClassVar[str] = "vectors.tell_statistic"
    drawn: ClassVar[tuple[str, str]] = ("statistics", "plain statistic")
    most_lines: ClassVar[int] = 21  # a matrix of six columns
    shown: ClassVar[tuple[str, ...]] = (
        *("column", "kernel", "columns", "group", "estimate", "interval", "intervals", "radius", "method"),
        *("gap", *SHARED, "statistic", "pairs", "n_pairs", "samples", "n_used_by_sample"),
        *("sigma1_squared", "sigma2_squared", "accused_files", "files_named", "notes"),
    )

    @property
    def what(self) -> tuple[str, str]:  # type: ignore[override]  # noqa: D102
        return self.kernel, "plain"

    def entries(self) -> list[Entry]:  # noqa: D102
        if not self.columns:
            return [(self.column, self.estimate, self.plain_estimate, self.interval)]
        found = []
        for a, b in zip(*np.triu_indices(len(self.columns)), strict=True):
            ends = None if self.intervals is None else tuple(self.intervals[a, b].tolist())
            interval = None if ends is None or np.isnan(ends).any() else (ends[0], ends[1])
            name = f"{self.columns[a]}, {self.columns[b]}"
            found.append((name, float(self.estimate[a, b]), float(self.plain_estimate[a, b]), interval))
        return found

    def remarks(self) -> list[str]:  # noqa: D102
        named = [f"samples: {', '.join(self.samples)}"] if self.samples else []
        return [*named, *super().remarks()]

    def records(self) -> list[dict[str, Any]]:  # noqa: D102
        names = (*INTERVAL[:2], "radius", *INTERVAL[2:], *COUNTS, "statistic", "pairs")
        rows = self.entry_records(
            (*names, "n_pairs", "sigma1_squared", "sigma2_squared", "scheme"),
            n_pairs=float(self.n_pairs),  # may be beyond 64 bits
        )
        return [{"column": row["column"], "kernel": self.kernel} | row for row in rows]
