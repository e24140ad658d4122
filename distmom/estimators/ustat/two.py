"""Kernels of two samples: each is cut into blocks by itself, and blocks are paired by their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from distmom.errors import ConfigError
from distmom.estimators.mean.answer import groups_of
from distmom.estimators.mean.mean import run_plan
from distmom.estimators.ustat.answer import Answerer
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.run import (
    Found,
    block_source_of,
    cells_of,
    check_columns,
    check_sizes,
    first_plan,
)
from distmom.estimators.ustat.work import Counted, run_blocks
from distmom.numerics.labels import repeat_seed
from distmom.reductions.block_kernel import BlockKernel

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.lake import ReadOptions, Source


def two_samples(data: Any, kernel: str, by: Any = None) -> tuple[Any, Any]:
    """The data of both samples.

    Raises
    ------
    ConfigError
        If it is not a list of two, or there are groups.
    """
    if by:
        raise ConfigError(
            f"by does not go with kernel {kernel!r} of two samples: groups of one need not be in the other; "
            "use where, one group at a time"
        )
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)) and len(data) == 2:
        return data[0], data[1]
    raise ConfigError(
        f"kernel {kernel!r} takes two samples: give data as a list of two, such as ['a/', 'b/']"
    )


def run_two_samples(
    samples: Sequence[tuple[Source, ReadOptions]],
    options: UStatOptions,
    seed: int,
    executor: Executor,
    progress: Progress | None,
) -> Found:
    """The U-statistic of two samples; each has blocks of its own, drawn independently of the other's."""
    for source, read in samples:
        check_columns(source.reader(read), options)
    plans, states, skipped = [], [], []
    for number, (source, read) in enumerate(samples):
        plan = first_plan(source, read, options, repeat_seed(seed, number), executor, progress)
        state, bad = run_plan(plan, 0, executor, progress)
        groups_of(plan, state, ())  # there are rows
        plans.append(plan)
        states.append(state)
        skipped.append(bad)
    cells = cells_of(plans[0], states, options)
    check_sizes(1, cells, len(plans[0].reduction.columns), options, executor)
    block_source, variances = block_source_of(options)
    kernel = BlockKernel(options.kernel, options.statistic, variances)  # type: ignore[arg-type]
    sources = [source for source, _ in samples]
    counted = [Counted(*one) for one in zip(sources, plans, states, skipped, cells, strict=True)]
    blocks = run_blocks(counted, kernel, executor, progress)
    answerer = Answerer(options, plans[0], tuple(states), cells[0], blocks, block_source)
    column = ", ".join(samples[0][1].columns)
    together = [record for bad in skipped for record in bad]
    return Found(answerer.results(column, ()), plans, together, skipped)
