"""The result of a robust mean: one column, one group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distmom.report.result import Result
from distmom.report.words import accused, units_cells, weightless

if TYPE_CHECKING:
    from distmom.lake.columns.times import TimeScale
    from distmom.report.page.telling import Telling

Value = Any
"""A float; for columns of times a datetime or timedelta, or None where there is none."""

Interval = tuple[Value, Value]

_SHOWN = (
    "column",
    "group",
    "estimate",
    "interval",
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
    "interval_reason",
    "achieved_level",
    "repeats",
    "n_set_aside",
    "n_units",
    "n_units_exact",
    "weights",
    "n_unweighted",
    "n_zero_weight",
    "n_effective",
    "other_estimate",
    "accused_files",
    "notes",
    "type",
)

_FLAT = (
    *("interval_kind", "interval_reason", "confidence_level", "achieved_level", "status"),
    *("n_rows", "n_used", "n_null", "n_nan", "n_inf", "n_blocks", "repeats", "block_size"),
    *("n_ruined_blocks", "n_set_aside", "n_units", "n_units_exact"),
    *("weights", "n_unweighted", "n_zero_weight", "n_effective"),
)
"""Fields of a flat row, in order, between the interval and the plain mean."""


@dataclass(frozen=True, eq=False)
class MeanResult(Result):
    """A robust mean, its interval, and what it was computed from.

    Attributes
    ----------
    column : str
    group : dict or None
        The values of the `by` columns; None where there are no groups.
    estimate : float, datetime or timedelta
        Lower median of the block means; where there is no finite answer NaN, or None for times.
    interval : (float, float) or None
        Confidence interval, None with a `interval_reason` where there is none.
    interval_kind : {"order", "exact", "paper", "none"}
    interval_reason : str or None
        Why there is no interval, or how far it can be trusted.
    confidence_level : float
        The level asked for.
    achieved_level : float or None
        The level the order statistics really have.
    status : tuple of str
        ``("ok",)``, or what is wrong, the most serious first.
    n_rows, n_used, n_null, n_nan, n_inf : int
        Rows that passed the filter; those that entered the blocks (infinities do); missing ones.
    n_blocks : int
        Blocks of the answer; of one partition, where there are several.
    repeats : int
        Partitions.
    block_size : (int, int)
        Used rows of the smallest and of the largest block.
    n_ruined_blocks : int
        Blocks whose mean is not finite, the most in one partition.
    n_set_aside : int
        Fine blocks that were screened out because their means lay far outside.
    n_units : int or None
        With blocks of units (or files), those of them that have rows which passed the filter; else None.
    n_units_exact : bool or None
        Whether that is exact, which it is up to 4,095 units (with groups: 16,383 pairs of group and unit).
        Above, it is an estimate from hashes: within 2 % or so, with groups rougher.
    plain_estimate : float
        The ordinary mean of the used rows.
    scheme : str
        How rows formed blocks: ``partition``, or samples without (``swor``) or with (``monte_carlo``)
        replacement.
    block_estimates : ndarray of float64, datetime64 (in UTC) or timedelta64
        The block means whose lower median is the estimate, one partition after the other.
    path : tuple of (n_blocks, estimate, half_width)
        Estimate at every number of blocks tried.
    accused_files : tuple of str
        Files in whose cells the difference between rows and files lies.
    other_estimate : float or None
        The answer not shown first, where blocks of rows and blocks of files disagree.
    weights : str or None
        Column of the weights.
    n_unweighted, n_zero_weight : int or None
        Rows that do not count because their weight is null or NaN, or because it is zero; None without
        weights.
    n_effective : float or None
        Effective rows, (sum w)^2 / sum w^2 over the used rows; None without weights.
    notes : tuple of str
        Notices, such as a lowered number of blocks.
    data, run : dict
        What was read and how, as in `Results`: skipped files, and the seed that repeats the run.
    scale : TimeScale or None
        Of a column of times: which kind, the time zone, the resolution.
    offsets : MeanResult or None
        Of a column of times: the same result in nanoseconds on that scale.

    Notes
    -----
    A column of dates or timestamps gives datetimes, with the column's time zone; a date counts as its
    midnight. Durations give timedeltas. These have microseconds; JSON, Arrow and `block_estimates` have
    nanoseconds where the column has.
    """

    column: str
    group: dict[str, Any] | None
    estimate: Value
    interval: Interval | None
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
    interval_reason: str | None = None
    achieved_level: float | None = None
    n_set_aside: int = 0
    n_units: int | None = None
    n_units_exact: bool | None = None
    block_estimates: NDArray[Any] = field(default_factory=lambda: np.empty(0), repr=False)
    path: tuple[tuple[int, Value, Value], ...] = field(default=(), repr=False)
    accused_files: tuple[str, ...] = ()
    repeats: int = 1
    other_estimate: Value = None
    weights: str | None = None
    n_unweighted: int | None = None
    n_zero_weight: int | None = None
    n_effective: float | None = None
    notes: tuple[str, ...] = ()
    data: dict[str, Any] = field(default_factory=dict, repr=False)
    run: dict[str, Any] = field(default_factory=dict, repr=False)
    scale: TimeScale | None = field(default=None, repr=False)
    offsets: MeanResult | None = field(default=None, repr=False)

    @property
    def numbers(self) -> MeanResult:
        """The result in numbers: itself, or in nanoseconds for times."""
        return self.offsets or self

    @property
    def type(self) -> str:
        """Arrow's name of the values' type: ``double``, ``timestamp[us, tz=UTC]``, ``duration[ns]``."""
        if self.scale is None:
            return "double"
        from distmom.report.times import arrow_type

        return str(arrow_type(self.scale))

    kind: ClassVar[str] = "Robust mean"
    shown: ClassVar[tuple[str, ...]] = _SHOWN

    @property
    def name(self) -> str:  # noqa: D102
        return self.column

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, as in the JSON output: numbers that are not finite become None.

        Times are ISO 8601 texts, durations seconds such as ``PT3723.5S``.
        """
        told = super().to_dict()
        if self.scale is not None:
            from distmom.report.times import text

            numbers = self.numbers
            for name in ("estimate", "plain_estimate", "other_estimate"):
                told[name] = text(self.scale, getattr(numbers, name))
            if self.interval is not None:
                told["interval"] = [text(self.scale, end) for end in numbers.interval or ()]
        return told

    def records(self) -> list[dict[str, Any]]:  # noqa: D102
        numbers = self.numbers
        ends = numbers.flat("interval") if self.interval is not None else self.flat("interval")
        return [
            {
                "column": self.column,
                "estimate": numbers.estimate,
                **ends,
                **self.flat(*_FLAT),
                "plain_estimate": numbers.plain_estimate,
                "scheme": self.scheme,
            }
        ]

    def headers(self) -> tuple[str, ...]:  # noqa: D102
        units = () if self.n_units is None else ("units",)
        level = f"{100 * self.confidence_level:.6g} % interval"
        return ("estimate", level, "plain mean", "rows used", *units, "blocks")

    def lines(self) -> list[tuple[str, tuple[str, ...]]]:  # noqa: D102
        shown = self.shown_values()
        units = units_cells(self.n_units, self.n_units_exact)
        return [(self.column, (*shown, f"{self.n_used:,}", *units, str(self.n_blocks)))]

    def shown_values(self) -> tuple[str, str, str]:  # noqa: D102
        if self.scale is None:
            return super().shown_values()
        from distmom.report.times import shown

        return shown(self.numbers, self.scale)

    def left_out(self) -> dict[str, int]:  # noqa: D102
        return {**super().left_out(), **weightless(self.n_unweighted, self.n_zero_weight)}

    def remarks(self) -> list[str]:  # noqa: D102
        found = []
        if self.interval is None and self.interval_reason and self.interval_kind != "none":
            found.append(f"no interval: {self.interval_reason}")
        return found + list(self.notes) + accused(self.accused_files)

    def telling(self) -> Telling:  # noqa: D102
        from distmom.report.page.numbers import tell_mean

        return tell_mean(self)
