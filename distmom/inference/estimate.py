"""From the rule's answer for blocks to estimates with intervals: a number or a vector for each group.

The entries of a matrix form a vector, and the entries of a vector are consecutive lines of the rule's answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from distmom.inference.answers import Intervals, RuleAnswer
from distmom.inference.files.dependence import Dependence
from distmom.inference.radius import Ball, ball_of, vector_median
from distmom.inference.status import Finding, NoInterval, flags_of
from distmom.numerics.arrays import Floats, Ints
from distmom.status import Status
from distmom.theory.intervals import least_order_blocks

CORRELATED = int(Finding.ROWS_CORRELATED)


@dataclass(frozen=True)
class Promise:
    """Requested properties of intervals.

    Attributes
    ----------
    interval : {"auto", "order", "cantelli", "closed-form", "none"}
    confidence_level : float
    delta : float
        1 - confidence_level, without the rounding of the subtraction.
    n_blocks : int or None
        The number of blocks, if it was given.
    outlying : int or None
        Rows (or units) that may be arbitrary; None if intervals do not allow for such rows.
    repeats : int
        Number of random partitions.
    """

    interval: str
    confidence_level: float
    delta: float
    n_blocks: int | None = None
    outlying: int | None = None
    repeats: int = 1

    def kind(self, n_blocks: int, delta: float) -> str:
        """The interval to show: order statistics unless the number of blocks is too small for them.

        Never for overlapping blocks, nor if there are so many blocks, because of outlying rows, that the
        median of a block mean may be far from the mean.
        """
        if self.interval != "auto":
            return self.interval
        if self.repeats > 1 or self.outlying is not None:
            return "cantelli"
        some = self.n_blocks is not None or n_blocks > 1
        return "cantelli" if some and n_blocks < least_order_blocks(delta) else "order"

    def level(self, n_lines: int, method: str | None) -> float:
        """Confidence level of each line of a vector, or of a number."""
        return self.confidence_level if method is None else 1.0 - self.line_delta(n_lines, method)

    def line_delta(self, n_lines: int, method: str | None) -> float:
        """Allowed failure probability of a line: intervals of coordinates hold simultaneously."""
        return self.delta / n_lines if method == "coordinatewise" else self.delta


class Shown(NamedTuple):
    """The interval shown: kind, ends for a number or for each coordinate, reason, level, radius.

    A vector has a radius or an interval of each coordinate, shape (d, 2). The reason says why something is
    missing; the level is the actual confidence level of order statistics.
    """

    kind: str
    interval: Any = None
    reason: str | None = None
    level: float | None = None
    radius: float | None = None


@dataclass(frozen=True)
class Estimate:
    """The estimate of one group.

    Attributes
    ----------
    value : float, or ndarray of shape (d,)
    points : ndarray, shape (K,) or (K, d)
        Values of the blocks.
    status : int
        `Finding` flags.
    shown : Shown
    blocks : dict
        Fields of results about the blocks.
    gap : float or None
        Optimality gap of a geometric median.
    """

    value: Any
    points: Floats
    status: int
    shown: Shown
    blocks: dict[str, Any]
    gap: float | None = None

    def with_status(self, flags: int) -> Estimate:
        """The same with further findings."""
        return replace(self, status=self.status | int(flags))

    @property
    def flags(self) -> tuple[Status, ...]:
        """The findings in words."""
        return flags_of(self.status)

    def fields(self, shaped: Callable[[Floats], Any] | None = None) -> dict[str, Any]:
        """The fields of a result; `shaped` gives the entries of a matrix, one per line, their positions."""
        kind, interval, reason, level, radius = self.shown
        fields = {
            "estimate": self.value,
            "block_estimates": self.points,
            "flags": self.flags,
            "interval_kind": kind,
            "interval_reason": reason,
            "actual_level": level,
            **self.blocks,
        }
        if isinstance(self.value, float):
            return fields | {"interval": interval}
        fields |= {"gap": self.gap, "radius": radius, "intervals": interval}
        if shaped is None:
            return fields
        ends = None if interval is None else np.stack([shaped(side) for side in interval.T], axis=-1)
        points = np.array([shaped(point) for point in self.points])
        return fields | {"estimate": shaped(self.value), "block_estimates": points, "intervals": ends}


@dataclass(frozen=True)
class Estimates:
    """The rule's answers for all groups, each with `n_lines` lines.

    Attributes
    ----------
    answer : RuleAnswer
    promise : Promise
    n_lines : int
        Length of the vectors.
    method : {"geometric", "coordinatewise"} or None
        How block vectors become one; None for numbers.
    pays : bool
        Whether intervals are those of units if rows are correlated.
    units : Dependence, optional
        Dependence within units, if there are no groups.
    odd_files : tuple of str
        Files whose values differ from the rest, and which are left out.
    """

    answer: RuleAnswer
    promise: Promise
    n_lines: int = 1
    method: str | None = None
    pays: bool = False
    units: Dependence | None = None
    odd_files: tuple[str, ...] = ()

    def with_equal(self, answer: RuleAnswer) -> Estimates:
        """The same with an equal answer, such as one on disk; the request for all groups is kept."""
        other = replace(self, answer=answer)
        vars(other).update(status=self.status, disagree=self.disagree)
        return other

    def lines(self, g: int) -> slice:
        """The lines of a group."""
        return slice(g * self.n_lines, (g + 1) * self.n_lines)

    def lines_of(self, line: int) -> slice:
        """All lines of the group of a line."""
        return self.lines(line // self.n_lines)

    @cached_property
    def delta(self) -> float:
        """Allowed failure probability of a line, or of the ball."""
        return self.promise.line_delta(self.n_lines, self.method)

    def kind(self, g: int) -> str:
        """Kind of a group's interval."""
        if self.method == "geometric":
            return "none" if self.promise.interval == "none" else "cantelli"
        return self.promise.kind(int(self.answer.n_blocks[self.lines(g).start]), self.delta)

    @cached_property
    def status(self) -> Ints:
        """`Finding` flags of each group: those of all its lines."""
        return np.asarray(np.bitwise_or.reduce(self.answer.status.reshape(-1, self.n_lines), axis=1))

    @cached_property
    def disagree(self) -> list[bool]:
        """Whether blocks of rows and of files disagree in a group."""
        return np.any(self.answer.disagree.reshape(-1, self.n_lines), axis=1).tolist()  # type: ignore[no-any-return]

    def other(self, g: int) -> Any:
        """The answer that is not shown first, if blocks of rows and of files disagree."""
        if not self.disagree[g]:
            return None
        answer, mine = self.answer, self.lines(g)
        found = (answer.row_estimate if answer.files_first[mine.start] else answer.file_estimate)[mine]
        return float(found[0]) if self.method is None else found.copy()

    def estimate(self, g: int) -> Estimate:
        """The estimate of a group."""
        answer, mine = self.answer, self.lines(g)
        status, first = int(self.status[g]), mine.start
        points = answer.block_estimates[mine, : np.count_nonzero(answer.block_rows[first])].T.copy()
        blocks: dict[str, Any] = {
            "n_blocks": int(answer.n_blocks[first]),
            "block_size": (int(answer.block_size[first, 0]), int(answer.block_size[first, 1])),
            "n_non_finite_blocks": int(answer.n_non_finite[first]),
            "n_screened_out": int(answer.n_screened_out[first]),
            "repeats": self.promise.repeats,
            "by_files": self.disagree[g] and bool(answer.files_first[first]),
        }
        if self.method is None:
            value, points = float(answer.estimate[g]), points[:, 0]
            return Estimate(value, points, status, self.number(g), {**blocks, "path": answer.path(g)})
        finite = not status & (Finding.NO_ROWS | Finding.NO_FINITE_ANSWER)
        median, gap = vector_median(points, self.method == "geometric", finite)
        if self.method == "coordinatewise" and finite and self.promise.n_blocks is None:
            median = answer.estimate[mine].copy()
        return Estimate(median, points, status, self._vector(g, median), blocks, gap)

    def ball(self, g: int) -> Ball:
        """The blocks from which the radius around a group's vector is computed."""
        mine, promise = self.lines(g), self.promise
        arbitrary = 0
        if promise.n_blocks is not None:
            arbitrary = max(int(self.answer.n_non_finite[mine.start]), promise.outlying or 0)
        repeats = 1 if self.answer.files_first[mine.start] else promise.repeats
        return ball_of(self.answer, mine, arbitrary, repeats)

    def _correlated(self, g: int) -> bool:
        """Whether the interval is that of units."""
        wanted = self.pays and self.promise.interval == "auto"
        return wanted and bool(self.status[g] & CORRELATED)

    def number(self, g: int) -> Shown:
        """The interval of a group's number."""
        kind = self.kind(g)
        if self._correlated(g):
            ends = float(self.answer.files_low[g]), float(self.answer.files_high[g])
            few = math.isnan(ends[0])
            return Shown("clusters", None if few else ends, NoInterval.FEW_UNITS.words if few else None)
        return (
            Shown(kind)
            if kind == "closed-form"
            else Shown(kind, *shown_interval(self.answer.intervals, g, kind))
        )

    def _vector(self, g: int, median: Floats) -> Shown:
        kind, mine = self.kind(g), self.lines(g)
        if kind == "none":
            return Shown(kind, None, NoInterval.NOT_WANTED.words)
        if self._correlated(g):
            return self._vector_of_units(mine)
        if self.method == "geometric":
            radius, reason = self.ball(g).radius(median, self.delta)
            return Shown(kind, None, reason, None, radius)
        found = [shown_interval(self.answer.intervals, i, kind) for i in range(mine.start, mine.stop)]
        ends = np.array([(math.nan, math.nan) if ends is None else ends for ends, _, _ in found])
        reason = next((reason for _, reason, _ in found if reason is not None), None)
        levels = [level for _, _, level in found if level is not None]
        together = max(0.0, 1.0 - sum(1.0 - level for level in levels)) if levels else None
        return Shown(kind, None if np.isnan(ends).all() else ends, reason, together)

    def _vector_of_units(self, mine: slice) -> Shown:
        """Intervals of coordinates, or the radius, from the variance between units."""
        low, high = self.answer.files_low[mine], self.answer.files_high[mine]
        if self.units is None or self.units.clusters is None or np.isnan(low).any():
            return Shown("clusters", None, NoInterval.FEW_UNITS.words)
        if self.method == "geometric":
            return Shown("clusters", radius=self.units.clusters.radius(self.delta))
        return Shown("clusters", np.stack([low, high], axis=1))


def shown_interval(
    found: Intervals, g: int, kind: str
) -> tuple[tuple[float, float] | None, str | None, float | None]:
    """Interval, the reason if there is none, and the actual confidence level of order statistics."""
    if kind == "none":
        return None, NoInterval.NOT_WANTED.words, None
    low, high, code = (
        (found.order_low, found.order_high, found.order_reason)
        if kind == "order"
        else (found.cantelli_low, found.cantelli_high, found.cantelli_reason)
    )
    if code[g]:
        return None, NoInterval(int(code[g])).words, None
    level = float(found.order_level[g]) if kind == "order" else None
    return (float(low[g]), float(high[g])), None, level
