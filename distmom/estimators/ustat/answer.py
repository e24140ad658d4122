"""From the statistics of blocks to results: their median, and what the rule finds about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from distmom.errors import NoAnswerError
from distmom.estimators.mean.counts import fields_of_groups, named_in, unit_counts, why_not_finite
from distmom.estimators.mean.notes import block_notes
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.ustat.cells import LEAST_BLOCKS
from distmom.estimators.ustat.doubts import (
    bias_of_order,
    disagreement_note,
    files_disagree,
    order_note,
    variance_ratios,
    worth_telling,
)
from distmom.estimators.ustat.few_rows import few_rows_note, lowered_note, short_note
from distmom.estimators.ustat.lines import BlockLines
from distmom.estimators.ustat.options import UStatOptions
from distmom.inference.estimate import Estimate, Shown
from distmom.inference.fieller import uneven
from distmom.inference.status import Finding, NoInterval
from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.kernel import Kernel, Ratio, is_quotient
from distmom.numerics.kernels.sums import count_tuples
from distmom.numerics.linalg.nearest import as_correlation, nearest_correlation, nearest_psd
from distmom.numerics.median import lower_median
from distmom.reductions.rows.block_kernel import BlockStatistics
from distmom.reductions.state import MeanState
from distmom.report import UStatisticResult
from distmom.theory.paper import paper_margin_mou

ADDED = (
    *("n_rows", "n_used", "n_null", "n_nan", "n_inf", "n_units"),
    *("n_unweighted", "n_zero_weight", "n_effective"),
)
"""Fields that add up over samples."""

SAME = "all blocks have the same value; rarer rows may exist outside this sample"

OF_COVARIANCES = (
    "blocks have covariances, which give correlations no interval; use kernel='correlation' and two columns "
    "at a time"
)
"""Why projected correlations have no interval."""


@dataclass(frozen=True)
class Answerer(BlockLines):
    """Everything needed for an answer: blocks, and the findings of the first pass for each sample."""

    states: tuple[MeanState, ...]

    def results(self, column: str) -> list[UStatisticResult]:
        """One result for each group; NoAnswerError without rows."""
        shared = fields_of_samples(self.plan, self.states, column)
        return [self._result(g, fields) for g, fields in enumerate(shared)]

    def _result(self, g: int, shared: dict[str, Any]) -> UStatisticResult:
        options, mine = self.options, self.mine(g)
        one = self.found.estimate(g)
        one = replace(one, shown=self._shown(g, one))
        notes: tuple[str, ...] = ()
        told = one.fields(self.matrix)
        if self.entries is not None:
            told["estimate"], notes = self._projected(told["estimate"])
            told |= {"columns": self.plan.reduction.columns, "method": options.joint}
        bias = self._bias_of_order(g, mine, told["estimate"], told.get("interval"))
        files = int(Finding.BREAKDOWN_POINT_EXCEEDED) if self._disagreeing[g] else 0
        order = 0 if bias is None else int(Finding.ROWS_IN_ORDER)
        few = self._few_rows(g, shared)
        carried = 0 if few is None else int(Finding.DOMINATED_BY_FEW_ROWS)
        told["flags"] = one.with_status(files | order | carried).flags
        told |= shared | sigmas_of(options.kernel, self.blocks, mine)
        notes, plain = (*self._notes(g, shared, bias, few), *notes), self._plain(mine)
        return ustat_result(options, told, self.blocks.n_tuples[mine], plain_estimate=plain, notes=notes)

    def _shown(self, g: int, one: Estimate) -> Shown:
        """A group's interval."""
        options, blocks, mine = self.options, self.blocks, self.mine(g)
        kind, quotient = one.shown.kind, self.entries is None and is_quotient(options.kernel)
        if quotient and self.point is None and options.rows.interval == "auto":
            below = blocks.means[mine, 1], blocks.components[mine, 2]
            kind = "cantelli" if kind == "order" and uneven(*below) else kind
        if kind == "none":
            return one.shown
        if kind == "closed-form":
            return Shown(kind, *self._paper_interval(g, mine, one.value))
        if self.cells.lowered[g] and self.cells.n_blocks[g] < LEAST_BLOCKS:
            return Shown(kind, None, NoInterval.FEWER_ROWS_THAN_BLOCKS.words)
        if options.project == "correlation":
            return Shown(kind, None, OF_COVARIANCES)
        return Shown(kind, *self.fieller.shown(g)) if kind == "cantelli" and quotient else one.shown

    def _paper_interval(
        self, g: int, mine: slice, estimate: float
    ) -> tuple[tuple[float, float] | None, str | None]:
        """sqrt(6 V) on both sides; V is the typical variance of a block."""
        variance = float(lower_median(self.blocks.variance[mine]))
        if not self.options.by_paper:
            return None, "the proposition holds only for the number of blocks of blocks='paper'"
        if self.cells.lowered[g] or not np.isfinite(variance) or not np.isfinite(estimate):
            return None, NoInterval.NO_ANSWER.words
        half = paper_margin_mou(variance)
        return (estimate - half, estimate + half), None

    def _plain(self, mine: slice) -> Any:
        """The statistic of all tuples: blocks are weighted by their tuples; correlations if requested."""
        options, blocks = self.options, self.blocks
        weights: Sequence[float] = blocks.n_tuples[mine]
        if options.complete and options.weighted:
            weights = blocks.mass[mine].tolist()
        elif options.complete:
            sizes = blocks.sizes[mine].tolist()
            weights = [count_tuples(options.kernel.degrees, tuple(size)) for size in sizes]
        plain = pooled(options.kernel, blocks.means[mine], weights)
        with np.errstate(invalid="ignore"):
            return as_correlation(plain) if options.project == "correlation" else plain

    def _projected(self, matrix: Floats) -> tuple[Floats, tuple[str, ...]]:
        """The matrix, projected to a positive semi-definite or a correlation matrix if requested."""
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

    @cached_property
    def _disagreeing(self) -> list[tuple[str, ...]]:
        """For each group, the columns for whose mean files disagree, in any sample."""
        return files_disagree(self.plan, self.states)

    @cached_property
    def _ratios(self) -> Floats:
        """For each group, the smallest variance ratio of any sample."""
        each = [variance_ratios(self.plan, state) for state in self.states]
        ratios: Floats = np.fmin.reduce(each)
        return ratios

    def _bias_of_order(
        self, g: int, mine: slice, estimate: Any, interval: tuple[float, float] | None
    ) -> float | None:
        """Bias due to the order of the rows, if it should be reported; one row of each sample has none."""
        if max(self.options.kernel.degrees) < 2:
            return None
        rows = lower_median(self.blocks.sizes[mine].min(axis=1))
        bias = bias_of_order(float(self._ratios[g]), float(rows))
        if bias is None or (len(self.states) == 1 and not worth_telling(bias, estimate, interval)):
            return None
        return bias

    def _few_rows(self, g: int, shared: dict[str, Any]) -> str | None:
        """The notice on too few rows for the blocks, if the rows have several values."""
        line, wanted = self.found.lines(g).start, self.plan.blocks.n_blocks
        n_blocks = int(self.found.answer.n_blocks[line])
        if wanted is None or not n_blocks or self.found.answer.constant[line]:
            return None
        if self.cells.lowered[g]:
            return lowered_note(wanted, n_blocks, self.options.kernel.degrees)
        units = self._units(g)
        if units is not None:
            return few_rows_note(units, n_blocks, "units")
        return few_rows_note(shared.get("n_used_by_sample", (shared["n_used"],)), n_blocks, "rows")

    def _units(self, g: int) -> list[int] | None:
        """Units of each sample, if whole units share a block."""
        each = [unit_counts(state) for state in self.states]
        return None if each[0] is None else [one[g].n_units for one in each if one is not None]

    def _notes(self, g: int, shared: dict[str, Any], bias: float | None, few: str | None) -> Iterator[str]:
        """Notices about a group."""
        answer, line = self.found.answer, self.found.lines(g).start
        short = short_note(shared.get("n_used_by_sample", ()), self.options.kernel.degrees)
        if short is not None:
            yield short
        if answer.constant[line] and answer.n_blocks[line] > 1:
            yield SAME
        if self._disagreeing[g]:
            yield disagreement_note(self._disagreeing[g])
        if bias is not None:
            yield order_note(bias)
        if few is not None:
            yield few
        if not self.cells.lowered[g]:
            units = self._units(g)  # the scarcest sample has to fill the blocks, too
            scarcest = shared if units is None else {**shared, "n_units": min(units)}
            yield from block_notes(self.plan, answer, line, scarcest)


