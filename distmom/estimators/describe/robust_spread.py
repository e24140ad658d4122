"""Robust companions of a robust mean: standard deviation, Gini's mean difference, skewness gap."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from distmom.inference.ladder import Merger
from distmom.numerics.median import lower_median

if TYPE_CHECKING:
    from distmom.inference.answers import RuleAnswer
    from distmom.numerics.blocks.block_state import BlockState
    from distmom.report import MeanResult

FEW_BLOCKS, MANY_BLOCKS = 63, 1_023
"""Blocks of the sample for Gini's mean difference: of clean columns, and of contaminated ones."""

LEAST_ROWS = 8
"""Rows of such a block, at least."""


def robust_std(rows: BlockState, cells: BlockState | None, answer: RuleAnswer, result: MeanResult) -> float:
    """Square root of the lower median of the block variances, which are the blocks' U-statistics of variance.

    The blocks, of rows or of cells of files for one group, are those of its answer. Where the row blocks
    contradict each other it is the finest level, which bears the most wild rows; where the files come first
    it is cells of files without the suspects.
    """
    n_blocks = result.n_blocks
    blocks = rows
    if bool(answer.files_first[0]) and cells is not None:
        blocks = cells.without(answer.suspect_cells)
    elif bool(answer.contradicted[0]) and result.path:
        n_blocks = result.numbers.path[-1][0]
    if n_blocks < 1:
        return math.nan
    variance = Merger(blocks).moments_at(n_blocks).row_variance
    with np.errstate(invalid="ignore"):
        return float(np.sqrt(lower_median(variance)[0]))


def gini(sample: NDArray[np.float64], *, contaminated: bool) -> float:
    """Gini's mean difference E|X - X'| from a uniform sample in random order; NaN below two rows.

    Lower median over 63 blocks of the sample (1,023 if the column is contaminated: smaller blocks bear more
    wild rows, with a bias for skewed laws) of the mean of abs(x - x') over all pairs of a block.
    """
    if sample.size < 2:
        return math.nan
    most = MANY_BLOCKS if contaminated else FEW_BLOCKS
    n_blocks = max(1, min(most, sample.size // LEAST_ROWS))
    n_blocks -= n_blocks % 2 == 0
    size = sample.size // n_blocks
    ordered = np.sort(sample[: n_blocks * size].reshape(n_blocks, size), axis=1)
    below = np.arange(1.0, size)
    with np.errstate(invalid="ignore", over="ignore"):
        gaps = np.diff(ordered, axis=1) * (below * (size - below))
        sums = np.cumsum(gaps, axis=1)[:, -1]  # in order, whatever the processor
    return float(lower_median(sums / (0.5 * size * (size - 1))))


def skewness_gap(result: MeanResult) -> float | None:
    """What the median of block means differs by from the mean because the law is skewed, about.

    The bias of the median of K block means grows in proportion to K, so the medians of K and of L >= 2 K
    blocks tell it: theta_2K - theta_K = (theta_L - theta_K) K/(L - K). Its noise is about that of the mean.
    None where the ladder has no such level.
    """
    medians = {k: value for k, value, _ in result.numbers.path}
    k = result.n_blocks
    finer = [level for level in medians if level >= 2 * k]
    if k not in medians or not finer:
        return None
    level = min(finer)
    return float((medians[level] - medians[k]) * k / (level - k))
