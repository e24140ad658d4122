"""The common base of estimates from blocks: the record of their blocks, intervals, weights and units."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distmom.designs.blocks import RandomBlocks
from distmom.designs.design import BlockDesign
from distmom.numerics.rung import Rung
from distmom.report.digits import three
from distmom.report.far_rows import FarRows, Trimmed, far_words
from distmom.report.histogram import Histogram
from distmom.report.result import Result
from distmom.report.words import accused, number, units_cells

SHARED = (
    *("interval_kind", "confidence_level", "status", "flags", "n_rows", "n_used", "n_null", "n_nan", "n_inf"),
    *("n_blocks", "block_size", "n_non_finite_blocks", "plain_estimate", "scheme", "interval_reason"),
    *("actual_level", "repeats", "n_screened_out", "n_units", "n_units_exact", "weights", "n_unweighted"),
    *("n_zero_weight", "n_effective", "design", "contamination", "far_rows", "without_extremes"),
)
"""Fields of the dictionaries of all estimates, in order."""

INTERVAL = ("interval_kind", "interval_reason", "confidence_level", "actual_level")
COUNTS = (
    *("status", "flags", "n_rows", "n_used", "n_null", "n_nan", "n_inf", "n_blocks", "repeats", "block_size"),
    *("n_non_finite_blocks", "n_screened_out", "n_units", "n_units_exact"),
    *("weights", "n_unweighted", "n_zero_weight", "n_effective"),
)
"""Fields of the flat rows of all estimates, in order."""

Interval = tuple[float, float]
Entry = tuple[str, float, float, Interval | None]
"""Name, estimate, plain estimate and interval of a number."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class EstimateResult(Result):
    """Base of the results that are estimates from blocks.

    Attributes
    ----------
    interval : (float, float) or None
        Confidence interval; None if there is none, with an `interval_reason`.
    interval_kind : {"order", "cantelli", "clusters", "closed-form", "none"}
    interval_reason : str or None
        Why there is no interval, or why it should be treated with caution.
    actual_level : float or None
        The actual level of the order-statistic interval.
    n_blocks : int
        Number of blocks; per partition if there are several.
    block_size : (int, int)
        Used rows in the smallest and the largest block.
    repeats : int
        Number of random partitions; `n_blocks` counts the blocks of one.
    n_non_finite_blocks : int
        Blocks whose value is not finite; the maximum over partitions.
    n_screened_out : int
        Fine blocks with outlying values, which were left out.
    n_units : int or None
        With blocks of units or files: the number of these with rows that pass the filter; else None.
    n_units_exact : bool or None
        Whether `n_units` is exact, as it is up to 4,095 units (with groups: 16,383 pairs of group and unit).
        Above that it is an estimate from hashes, within about 2%, less precise with groups.
    weights : str or None
        Column of the weights.
    n_unweighted, n_zero_weight : int or None
        Rows left out because their weight is null or NaN, or zero; None without weights.
    n_effective : float or None
        Effective number of rows, (sum w)^2 / sum w^2 over the used rows: the number of equally weighted rows
        that would give the same precision. None without weights.
    plain_estimate : float
        The same statistic from all used rows, without blocks.
    design : BlockDesign
        The block design that was requested.
    scheme : str
        How rows formed blocks: ``partition``, or samples without (``swor``) or with (``monte_carlo``)
        replacement.
    contamination : int, float or None
        Number or share of arbitrary rows (or units) that the interval allows for; None if it allows for none.
    by_files : bool
        Whether whole files were used as blocks although blocks of rows were requested, because the two
        disagreed.
    block_estimates : ndarray of float64
        The values of the blocks whose median is the estimate, one partition after the other.
    path : tuple of Rung
        Estimate at each number of blocks that was tried: ``n_blocks``, ``estimate``, ``margin_of_error``.
    other_estimate : float or None
        The alternative estimate, if blocks of rows and blocks of files disagree.
    accused_files : tuple of str
        Files that account for the disagreement between rows and files; if rows could be read again, only
        files that stand out on their own.
    files_named : bool
        Whether each accused file was confirmed on its own; otherwise the bad files are among them.
    far_rows : FarRows or None
        Rows far from all others, and what was done about them.
    without_extremes : tuple of Trimmed
        If there are such rows: the mean without the most extreme rows, for several numbers of them.
    histogram : Histogram or None
        Distribution of the values of a column, from the sample.
    """

    interval: tuple[Any, Any] | None = None
    interval_kind: str
    interval_reason: str | None = None
    actual_level: float | None = None
    n_blocks: int
    block_size: tuple[int, int] = (0, 0)
    repeats: int = 1
    n_non_finite_blocks: int
    n_screened_out: int = 0
    n_units: int | None = None
    n_units_exact: bool | None = None
    weights: str | None = None
    n_unweighted: int | None = None
    n_zero_weight: int | None = None
    n_effective: float | None = None
    plain_estimate: Any
    design: BlockDesign = field(default_factory=RandomBlocks)
    scheme: str = "partition"
    contamination: int | float | None = None
    by_files: bool = False
    block_estimates: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    path: tuple[Rung, ...] = ()
    other_estimate: Any = None
    accused_files: tuple[str, ...] = ()
    files_named: bool = False
    far_rows: FarRows | None = None
    without_extremes: tuple[Trimmed, ...] = ()
    histogram: Histogram | None = None

    what: ClassVar[tuple[str, str]] = ("estimate", "sample mean")
    """Names of estimate and plain estimate in a table."""

    @property
    def bound(self) -> str:
        """The measure of uncertainty: an interval, or the radius of a ball."""
        return "radius" if getattr(self, "method", None) == "geometric" else "interval"

    @property
    def bounded(self) -> bool:
        """Whether there is such an interval or radius."""
        return self.interval is not None

    @property
    def has_units(self) -> bool:
        """Whether units, or files, form the blocks."""
        return self.n_units is not None

    @property
    def blocks_of(self) -> str:
        """What is assigned to blocks as a whole: rows, units or files."""
        if self.by_files or self.design.by_file:
            return "files"
        return "units" if self.design.of_units else "rows"

    def headers(self) -> tuple[str, ...]:  # noqa: D102
        estimate, plain = self.what
        units = ("units",) if self.has_units else ()
        return (estimate, f"{self.level} {self.bound}", plain, "rows used", *units, "blocks")

    def counts(self) -> tuple[str, ...]:
        """The last cells of the first line: rows, units, blocks."""
        return (f"{self.n_used:,}", *units_cells(self.n_units, self.n_units_exact), str(self.n_blocks))

    def lines(self) -> list[tuple[str, tuple[str, ...]]]:  # noqa: D102
        return [(self.name, (*self.shown_values(), *self.counts()))]

    def left_out(self) -> dict[str, int]:  # noqa: D102
        weightless = {"without a weight": self.n_unweighted or 0, "of weight zero": self.n_zero_weight or 0}
        return super().left_out() | weightless

    def remarks(self) -> list[str]:  # noqa: D102
        found = []
        if self.interval is None and self.interval_reason and self.interval_kind != "none":
            found.append(f"no {self.bound}: {self.interval_reason}")
        return [*found, *far_words(self), *self.notes, *accused(self.accused_files, named=self.files_named)]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class JointResult(EstimateResult):
    """Base of estimates of several coordinates, or entries, at once.

    Attributes
    ----------
    column : str
        The requested columns.
    columns : tuple of str
        Names of the coordinates.
    method : {"geometric", "coordinatewise"} or None
        Which median of vectors or matrices was used.
    radius : float or None
        For the geometric median: radius of the confidence ball around `estimate` (Euclidean distance; for
        matrices Frobenius). None if there is none, with an `interval_reason`.
    intervals : ndarray of float64, shape (…, 2), or None
        For the coordinatewise median: simultaneous intervals at the confidence level.
    gap : float or None
        For the geometric median: upper bound on how far its mean distance to the blocks exceeds the minimum.
    """

    column: str
    columns: tuple[str, ...] = ()
    method: str | None = None
    radius: float | None = None
    intervals: NDArray[np.float64] | None = None
    gap: float | None = None

    most_lines: ClassVar[int] = 20
    """Most coordinates or entries on the terminal; JSON, CSV and Parquet have all."""

    @property
    def name(self) -> str:  # noqa: D102
        return self.column

    @property
    def bounded(self) -> bool:  # noqa: D102
        return super().bounded or self.radius is not None or self.intervals is not None

    def entries(self) -> list[Entry]:
        """The numbers of which it consists."""
        raise NotImplementedError

    def reach(self, entry: Entry) -> Interval | None:
        """The range of a coordinate: its interval, or the projection of the confidence ball."""
        _, estimate, _, interval = entry
        return interval if self.radius is None else (estimate - self.radius, estimate + self.radius)

    def entry_records(self, names: tuple[str, ...], **shared: Any) -> list[dict[str, Any]]:
        """One flat row per number."""
        shared = self.flat(*names) | shared
        records = []
        for name, estimate, plain, interval in self.entries():
            low, high = interval or (None, None)
            own = {"column": name, "estimate": estimate, "interval_low": low, "interval_high": high}
            records.append(own | {"plain_estimate": plain} | shared)
        return records

    def lines(self) -> list[tuple[str, tuple[str, ...]]]:  # noqa: D102
        entries, counts = self.entries(), self.counts()
        shown = entries if len(entries) <= self.most_lines else entries[: self.most_lines - 1]
        lines: list[tuple[str, tuple[str, ...]]] = []
        for entry in shown:
            name, estimate, plain, _ = entry
            value, error, plainly = three(estimate, self.reach(entry), plain)
            if self.bound == "radius":
                error = "" if lines else number(self.radius)
            lines.append((name, (value, error, plainly, *(("",) * len(counts) if lines else counts))))
        if len(shown) < len(entries):
            lines.append((f"… {len(entries) - len(shown)} more", ("",) * (3 + len(counts))))
        return lines
