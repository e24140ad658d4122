"""Sampling schemes: a pass that counts what the columns hold, then samples of rows or of pairs, gathered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.errors import ConfigError
from distmom.estimators.mean.answer import groups_of
from distmom.estimators.mean.blocks import choose_blocks
from distmom.estimators.mean.mean import run_plan
from distmom.estimators.mean.paper_samples import TAU
from distmom.estimators.mean.plan import SMALL_DRAWS, MeanPlan
from distmom.estimators.ustat.columns import column_of
from distmom.estimators.ustat.cost import check_budget, tuples_to_take
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.run import Found, check_columns, first_plan
from distmom.estimators.ustat.sampled_answer import BlockAnswerer, SampleAnswerer
from distmom.estimators.ustat.sampled_blocks import sampled_blocks
from distmom.estimators.ustat.sampled_pairs import Columns, RowsOf, planned_pairs, sampled_pairs
from distmom.estimators.ustat.sampled_tuples import MOST_ROWS
from distmom.passes.census import column_share, count_rows
from distmom.passes.gather import COPIES, RowSource, row_source
from distmom.reductions.rows.block_kernel import BlockKernel
from distmom.theory import morm_blocks

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.lake import ReadOptions, Source


def run_sampled(
    source: Source,
    read: ReadOptions,
    options: UStatOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> Found:
    """The median of the statistics of samples of rows, or of pairs, for each column that the kernel takes.

    The first pass reads all rows and tells how many there are, what is missing, and whether files disagree.
    """
    check_columns(source.reader(read), options)
    check_data(source, read, options)
    plan = first_plan(source, read, options, seed, executor, progress)
    state, skipped = run_plan(plan, 0, executor, progress)
    groups_of(plan, state, ())  # there are rows
    of_all = row_source(source, read, plan, skipped, executor)
    counted = []
    for c, names in enumerate(options.column_sets(read)):
        mine, found = (plan, state) if names == read.columns else column_of(plan, state, c)
        counted.append(Columns(names, mine, (found,)))

    def rows_of(names: tuple[str, ...]) -> tuple[RowSource, ...]:
        if names == read.columns:
            return (of_all,)
        mine = replace(read, columns=names)
        return (replace(of_all, reader=source.reader(mine), column_share=column_share(source, mine)),)

    draw = sampled_pairs if options.pairs == "incomplete" else _blocks
    made = draw(options, counted, rows_of, seed, progress)
    results = [answerer.result(", ".join(one.names)) for one, answerer in zip(counted, made, strict=True)]
    return Found(results, [plan], skipped)


def _blocks(
    options: UStatOptions, counted: Sequence[Columns], rows_of: RowsOf, seed: int, progress: Progress | None
) -> Iterator[SampleAnswerer]:
    """Samples of rows, all pairs of each; of one column after the other."""
    for names, plan, states in counted:
        (rows,) = rows_of(names)
        n_blocks, drawn = block_numbers(options, seed, rows.n_rows, int(states[0].n_rows.sum()))
        n_tuples = n_blocks * tuples_to_take(options.kernel, rows.n_columns, [(drawn,)])
        check_budget(options, n_tuples, n_blocks * drawn, n_blocks, rows.executor.threads)
        kernel = BlockKernel(options.kernel, options.statistic, options.rows.interval != "none")  # type: ignore[arg-type]
        found = sampled_blocks(
            kernel,
            kernel.merge,
            rows,
            seed,
            n_blocks,
            drawn,
            replace=options.rows.scheme == "monte_carlo",
            compiled=plan.reduction.compiled or n_blocks * drawn > SMALL_DRAWS,
            progress=progress,
        )
        yield BlockAnswerer(options, plan, states, found.state, (drawn,), (rows.n_rows,))


def check_data(source: Source, read: ReadOptions, options: UStatOptions) -> None:
    """Refuse data that samples are not drawn from.

    Raises
    ------
    ConfigError
        If there are groups, or the data can be read only once.
    """
    scheme = options.rows.scheme
    if read.by:
        raise ConfigError(
            f"by does not go with scheme={scheme!r}: samples are of all rows together; use "
            "scheme='partition', or where, one group at a time"
        )
    if source.one_pass:
        raise ConfigError(
            f"scheme={scheme!r} reads its rows several times, and a stream can be read only once; give a "
            "table, or write the stream to Parquet files"
        )


def block_numbers(options: UStatOptions, seed: int, n_rows: int, n_passing: int) -> tuple[int, int]:
    """Samples K, and rows B of each as drawn: those of sampled means, with a tuple in every sample.

    Raises
    ------
    ConfigError
        If a sample has fewer rows than a tuple.
    """
    rows, degree = options.rows, options.degree
    tau = TAU if rows.tau is None else rows.tau
    if rows.block_size is None:
        morm_blocks(rows.confidence_level, tau, n_passing, degree)
    elif rows.block_size < degree:
        raise ConfigError(
            f"block_size: a tuple of kernel {options.kernel.name!r} has {degree} rows, and a sample "
            f"{rows.block_size}; use at least {degree}"
        )
    blocks = choose_blocks(rows, seed=seed, n_files=0, grouped=False, n_rows=n_rows, n_valid=n_passing)
    assert blocks.n_blocks is not None and blocks.block_size is not None
    return blocks.n_blocks, blocks.block_size


def planned_samples(
    source: Source,
    read: ReadOptions,
    plan: MeanPlan,
    options: UStatOptions,
    seed: int,
    executor: Executor,
) -> dict[str, Any]:
    """What the samples will be if all rows are complete, in the words of `explain_ustatistic`."""
    check_data(source, read, options)
    n = int(np.maximum(count_rows(source, executor, options.rows.on_bad_file).rows, 0).sum())
    width = len(plan.reduction.columns)
    n_columns, lines = (width, 1) if options.joint_rows else (1, width)
    told: dict[str, Any] = {"n_rows": n, "fine_blocks": None}
    if options.pairs == "incomplete":
        least = plan.unit_memory
        return told | planned_pairs(options, (n,), n_columns, lines, least=least, executor=executor)
    k, size = block_numbers(options, seed, n, n)
    n_tuples = k * tuples_to_take(options.kernel, n_columns, [(size,)])
    gathered = COPIES * (8 * n_columns + 9) * min(n, k * size, max(MOST_ROWS, size))
    return told | {
        "n_blocks": k,
        "block_size": size,
        "tuples_one_by_one": n_tuples,
        "rows_drawn": k * size,
        "rows_drawn_per_row": round(k * size / n, 3) if n else None,
        "passes": lines * -(-k // max(1, MOST_ROWS // size)),
        "memory": max(gathered, plan.unit_memory * executor.threads_per_process),
    }
