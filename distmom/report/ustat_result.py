"""The result of a robust U-statistic: one kernel, one group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.report.digits import three
from distmom.report.result import Result
from distmom.report.words import number, units_cells

if TYPE_CHECKING:
    from distmom.report.page.telling import Telling

Value = Any
"""A float, or a matrix."""

MOST_LINES = 21
"""Entries on the terminal; JSON, CSV and Parquet hold all."""

_SHOWN = (
    "column",
    "kernel",
    "columns",
    "group",
    "estimate",
    "interval",
    "intervals",
    "radius",
    "interval_kind",
    "confidence_level",
    "status",
    "n_rows",
    "n_used",
    "n_null",
    "n_nan",
    "n_inf",
    "n_blocks",
    "block_size",
    "n_ruined_blocks",
    "plain_estimate",
    "scheme",
    "statistic",
    "pairs",
    "n_pairs",
    "n_used_by_sample",
    "method",
    "gap",
    "sigma1_squared",
    "sigma2_squared",
    "interval_reason",
    "achieved_level",
    "n_set_aside",
    "repeats",
    "n_units",
    "n_units_exact",
    "weights",
    "n_unweighted",
    "n_zero_weight",
    "n_effective",
    "notes",
)

_FLAT = (
    *("interval_kind", "interval_reason", "radius", "confidence_level", "achieved_level", "status"),
    *("n_rows", "n_used", "n_null", "n_nan", "n_inf", "n_blocks", "repeats", "block_size"),
    *("n_ruined_blocks", "n_set_aside", "n_units", "n_units_exact"),
    *("weights", "n_unweighted", "n_zero_weight", "n_effective"),
    *("statistic", "pairs", "n_pairs", "sigma1_squared", "sigma2_squared", "scheme"),
)
"""Fields that the flat rows of all entries share, in order."""


@dataclass(frozen=True, eq=False)
class UStatisticResult(Result):
    """A robust U-statistic, its interval, and what it was computed from.

    Attributes
    ----------
    column : str
        The columns of a row.
    kernel : str
    group : dict or None
        The values of the `by` columns; None where there are no groups.
    columns : tuple of str
        Of a matrix: names of its rows and columns.
    estimate : float, or ndarray of shape (c, c)
        Lower median of the statistics of the blocks; NaN where there is no finite answer.
    interval : (float, float) or None
        Confidence interval, None with an `interval_reason` where there is none.
    interval_kind : {"order", "exact", "paper", "none"}
    interval_reason : str or None
        Why there is no interval.
    intervals : ndarray, shape (c, c, 2), or None
        Of the entries of a matrix; together they hold at the confidence level.
    radius : float or None
        Of the geometric median of matrices, in Frobenius distance.
    method : str or None
        Of a matrix: ``coordinatewise`` or ``geometric``.
    gap : float or None
        Of the geometric median: by no more than this does the mean distance to the blocks exceed its minimum.
    confidence_level : float
        The level asked for.
    achieved_level : float or None
        The level the order statistics really have.
    status : tuple of str
        ``("ok",)``, or what is wrong, the most serious first.
    n_rows, n_used, n_null, n_nan, n_inf : int
        Rows that passed the filter; those that entered the blocks (infinities do); missing ones.
    n_blocks : int
        Blocks of the answer.
    block_size : (int, int)
        Used rows of the smallest and of the largest block.
    repeats : int
        Random partitions that the blocks are of: `n_blocks` is the number of one of them.
    n_ruined_blocks : int
        Blocks whose statistic is not finite.
    n_set_aside : int
        Fine blocks whose statistics lay far outside and were left out.
    n_units : int or None
        With blocks of units (or files), those of them that have rows which passed the filter; else None.
    n_units_exact : bool or None
        Whether that is exact.
    weights : str or None
        Column of the weights.
    n_unweighted, n_zero_weight : int or None
        Rows whose weight is missing, or 0: they do not enter.
    n_effective : float or None
        Rows of equal weight that would tell a mean as precisely, (sum w)^2 / sum w^2.
    plain_estimate : float
        The ordinary statistic over all tuples of rows that share a block, none of them set aside.
    scheme : str
    statistic : {"u", "v"}
    pairs : str
    n_pairs : int
        Tuples of rows that were averaged in all blocks together.
    n_used_by_sample : tuple of int or None
        Rows of each sample that entered; None of one sample.
    sigma1_squared, sigma2_squared : float or None
        Of a kernel of pairs: typical variances of its projections, Var h = 2 sigma_1^2 + sigma_2^2; None for
        other kernels, and where the spread between blocks tells the variance.
    block_estimates : ndarray of float64, shape (n_blocks,) or (n_blocks, c, c)
        Statistics of the blocks whose lower median is the estimate: of all partitions, one after the other.
    path : tuple of (n_blocks, estimate, half_width)
        Estimate at every number of blocks tried.
    notes : tuple of str
    data, run : dict
        What was read and how, as in `Results`.
    """

    column: str
    kernel: str
    group: dict[str, Any] | None
    estimate: Value
    interval: tuple[float, float] | None
    interval_kind: str
    confidence_level: float
    status: tuple[str, ...]
    n_rows: int
    n_used: int
    n_null: int
    n_nan: int
    n_inf: int
    n_blocks: int
    block_size: tuple[int, int]
    n_ruined_blocks: int
    plain_estimate: Value
    scheme: str
    statistic: str
    pairs: str
    n_pairs: int
    n_used_by_sample: tuple[int, ...] | None = None
    columns: tuple[str, ...] = ()
    intervals: Floats | None = None
    radius: float | None = None
    method: str | None = None
    gap: float | None = None
    sigma1_squared: float | None = None
    sigma2_squared: float | None = None
    interval_reason: str | None = None
    achieved_level: float | None = None
    n_set_aside: int = 0
    repeats: int = 1
    n_units: int | None = None
    n_units_exact: bool | None = None
    weights: str | None = None
    n_unweighted: int | None = None
    n_zero_weight: int | None = None
    n_effective: float | None = None
    block_estimates: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    path: tuple[tuple[int, float, float], ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    data: dict[str, Any] = field(default_factory=dict, repr=False)
    run: dict[str, Any] = field(default_factory=dict, repr=False)

    kind: ClassVar[str] = "Robust U-statistic"
    shown: ClassVar[tuple[str, ...]] = _SHOWN

    @property
    def name(self) -> str:  # noqa: D102
        return self.column

    def entries(self) -> list[tuple[str, float, float, tuple[float, float] | None]]:
        """Name, estimate, plain estimate and interval of the number, or of each entry of a triangle."""
        if not self.columns:
            return [(self.column, self.estimate, self.plain_estimate, self.interval)]
        found = []
        for a, b in zip(*np.triu_indices(len(self.columns)), strict=True):
            ends = None if self.intervals is None else tuple(self.intervals[a, b].tolist())
            interval = None if ends is None or np.isnan(ends).any() else (ends[0], ends[1])
            name = f"{self.columns[a]}, {self.columns[b]}"
            found.append((name, float(self.estimate[a, b]), float(self.plain_estimate[a, b]), interval))
        return found

    def records(self) -> list[dict[str, Any]]:  # noqa: D102
        shared = self.flat(*_FLAT) | {"n_pairs": float(self.n_pairs)}  # may be beyond 64 bits
        records = []
        for name, estimate, plain, interval in self.entries():
            low, high = interval or (None, None)
            own = {"column": name, "kernel": self.kernel, "estimate": estimate, "interval_low": low}
            records.append(own | {"interval_high": high, "plain_estimate": plain} | shared)
        return records

    def headers(self) -> tuple[str, ...]:  # noqa: D102
        units = () if self.n_units is None else ("units",)
        what = "radius" if self.method == "geometric" else "interval"
        level = f"{100 * self.confidence_level:.6g} % {what}"
        return (self.kernel, level, "plain", "rows used", *units, "blocks")

    def lines(self) -> list[tuple[str, tuple[str, ...]]]:  # noqa: D102
        units = units_cells(self.n_units, self.n_units_exact)
        entries = self.entries()
        shown = entries if len(entries) <= MOST_LINES else entries[: MOST_LINES - 1]
        lines: list[tuple[str, tuple[str, ...]]] = []
        for i, (name, estimate, plain, interval) in enumerate(shown):
            value, error, plainly = three(estimate, interval, plain)
            error = number(self.radius) if self.method == "geometric" and i == 0 else error
            counts = (f"{self.n_used:,}", *units, str(self.n_blocks))
            counts = counts if i == 0 else ("",) * len(counts)
            lines.append((name, (value, error, plainly, *counts)))
        if len(shown) < len(entries):
            more = f"… {len(entries) - len(shown)} more"
            lines.append((more, ("",) * len(lines[0][1])))
        return lines

    def remarks(self) -> list[str]:  # noqa: D102
        found = []
        given = self.interval is not None or (not self.columns and self.radius is not None)
        if not given and self.interval_reason and self.interval_kind != "none":
            found.append(f"no interval: {self.interval_reason}")
        return [*found, *self.notes]

    def telling(self) -> Telling:  # noqa: D102
        from distmom.report.page.numbers import tell_ustat
        from distmom.report.page.vectors import tell_matrix

        return tell_matrix(self) if self.columns else tell_ustat(self)
