"""From the statistics of blocks to results: their median, and what the rule finds about them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.errors import NoAnswerError
from distmom.estimators.mean_answer import (
    groups_of,
    interval_kind,
    notes_of,
    shared_fields,
    shown_interval,
)
from distmom.estimators.mean_plan import MeanPlan
from distmom.estimators.rule import BlockSource, answer_rule
from distmom.estimators.rule_answer import RuleAnswer
from distmom.estimators.rule_status import REASON_WORDS, NoInterval, status_list
from distmom.estimators.unit_counts import unit_counts
from distmom.estimators.ustat_blocks import CellMap
from distmom.estimators.ustat_options import UStatOptions
from distmom.numerics.kernels.kernel import Ratio
from distmom.numerics.kernels.sums import count_tuples
from distmom.numerics.median import lower_median
from distmom.numerics.moments import Moments
from distmom.reductions.block_kernel import BlockStatistics
from distmom.reductions.state import MeanState
from distmom.report import UStatisticResult
from distmom.theory import paper_halfwidth_mou

Floats = NDArray[np.float64]

SAME = "all blocks have the same value; rows that would change it may have gone unseen"


@dataclass(frozen=True)
class Answerer:
    """All that an answer is made from.

    Attributes
    ----------
    options : UStatOptions
    plan : MeanPlan
        Of the first pass.
    state : MeanState
        What it found.
    cells : CellMap
    blocks : BlockStatistics
    source : BlockSource
        What a block holds.
    """

    options: UStatOptions
    plan: MeanPlan
    state: MeanState
    cells: CellMap
    blocks: BlockStatistics
    source: BlockSource

    def results(self, column: str, by: tuple[str, ...]) -> list[UStatisticResult]:
        """One result for each group.

        Raises
        ------
        NoAnswerError
            If there are no rows, or not one of the results has a finite answer.
        """
        groups = groups_of(self.plan, self.state, by)
        shared = [shared_fields(self.plan, self.state, 0, column, g, key) for g, key in enumerate(groups)]
        for fields, count in zip(shared, unit_counts(self.state) or (), strict=False):
            fields.update(count._asdict())
        answer = self._rule()
        found = [self._result(answer, g, fields) for g, fields in enumerate(shared)]
        if not any(np.isfinite(r.estimate).all() for r in found):
            raise NoAnswerError(self._why_none(found[0]))
        return found

    def _rule(self) -> RuleAnswer:
        """The rule of the mean for the statistics of the blocks."""
        given = self.plan.blocks.n_blocks
        return answer_rule(
            self._moments(),
            None,
            None,
            self.plan.options.confidence_level,
            n_blocks="auto" if given is None else given,
            block_source=self.source,
            outlying=self.plan.blocks.outlying,
        )

    def _moments(self) -> Moments:
        """Blocks as if they were means of rows whose variance gives that of the statistic.

        With V the variance of a block of n rows, n (n - 1) V takes the place of the second moment: merging
        blocks then gives the variance of the mean of their statistics.
        """
        return self.placed(self.values, self.blocks.variance)

    def placed(self, values: Floats, variance: Floats) -> Moments:
        """Values of all blocks, and their variances, as lines of moments, one for each group."""
        given = self.plan.blocks.n_blocks
        width = self.cells.cells.shape[1] if given is None else given
        shape = (self.cells.n_blocks.size, width)
        starts = self.cells.starts
        group = np.repeat(np.arange(shape[0]), self.cells.n_blocks)
        place = np.arange(int(starts[-1])) - starts[group]
        n = self.blocks.sizes.sum(axis=1)
        filled = np.array([t > 0 for t in self.blocks.n_tuples], np.bool_)
        out = Moments(np.zeros(shape, np.int64), np.full(shape, np.nan), np.full(shape, np.nan))
        with np.errstate(invalid="ignore", over="ignore"):
            m2 = variance * n * (n - 1.0)
        out.count[group, place] = np.where(filled, n, 0)
        out.mean[group, place] = values
        out.m2[group, place] = m2
        return out

    @property
    def values(self) -> Floats:
        """The statistic of each block.

        Blocks of the automatic rule are averaged, and averages of ratios have the bias of small blocks. So
        ratios are taken to first order about the ratio of the median blocks of their group.
        """
        kernel, starts = self.options.kernel, self.cells.starts
        parts = np.moveaxis(self.blocks.means, 1, 0)
        if self.plan.blocks.n_blocks is not None or not isinstance(kernel, Ratio):
            return np.asarray(kernel.combine(*parts), np.float64)
        values = np.empty(parts.shape[1:])
        for first, stop in pairwise(starts.tolist()):
            mine = parts[:, first:stop]
            if stop == first + 1:
                values[first:stop] = kernel.combine(*mine)
            else:
                values[first:stop] = kernel.linear(tuple(lower_median(mine)), tuple(mine))
        return values

    def _result(self, answer: RuleAnswer, g: int, shared: dict[str, Any]) -> UStatisticResult:
        mine = slice(int(self.cells.starts[g]), int(self.cells.starts[g + 1]))
        n_blocks = int(answer.n_blocks[g])
        estimate = float(answer.estimate[g])
        kind, interval, reason, level = self._interval(answer, g, mine, estimate)
        good = np.isfinite(answer.path_estimate[g])
        path = zip(
            answer.levels[good].tolist(),
            answer.path_estimate[g][good].tolist(),
            answer.path_halfwidth[g][good].tolist(),
            strict=True,
        )
        return UStatisticResult(
            kernel=self.options.kernel.name,
            estimate=estimate,
            interval=interval,
            interval_kind=kind,
            interval_reason=reason,
            achieved_level=level,
            status=tuple(status_list(int(answer.status[g]))),
            n_blocks=n_blocks,
            block_size=(int(answer.block_size[g, 0]), int(answer.block_size[g, 1])),
            n_ruined_blocks=int(answer.n_ruined[g]),
            n_set_aside=int(answer.n_set_aside[g]),
            plain_estimate=self._plain(mine),
            statistic=self.options.statistic,
            pairs=self.options.pairs,
            n_pairs=sum(self.blocks.n_tuples[mine]),
            block_estimates=answer.block_estimates[g][:n_blocks].copy(),
            path=tuple(path),
            notes=self._notes(answer, g, shared),
            **self._sigmas(mine),
            **shared,
        )

    def _interval(
        self, answer: RuleAnswer, g: int, mine: slice, estimate: float
    ) -> tuple[str, tuple[float, float] | None, str | None, float | None]:
        """Kind, ends, reason and level of a group's interval."""
        kind = interval_kind(self.plan, int(answer.n_blocks[g]), self.plan.options.delta)
        if kind == "paper":
            return kind, *self._paper_interval(g, mine, estimate), None
        if self.cells.lowered[g] and kind != "none":
            return kind, None, REASON_WORDS[NoInterval.FEWER_ROWS_THAN_BLOCKS], None
        return kind, *shown_interval(answer.intervals, g, kind)

    def _paper_interval(
        self, g: int, mine: slice, estimate: float
    ) -> tuple[tuple[float, float] | None, str | None]:
        """sqrt(6 V) on both sides, V the typical variance of a block."""
        variance = float(lower_median(self.blocks.variance[mine]))
        if not self.options.by_paper:
            return None, "the proposition holds for the number of blocks of n_blocks='paper' alone"
        if self.cells.lowered[g] or not np.isfinite(variance) or not np.isfinite(estimate):
            return None, REASON_WORDS[NoInterval.NO_ANSWER]
        half = paper_halfwidth_mou(variance)
        return (estimate - half, estimate + half), None

    def _sigmas(self, mine: slice) -> dict[str, Any]:
        """Lower medians over the blocks of the variances of a kernel of pairs."""
        if self.options.kernel.degrees != (2,):
            return {}
        found = lower_median(self.blocks.components[mine, :2], axis=0).tolist()
        names = ("sigma1_squared", "sigma2_squared")
        return {name: v if np.isfinite(v) else None for name, v in zip(names, found, strict=True)}

    def _plain(self, mine: slice) -> Any:
        """The statistic of all tuples together: blocks weigh by their tuples."""
        sizes = self.blocks.sizes[mine].tolist()
        tuples = [count_tuples(self.options.kernel.degrees, tuple(size)) for size in sizes]
        whole = sum(tuples)
        if whole == 0:
            return np.full(self.blocks.means.shape[2:], np.nan)[()]
        weights = np.array([t / whole for t in tuples])
        some = weights > 0.0
        with np.errstate(invalid="ignore", over="ignore"):
            means = np.tensordot(weights[some], self.blocks.means[mine][some], 1)
        plain = self.options.kernel.combine(*means)
        return float(plain) if np.ndim(plain) == 0 else np.asarray(plain)

    def _notes(
        self, answer: RuleAnswer, g: int, shared: dict[str, Any], line: int | None = None
    ) -> tuple[str, ...]:
        """Notices about a group; `line` is its line in the answer, where these are not the groups."""
        line = g if line is None else line
        notes = [SAME] if answer.constant[line] and answer.n_blocks[line] > 1 else []
        wanted = self.plan.blocks.n_blocks
        if self.cells.lowered[g]:
            least = self.options.degree
            notes.append(
                f"n_blocks lowered from {wanted} to {int(answer.n_blocks[line])}: a block needs {least} rows"
            )
            return tuple(notes)
        return (*notes, *notes_of(self.plan, answer, line, shared))

    def _why_none(self, result: UStatisticResult) -> str:
        name = f"kernel {result.kernel!r} of {result.column!r}"
        name += f", group {result.group}" if result.group else ""
        if result.n_used < self.options.degree:
            return (
                f"{name}: {result.n_used} of {result.n_rows} rows have all values, and the kernel takes "
                f"{self.options.degree} ({result.n_null} null, {result.n_nan} NaN); give more rows"
            )
        return (
            f"{name}: no finite answer: {result.n_ruined_blocks} of {result.n_blocks} blocks are ruined "
            f"({result.n_inf} infinite and {result.n_nan} NaN values in {result.n_rows} rows); "
            "filter such values out, or use more blocks"
        )
