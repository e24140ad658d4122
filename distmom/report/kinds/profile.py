"""The profile of one column, and the sources that move its sample mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

from distmom.lake.columns.times import TimeScale
from distmom.remedies import SCATTERED, Remedies
from distmom.report.digits import fixed, in_digits
from distmom.report.far_rows import FarRows, Trimmed, far_words, written_far
from distmom.report.histogram import Histogram
from distmom.report.result import Result
from distmom.report.values import plain
from distmom.report.words import number

Value = Any
"""A float; for columns of times a datetime or timedelta, or None."""


@dataclass(frozen=True)
class DiscrepancySource:
    """A file, folder or unit, and its contribution to the discrepancy of sample mean and robust mean.

    Attributes
    ----------
    kind : {"file", "folder", "unit"}
    name : str
        Path of the file or folder; ``key=value`` of the unit.
    n_used : int
        Used rows.
    mean : float
        Their mean; times in nanoseconds as in the result's `offsets`.
    contribution : float
        n_used/n (mean - robust mean): summed over all files this is the discrepancy.
    share : float or None
        Share of the discrepancy; None if that is not finite.
    """

    kind: str
    name: str
    n_used: int
    mean: float
    contribution: float
    share: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values: non-finite numbers become None."""
        return {name: plain(value) for name, value in vars(self).items()}


