"""The rows of large samples treated as all rows: their plan, their state, and their estimates at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from distmom.designs.blocks import RandomBlocks
from distmom.estimators.mean.blocks import SAMPLE
from distmom.estimators.mean.rule.answers import answers_apart
from distmom.inference.files.odd_files import may_be_odd
from distmom.numerics.arrays import Bools, Ints, Words
from distmom.numerics.samples.distinct import UnitSketch
from distmom.numerics.samples.pool import RowPool
from distmom.reductions.layouts import RandomLayout
from distmom.reductions.state import MeanState
from distmom.reductions.state_of_pools import state_of_parts, state_of_pools

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan

FINE = 945
"""Fine blocks of the sample."""


def plan_of_sample(plan: MeanPlan, *, files: bool) -> MeanPlan:
    """Random blocks of the sample unless files form the blocks, as if its rows were all rows.

    `files` says whether the files of its rows are known.
    """
    blocks, options = plan.blocks, plan.options
    if not options.design.by_file:
        n_fine = blocks.n_fine if blocks.n_blocks is not None else FINE
        n_cells = 0 if not files or options.design.sampled else blocks.n_cells
        size = blocks.sample_size or SAMPLE
        blocks = replace(blocks, layout=RandomLayout(0, n_fine), n_cells=n_cells, sample_size=size)
        options = replace(options, design=RandomBlocks(blocks.n_blocks or "auto"))
    return replace(plan, blocks=blocks, options=options)


def of_sample(
    plan: MeanPlan, pools: Sequence[RowPool], units: UnitSketch | None
) -> tuple[MeanPlan, MeanState]:
    """The rows of some columns, in the blocks of `plan_of_sample`."""
    plan = plan_of_sample(plan, files=pools[0].files is not None)
    return plan, state_of_pools(pools, *_sizes(plan), units)


def of_parts(plan: MeanPlan, pools: Sequence[RowPool], sizes: Ints) -> tuple[MeanPlan, MeanState]:
    """Consecutive parts of these sizes, each of which is a group."""
    plan = plan_of_sample(plan, files=pools[0].files is not None)
    return plan, state_of_parts(pools, sizes, *_sizes(plan))


def estimates_at_once(plan: MeanPlan, pools: Sequence[RowPool], n_parts: int) -> list[list[float] | None]:
    """The estimates from the parts of each column's rows; None if a part may have odd files.

    All columns have the same number of rows, all values are finite, and there are no weights.
    """
    of_rows = np.arange(pools[0].values.size) * n_parts // pools[0].values.size
    sample, state = of_parts(plan, pools, np.bincount(of_rows, minlength=n_parts))
    odd = odd_parts(sample, state, pools, of_rows)
    return [
        None if some.any() else [float(one.estimate(part).value) for part in range(n_parts)]
        for some, one in zip(odd, answers_apart(sample, state), strict=True)
    ]


def odd_parts(plan: MeanPlan, state: MeanState, pools: Sequence[RowPool], of_rows: Ints) -> list[Bools]:
    """The parts that may have odd files, for each column; `of_rows` are the numbers of the rows' parts."""
    whole = state.moments.at((..., slice(plan.blocks.layout.n_blocks))).total()
    found: list[Bools] = []
    last: Words | None = None
    for pool, variance in zip(pools, whole.row_variance, strict=True):
        if pool.files is None:
            found.append(np.zeros(variance.size, np.bool_))
            continue
        if pool.files is not last:  # columns of the same rows share one array of files
            last = pool.files
            names, places = np.unique(last, return_inverse=True)
        found.append(may_be_odd(places, names.size, pool.values, of_rows, variance))
    return found


def _sizes(plan: MeanPlan) -> tuple[int, int, int]:
    """Blocks, cells of files and sampled rows."""
    return plan.blocks.layout.n_blocks, plan.blocks.n_cells, plan.blocks.sample_size
