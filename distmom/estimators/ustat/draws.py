"""Sampling schemes: number and size of the samples of rows or pairs, their passes, and their cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from distmom.cluster import Executor
from distmom.cluster.memory import program
from distmom.errors import ConfigError, NoAnswerError
from distmom.estimators.mean.blocks import PLENTY, choose_blocks, refuse_many, refuse_more
from distmom.estimators.mean.plan import SMALL_DRAWS, MeanPlan
from distmom.estimators.ustat.cost import affordable, check_budget, tuples_to_take
from distmom.estimators.ustat.options import UStatOptions
from distmom.inference.samples import TAU
from distmom.memory import Held, Memory
from distmom.numerics.arrays import Ints
from distmom.numerics.blocks.labels import repeat_seed
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.sums import count_tuples
from distmom.numerics.random.philox import stream_key
from distmom.passes.draws import DrawPlan, draw_rows, draw_tuples
from distmom.theory.paper import morgu_blocks
from distmom.theory.tuples import TUPLE_BUDGET, default_tuples

PURPOSES: dict[tuple[int, ...], str] = {(2,): "pairs", (3,): "triples"}
"""Key of the draws; for other degrees it includes their numbers."""


class Draws(NamedTuple):
    """The samples that a U-statistic draws."""

    plan: DrawPlan
    n_tuples: int  # evaluated one by one, over all samples of one column (or set of columns)
    n_pairs: int | None  # of each sample of pairs, as requested

    @property
    def at_once(self) -> int:
        """Number of columns whose rows are gathered together."""
        return 1 if self.n_pairs is None else self.plan.columns_at_once()

    def check(self, options: UStatOptions, threads: int) -> None:
        """Raise ConfigError if samples of rows have too many pairs."""
        if self.n_pairs is None:
            check_budget(options, self.n_tuples, self.plan.rows_drawn, self.plan.n_blocks, threads)

    def describe(
        self, options: UStatOptions, n_columns: int, lines: int, least: Memory, executor: Executor
    ) -> dict[str, Any]:
        """Tuples, further passes and memory; `least` is what the first pass needs."""
        plan, n = self.plan, sum(self.plan.n_rows)
        size = {"n_pairs": self.n_pairs} if self.n_pairs is not None else {"block_size": sum(plan.sizes)}
        gathered = Held("gathered rows", plan.memory(n_columns * min(lines, self.at_once)), each=False)
        later = program(executor) + Memory((gathered,))
        return {
            "n_rows": n,
            "fine_blocks": None,
            "n_blocks": plan.n_blocks,
            **size,
            "tuples_one_by_one": self.n_tuples,
            "rows_drawn": plan.rows_drawn,
            "rows_drawn_per_row": round(plan.rows_drawn / n, 3) if n else None,
            "affordable": affordable(options, self.n_tuples, plan.n_blocks) if self.n_pairs is None else None,
            "passes": -(-lines // self.at_once) * plan.passes,
            "memory": later.or_larger(least, executor.threads_per_process),
        }


def planned_draws(
    options: UStatOptions, plan: MeanPlan, file_rows: Sequence[Ints], n_passing: Sequence[int], seed: int
) -> Draws:
    """The samples from lakes whose files have `file_rows`, of which `n_passing` pass the filter.

    `plan` is that of a first pass. Rows (or pairs of rows) dropped by the filter are drawn and left out, so
    proportionally more are drawn. ConfigError if no such numbers exist, or if samples of pairs exceed the
    budget of pairs; NoAnswerError if there are too few rows.
    """
    n_rows = tuple(int(rows.sum()) for rows in file_rows)
    again, compiled = options.rows.design.replace, plan.reduction.compiled
    if options.pairs.name == "incomplete":
        k, m, drawn = pair_numbers(options, n_rows, n_passing)
        tuples = tuple_plan(options.kernel, n_rows, seed, k, drawn, replace=again)
        return Draws(tuples, k * drawn, m)
    k, sizes = row_numbers(options, seed, n_rows, n_passing)
    compiled = compiled or k * sum(sizes) > SMALL_DRAWS
    seeds = [repeat_seed(seed, t) for t in range(len(n_rows))]
    n_columns = len(plan.reduction.columns) if options.joint_rows else 1
    drawn_rows = draw_rows(file_rows, seeds, k, sizes, replace=again, compiled=compiled)
    return Draws(drawn_rows, k * tuples_to_take(options.kernel, n_columns, [sizes]), None)


def tuple_plan(
    kernel: Kernel,
    n_rows: tuple[int, ...],
    seed: int,
    n_blocks: int,
    n_tuples: int,
    *,
    replace: bool,
) -> DrawPlan:
    """The draws of samples of tuples; `NoAnswerError` if a lake has too few rows."""
    degrees = kernel.degrees
    for n, degree in zip(n_rows, degrees, strict=True):
        if n < degree:
            raise NoAnswerError(f"the data has {n} rows, and the kernel takes {degree}; give more rows")
    refuse_repeats(kernel, n_rows, n_tuples, replace)
    key = stream_key(seed, PURPOSES.get(degrees, f"tuples of {', '.join(map(str, degrees))}"))
    return draw_tuples(key, n_rows, degrees, n_blocks, n_tuples, replace=replace)


def refuse_repeats(kernel: Kernel, n_rows: Sequence[int], n_tuples: int, replace: bool) -> None:
    """Raise ConfigError if more tuples are to be drawn without repeats than exist."""
    there_are = count_tuples(kernel.degrees, tuple(n_rows))
    if not replace and n_tuples > there_are > 0:
        of = " and ".join(f"{n:,}" for n in n_rows)
        raise ConfigError(
            f"pairs: n: {n_tuples:,} without repeats exceed the {there_are:,} that {of} rows "
            "have; lower it, or use SampledPairs(replace=True)"
        )


def row_numbers(
    options: UStatOptions, seed: int, n_rows: Sequence[int], n_passing: Sequence[int]
) -> tuple[int, tuple[int, ...]]:
    """Number of samples K, and rows of each lake drawn for one sample.

    For one lake they are those of sampled means, with at least one tuple in every sample. For several lakes
    `block_size` is the total number of rows, divided in proportion to the rows that pass the filter; numbers
    that are not given come from the proposition. ConfigError if a sample has fewer rows of a lake than a
    tuple, or the proposition does not reach the level.
    """
    rows, degrees = options.rows, options.kernel.degrees
    tau = TAU if rows.design.tau is None else rows.design.tau
    if len(n_rows) > 1:
        refuse_more(rows.design.size or 0, sum(n_rows), sum(n_passing), replace=rows.design.replace)
        k, sizes = _several_numbers(options, tau, n_passing)
        drawn = [-(-size * n // max(m, 1)) for size, n, m in zip(sizes, n_rows, n_passing, strict=True)]
        if not rows.design.replace:
            drawn = [min(size, n) for size, n in zip(drawn, n_rows, strict=True)]
        else:
            refuse_many(sum(drawn), sum(n_rows))
        return k, tuple(drawn)
    if rows.design.size is None:
        morgu_blocks(rows.confidence_level, tau, n_passing, degrees[:1])
    elif rows.design.size < degrees[0]:
        raise ConfigError(
            f"blocks: size: a tuple of kernel {options.kernel.name!r} has {degrees[0]} rows, and a sample "
            f"{rows.design.size}; use at least {degrees[0]}"
        )
    blocks = choose_blocks(rows, seed=seed, n_files=0, grouped=False, n_rows=n_rows[0], n_valid=n_passing[0])
    assert blocks.n_blocks is not None and blocks.block_size is not None
    return blocks.n_blocks, (blocks.block_size,)


def _several_numbers(
    options: UStatOptions, tau: float, n_passing: Sequence[int]
) -> tuple[int, tuple[int, ...]]:
    """Samples K of several lakes, and rows of each lake per sample, before allowing for filtered rows."""
    rows, degrees = options.rows, options.kernel.degrees
    given = rows.design.number
    if rows.design.size is None:
        k, sizes = morgu_blocks(rows.confidence_level, tau, n_passing, degrees)
        return given or k, sizes
    sizes = tuple(max(rows.design.size * n // max(sum(n_passing), 1), 0) for n in n_passing)
    if any(size < degree for size, degree in zip(sizes, degrees, strict=True)):
        raise ConfigError(
            f"blocks: size: {rows.design.size} rows in proportion to "
            f"{', '.join(f'{n:,}' for n in n_passing)} "
            f"are {', '.join(map(str, sizes))}, and kernel {options.kernel.name!r} takes "
            f"{', '.join(map(str, degrees))}; use a larger one"
        )
    return given or morgu_blocks(rows.confidence_level, tau, (PLENTY,))[0], sizes


def pair_numbers(
    options: UStatOptions, n_rows: tuple[int, ...], n_passing: Sequence[int]
) -> tuple[int, int, int]:
    """Samples K, requested pairs M per sample, and pairs drawn from all rows before the filter.

    K is given, or that of randomized means; M is given, or comes from `theory.default_tuples`.
    ConfigError if no such numbers exist, or the pairs exceed the budget.
    """
    degrees, rows = options.kernel.degrees, options.rows
    repeats = rows.design.replace
    k, tau = rows.design.number, rows.design.tau
    if k is not None and tau is not None:
        raise ConfigError("SampledBlocks: tau: it sets the number of samples, and n gives it; drop one")
    if k is None:
        k = morgu_blocks(rows.confidence_level, TAU if tau is None else tau, (PLENTY,))[0]
    everything, passing = count_tuples(degrees, n_rows), count_tuples(degrees, tuple(n_passing))
    m = options.pairs.n
    if m is None:
        budget = max(1, TUPLE_BUDGET * passing // max(1, everything))
        enough = [max(n, degree) for n, degree in zip(n_passing, degrees, strict=True)]
        m = default_tuples(enough, k, degrees, replacement=repeats, budget=budget)
    else:
        refuse_repeats(options.kernel, n_passing, m, repeats)
    if k * m > options.pair_budget:
        raise ConfigError(
            f"pairs: n: {k:,} samples of {m:,} pairs exceed the budget of {options.pair_budget:.2g}; "
            "lower either number, or allow a larger budget"
        )
    drawn = -(-m * everything // passing) if passing else m
    return k, m, drawn if repeats else min(drawn, max(everything, 1))
