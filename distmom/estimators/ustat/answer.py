"""From the statistics of blocks to results: their median, and what the rule finds about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from distmom.errors import NoAnswerError
from distmom.estimators.mean.answer import (
    groups_of,
    interval_kind,
    notes_of,
    shared_fields,
    shown_interval,
)
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.mean.unit_counts import unit_counts
from distmom.estimators.ustat.fieller import FiellerEnds, Quotients, fieller_ends, uneven
from distmom.estimators.ustat.files import disagreeing_columns, disagreement_note
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.ordered import bias_of_order, order_note, variance_ratios, worth_telling
from distmom.inference.adaptive import BlockSource, answer_rule
from distmom.inference.answers import RuleAnswer
from distmom.inference.repeated import answer_repeated
from distmom.inference.status import REASON_WORDS, NoInterval, Status, status_list
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.kernels.kernel import Kernel, Ratio, is_quotient
from distmom.numerics.kernels.sums import count_tuples
from distmom.numerics.median import lower_median
from distmom.passes.cell_map import CellMap
from distmom.reductions.rows.block_kernel import BlockStatistics
from distmom.reductions.state import MeanState
from distmom.report import UStatisticResult
from distmom.theory import paper_halfwidth_mou

COUNTS = (
    *("n_rows", "n_used", "n_null", "n_nan", "n_inf", "n_units"),
    *("n_unweighted", "n_zero_weight", "n_effective"),
)
"""Fields that add up over samples."""

SAME = "all blocks have the same value; rows that would change it may have gone unseen"


@dataclass(frozen=True)
class Answerer:
    """All that an answer is made from.

    Attributes
    ----------
    options : UStatOptions
    plan : MeanPlan
        Of the first pass.
    states : tuple of MeanState
        What it found, for each sample.
    cells : CellMap
    blocks : BlockStatistics
    source : BlockSource
        What a block holds.
    """

    options: UStatOptions
    plan: MeanPlan
    states: tuple[MeanState, ...]
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
        shared = self._shared(self.states[0], column, by)
        if len(self.states) > 1:
            each = [self._shared(state, column, by) for state in self.states]
            shared = [together(samples) for samples in zip(*each, strict=True)]
        answer = self._rule()
        found = [self._result(answer, g, fields) for g, fields in enumerate(shared)]
        if not any(np.isfinite(r.estimate).all() for r in found):
            raise NoAnswerError(why_none(found[0], self.options.degree))
        return found

    def _shared(self, state: MeanState, column: str, by: tuple[str, ...]) -> list[dict[str, Any]]:
        """Fields of the results of one sample that do not depend on blocks."""
        groups = groups_of(self.plan, state, by)
        shared = [shared_fields(self.plan, state, 0, column, g, key) for g, key in enumerate(groups)]
        for fields, count in zip(shared, unit_counts(state) or (), strict=False):
            fields.update(count._asdict())
        return shared

    def _rule(self) -> RuleAnswer:
        """The rule of the mean for the statistics of the blocks."""
        return self.answered(("order", "exact"), self.plan.options.confidence_level)

    def answered(
        self, intervals: tuple[str, ...], level: float, n_columns: int = 1, moments: Moments | None = None
    ) -> RuleAnswer:
        """The rule for the blocks of one partition, or of several; by default of their statistics."""
        given = self.plan.blocks.n_blocks
        how: Any = {
            "n_blocks": "auto" if given is None else given,
            "block_source": self.source,
            "outlying": self.plan.blocks.outlying,
            "n_columns": n_columns,
        }
        moments = self._moments() if moments is None else moments
        if self.repeats == 1:
            return answer_rule(moments, None, None, level, intervals=intervals, **how)
        lines = moments.count.shape[0]
        nothing = np.empty((lines, 0)), np.zeros(lines, np.int64)
        wanted = tuple(name for name in intervals if name != "order")
        return answer_repeated(moments, *nothing, level, intervals=wanted, **how)

    @property
    def repeats(self) -> int:
        """Partitions."""
        return self.plan.blocks.layout.repeats

    def mine(self, g: int) -> slice:
        """The blocks of group g, in all partitions."""
        starts = self.cells.starts * self.repeats
        return slice(int(starts[g]), int(starts[g + 1]))

    def _moments(self) -> Moments:
        """Blocks as if they were means of rows whose variance gives that of the statistic.

        With V the variance of a block of n rows, n (n - 1) V takes the place of the second moment: merging
        blocks then gives the variance of the mean of their statistics.
        """
        if self._point is None or not is_quotient(self.options.kernel):
            return self.placed(self.values, self.blocks.variance)
        ratio: Floats = np.asarray(self.options.kernel.combine(*self._point), np.float64)
        return self.placed(*self._quotients.linearised(ratio, self._point[1]))

    def placed(self, values: Floats, variance: Floats) -> Moments:
        """Values of all blocks, and their variances, as moments: a line for each group (and partition)."""
        given, repeats = self.plan.blocks.n_blocks, self.repeats
        width = self.cells.cells.shape[1] if given is None else given
        n_groups = self.cells.n_blocks.size
        each = np.repeat(self.cells.n_blocks, repeats)
        line = np.repeat(np.arange(n_groups * repeats), each)
        place = np.arange(line.size) - (np.cumsum(each) - each)[line]
        n = self.blocks.sizes.sum(axis=1)
        filled = (self.blocks.sizes >= np.array(self.options.kernel.degrees)).all(axis=1)
        shape = (n_groups * repeats, width)
        out = Moments(np.zeros(shape, np.int64), np.full(shape, np.nan), np.full(shape, np.nan))
        with np.errstate(invalid="ignore", over="ignore"):
            m2 = variance * n * (n - 1.0)
        out.count[line, place] = np.where(filled, n, 0)
        out.mean[line, place] = values
        out.m2[line, place] = m2
        return out if repeats == 1 else out.each(lambda a: a.reshape(n_groups, repeats, width))

    @property
    def values(self) -> Floats:
        """The statistic of each block.

        Blocks of the automatic rule are averaged, and averages of ratios have the bias of small blocks. So
        ratios are taken to first order about a point.
        """
        kernel, parts = self.options.kernel, np.moveaxis(self.blocks.means, 1, 0)
        if self._point is None:
            return np.asarray(kernel.combine(*parts), np.float64)
        at = tuple(one[self._group] for one in self._point)
        alone = np.repeat(self.cells.n_blocks, self.cells.n_blocks * self.repeats) == 1
        return np.asarray(
            np.where(alone, kernel.combine(*parts), kernel.linear(at, tuple(parts))), np.float64
        )

    @cached_property
    def _group(self) -> Ints:
        """The group of each block."""
        return np.repeat(np.arange(self.cells.n_blocks.size), self.cells.n_blocks * self.repeats)

    @cached_property
    def _point(self) -> tuple[Floats, ...] | None:
        """For each group the robust means of the parts of a ratio, if its blocks are taken to first order.

        By the rule, which averages blocks: the median of the denominators of small blocks may be 0.
        """
        kernel = self.options.kernel
        if self.plan.blocks.n_blocks is not None or not isinstance(kernel, Ratio) or kernel.shape(2):
            return None
        unknown = np.full(self._group.size, np.nan)
        means = [self.placed(self.blocks.means[:, p], unknown) for p in range(len(kernel.parts))]
        level = self.plan.options.confidence_level
        return tuple(self.answered((), level, moments=one).estimate for one in means)

    @cached_property
    def _quotients(self) -> Quotients:
        """Numerators and denominators of all blocks."""
        numerator, denominator = self.blocks.means.T
        return Quotients(numerator, denominator, self.blocks.components, self._group)

    @cached_property
    def _fieller(self) -> FiellerEnds:
        """Exact intervals of ratios."""

        def rule(values: Floats, variance: Floats) -> RuleAnswer:
            moments = self.placed(values, variance)
            return self.answered(("exact",), self.plan.options.confidence_level, moments=moments)

        return fieller_ends(self._quotients, self._rule().estimate, rule)

    def _result(self, answer: RuleAnswer, g: int, shared: dict[str, Any]) -> UStatisticResult:
        mine, n_blocks = self.mine(g), int(answer.n_blocks[g])
        estimate = float(answer.estimate[g])
        kind, interval, reason, level = self._interval(answer, g, mine, estimate)
        bias = self._bias_of_order(g, mine, estimate, interval)
        return UStatisticResult(
            kernel=self.options.kernel.name,
            estimate=estimate,
            interval=interval,
            interval_kind=kind,
            interval_reason=reason,
            achieved_level=level,
            status=self._status(int(answer.status[g]), g, bias),
            n_blocks=n_blocks,
            block_size=(int(answer.block_size[g, 0]), int(answer.block_size[g, 1])),
            n_ruined_blocks=int(answer.n_ruined[g]),
            n_set_aside=int(answer.n_set_aside[g]),
            plain_estimate=self._plain(mine),
            statistic=self.options.statistic,
            pairs=self.options.pairs,
            n_pairs=sum(self.blocks.n_tuples[mine]),
            block_estimates=answer.block_estimates[g][: np.count_nonzero(answer.block_rows[g])].copy(),
            repeats=self.repeats,
            path=answer.path(g),
            notes=self._notes(answer, g, shared, bias),
            **sigmas_of(self.options.kernel, self.blocks, mine),
            **shared,
        )

    def _interval(
        self, answer: RuleAnswer, g: int, mine: slice, estimate: float
    ) -> tuple[str, tuple[float, float] | None, str | None, float | None]:
        """Kind, ends, reason and level of a group's interval."""
        quotient = is_quotient(self.options.kernel)
        kind = interval_kind(self.plan, int(answer.n_blocks[g]), self.plan.options.delta)
        if quotient and self._point is None and self.plan.options.interval == "auto":
            below = self.blocks.means[mine, 1], self.blocks.components[mine, 2]
            kind = "exact" if kind == "order" and uneven(*below) else kind
        if kind == "paper":
            return kind, *self._paper_interval(g, mine, estimate), None
        if self.cells.lowered[g] and kind != "none":
            return kind, None, REASON_WORDS[NoInterval.FEWER_ROWS_THAN_BLOCKS], None
        if kind == "exact" and quotient:
            return kind, *self._fieller.shown(g), None
        return kind, *shown_interval(answer.intervals, g, kind)

    def _paper_interval(
        self, g: int, mine: slice, estimate: float
    ) -> tuple[tuple[float, float] | None, str | None]:
        """sqrt(6 V) on both sides, V the typical variance of a block."""
        variance = float(lower_median(self.blocks.variance[mine]))
        if not self.options.by_paper:
            return None, "the proposition holds for the number of blocks of blocks='paper' alone"
        if self.cells.lowered[g] or not np.isfinite(variance) or not np.isfinite(estimate):
            return None, REASON_WORDS[NoInterval.NO_ANSWER]
        half = paper_halfwidth_mou(variance)
        return (estimate - half, estimate + half), None

    def _plain(self, mine: slice) -> Any:
        """The statistic of all tuples together: blocks weigh by their tuples."""
        if self.options.pairs != "complete":
            return pooled(self.options.kernel, self.blocks.means[mine], self.blocks.n_tuples[mine])
        if self.options.weighted:
            return pooled(self.options.kernel, self.blocks.means[mine], self.blocks.mass[mine].tolist())
        sizes = self.blocks.sizes[mine].tolist()
        tuples = [count_tuples(self.options.kernel.degrees, tuple(size)) for size in sizes]
        return pooled(self.options.kernel, self.blocks.means[mine], tuples)

    @cached_property
    def _disagreeing(self) -> list[tuple[str, ...]]:
        """Columns of each group about whose mean files disagree, in any sample."""
        each = [disagreeing_columns(self.plan, state) for state in self.states]
        return [
            tuple(dict.fromkeys(name for names in some for name in names)) for some in zip(*each, strict=True)
        ]

    @cached_property
    def _ratios(self) -> Floats:
        """Of each group the smallest variance ratio of any sample."""
        each = [variance_ratios(self.plan, state) for state in self.states]
        ratios: Floats = np.fmin.reduce(each)
        return ratios

    def _bias_of_order(
        self, g: int, mine: slice, estimate: Any, interval: tuple[float, float] | None
    ) -> float | None:
        """Bias by the order of the rows, where it should be told; one row of each sample has none."""
        if max(self.options.kernel.degrees) < 2:
            return None
        rows = lower_median(self.blocks.sizes[mine].min(axis=1))
        bias = bias_of_order(float(self._ratios[g]), float(rows))
        if bias is None or (len(self.states) == 1 and not worth_telling(bias, estimate, interval)):
            return None
        return bias

    def _status(self, status: int, g: int, bias: float | None = None) -> tuple[str, ...]:
        """Words of a group's status."""
        if bias is not None:
            status |= int(Status.ROWS_IN_ORDER)
        if self._disagreeing[g]:
            status |= int(Status.FILES_DISAGREE)
        return tuple(status_list(status))

    def _notes(
        self,
        answer: RuleAnswer,
        g: int,
        shared: dict[str, Any],
        bias: float | None,
        line: int | None = None,
    ) -> tuple[str, ...]:
        """Notices about a group; `line` is its line in the answer, where these are not the groups."""
        line = g if line is None else line
        notes = [SAME] if answer.constant[line] and answer.n_blocks[line] > 1 else []
        if self._disagreeing[g]:
            notes.append(disagreement_note(self._disagreeing[g]))
        if bias is not None:
            notes.append(order_note(bias))
        wanted = self.plan.blocks.n_blocks
        if self.cells.lowered[g]:
            least = self.options.degree
            notes.append(
                f"blocks lowered from {wanted} to {int(answer.n_blocks[line])}: a block needs {least} rows"
            )
            return tuple(notes)
        return (*notes, *notes_of(self.plan, answer, line, shared))