def ustat_result(
    options: UStatOptions, told: dict[str, Any], n_tuples: Sequence[int], **own: Any
) -> UStatisticResult:
    """The result of a group: facts about its blocks and rows, its own fields, and the question."""
    asked: dict[str, Any] = {
        "kernel": options.kernel.name,
        "statistic": options.statistic,
        "pairs": options.pairs.name,
    }
    return UStatisticResult(n_pairs=sum(n_tuples), **asked, **told, **own)


def fields_of_samples(plan: MeanPlan, states: Sequence[MeanState], column: str) -> list[dict[str, Any]]:
    """Fields of each group's result that do not depend on blocks; counts of several samples are added."""
    first, *others = (list(fields_of_groups(plan, state, 0, column)) for state in states)
    for fields, *more in zip(first, *others, strict=True):
        if not more:
            continue
        fields["n_used_by_sample"] = tuple(one["n_used"] for one in (fields, *more))
        fields.update({name: sum(one[name] for one in (fields, *more)) for name in ADDED if name in fields})
        if "n_units_exact" in fields:
            fields["n_units_exact"] = all(one["n_units_exact"] for one in (fields, *more))
    return first


def refuse_none(results: Sequence[Any], degrees: Sequence[int]) -> None:
    """Raise NoAnswerError if no result has a finite answer; otherwise a result without one reports it."""
    if results and not any(np.isfinite(r.estimate).all() for r in results):
        raise NoAnswerError(why_none(results[0], degrees))


