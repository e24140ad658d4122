"""The result of a joint mean: one vector over several columns, or over a list column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.remedies import OF_BLOCKS, Remedies
from distmom.report.estimate import COUNTS, INTERVAL, SHARED, Entry, JointResult


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class VectorResult(JointResult):
    """A robust mean vector, its uncertainty, and what it was computed from.

    Attributes
    ----------
    columns : tuple of str, length d
        Names of the coordinates: the columns, ``v[0]``, ``v[1]``, … for a list column ``v``.
    method : {"geometric", "coordinatewise"}
    estimate : ndarray of float64, shape (d,)
        Median of the block mean vectors; NaN if there is no finite answer.
    interval : None
        See `radius` and `intervals`.
    intervals : ndarray of float64, shape (d, 2), or None
        For the coordinatewise median: simultaneous intervals at the confidence level.
    actual_level : float or None
        The actual joint level of the order-statistic intervals of all coordinates.
    trace : float
        Trace of the covariance matrix of a row, from robust variances of the coordinates.
    n_rows, n_used, n_null, n_nan, n_inf : int
        Rows that passed the filter; rows with all coordinates; rows with missing ones; rows with infinite
        ones.
    n_non_finite_blocks : int
        Blocks with a non-finite mean; they are left out of the median.
    n_screened_out : int
        Fine blocks with an outlying mean in some coordinate, which were left out.
    plain_estimate : ndarray of float64, shape (d,)
        The ordinary mean of the used rows.
    block_estimates : ndarray of float64, shape (repeats n_blocks, d)
        The block mean vectors, non-finite ones included; one partition after the other.
    other_estimate : ndarray of float64, shape (d,), or None
        The alternative (coordinatewise) estimate, if blocks of rows and blocks of files disagree.
    """

    estimate: Floats
    plain_estimate: Floats
    other_estimate: Floats | None = None
    trace: float

    kind: ClassVar[str] = "Robust mean vector"
    remedies: ClassVar[Remedies] = OF_BLOCKS
    told_by: ClassVar[str] = "vectors.tell_vector"
    shown: ClassVar[tuple[str, ...]] = (
        *("column", "columns", "group", "method", "estimate", "radius", "intervals", "trace", "gap"),
        *(*SHARED, "other_estimate", "accused_files", "files_named", "notes"),
    )

    def entries(self) -> list[Entry]:  # noqa: D102
        ends = [None] * len(self.columns) if self.intervals is None else self.intervals.tolist()
        return [
            (name, estimate, plain, None if span is None or np.isnan(span).any() else tuple(span))
            for name, estimate, plain, span in zip(
                self.columns, self.estimate.tolist(), self.plain_estimate.tolist(), ends, strict=True
            )
        ]

    def records(self) -> list[dict[str, Any]]:  # noqa: D102
        return self.entry_records(("radius", *INTERVAL, "trace", "gap", *COUNTS, "method", "scheme"))
