"""Samples of pairs, or larger tuples, of the rows of one or several lakes: their numbers, and their draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from distmom.errors import ConfigError
from distmom.estimators.mean.blocks import PLENTY
from distmom.estimators.mean.paper_samples import TAU
from distmom.estimators.mean.plan import SMALL_DRAWS, MeanPlan
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.sampled_answer import PairAnswerer, SampleAnswerer
from distmom.estimators.ustat.sampled_tuples import (
    MOST_ROWS,
    columns_at_once,
    refuse_repeats,
    sampled_tuples,
)
from distmom.numerics.kernels.sums import count_tuples
from distmom.passes.gather import COPIES, RowSource
from distmom.theory import default_tuples, morm_blocks
from distmom.theory.tuple_designs import TUPLE_BUDGET

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.reductions.state import MeanState

RowsOf: TypeAlias = "Callable[[tuple[str, ...]], tuple[RowSource, ...]]"
"""The rows of each lake with some of the columns that are read."""


class Columns(NamedTuple):
    """The columns of a statistic, and what the first pass found in them, in each lake."""

    names: tuple[str, ...]
    plan: MeanPlan
    states: tuple[MeanState, ...]


def sampled_pairs(
    options: UStatOptions, counted: Sequence[Columns], rows_of: RowsOf, seed: int, progress: Progress | None
) -> Iterator[SampleAnswerer]:
    """Samples of pairs, of as many columns at once as may be gathered together."""
    first = counted[0]
    n_rows = [source.n_rows for source in rows_of(first.names)]
    numbers = pair_numbers(options, n_rows, [int(state.n_rows.sum()) for state in first.states])
    step = columns_at_once(sum(n_rows), numbers.n_blocks, numbers.drawn * sum(options.kernel.degrees))
    for start in range(0, len(counted), step):
        together = counted[start : start + step]
        names = tuple(name for one in together for name in one.names)
        found = sampled_tuples(
            options.kernel,
            [replace(source, separate=not options.joint_rows) for source in rows_of(names)],
            seed,
            numbers.n_blocks,
            numbers.drawn,
            replace=options.rows.scheme == "monte_carlo",
            spread=options.rows.interval != "none",
            compiled=first.plan.reduction.compiled or numbers.n_blocks * numbers.drawn > SMALL_DRAWS,
            progress=progress,
        )
        for one, samples in zip(together, found, strict=True):
            yield PairAnswerer(options, one.plan, one.states, samples)


class PairNumbers(NamedTuple):
    """Samples K, pairs M of each as wanted, and as drawn from all rows, before the filter."""

    n_blocks: int
    n_pairs: int
    drawn: int


def pair_numbers(options: UStatOptions, n_rows: Sequence[int], n_passing: Sequence[int]) -> PairNumbers:
    """How many samples of how many pairs, for `n_passing` of the rows of each lake passing the filter.

    K is given, or that of randomized means; M is given, or what `theory.default_tuples` says. Pairs of rows
    that the filter drops are drawn and left out, so in proportion more are drawn.

    Raises
    ------
    ConfigError
        If there are no such numbers, or the pairs are more than `pair_budget`.
    """
    degrees, rows = options.kernel.degrees, options.rows
    repeats = rows.scheme == "monte_carlo"
    if isinstance(rows.n_blocks, int):
        if rows.tau is not None:
            raise ConfigError("tau: it sets the number of samples, and n_blocks gives it; drop one")
        k = rows.n_blocks
    else:
        k = morm_blocks(rows.confidence_level, TAU if rows.tau is None else rows.tau, PLENTY)[0]
    everything, passing = count_tuples(degrees, tuple(n_rows)), count_tuples(degrees, tuple(n_passing))
    m = options.n_pairs
    if m is None:
        budget = max(1, TUPLE_BUDGET * passing // max(1, everything))
        enough = [max(n, degree) for n, degree in zip(n_passing, degrees, strict=True)]
        m = default_tuples(enough, k, degrees, replacement=repeats, budget=budget)
    else:
        refuse_repeats(options.kernel, n_passing, m, repeats)
    if k * m > options.pair_budget:
        raise ConfigError(
            f"n_pairs: {k:,} samples of {m:,} pairs are more than pair_budget={options.pair_budget:.2g}; "
            "lower n_pairs or n_blocks, or allow a larger pair_budget"
        )
    drawn = -(-m * everything // passing) if passing else m
    return PairNumbers(k, m, drawn if repeats else min(drawn, max(everything, 1)))


def planned_pairs(
    options: UStatOptions,
    n_rows: Sequence[int],
    n_columns: int,
    lines: int,
    *,
    least: int,
    executor: Executor,
) -> dict[str, Any]:
    """What the samples will be if all rows are complete, in the words of `explain_ustatistic`.

    Parameters
    ----------
    options : UStatOptions
    n_rows : sequence of int
        Of each lake.
    n_columns, lines : int
        Columns of a row, and statistics.
    least : int
        Bytes that the first pass needs on a thread.
    executor : Executor
    """
    n = sum(n_rows)
    k, m, drawn = pair_numbers(options, n_rows, n_rows)
    size = drawn * sum(options.kernel.degrees)
    together = columns_at_once(n, k, size) if n else 1
    gathered = COPIES * (8 * n_columns * min(lines, together) + 9) * min(n, k * size, max(MOST_ROWS, size))
    return {
        "n_blocks": k,
        "n_pairs": m,
        "tuples_one_by_one": k * drawn,
        "rows_drawn": k * size,
        "rows_drawn_per_row": round(k * size / n, 3) if n else None,
        "passes": -(-lines // together) * -(-k // max(1, MOST_ROWS // size)),
        "memory": max(gathered, least * executor.threads_per_process),
    }