def why_none(result: UStatisticResult, degrees: Sequence[int]) -> str:
    """Why a result has no finite answer, and what to do."""
    name, degree = named_in(f"kernel {result.kernel!r} of {result.column!r}", result), max(degrees)
    short = short_note(result.n_used_by_sample or (), degrees)
    if short is not None:
        return f"{name}: {short}"
    if result.n_used < degree:
        return (
            f"{name}: {result.n_used} of {result.n_rows} rows have all values, and the kernel takes "
            f"{degree} ({result.n_null} null, {result.n_nan} NaN); give more rows"
        )
    if not result.n_inf and not result.n_nan:
        return (
            f"{name}: no finite answer: the kernel has no value in {result.n_non_finite_blocks} of "
            f"{result.n_blocks} blocks, such as a ratio whose denominator is 0; use fewer blocks, "
            "or rows with more different values"
        )
    return why_not_finite(name, result, "filter such values out, or use more blocks")


def sigmas_of(kernel: Kernel, blocks: BlockStatistics, mine: slice = slice(None)) -> dict[str, Any]:
    """Lower medians over some blocks of the variances of a kernel of pairs."""
    if kernel.degrees != (2,) or isinstance(kernel, Ratio):
        return {}
    found = lower_median(blocks.components[mine, :2], axis=0).tolist()
    names = ("sigma1_squared", "sigma2_squared")
    return {name: v if np.isfinite(v) else None for name, v in zip(names, found, strict=True)}


def pooled(kernel: Kernel, means: Floats, n_tuples: Sequence[float]) -> Any:
    """The statistic of all tuples of some blocks together: blocks are weighted by `n_tuples`."""
    whole = sum(n_tuples)
    if whole == 0:
        return np.full(means.shape[2:], np.nan)[()]
    weights = np.array([t / whole for t in n_tuples])
    some = weights > 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        # not with BLAS, whose last bits depend on the processor
        plain = kernel.combine(*np.einsum("k,k...->...", weights[some], means[some]))
    return float(plain) if np.ndim(plain) == 0 else np.asarray(plain)
