"""Results of kernels whose values are matrices: one median of all entries together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from distmom.estimators.mean.answer import interval_kind, shown_interval
from distmom.estimators.mean.vector_radius import ball_of, vector_median
from distmom.estimators.ustat.answer import Answerer
from distmom.inference.answers import RuleAnswer
from distmom.inference.status import REASON_WORDS, NoInterval, Status
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.linalg.nearest import as_correlation, nearest_correlation, nearest_psd
from distmom.report import UStatisticResult

OF_COVARIANCES = (
    "blocks have covariances, which give correlations no interval; use kernel='correlation' and two columns "
    "at a time"
)
"""Why projected correlations have none."""


@dataclass(frozen=True)
class MatrixAnswerer(Answerer):
    """As `Answerer`; the entries of a matrix are the columns of a vector for the rule."""

    @property
    def _geometric(self) -> bool:
        return self.options.joint == "geometric"

    @cached_property
    def _entries(self) -> tuple[Ints, Ints]:
        """Rows and columns of the entries: those of a triangle, or all for Frobenius distances."""
        c = self.blocks.means.shape[-1]
        a, b = np.indices((c, c)).reshape(2, -1) if self._geometric else np.triu_indices(c)
        return a, b

    @property
    def _delta(self) -> float:
        """Allowed failure probability of one entry, or of the ball."""
        delta = self.plan.options.delta
        return delta if self._geometric else delta / self._entries[0].size

    def _moments(self) -> Moments:
        a, b = self._entries
        values, variance = self.values[:, a, b], self.blocks.variance[:, a, b]
        values = np.where(np.isfinite(values).all(axis=1, keepdims=True), values, np.nan)
        each = [self.placed(values[:, d], variance[:, d]) for d in range(a.size)]
        stacked = (np.stack(arrays, axis=1) for arrays in zip(*each, strict=True))
        return Moments(*(array.reshape(-1, *array.shape[2:]) for array in stacked))

    def _rule(self) -> RuleAnswer:
        intervals = ("ball",) if self._geometric else ("order", "exact")
        return self.answered(intervals, 1.0 - self._delta, self._entries[0].size)

    def _result(self, answer: RuleAnswer, g: int, shared: dict[str, Any]) -> UStatisticResult:
        d = self._entries[0].size
        entries = slice(g * d, (g + 1) * d)
        mine, n_blocks = self.mine(g), int(answer.n_blocks[entries.start])
        status = Status(int(np.bitwise_or.reduce(answer.status[entries])))
        points = answer.block_estimates[entries, : np.count_nonzero(answer.block_rows[entries.start])].T
        finite = not status & (Status.NO_ROWS | Status.NO_FINITE_ANSWER)
        median, gap = vector_median(points, self._geometric, finite)
        estimate, notes = self._projected(self._matrix(median))
        first = entries.start
        bias = self._bias_of_order(g, mine, estimate, None)
        return UStatisticResult(
            kernel=self.options.kernel.name,
            columns=self.plan.reduction.columns,
            estimate=estimate,
            method=self.options.joint,
            gap=gap,
            status=self._status(int(status), g, bias),
            n_blocks=n_blocks,
            block_size=(int(answer.block_size[first, 0]), int(answer.block_size[first, 1])),
            n_ruined_blocks=int(answer.n_ruined[first]),
            n_set_aside=int(answer.n_set_aside[first]),
            plain_estimate=self._plain_matrix(mine),
            statistic=self.options.statistic,
            pairs=self.options.pairs,
            n_pairs=sum(self.blocks.n_tuples[mine]),
            block_estimates=np.array([self._matrix(point) for point in points]),
            repeats=self.repeats,
            notes=(*self._notes(answer, g, shared, bias, first), *notes),
            **self._errors(answer, g, entries, n_blocks, median),
            **shared,
        )

    def _matrix(self, entries: Floats) -> Floats:
        c = self.blocks.means.shape[-1]
        a, b = self._entries
        out = np.empty((c, c))
        out[a, b] = out[b, a] = entries
        return out

    def _errors(
        self, answer: RuleAnswer, g: int, entries: slice, n_blocks: int, median: Floats
    ) -> dict[str, Any]:
        """Intervals of the entries or radius of the matrix, or why there are none."""
        none: dict[str, Any] = {"interval": None}
        kind = "exact" if self._geometric else interval_kind(self.plan, n_blocks, self._delta)
        if self.plan.options.interval == "none":
            return none | {"interval_kind": "none", "interval_reason": REASON_WORDS[NoInterval.NOT_WANTED]}
        if self.cells.lowered[g]:
            why = REASON_WORDS[NoInterval.FEWER_ROWS_THAN_BLOCKS]
            return none | {"interval_kind": kind, "interval_reason": why}
        if self.options.project == "correlation":
            return none | {"interval_kind": kind, "interval_reason": OF_COVARIANCES}
        if self._geometric:
            ruined = max(int(answer.n_ruined[entries.start]), self.plan.blocks.outlying)
            fixed = self.plan.blocks.n_blocks is not None
            ball = ball_of(answer, entries, ruined if fixed else 0, self.repeats)
            radius, reason = ball.radius(median, self._delta)
            return none | {"interval_kind": kind, "radius": radius, "interval_reason": reason}
        found = [shown_interval(answer.intervals, i, kind) for i in range(entries.start, entries.stop)]
        levels = [level for _, _, level in found if level is not None]
        reasons = [reason for _, reason, _ in found if reason is not None]
        low, high = zip(
            *((math.nan, math.nan) if ends is None else ends for ends, _, _ in found), strict=True
        )
        ends = np.stack([self._matrix(np.array(low)), self._matrix(np.array(high))], axis=-1)
        return none | {
            "interval_kind": kind,
            "intervals": None if np.isnan(ends).all() else ends,
            "interval_reason": reasons[0] if reasons else None,
            "achieved_level": max(0.0, 1.0 - sum(1.0 - level for level in levels)) if levels else None,
        }

    def _plain_matrix(self, mine: slice) -> Floats:
        """The plain statistic, as correlations if these are asked for."""
        plain: Floats = self._plain(mine)
        with np.errstate(invalid="ignore"):
            return as_correlation(plain) if self.options.project == "correlation" else plain

    def _projected(self, matrix: Floats) -> tuple[Floats, tuple[str, ...]]:
        """The matrix made positive semi-definite, or a correlation matrix, if asked for."""
        project = self.options.project
        if project is None or not np.isfinite(matrix).all():
            return matrix, ()
        if project == "psd":
            found = nearest_psd(matrix)
        else:
            matrix = as_correlation(matrix)
            if not np.isfinite(matrix).all():
                return matrix, ("a variance is 0: there is no correlation matrix",)
            found = nearest_correlation(matrix)
        moved = float(np.abs(found - matrix).max())
        note = f"projected to the nearest {project} matrix: entries moved by at most {moved:.3g}"
        return found, (note,) if moved > 0.0 else ()
