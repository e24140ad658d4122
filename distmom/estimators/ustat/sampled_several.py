"""Samples of the rows of several lakes: medians of randomized generalized U-statistics (MoRGU)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from distmom.errors import ConfigError
from distmom.estimators.mean.blocks import PLENTY
from distmom.estimators.mean.paper_samples import TAU
from distmom.estimators.mean.plan import SMALL_DRAWS
from distmom.estimators.ustat.cost import check_budget, tuples_to_take
from distmom.estimators.ustat.gather import COPIES
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.run import Found, check_columns
from distmom.estimators.ustat.sampled import check_data
from distmom.estimators.ustat.sampled_answer import BlockAnswerer
from distmom.estimators.ustat.sampled_blocks import Draw, blocks_of_draws
from distmom.estimators.ustat.sampled_tuples import MOST_ROWS
from distmom.estimators.ustat.several import Pass, count_samples, rows_of
from distmom.estimators.ustat.sources import row_source
from distmom.numerics.labels import repeat_seed
from distmom.reductions.block_kernel import BlockKernel
from distmom.report import UStatisticResult
from distmom.theory import morgu_blocks, morm_blocks

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.lake import ReadOptions, Source


def run_sampled_several(
    samples: Sequence[tuple[Source, ReadOptions]],
    options: UStatOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> Found:
    """The median of the statistics of blocks that are drawn from every lake in proportion to its rows."""
    for source, read in samples:
        check_columns(source.reader(read), options)
        check_data(source, read, options)
    passes = count_samples(samples, options, seed, executor, progress)
    results = []
    for c, names in enumerate(options.column_sets(samples[0][1])):
        mine = passes if options.joint_rows else [one.column(c) for one in passes]
        results.append(_column(samples, mine, names, options, seed, executor, progress))
    skipped = [record for one in passes for record in one.skipped]
    return Found(results, [one.plan for one in passes], skipped)


def _column(
    samples: Sequence[tuple[Source, ReadOptions]],
    passes: Sequence[Pass],
    names: tuple[str, ...],
    options: UStatOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> UStatisticResult:
    """The result of one column, or of rows of several."""
    sources = []
    for (source, read), one in zip(samples, passes, strict=True):
        mine = replace(read, columns=names)
        plan = replace(one.plan, reader=source.reader(mine))
        sources.append(row_source(source, mine, plan, one.skipped, executor))
    passing = [int(one.state.n_rows.sum()) for one in passes]
    n_blocks, sizes = several_numbers(options, passing)
    again = options.rows.scheme == "monte_carlo"
    drawn = []
    for size, n, source_ in zip(sizes, passing, sources, strict=True):  # rows that the filter drops, too
        asked = -(-size * source_.n_rows // max(n, 1))
        drawn.append(asked if again else min(asked, source_.n_rows))
    n_columns = len(passes[0].plan.reduction.columns)
    n_tuples = n_blocks * tuples_to_take(options.kernel, n_columns, [tuple(drawn)])
    check_budget(options, n_tuples, n_blocks * sum(drawn), n_blocks, executor.threads)
    kernel = BlockKernel(options.kernel, options.statistic, options.rows.interval != "none")  # type: ignore[arg-type]
    found = blocks_of_draws(
        kernel,
        kernel.merge,
        [Draw(s, repeat_seed(seed, t), size) for t, (s, size) in enumerate(zip(sources, drawn, strict=True))],
        n_blocks,
        replace=again,
        compiled=passes[0].plan.reduction.compiled or n_blocks * sum(drawn) > SMALL_DRAWS,
        progress=progress,
    )
    states = tuple(one.state for one in passes)
    n_rows = tuple(s.n_rows for s in sources)
    answerer = BlockAnswerer(options, passes[0].plan, states, found.state, tuple(drawn), n_rows)
    return answerer.result(", ".join(names))


def planned_draws(
    samples: Sequence[tuple[Source, ReadOptions]], options: UStatOptions, n_columns: int, executor: Executor
) -> dict[str, Any]:
    """What will be drawn if all rows are complete, in the words of `explain_ustatistic`."""
    for source, read in samples:
        check_data(source, read, options)
    n_rows = [rows_of(source, options, executor) for source, _ in samples]
    k, sizes = several_numbers(options, n_rows)
    gathered = COPIES * (8 * n_columns + 9) * min(sum(n_rows), k * sum(sizes), max(MOST_ROWS, sum(sizes)))
    return {
        "n_rows": sum(n_rows),
        "fine_blocks": None,
        "n_blocks": k,
        "block_size": sum(sizes),
        "tuples_one_by_one": k * tuples_to_take(options.kernel, n_columns, [sizes]),
        "rows_drawn": k * sum(sizes),
        "rows_drawn_per_row": round(k * sum(sizes) / max(sum(n_rows), 1), 3),
        "passes": -(-k // max(1, MOST_ROWS // sum(sizes))),
        "memory": gathered,
    }


def several_numbers(options: UStatOptions, n_rows: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """Samples K, and the rows of each lake in a sample, in proportion to those that pass the filter.

    `block_size` is the number of rows of all lakes together. What is not given is that of the proposition.

    Raises
    ------
    ConfigError
        If a sample has fewer rows of a lake than a tuple, or the proposition does not reach the level.
    """
    rows, degrees = options.rows, options.kernel.degrees
    tau = TAU if rows.tau is None else rows.tau
    given = rows.n_blocks if isinstance(rows.n_blocks, int) else None
    if rows.block_size is None:
        k, sizes = morgu_blocks(rows.confidence_level, tau, n_rows, degrees)
        return k if given is None else given, sizes
    sizes = tuple(max(rows.block_size * n // max(sum(n_rows), 1), 0) for n in n_rows)
    if any(size < degree for size, degree in zip(sizes, degrees, strict=True)):
        raise ConfigError(
            f"block_size: {rows.block_size} rows in proportion to {', '.join(f'{n:,}' for n in n_rows)} are "
            f"{', '.join(map(str, sizes))}, and kernel {options.kernel.name!r} takes "
            f"{', '.join(map(str, degrees))}; use a larger one"
        )
    if given is None:
        given = morm_blocks(rows.confidence_level, tau, PLENTY)[0]
    elif rows.tau is not None:
        raise ConfigError("tau: n_blocks and block_size say all; drop tau")
    return given, sizes
