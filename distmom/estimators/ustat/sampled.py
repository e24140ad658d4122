"""Sampling schemes: samples of rows, or of pairs, are gathered from data whose rows have been counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from distmom.cluster import Executor, Progress
from distmom.estimators.ustat.draws import Draws, planned_draws
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.sampled_answer import Drawn, drawn_pairs, drawn_rows, sample_result
from distmom.estimators.ustat.sampled_tuples import sampled_tuples
from distmom.estimators.ustat.samples import Pass, Samples, passes_of
from distmom.lake import ReadOptions, Source
from distmom.passes.census import Census, column_share
from distmom.passes.drawn_blocks import evaluate_draws
from distmom.passes.gather import RowSource, row_source
from distmom.reductions.rows.block_kernel import BlockKernel
from distmom.report import UStatisticResult


def run_sampled(
    samples: Samples,
    passes: Sequence[Pass],
    census: Sequence[Census] | None,
    options: UStatOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> list[UStatisticResult]:
    """The median of the statistics of samples of rows or of pairs, for each column (or set of them).

    Pairs are gathered of as many columns at once as may be.

    Parameters
    ----------
    samples, passes, options, seed, executor, progress
    census : sequence of Census, optional
        Of the files of each sample, if these have been counted already.
    """
    columns = options.column_sets(samples[0][1])
    known: Sequence[Census | None] = census or [None] * len(passes)
    counted = [
        row_source(source, read, one.plan, one.skipped, executor, rows)
        for (source, read), one, rows in zip(samples, passes, known, strict=True)
    ]
    n_passing = [int(one.state.n_rows.sum()) for one in passes]
    compiled, n_columns = passes[0].plan.reduction.compiled, counted[0].n_columns if options.joint_rows else 1
    file_rows = [one.rows for one in counted]
    draws = planned_draws(options, file_rows, n_passing, n_columns, seed, compiled=compiled)
    draws.check(options, executor.threads)
    results = []
    for start in range(0, len(columns), draws.at_once):
        together = range(start, min(start + draws.at_once, len(columns)))
        names = tuple(name for c in together for name in columns[c])
        sources = [_with(*sample, one, names) for sample, one in zip(samples, counted, strict=True)]
        drawn = _statistics(options, draws, sources, seed, progress)
        for c, one in zip(together, drawn, strict=True):
            mine = passes_of(passes, options, c)
            states = tuple(pass_.state for pass_ in mine)
            results.append(sample_result(options, mine[0].plan, states, ", ".join(columns[c]), one))
    return results


def _with(source: Source, read: ReadOptions, rows: RowSource, names: tuple[str, ...]) -> RowSource:
    """The same rows of one lake with some of the columns."""
    mine = replace(read, columns=names)
    return replace(rows, reader=source.reader(mine), column_share=column_share(source, mine))


def _statistics(
    options: UStatOptions, draws: Draws, sources: Sequence[RowSource], seed: int, progress: Progress | None
) -> list[Drawn]:
    """Samples of rows of one column or set of columns, with all pairs of each, or of pairs of all columns."""
    plan, spread = draws.plan, options.rows.interval != "none"
    if draws.n_pairs is None:
        kernel = BlockKernel(options.kernel, options.statistic, spread)  # type: ignore[arg-type]
        blocks = evaluate_draws(kernel, kernel.merge, plan, sources, progress)
        return [drawn_rows(options, blocks, plan)]
    sources = [replace(source, separate=not options.joint_rows) for source in sources]
    again = options.rows.design.replace
    found = sampled_tuples(
        options.kernel, plan, sources, seed, replace=again, spread=spread, progress=progress
    )
    return [drawn_pairs(options, samples) for samples in found]
