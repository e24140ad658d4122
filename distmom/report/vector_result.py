"""The result of a joint mean: one vector over several columns, or over a list column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.report.digits import fixed_span, in_digits, three
from distmom.report.result import Result
from distmom.report.words import accused, number, weightless

if TYPE_CHECKING:
    from distmom.report.page.telling import Telling

Vector = Floats

MOST_LINES = 20
"""Coordinates on the terminal; JSON, CSV and Parquet hold all."""

_FLAT = (
    *("radius", "interval_kind", "interval_reason", "confidence_level", "achieved_level", "trace", "gap"),
    *("status", "n_rows", "n_used", "n_null", "n_nan", "n_inf", "n_blocks", "block_size"),
    *("n_ruined_blocks", "n_set_aside", "n_units", "n_units_exact", "repeats", "weights", "n_unweighted"),
    *("n_zero_weight", "n_effective", "method", "scheme"),
)
"""Fields that the flat rows of all coordinates share, in order."""


@dataclass(frozen=True, eq=False)
class VectorResult(Result):
    """A robust mean vector, how far it may be off, and what it was computed from.

    Attributes
    ----------
    column : str
        The columns it is of, as they were asked for.
    columns : tuple of str, length d
        Names of the coordinates: those columns, ``v[0]``, ``v[1]``, … for a list column ``v``.
    group : dict or None
        The values of the `by` columns; None where there are no groups.
    method : {"geometric", "coordinatewise"}
    estimate : ndarray of float64, shape (d,)
        Median of the block mean vectors; NaN where there is no finite answer.
    radius : float or None
        Of the geometric median, in Euclidean distance from `estimate`: the mean vector lies within it; None
        with an `interval_reason` where there is none.
    intervals : ndarray of float64, shape (d, 2), or None
        Of the coordinatewise median: together they hold at the confidence level.
    interval_kind : {"order", "exact", "none"}
    interval_reason : str or None
        Why there is no radius or no interval.
    confidence_level : float
    achieved_level : float or None
        The level the order statistics of all coordinates together really have.
    trace : float
        Trace of the covariance matrix of a row, by robust variances of the coordinates.
    gap : float or None
        Of the geometric median: by no more than this does the mean distance to the block means exceed its
        minimum.
    status : tuple of str
        ``("ok",)``, or what is wrong, the most serious first.
    n_rows, n_used, n_null, n_nan, n_inf : int
        Rows that passed the filter; those with all coordinates; those without; those with infinite ones.
    n_blocks : int
    block_size : (int, int)
        Used rows of the smallest and of the largest block.
    n_ruined_blocks : int
        Blocks with a mean that is not finite; they are left out of the median.
    plain_estimate : ndarray of float64, shape (d,)
        The ordinary mean of the used rows.
    scheme : str
    n_units, n_units_exact : int, bool or None
        Units whose rows stay together, and whether they were counted rather than estimated.
    n_set_aside : int
        Fine blocks whose means lay far outside in some coordinate and were left out.
    weights : str or None
        Column of the weights.
    n_unweighted, n_zero_weight : int or None
        Rows left out because their weight is null or NaN, and because it is zero; None without weights.
    n_effective : float or None
        Effective rows, (sum w)^2 / sum w^2 over the used rows; None without weights.
    repeats : int
        Random partitions, of `n_blocks` blocks each.
    block_estimates : ndarray of float64, shape (repeats n_blocks, d)
        The block mean vectors, ruined ones included; one partition after the other.
    accused_files : tuple of str
        Files in whose cells the difference between rows and files lies.
    other_estimate : ndarray of float64, shape (d,), or None
        The answer not shown first (by coordinates), where blocks of rows and blocks of files disagree.
    notes : tuple of str
        Notices, such as the coordinates that a status is about.
    data, run : dict
        What was read and how, as in `Results`.
    """

    column: str
    columns: tuple[str, ...]
    group: dict[str, Any] | None
    method: str
    estimate: Vector
    radius: float | None
    intervals: Vector | None
    interval_kind: str
    confidence_level: float
    trace: float
    gap: float | None
    status: tuple[str, ...]
    n_rows: int
    n_used: int
    n_null: int
    n_nan: int
    n_inf: int
    n_blocks: int
    block_size: tuple[int, int]
    n_ruined_blocks: int
    plain_estimate: Vector
    scheme: str
    interval_reason: str | None = None
    achieved_level: float | None = None
    n_set_aside: int = 0
    n_units: int | None = None
    n_units_exact: bool | None = None
    weights: str | None = None
    n_unweighted: int | None = None
    n_zero_weight: int | None = None
    n_effective: float | None = None
    block_estimates: Vector = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    accused_files: tuple[str, ...] = ()
    repeats: int = 1
    other_estimate: Vector | None = None
    notes: tuple[str, ...] = ()
    data: dict[str, Any] = field(default_factory=dict, repr=False)
    run: dict[str, Any] = field(default_factory=dict, repr=False)

    kind: ClassVar[str] = "Robust mean vector"
    shown: ClassVar[tuple[str, ...]] = (
        "column",
        "columns",
        "group",
        "method",
        "estimate",
        "radius",
        "intervals",
        "interval_kind",
        "confidence_level",
        "trace",
        "gap",
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
        "n_set_aside",
        "n_units",
        "n_units_exact",
        "repeats",
        "weights",
        "n_unweighted",
        "n_zero_weight",
        "n_effective",
        "other_estimate",
        "accused_files",
        "notes",
    )

    @property
    def name(self) -> str:  # noqa: D102
        return self.column

    def _interval(self, i: int) -> tuple[float, float] | None:
        if self.intervals is None or np.isnan(self.intervals[i]).any():
            return None
        return float(self.intervals[i, 0]), float(self.intervals[i, 1])

    def _reach(self, i: int) -> tuple[float, float] | None:
        """The interval of a coordinate, or the shadow of the ball."""
        if self.method != "geometric" or self.radius is None:
            return self._interval(i)
        return float(self.estimate[i]) - self.radius, float(self.estimate[i]) + self.radius

    def telling(self) -> Telling:  # noqa: D102
        from distmom.report.page.vectors import tell_vector

        return tell_vector(self)

    def records(self) -> list[dict[str, Any]]:  # noqa: D102
        shared = self.flat(*_FLAT)
        records = []
        for i, name in enumerate(self.columns):
            low, high = self._interval(i) or (None, None)
            own = {"column": name, "estimate": float(self.estimate[i]), "interval_low": low}
            own |= {"interval_high": high, "plain_estimate": float(self.plain_estimate[i])}
            records.append(own | shared)
        return records

    def headers(self) -> tuple[str, ...]:  # noqa: D102
        kind = "radius" if self.method == "geometric" else "interval"
        level = f"{100 * self.confidence_level:.6g} % {kind}"
        return ("estimate", level, "plain mean", "rows used", "blocks")

    def lines(self) -> list[tuple[str, tuple[str, ...]]]:  # noqa: D102
        lines: list[tuple[str, tuple[str, ...]]] = []
        few = len(self.columns) <= MOST_LINES
        for i, name in enumerate(self.columns if few else self.columns[: MOST_LINES - 1]):
            ends = self._reach(i)
            if self.method == "geometric":
                error = number(self.radius) if i == 0 else ""
            else:
                error = fixed_span(ends, in_digits(*(ends or (None, None))))
            counts = (f"{self.n_used:,}", str(self.n_blocks)) if i == 0 else ("", "")
            estimate, _, plain = three(float(self.estimate[i]), ends, float(self.plain_estimate[i]))
            values = (estimate, error, plain)
            lines.append((name, (*values, *counts)))
        if not few:
            lines.append((f"… {len(self.columns) - MOST_LINES + 1} more", ("",) * 5))
        return lines

    def left_out(self) -> dict[str, int]:  # noqa: D102
        return {**super().left_out(), **weightless(self.n_unweighted, self.n_zero_weight)}

    def remarks(self) -> list[str]:  # noqa: D102
        found = []
        if self.interval_reason and self.interval_kind != "none":
            what = "radius" if self.method == "geometric" else "interval"
            found.append(f"no {what}: {self.interval_reason}")
        return found + list(self.notes) + accused(self.accused_files)
