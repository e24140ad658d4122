"""Statistics of blocks from their co-moments: one pass, no rows kept."""

from __future__ import annotations

from dataclasses import replace
from math import comb
from typing import Any, cast

import numpy as np

from distmom.cluster import Executor, Progress
from distmom.cluster.work import SkippedFile
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.mean.run.passes import run_plan
from distmom.estimators.ustat.cells import fine_blocks_of
from distmom.estimators.ustat.options import UStatOptions
from distmom.memory import Held, Memory
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.kernels.kernel import Kernel, Ratio
from distmom.numerics.linalg.comoments import Comoments
from distmom.passes.counted import CellMap
from distmom.reductions.block_comoments import BlockComoments, ComomentState
from distmom.reductions.rows.block_kernel import BlockStatistics
from distmom.reductions.state import MeanState

STATES = 8
"""Most states of a unit of work that wait in the tree."""


def from_comoments(options: UStatOptions, n_columns: int) -> bool:
    """Whether the statistics of `n_columns` columns (together, or each by itself) come from co-moments."""
    whole = options.complete and not options.sampled and not options.weighted
    return (
        whole and options.kernel.from_covariance(np.eye(n_columns if options.joint_rows else 1)) is not None
    )


def fine_comoments(plan: MeanPlan, state: MeanState, both: Comoments | None) -> list[Comoments]:
    """Co-moments of the fine blocks of each partition; `both` are those of several columns, side by side.

    For one column, the pass that counts its rows already has them, as moments of its fine blocks.
    """
    if both is None:
        rows = [fine.at(0) for fine in fine_blocks_of(plan, state)]
        return [Comoments(one.count, one.mean[..., None], one.m2[..., None, None]) for one in rows]
    repeats = plan.blocks.layout.repeats
    parts = (np.split(a, repeats, axis=1) for a in (both.rows, both.mean, both.product))
    return [Comoments(*one) for one in zip(*parts, strict=True)]


def comoments_memory(plan: MeanPlan) -> Memory:
    """Memory held besides the means."""
    n_bytes = STATES * BlockComoments(plan.reduction).more_bytes()
    return Memory((Held("co-moments of the blocks", n_bytes, remedy="use fewer columns or blocks"),))


def run_comoments(
    plan: MeanPlan, n_keys: int, executor: Executor, progress: Progress | None
) -> tuple[ComomentState, list[SkippedFile]]:
    """The pass that counts rows, with co-moments of the same fine blocks.

    ResourceError if they do not fit into memory.
    """
    both = BlockComoments(plan.reduction)
    plan.check_memory(executor, comoments_memory(plan))
    found, skipped = run_plan(replace(plan, reduction=cast(Any, both)), n_keys, executor, progress)
    return found, skipped


def statistics_of(
    fine: Comoments, cells: CellMap, options: UStatOptions, *, variances: bool
) -> BlockStatistics:
    """The statistic of every block, and its variance from the variation between the fine blocks in it.

    If a block is a single fine block there is no variation inside: its variance is NaN.
    """
    kernel, v_form = options.kernel, options.statistic == "v"
    flat = fine.reshape(-1)
    n_cells, of_fine = cells.sizes.size, cells.cells.reshape(-1)
    whole = flat.pooled(of_fine, n_cells)
    means = _means(kernel, whole, v_form)
    variance = np.full((n_cells, *means.shape[2:]), np.nan)
    if variances:
        variance = _spread(kernel, flat, of_fine, whole.rows, means, v_form)
    tuples = tuple(comb(n, 2) for n in whole.rows.tolist())
    return BlockStatistics.of(whole.rows.reshape(-1, 1), tuples, means, variance)


def _means(kernel: Kernel, blocks: Comoments, v_form: bool) -> Floats:
    """The kernel's parts in each block, shape (blocks, parts, *shape); NaN without a pair of rows."""
    n = blocks.rows.astype(np.float64)
    divisor = np.where(n >= 2.0, n if v_form else n - 1.0, np.nan)
    with np.errstate(invalid="ignore", over="ignore"):
        parts = kernel.from_covariance(blocks.product / divisor[:, None, None])
    assert parts is not None
    return np.stack(parts, axis=1)


def _spread(
    kernel: Kernel, fine: Comoments, of_fine: Ints, rows: Ints, means: Floats, v_form: bool
) -> Floats:
    """Sum of w^2 (e - mean e)^2 f/(f - 1) over a block's f fine blocks; w are their shares of its rows."""
    parts = np.moveaxis(_means(kernel, fine, v_form), 1, 0)
    at = np.moveaxis(means[of_fine], 1, 0)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        linear = isinstance(kernel, Ratio)
        e = np.asarray(kernel.linear(tuple(at), tuple(parts)) if linear else kernel.combine(*parts))
        e = e.reshape(e.shape[0], -1)
        some = np.flatnonzero(np.isfinite(e).all(axis=1))
        mine, e = of_fine[some], e[some]
        weight = (fine.rows[some] / np.maximum(rows[mine], 1))[:, None]
        n_cells = rows.size

        def total(values: Floats) -> Floats:
            return np.stack([np.bincount(mine, column, n_cells) for column in values.T], axis=1)

        f = np.bincount(mine, minlength=n_cells).astype(np.float64)[:, None]
        average = total(weight * e) / total(weight)
        away = weight * (e - average[mine])
        square = total(away * away)
        found = np.where(f >= 2.0, square * f / (f - 1.0), np.nan)
    return found.reshape(n_cells, *means.shape[2:])
