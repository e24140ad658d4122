"""Sampling schemes: a pass that counts what the columns hold, then samples of rows or of pairs, gathered."""

from __future__ import annotations

from dataclasses import replace
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from distmom.errors import ConfigError
from distmom.estimators.mean.answer import groups_of
from distmom.estimators.mean.blocks import PLENTY
from distmom.estimators.mean.mean import run_plan
from distmom.estimators.mean.plan import SMALL_DRAWS, MeanPlan, column_share
from distmom.estimators.rows import count_rows
from distmom.estimators.ustat.gather import COPIES, RowSource
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.run import Found, check_columns, first_plan
from distmom.estimators.ustat.sampled_answer import PairAnswerer
from distmom.estimators.ustat.sampled_tuples import MOST_ROWS, sampled_tuples
from distmom.theory import default_tuples, morm_blocks
from distmom.theory.tuple_designs import TUPLE_BUDGET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distmom.cluster import Executor, Progress
    from distmom.cluster.work import SkippedFile
    from distmom.lake import ReadOptions, Source

TAU = 0.45
"""Unless it is given, as for sampled means."""


def run_sampled(
    source: Source,
    read: ReadOptions,
    options: UStatOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> Found:
    """The median of the statistics of samples of rows, or of pairs.

    The first pass reads all rows and tells how many there are, what is missing, and whether files disagree.
    """
    check_columns(source.reader(read), options)
    check_data(source, read, options)
    plan = first_plan(source, read, options, seed, executor, progress)
    state, skipped = run_plan(plan, 0, executor, progress)
    groups_of(plan, state, ())  # there are rows
    rows = row_source(source, read, plan, skipped, executor)
    column = ", ".join(read.columns)
    numbers = pair_numbers(options, rows.n_rows, int(state.n_rows.sum()))
    found = sampled_tuples(
        options.kernel,
        rows,
        seed,
        numbers.n_blocks,
        numbers.drawn,
        replace=options.rows.scheme == "monte_carlo",
        compiled=plan.reduction.compiled or numbers.n_blocks * numbers.drawn > SMALL_DRAWS,
        progress=progress,
    )
    return Found([PairAnswerer(options, plan, state, found).result(column)], [plan], skipped)


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


def row_source(
    source: Source, read: ReadOptions, plan: MeanPlan, skipped: Sequence[SkippedFile], executor: Executor
) -> RowSource:
    """The files of the first pass as a source of rows by their numbers."""
    bad = {record.file for record in skipped}
    files = tuple(file for file in plan.files if file.path not in bad)
    counted: Any = replace(source, files=files)  # type: ignore[type-var]
    return RowSource(
        plan.reader,
        files,
        count_rows(counted, executor, "error").rows,
        executor,
        plan.options.nan,
        column_share=column_share(source, read),
    )


class PairNumbers(NamedTuple):
    """Samples K, pairs M of each as wanted, and as drawn from all rows, before the filter."""

    n_blocks: int
    n_pairs: int
    drawn: int


def pair_numbers(options: UStatOptions, n_rows: int, n_passing: int) -> PairNumbers:
    """How many samples of how many pairs, for `n_passing` of the lake's rows passing the filter.

    K is given, or that of randomized means; M is given, or what `theory.default_tuples` says. Pairs of rows
    that the filter drops are drawn and left out, so in proportion more are drawn.

    Raises
    ------
    ConfigError
        If there are no such numbers, or the pairs are more than `pair_budget`.
    """
    degree, rows = options.degree, options.rows
    repeats = rows.scheme == "monte_carlo"
    if isinstance(rows.n_blocks, int):
        if rows.tau is not None:
            raise ConfigError("tau: it sets the number of samples, and n_blocks gives it; drop one")
        k = rows.n_blocks
    else:
        k = morm_blocks(rows.confidence_level, TAU if rows.tau is None else rows.tau, PLENTY)[0]
    everything, passing = comb(n_rows, degree), comb(n_passing, degree)
    m = options.n_pairs
    if m is None:
        budget = max(1, TUPLE_BUDGET * passing // max(1, everything))
        m = default_tuples(max(n_passing, degree), k, degree, replacement=repeats, budget=budget)
    elif not repeats and m > passing > 0:
        raise ConfigError(
            f"n_pairs: {m:,} without repeats are more than the {passing:,} that {n_passing:,} rows have; "
            "lower it, or use scheme='monte_carlo'"
        )
    if k * m > options.pair_budget:
        raise ConfigError(
            f"n_pairs: {k:,} samples of {m:,} pairs are more than pair_budget={options.pair_budget:.2g}; "
            "lower n_pairs or n_blocks, or allow a larger pair_budget"
        )
    drawn = -(-m * everything // passing) if passing else m
    return PairNumbers(k, m, drawn if repeats else min(drawn, max(everything, 1)))


def planned_samples(
    source: Source, read: ReadOptions, plan: MeanPlan, options: UStatOptions, executor: Executor
) -> dict[str, Any]:
    """What the samples will be if all rows are complete, in the words of `explain_ustatistic`."""
    check_data(source, read, options)
    n = int(np.maximum(count_rows(source, executor, options.rows.on_bad_file).rows, 0).sum())
    numbers = pair_numbers(options, n, n)
    drawn = numbers.n_blocks * numbers.drawn * options.degree
    row_bytes = COPIES * (8 * len(plan.reduction.columns) + 9)
    return {
        "n_rows": n,
        "n_blocks": numbers.n_blocks,
        "fine_blocks": None,
        "n_pairs": numbers.n_pairs,
        "rows_drawn": drawn,
        "rows_drawn_per_row": round(drawn / n, 3) if n else None,
        "tuples_one_by_one": numbers.n_blocks * numbers.drawn,
        "passes": pass_count(numbers.n_blocks, numbers.drawn * options.degree),
        "memory": max(row_bytes * min(n, drawn, MOST_ROWS), plan.unit_memory * executor.threads_per_process),
    }


def pass_count(n_blocks: int, rows_of_block: int) -> int:
    """Times that rows are gathered."""
    return -(-n_blocks // max(1, MOST_ROWS // rows_of_block))