def why_none(result: UStatisticResult, degree: int) -> str:
    """Why the first result has no finite answer, and what to do."""
    name = f"kernel {result.kernel!r} of {result.column!r}"
    name += f", group {result.group}" if result.group else ""
    if result.n_used < degree:
        return (
            f"{name}: {result.n_used} of {result.n_rows} rows have all values, and the kernel takes "
            f"{degree} ({result.n_null} null, {result.n_nan} NaN); give more rows"
        )
    if not result.n_inf and not result.n_nan:
        return (
            f"{name}: no finite answer: the kernel has no value in {result.n_ruined_blocks} of "
            f"{result.n_blocks} blocks, such as a ratio whose denominator is 0; use fewer blocks, "
            "or rows with more different values"
        )
    return (
        f"{name}: no finite answer: {result.n_ruined_blocks} of {result.n_blocks} blocks are ruined "
        f"({result.n_inf} infinite and {result.n_nan} NaN values in {result.n_rows} rows); "
        "filter such values out, or use more blocks"
    )


def sigmas_of(kernel: Kernel, blocks: BlockStatistics, mine: slice = slice(None)) -> dict[str, Any]:
    """Lower medians over some blocks of the variances of a kernel of pairs."""
    if kernel.degrees != (2,) or isinstance(kernel, Ratio):
        return {}
    found = lower_median(blocks.components[mine, :2], axis=0).tolist()
    names = ("sigma1_squared", "sigma2_squared")
    return {name: v if np.isfinite(v) else None for name, v in zip(names, found, strict=True)}


def pooled(kernel: Kernel, means: Floats, n_tuples: Sequence[float]) -> Any:
    """The statistic of all tuples of some blocks together: blocks weigh by their tuples, or as is said."""
    whole = sum(n_tuples)
    if whole == 0:
        return np.full(means.shape[2:], np.nan)[()]
    weights = np.array([t / whole for t in n_tuples])
    some = weights > 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        # not by BLAS, whose last bits depend on the processor
        plain = kernel.combine(*np.einsum("k,k...->...", weights[some], means[some]))
    return float(plain) if np.ndim(plain) == 0 else np.asarray(plain)


def together(samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Fields of the results of several samples: counts added up, and the used rows of each."""
    first, *others = samples
    both = dict(first)
    for fields in others:
        both.update({name: both[name] + fields[name] for name in COUNTS if name in both})
        if "n_units_exact" in both:
            both["n_units_exact"] = both["n_units_exact"] and fields["n_units_exact"]
    both["n_used_by_sample"] = (first["n_used"], *(fields["n_used"] for fields in others))
    return both
