"""Doubts raised by the first pass: rows sorted by their values, and whole bad files.

Neighbouring rows of a sorted lake are rarely in one random block. Random blocks cannot show whole bad files,
which the first pass detects by the means of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.mean.rule.answers import row_and_cell_blocks
from distmom.inference.adaptive import answer_rule
from distmom.reductions.state import MeanState

LEAST_BLOCKS, LEAST_ROWS = 80, 8
"""Fewest fine blocks, and rows of each, for a comparison of the variances between and within them."""

IN_ORDER = 0.5
"""Ratio of these variances below which rows are regarded as sorted.

Unsorted normal rows fall below it once in 2e4 with 80 fine blocks, and never with 945.
"""

TELLING = 0.1
"""Share of the interval's margin of error: a smaller bias is not worth reporting."""


def variance_ratios(plan: MeanPlan, state: MeanState) -> NDArray[np.float64]:
    """For each group, the ratio of the variance between fine blocks to that of unsorted rows; NaN if unknown.

    For several columns, the smallest ratio. Each fine block has one row of each run of rows, as many as there
    are fine blocks. So in a sorted lake fine blocks are more similar than by chance: the ratio is the share
    of the variance within runs. For unsorted rows it is 1 on average, whatever their distribution, because
    both variances come from the same rows; a few outlying rows, which dominate both, hide an order.
    """
    rows, _, source = row_and_cell_blocks(plan, state.moments)
    n_groups = rows.count.shape[1]
    if source != "rows" or plan.options.weights is not None:
        return np.full(n_groups, np.nan)
    count = rows.count.astype(np.float64)
    n, n_blocks = count.sum(axis=2), (count > 0).sum(axis=2)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        mean = np.where(count > 0, rows.mean, 0.0)
        away = mean - (np.sum(count * mean, axis=2) / n)[..., None]
        between = np.sum(count * away * away, axis=2) / (n_blocks - 1)
        within = np.sum(np.where(count > 0, rows.m2, 0.0), axis=2) / (n - n_blocks)
        ratio = between / within
        good = (n_blocks >= LEAST_BLOCKS) & (n >= LEAST_ROWS * n_blocks) & np.isfinite(ratio)
    found: NDArray[np.float64] = np.where(good, ratio, np.inf).min(axis=0)
    return np.where(np.isfinite(found), found, np.nan)


def bias_of_order(ratio: float, block_rows: float) -> float | None:
    """Relative bias of a variance over the pairs of a block, (1 - ratio)/B; None if rows are not sorted."""
    return (1.0 - ratio) / block_rows if ratio < IN_ORDER and block_rows > 0 else None


def worth_telling(bias: float, estimate: Any, interval: tuple[float, float] | None) -> bool:
    """Whether a relative bias of this size matters compared with the interval; without one, above 1e-4."""
    if interval is None or np.ndim(estimate):
        return bias > 1e-4
    return bias * abs(float(estimate)) > TELLING * 0.5 * (interval[1] - interval[0])


def order_note(bias: float) -> str:
    """The effect of the bias, and what to do about it."""
    return (
        "rows are sorted by value, so pairs of similar rows are rarer within random blocks than among all "
        f"rows, a bias of about {bias:.2g} of the size of the kernel that intervals ignore; write "
        "the lake in "
        "random order first (DuckDB: ORDER BY random(), Polars: sample(fraction=1, shuffle=True))"
    )


def disagreeing_columns(plan: MeanPlan, state: MeanState) -> list[tuple[str, ...]]:
    """For each group, the columns whose means from blocks of files and from blocks of rows differ.

    No columns if there are no cells of files besides blocks of rows.
    """
    found: list[list[str]] = [[] for _ in state.keys]
    for c, column in enumerate(plan.reduction.columns):
        rows, cells, source = row_and_cell_blocks(plan, state.moments.at(c))
        if cells is None:
            break
        sample, wanted = state.samples[c], plan.blocks.n_blocks
        divides = wanted is not None and rows.count.shape[-1] % wanted == 0
        answer = answer_rule(
            rows,
            sample.values,
            np.isfinite(sample.keys).sum(axis=1),
            plan.options.confidence_level,
            files=cells,
            n_blocks=wanted if wanted is not None and divides else "auto",
            block_source=source,
            intervals=(),
        )
        for g in np.flatnonzero(answer.disagree):
            found[g].append(column)
    return [tuple(columns) for columns in found]


def files_disagree(plan: MeanPlan, states: Sequence[MeanState]) -> list[tuple[str, ...]]:
    """Like `disagreeing_columns`, in any of several samples."""
    each = [disagreeing_columns(plan, state) for state in states]
    return [tuple(dict.fromkeys(chain.from_iterable(some))) for some in zip(*each, strict=True)]


def disagreement_note(columns: tuple[str, ...]) -> str:
    """The notice on disagreeing files, with what to do about it."""
    return (
        f"file-level and row-level means of {', '.join(columns)} disagree, so corrupt files affect every "
        "random block; use blocks=FileBlocks()"
    )
