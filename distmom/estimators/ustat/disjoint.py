"""Disjoint pairs: each row in one pair, of rows of one block or, in stored order, of rows half the lake apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from distmom.errors import NoAnswerError
from distmom.estimators.ustat.tuple_samples import lower_medians
from distmom.numerics.blocks.labels import stored_edges
from distmom.numerics.kernels.kernel import Kernel, is_quotient
from distmom.numerics.kernels.tuples import TupleMoments, part_weights
from distmom.passes.cell_map import CellMap
from distmom.passes.draws import DrawPlan, Gathered, Ints
from distmom.passes.gather import RowSource, row_source
from distmom.reductions.rows.block_kernel import COMPONENTS, BlockStatistics

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.lake import ReadOptions
    from distmom.passes.counted import Counted


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
            weights = part_weights(kernel, *lower_medians(some.mean))
            with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
                variance[mine] = some.variance(weights) / some.count
    components = np.full((moments.count.size, COMPONENTS), np.nan)
    if variances and is_quotient(kernel):
        components[:] = _of_quotients(moments)
    counts = tuple(moments.count.tolist())
    mass = moments.count.astype(np.float64)
    sizes = np.stack([one.sizes for one in cells], axis=1)
    return BlockStatistics(sizes, counts, moments.mean, variance, components, mass)


def _of_quotients(moments: TupleMoments) -> NDArray[np.float64]:
    """Variances of the means of numerator and denominator, and their covariance: Var N, Cov, Var D."""
    n = moments.count.astype(np.float64)
    mean, product = moments.mean, moments.product
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        spread = [product[:, a, b] - mean[:, a] * mean[:, b] for a, b in ((0, 0), (0, 1), (1, 1))]
        return np.where(n[:, None] > 1.0, np.stack(spread, axis=1) / (n[:, None] - 1.0), np.nan)


@dataclass(frozen=True, slots=True)
class StoredTuples:
    """Moments of the kernel over the pairs of each block, and what became of the rows.

    Attributes
    ----------
    moments : TupleMoments
    n_pairs : int
        Pairs of rows; those with a row that does not count are left out of the moments.
    gathered : Gathered
    """

    moments: TupleMoments
    n_pairs: int
    gathered: Gathered


def stored_tuples(
    kernel: Kernel, source: RowSource, n_blocks: int, progress: Progress | None = None
) -> StoredTuples:
    """Means of a kernel over the pairs (X_i, X_{i + m}), m = floor(n/2), cut into contiguous blocks of pairs.

    Parameters
    ----------
    kernel : Kernel
        Of one sample; with degree d the tuples are (X_i, X_{i + m}, ...), m = floor(n/d).
    source : RowSource
    n_blocks : int
        K; pair i is in block floor(i K/m).
    progress : Progress, optional

    Raises
    ------
    NoAnswerError
        If there are fewer pairs than blocks.

    Notes
    -----
    The published pairing. It is for rows in no particular order: on a sorted column it estimates another
    parameter. Reads every row once, at most ten million at a time in memory.

    References
    ----------
    Laforgue, Clemencon & Bertail (2019), the median of means on floor(n/2) pairs.
    """
    degree = kernel.degrees[0]
    m = source.n_rows // degree
    if m < n_blocks:
        raise NoAnswerError(
            f"n_blocks: {n_blocks} blocks of disjoint pairs need {n_blocks * degree} rows, and the data has "
            f"{source.n_rows}; lower it"
        )

    def draw(first: int, n: int) -> list[list[Ints]]:
        return [[np.arange(first, first + n) + side * m for side in range(degree)]]

    gathered = Gathered()
    of_blocks: list[list[TupleMoments]] = [[] for _ in range(n_blocks)]
    edges, start = stored_edges(m, n_blocks), 0
    # what is drawn is one pair after the other; the sides of the pairs of a pass are ranges of its rows
    for ((_, _, rows),) in DrawPlan((source.n_rows,), m, (degree,), draw).gathered([source], progress):
        gathered = gathered.plus(rows)
        sides = np.split(kernel.as_sample(rows.values), degree)
        used = np.logical_and.reduce(rows.used.reshape(degree, -1))
        stop = start + used.size
        first, last = np.searchsorted(edges, [start, stop - 1], side="right") - 1
        for block in range(int(first), int(last) + 1):
            part = slice(max(0, int(edges[block]) - start), int(edges[block + 1]) - start)
            keep = used[part]
            of_blocks[block].append(TupleMoments.of(kernel, *(side[part][keep] for side in sides)))
        start = stop
    moments = TupleMoments.joined([TupleMoments.pooled(parts) for parts in of_blocks])
    return StoredTuples(moments, m, gathered)


def stored_blocks(
    counted: Counted, read: ReadOptions, kernel: Kernel, executor: Executor, progress: Progress | None
) -> tuple[TupleMoments, CellMap]:
    """Pairs of rows half the lake apart, of one column or of rows of several, and the blocks that they make."""
    cells = counted.cells
    if counted.names != counted.plan.reader.options.value_names:
        read = replace(read, columns=counted.names)
    source = row_source(counted.source, read, counted.plan, counted.skipped, executor)
    moments = stored_tuples(kernel, source, int(cells.n_blocks[0]), progress).moments
    return moments, replace(cells, sizes=kernel.degrees[0] * moments.count)
