"""Samples of the rows of several lakes, or of their tuples: randomized generalized U-statistics (MoRGU)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from distmom.errors import ConfigError
from distmom.estimators.mean.blocks import PLENTY
from distmom.estimators.mean.paper_samples import TAU
from distmom.estimators.mean.plan import SMALL_DRAWS
from distmom.estimators.ustat.cost import check_budget, tuples_to_take
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.run import Found, check_columns
from distmom.estimators.ustat.sampled import check_data
from distmom.estimators.ustat.sampled_answer import BlockAnswerer
from distmom.estimators.ustat.sampled_blocks import Draw, blocks_of_draws
from distmom.estimators.ustat.sampled_pairs import Columns, planned_pairs, sampled_pairs
from distmom.estimators.ustat.sampled_tuples import MOST_ROWS
from distmom.estimators.ustat.several import Pass, count_samples, rows_of
from distmom.numerics.blocks.labels import repeat_seed
from distmom.passes.gather import COPIES, RowSource, row_source
from distmom.reductions.rows.block_kernel import BlockKernel
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
    """The median over samples of tuples, or of rows of each lake in proportion to its size."""
    for source, read in samples:
        check_columns(source.reader(read), options)
        check_data(source, read, options)
    passes = count_samples(samples, options, seed, executor, progress)
    names = options.column_sets(samples[0][1])

    def sources_of(some: tuple[str, ...], found: Sequence[Pass]) -> tuple[RowSource, ...]:
        return tuple(_rows(*both, some, one, executor) for both, one in zip(samples, found, strict=True))

    each = [passes if options.joint_rows else [one.column(c) for one in passes] for c in range(len(names))]
    if options.pairs == "incomplete":
        counted = [
            Columns(own, mine[0].plan, tuple(one.state for one in mine))
            for own, mine in zip(names, each, strict=True)
        ]
        made = sampled_pairs(options, counted, lambda some: sources_of(some, passes), seed, progress)
        results = [found.result(", ".join(own)) for own, found in zip(names, made, strict=True)]
    else:
        results = [
            _column(sources_of(own, mine), mine, options, seed, executor, progress).result(", ".join(own))
            for own, mine in zip(names, each, strict=True)
        ]
    skipped = [record for one in passes for record in one.skipped]
    return Found(results, [one.plan for one in passes], skipped)


def _rows(
    source: Source, read: ReadOptions, names: tuple[str, ...], found: Pass, executor: Executor
) -> RowSource:
    """The rows of one lake with these columns."""
    mine = replace(read, columns=names)
    plan = replace(found.plan, reader=source.reader(mine))
    return row_source(source, mine, plan, found.skipped, executor)


def _column(
    sources: Sequence[RowSource],
    passes: Sequence[Pass],
    options: UStatOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> BlockAnswerer:
    """Samples of rows of one column, or of rows of several."""
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
    return BlockAnswerer(options, passes[0].plan, states, found.state, tuple(drawn), n_rows)


def planned_draws(
    samples: Sequence[tuple[Source, ReadOptions]],
    options: UStatOptions,
    n_columns: int,
    lines: int,
    least: int,
    executor: Executor,
) -> dict[str, Any]:
    """What will be drawn if all rows are complete, in the words of `explain_ustatistic`."""
    for source, read in samples:
        check_data(source, read, options)
    n_rows = [rows_of(source, options, executor) for source, _ in samples]
    told: dict[str, Any] = {"n_rows": sum(n_rows), "fine_blocks": None}
    if options.pairs == "incomplete":
        return told | planned_pairs(options, n_rows, n_columns, lines, least=least, executor=executor)
    k, sizes = several_numbers(options, n_rows)
    gathered = COPIES * (8 * n_columns + 9) * min(sum(n_rows), k * sum(sizes), max(MOST_ROWS, sum(sizes)))
    return told | {
        "n_blocks": k,
        "block_size": sum(sizes),
        "tuples_one_by_one": k * tuples_to_take(options.kernel, n_columns, [sizes]),
        "rows_drawn": k * sum(sizes),
        "rows_drawn_per_row": round(k * sum(sizes) / max(sum(n_rows), 1), 3),
        "passes": lines * -(-k // max(1, MOST_ROWS // sum(sizes))),
        "memory": max(gathered, least * executor.threads_per_process),
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
