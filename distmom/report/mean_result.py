"""The result of a robust mean: one column, one group."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

    from distmom.lake.times import TimeScale

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
)


@dataclass(frozen=True, eq=False)
class MeanResult:
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
        Fine blocks whose means lay far outside and were left out.
    plain_estimate : float
        The ordinary mean of the used rows.
    scheme : str
        ``partition``, ``swor`` or ``monte_carlo``.
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
    n_unweighted, n_zero_weight : int
        Rows that do not count because their weight is null or NaN, or because it is zero.
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
    block_estimates: NDArray[Any] = field(default_factory=lambda: np.empty(0), repr=False)
    path: tuple[tuple[int, Value, Value], ...] = field(default=(), repr=False)
    accused_files: tuple[str, ...] = ()
    repeats: int = 1
    other_estimate: Value = None
    weights: str | None = None
    n_unweighted: int = 0
    n_zero_weight: int = 0
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

    def __str__(self) -> str:
        from distmom.report.results import Results

        return str(Results.of(self))

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, as in the JSON output: numbers that are not finite become None.

        Times are ISO 8601 texts, durations seconds such as ``PT3723.5S``.
        """
        shown: dict[str, Any] = {name: getattr(self, name) for name in _SHOWN}
        shown["status"] = list(self.status)
        for name in ("interval_reason", "achieved_level", "repeats", "n_set_aside", "other_estimate"):
            shown[name] = getattr(self, name)
        if self.weights is not None:
            for name in ("weights", "n_unweighted", "n_zero_weight", "n_effective"):
                shown[name] = getattr(self, name)
        if self.scale is not None:
            from distmom.report.times import text

            numbers = self.numbers
            for name in ("estimate", "plain_estimate", "other_estimate"):
                shown[name] = text(self.scale, getattr(numbers, name))
            if self.interval is not None:
                shown["interval"] = [text(self.scale, end) for end in numbers.interval or ()]
        shown["accused_files"] = list(self.accused_files)
        shown["notes"] = list(self.notes)
        shown["type"] = self.type
        return {name: plain(value) for name, value in shown.items()}

    def to_arrow(self) -> pa.Table:
        """A table of one row; see `Results.to_arrow`."""
        from distmom.report.results import Results

        return Results.of(self).to_arrow()

    def plot(self, ax: Any = None) -> Any:
        """Block means, estimate, interval and plain mean; and the estimate at each number of blocks.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Draw the block means there, and nothing else. By default a figure is made.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``.savefig("mean.png")``; a notebook shows it. The window for screens is not used.

        Raises
        ------
        ConfigError
            If Matplotlib is not installed.
        """
        from distmom.report.plot import plot_mean

        return plot_mean(self, ax)

    def same_bits(self, other: MeanResult) -> bool:
        """Whether two results agree in every number, bit for bit (NaN equals NaN); `data` and `run` apart."""
        names = (f.name for f in fields(self) if f.name not in ("data", "run"))
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        # the sign of a NaN depends on how it arose, and means nothing
        if a.dtype.kind == b.dtype.kind == "f":
            a, b = (np.where(np.isnan(v), np.nan, v) for v in (a, b))
        return bool(a.shape == b.shape and a.tobytes() == b.tobytes())
    if isinstance(a, MeanResult):
        return isinstance(b, MeanResult) and a.same_bits(b)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and list(a) == list(b) and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, float) and isinstance(b, float):
        return a.hex() == b.hex()  # tells 0.0 from -0.0, and takes NaN for NaN
    return bool(type(a) is type(b) and a == b)


def plain(value: Any) -> Any:
    """The value as JSON can carry it: no NaN or infinity, dates as ISO text, tuples as lists."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, timedelta):
        from distmom.lake.times import duration_text

        return duration_text(value // timedelta(microseconds=1), 10**6)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
