"""Sampling schemes: samples of rows, or of pairs, are gathered from data whose rows have been counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from distmom.cluster import Executor, Progress
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.mean.rule.answers import promise_of
from distmom.estimators.ustat.answer import (
    SAME,
    fields_of_samples,
    pooled,
    sigmas_of,
    ustat_result,
)
from distmom.estimators.ustat.doubts import disagreement_note, files_disagree
from distmom.estimators.ustat.draws import Draws, planned_draws
from distmom.estimators.ustat.few_rows import small_samples_note
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.samples import Pass, passes_of
from distmom.estimators.ustat.tuple_samples import SampledTuples, sampled_tuples
from distmom.inference.samples import Samples, Width, paper_sample_margin, resampled_width
from distmom.inference.status import Finding, NoInterval
from distmom.numerics.kernels.tuples import part_weights
from distmom.numerics.median import lower_median
from distmom.passes.census import Census, column_share
from distmom.passes.draws import DrawPlan, evaluate_draws
from distmom.passes.gather import RowSource, row_source
from distmom.reductions.rows.block_kernel import BlockKernel, BlockStatistics
from distmom.reductions.state import MeanState
from distmom.report import UStatisticResult
from distmom.theory.variances import row_inverse_inclusion

WidthOf = Callable[[str, float, Sequence[int]], Width]
"""Margin of error for this kind of interval, failure probability and number of used rows of each lake."""

DrawnStatistics = tuple[BlockStatistics, WidthOf, tuple[str, ...]]
"""Samples that share rows, the width of their interval, and notes about drawn rows that do not count."""


def run_sampled(
    passes: Sequence[Pass],
    census: Sequence[Census] | None,
    options: UStatOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> list[UStatisticResult]:
    """The median of the statistics of samples of rows or of pairs, for each column (or set of them).

    Pairs of several columns are gathered at once, as far as possible. `census` has the rows of the files of
    each sample, if they have been counted already.
    """
    columns = options.column_sets(passes[0].read)
    known: Sequence[Census | None] = census or [None] * len(passes)
    counted = [
        row_source(one.source, one.read, one.plan, one.skipped, executor, rows)
        for one, rows in zip(passes, known, strict=True)
    ]
    n_passing = [int(one.state.n_rows.sum()) for one in passes]
    draws = planned_draws(options, passes[0].plan, [one.rows for one in counted], n_passing, seed)
    draws.check(options, executor.threads)
    results = []
    for start in range(0, len(columns), draws.at_once):
        together = range(start, min(start + draws.at_once, len(columns)))
        names = tuple(name for c in together for name in columns[c])
        sources = [_with(rows, one, names) for rows, one in zip(counted, passes, strict=True)]
        drawn = _statistics(options, draws, sources, seed, progress)
        for c, one in zip(together, drawn, strict=True):
            mine = passes_of(passes, options, c)
            states = tuple(pass_.state for pass_ in mine)
            results.append(sample_result(options, mine[0].plan, states, ", ".join(columns[c]), one))
    return results


def _with(rows: RowSource, one: Pass, names: tuple[str, ...]) -> RowSource:
    """The same rows of one lake with some of the columns."""
    mine = replace(one.read, columns=names)
    return replace(rows, reader=one.source.reader(mine), column_share=column_share(one.source, mine))


def _statistics(
    options: UStatOptions, draws: Draws, sources: Sequence[RowSource], seed: int, progress: Progress | None
) -> list[DrawnStatistics]:
    """Samples of rows of a column (or set of columns) with all pairs, or samples of pairs of all columns."""
    plan, spread = draws.plan, options.rows.interval != "none"
    if draws.n_pairs is None:
        kernel = BlockKernel(options.kernel, options.statistic, spread)  # type: ignore[arg-type]
        (blocks,) = evaluate_draws(kernel, plan, sources, progress)
        return [drawn_rows(options, blocks, plan)]
    sources = [replace(source, separate=not options.joint_rows) for source in sources]
    again = options.rows.design.replace
    found = sampled_tuples(
        options.kernel, plan, sources, seed, replace=again, spread=spread, progress=progress
    )
    return [drawn_pairs(options, samples) for samples in found]


def sample_result(
    options: UStatOptions, plan: MeanPlan, states: tuple[MeanState, ...], column: str, drawn: DrawnStatistics
) -> UStatisticResult:
    """The result from all rows, after the first passes of this plan with these states."""
    blocks, width, more = drawn
    [shared] = fields_of_samples(plan, states, column)
    n_used = shared.get("n_used_by_sample", (shared["n_used"],))
    filled = np.array(blocks.n_tuples) > 0
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        parts = np.moveaxis(blocks.means, 1, 0)
        values = np.asarray(options.kernel.combine(*parts), np.float64)[filled]
    k, spread = values.size, blocks.variance[filled]
    same = np.isfinite(values).all() and (values == values[:1]).all() and (spread == 0.0).all()
    samples = Samples(values, blocks.sizes.sum(axis=1)[filled], lower_median(spread), bool(k and same))
    found = samples.estimate(promise_of(plan), None, lambda kind, delta: width(kind, delta, n_used))
    what = "pairs" if options.pairs.name == "incomplete" else "rows of a lake"
    few = None if samples.constant else small_samples_note(blocks.sizes[filled], what)
    if few is not None:
        found = found.with_status(Finding.DOMINATED_BY_FEW_ROWS)
    told, notes = found.fields(), [SAME] if samples.constant else []
    if told["interval_reason"] == NoInterval.SAMPLES_TOO_SMALL.words:
        told["interval_reason"] = "the samples are too small to estimate their variance"
    disagreeing = files_disagree(plan, states)[0]
    if disagreeing:
        told["flags"] = found.with_status(Finding.BREAKDOWN_POINT_EXCEEDED).flags
        notes.append(disagreement_note(disagreeing))
    if 0 < k < filled.size:
        notes.append(f"left out: {filled.size - k} of {filled.size} samples, without a tuple of rows")
    if few is not None:
        notes.append(few)
    told |= shared | sigmas_of(options.kernel, blocks)
    plain = pooled(options.kernel, blocks.means, blocks.n_tuples)
    return ustat_result(options, told, blocks.n_tuples, plain_estimate=plain, notes=(*notes, *more))


def drawn_pairs(options: UStatOptions, found: SampledTuples) -> DrawnStatistics:
    """Samples of pairs."""
    moments = found.moments
    notes: tuple[str, ...] = ()
    if found.n_dropped:
        pairs = "pairs" if sum(options.kernel.degrees) == 2 else "tuples"
        asked = found.n_asked * found.n_blocks
        notes = (f"left out: {found.n_dropped:,} of {asked:,} {pairs} drawn, with an unusable row",)
    variance = moments.variance(part_weights(found.kernel, *lower_median(moments.mean, axis=0)))
    count = moments.count.reshape(-1, 1)
    blocks = BlockStatistics.of(count, tuple(moments.count.tolist()), moments.mean, variance)
    return blocks, lambda kind, delta, n_used: (found.margin(delta, n_used), None), notes


def drawn_rows(options: UStatOptions, blocks: BlockStatistics, plan: DrawPlan) -> DrawnStatistics:
    """Samples of rows.

    The variance of a block is assumed to be inversely proportional to its size. The bound uses the variance
    of the smallest block, and the probability that the largest block uses a given row. With replacement a
    block is a sample from the empirical distribution, whose statistic has about the variance of the complete
    one, which is added. For several lakes the probability is that of the most densely sampled lake.
    """
    every = np.asarray(blocks.sizes.sum(axis=1))

    def width(kind: str, delta: float, n_used: Sequence[int]) -> Width:
        filled = np.array(blocks.n_tuples) > 0
        sizes, typical = every[filled], float(lower_median((blocks.variance * every)[filled]))
        smallest, rows = int(sizes.min()), options.rows
        if kind == "closed-form":
            used = [d * n // of for d, n, of in zip(plan.sizes, n_used, plan.n_rows, strict=True)]
            how = typical / smallest, sizes.size, used, n_used, options.kernel.degrees
            return paper_sample_margin(rows.confidence_level, rows.design.tau, *how)
        replacement = rows.design.replace
        variance = typical / smallest + (typical / sum(n_used) if replacement else 0.0)
        largest = blocks.sizes[filled].max(axis=0)
        a = min(
            row_inverse_inclusion(n, int(size), replacement=replacement)
            for n, size in zip(n_used, largest, strict=True)
        )
        return resampled_width([variance], sizes.size, a, delta, None), None

    return blocks, width, ()
