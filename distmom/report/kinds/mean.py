"""The result of a robust mean: one column, one group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

from distmom.lake.columns.times import TimeScale
from distmom.remedies import OF_BLOCKS, Remedies
from distmom.report.estimate import COUNTS, INTERVAL, SHARED, EstimateResult
from distmom.report.far_rows import written_far


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MeanResult(EstimateResult):
    """A robust mean, its interval, and what it was computed from.

    Attributes
    ----------
    column : str
    estimate : float, datetime or timedelta
        Lower median of the block means; if there is no finite answer, NaN (None for times).
    plain_estimate : float, datetime or timedelta
        The ordinary mean of the used rows.
    block_estimates : ndarray of float64, datetime64 (in UTC) or timedelta64
        The block means, one partition after the other.
    scale : TimeScale or None
        For a column of times: kind, time zone and resolution.
    offsets : MeanResult or None
        For a column of times: the same result in nanoseconds on that scale.

    Notes
    -----
    A column of dates or timestamps gives datetimes, with the column's time zone; a date counts as its
    midnight. Durations give timedeltas. These have a resolution of microseconds; JSON, Arrow and
    `block_estimates` keep nanoseconds if the column has them.
    """

    column: str
    scale: TimeScale | None = None
    offsets: Self | None = None

    kind: ClassVar[str] = "Robust mean"
    remedies: ClassVar[Remedies] = OF_BLOCKS
    told_by: ClassVar[str] = "numbers.tell_mean"
    shown: ClassVar[tuple[str, ...]] = (
        *("column", "group", "estimate", "interval", *SHARED),
        *("other_estimate", "accused_files", "files_named", "notes", "type"),
    )

    @property
    def type(self) -> str:
        """Arrow's name of the values' type: ``double``, ``timestamp[us, tz=UTC]``, ``duration[ns]``."""
        if self.scale is None:
            return "double"
        from distmom.report.times import arrow_type

        return str(arrow_type(self.scale))

    @property
    def name(self) -> str:  # noqa: D102
        return self.column

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, as in the JSON output: non-finite numbers become None.

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
            told |= written_far(self, partial(text, self.scale))
        return told

    def records(self) -> list[dict[str, Any]]:  # noqa: D102
        numbers = self.numbers
        ends = (self if self.interval is None else numbers).flat("interval")
        own = {"column": self.column, "estimate": numbers.estimate, **ends, **self.flat(*INTERVAL, *COUNTS)}
        return [own | {"plain_estimate": numbers.plain_estimate, "scheme": self.scheme}]