class Quantile(NamedTuple):
    """A quantile of a column, from a uniform sample of its rows.

    Attributes
    ----------
    share : float
        Share of the rows at or below it.
    value : float, datetime or timedelta
        The quantile of the sample.
    low, high : float, datetime or timedelta, or None
        Ends of its exact interval; infinite (for times None) if the sample is too small.
    """

    share: float
    value: Any
    low: Any
    high: Any

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"share": self.share, "value": self.value, "interval": [self.low, self.high]}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ColumnProfile(Result):
    """Counts of one column; for numbers and times also its sample and robust mean and standard deviation.

    Attributes
    ----------
    column : str
    type : str
        Arrow's name of the type in the first file.
    status : Status
        As for `MeanResult`; ``counted only`` for columns without a mean, ``no values`` if all rows are
        missing.
    n_rows, n_used, n_null, n_nan, n_inf : int
        Rows that passed the filter; rows with a value (infinite values included); missing values. `n_null`
        and `n_used` are None if nulls of that type cannot be counted.
    estimate, interval, interval_reason, confidence_level, n_blocks, other_estimate
        The robust mean, as from `distmom.mean` with the same seed.
    plain_estimate : float, datetime or timedelta
        The ordinary mean.
    leaves_interval : bool
        Whether the ordinary mean lies outside the interval.
    robust_std : float or timedelta
        Root of the lower median of block variances.
    plain_std : float or timedelta
        The ordinary standard deviation.
    gini : float or timedelta
        Gini's mean difference ``E|X - X'|``, from a sample: see `distmom.describe`.
    skewness_shift, skewness_noise : float or timedelta, or None
        Bias of the median of block means due to skewness, and its standard error; None if it cannot be
        estimated.
    minimum, maximum : float, datetime or timedelta
        Extremes of the used rows.
    quantiles : tuple of Quantile
        The median and other quantiles of all rows, with intervals that are valid for every distribution.
    far_rows : FarRows or None
        Rows far from all others, their values, and what was done about them.
    without_extremes : tuple of Trimmed
        The mean without the most extreme rows, for several numbers of them.
    histogram : Histogram or None
        Distribution of the values, from a sample; times in nanoseconds as in `offsets`.
    discrepancy : float or None
        Sample mean minus robust mean, if the former lies outside the interval; times in nanoseconds.
    sources : tuple of DiscrepancySource
        Files, folders and units that contribute to the discrepancy, each kind in decreasing order of
        contribution.
    scale : TimeScale or None
        Of a column of times.
    offsets : ColumnProfile or None
        For a column of times: the same in nanoseconds on that scale.

    Notes
    -----
    In Arrow and Parquet the standard deviations, Gini's difference and discrepancies of times are
    nanoseconds.
    """

    column: str
    type: str
    n_used: int | None  # type: ignore[assignment]
    n_null: int | None  # type: ignore[assignment]
    n_nan: int = 0
    n_inf: int = 0
    estimate: Value = None
    interval: tuple[Value, Value] | None = None
    interval_reason: str | None = None
    plain_estimate: Value = None
    leaves_interval: bool = False
    robust_std: Value = None
    plain_std: Value = None
    gini: Value = None
    skewness_shift: Value = None
    skewness_noise: Value = None
    minimum: Value = None
    maximum: Value = None
    n_blocks: int = 0
    other_estimate: Value = None
    quantiles: tuple[Quantile, ...] = ()
    far_rows: FarRows | None = None
    without_extremes: tuple[Trimmed, ...] = ()
    histogram: Histogram | None = None
    discrepancy: float | None = None
    sources: tuple[DiscrepancySource, ...] = ()
    scale: TimeScale | None = None
    offsets: ColumnProfile | None = None

    remedies: ClassVar[Remedies] = Remedies(scattered=SCATTERED)
    told_by: ClassVar[str] = "describe.tell_profile"
    shown: ClassVar[tuple[str, ...]] = (
        *("column", "type", "status", "flags", "n_rows", "n_used", "n_null", "n_nan", "n_inf", "estimate"),
        *("interval", "interval_reason", "confidence_level", "plain_estimate", "leaves_interval"),
        *("robust_std", "plain_std", "gini", "skewness_shift", "skewness_noise", "minimum", "maximum"),
        *("n_blocks", "other_estimate", "quantiles", "far_rows", "without_extremes"),
        *("discrepancy", "sources", "notes"),
    )

    @property
    def name(self) -> str:  # noqa: D102
        return self.column

    def told(self, data: dict[str, Any], run: dict[str, Any]) -> ColumnProfile:
        """The same with information on data and run."""
        return replace(self, data=data, run=run)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values; times are ISO 8601 texts in microseconds, durations such as ``PT3723.5S``."""
        told = super().to_dict()
        told["sources"] = [source.to_dict() for source in self.sources]
        if self.scale is not None:
            from distmom.report.times import text

            told |= written_far(self, partial(text, self.scale))
        return told

    def remarks(self) -> list[str]:  # noqa: D102
        return [*far_words(self), *super().remarks()]

    def records(self) -> list[dict[str, Any]]:  # noqa: D102
        return [self.numbers.flat(*(name for name in self.shown if name not in NESTED))]

    def headers(self) -> tuple[str, ...]:  # noqa: D102
        return ("mean", f"{self.level} interval", "sample mean", "std", "plain std", "min", "max", "missing")

    def lines(self) -> list[tuple[str, tuple[str, ...]]]:  # noqa: D102
        missing = share_text(self.n_null + self.n_nan, self.n_rows) if self.n_null is not None else "-"
        if self.estimate is None:
            return [(self.column, ("-",) * 7 + (missing,))]
        if self.scale is not None:
            from distmom.report.times import shown_profile

            return [(self.column, (*shown_profile(self.numbers, self.scale), missing))]
        digits = in_digits(*(self.interval or (None, None)))
        stds = fixed(self.robust_std, digits), fixed(self.plain_std, digits)
        shown = (*self.shown_values(), *stds, number(self.minimum), number(self.maximum))
        return [(self.column, (*shown, missing))]

    def left_out(self) -> dict[str, int]:  # noqa: D102
        return {"infinite": self.n_inf}


NESTED = ("quantiles", "far_rows", "without_extremes", "sources", "notes")
"""Fields that are not columns of a table."""


def share_text(part: int, whole: int) -> str:
    """A share in percent: ``0``, ``<0.1%``, ``2.4%``."""
    if not part or not whole:
        return "0"
    share = 100.0 * part / whole
    return "<0.1%" if share < 0.1 else f"{share:.1f}%"
