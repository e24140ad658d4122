"""Disjoint pairs: the statistics of blocks that partition the rows, each row in one pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.kernels.kernel import Kernel, is_quotient
from distmom.numerics.kernels.tuples import TupleMoments, part_weights
from distmom.numerics.median import lower_median
from distmom.passes.cell_map import CellMap
from distmom.reductions.rows.block_kernel import BlockStatistics


def disjoint_statistics(
    kernel: Kernel, moments: TupleMoments, cells: Sequence[CellMap], *, variances: bool
) -> BlockStatistics:
    """Means over M independent pairs, whose variance is that of the kernel over M.

    `cells` are the blocks of each sample, with as many in every group. Of a ratio it is that of the
    linearised kernel, at the typical means of the blocks of a group.
    """
    variance = np.full(moments.count.size, np.nan)
    if variances:
        for first, stop in pairwise(cells[0].starts.tolist()):
            mine = slice(first, stop)
            some = TupleMoments(moments.count[mine], moments.mean[mine], moments.product[mine])
            weights = part_weights(kernel, *lower_median(some.mean, axis=0))
            with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
                variance[mine] = some.variance(weights) / some.count
    sizes = np.stack([one.sizes for one in cells], axis=1)
    found = BlockStatistics.of(sizes, tuple(moments.count.tolist()), moments.mean, variance)
    if variances and is_quotient(kernel):
        return replace(found, components=_of_quotients(moments))
    return found


def _of_quotients(moments: TupleMoments) -> NDArray[np.float64]:
    """Variances of the means of numerator and denominator, and their covariance: Var N, Cov, Var D."""
    n = moments.count.astype(np.float64)
    mean, product = moments.mean, moments.product
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        spread = [product[:, a, b] - mean[:, a] * mean[:, b] for a, b in ((0, 0), (0, 1), (1, 1))]
        return np.where(n[:, None] > 1.0, np.stack(spread, axis=1) / (n[:, None] - 1.0), np.nan)
