"""Disjoint pairs by the places of their rows, (X_i, X_{i + n/2}): for rows in no particular order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from distmom.cluster.work import SkippedFile
from distmom.errors import NoAnswerError
from distmom.estimators.options import check_count
from distmom.estimators.ustat.sampled_tuples import MOST_ROWS
from distmom.estimators.ustat.tuple_samples import Gathered
from distmom.numerics.blocks.labels import stored_edges
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.tuples import TupleMoments
from distmom.passes.gather import RowSource, gather_rows

if TYPE_CHECKING:
    from distmom.cluster import Progress


@dataclass(frozen=True, slots=True)
class StoredTuples:
    """Moments of the kernel over the pairs of each block, and what became of the rows.

    Attributes
    ----------
    moments : TupleMoments
    n_pairs : int
        Pairs of rows; those with a row that does not count are left out of the moments.
    gathered : Gathered
    skipped : tuple of SkippedFile
    """

    moments: TupleMoments
    n_pairs: int
    gathered: Gathered
    skipped: tuple[SkippedFile, ...]


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
    check_count("n_blocks", n_blocks)
    degree = kernel.degrees[0]
    m = source.n_rows // degree
    if m < n_blocks:
        raise NoAnswerError(
            f"n_blocks: {n_blocks} blocks of disjoint pairs need {n_blocks * degree} rows, and the data has "
            f"{source.n_rows}; lower it"
        )
    gathered, skipped = Gathered(), dict[SkippedFile, None]()
    of_blocks: list[list[TupleMoments]] = [[] for _ in range(n_blocks)]
    edges = stored_edges(m, n_blocks)
    step = max(1, MOST_ROWS // degree)
    for start in range(0, m, step):
        stop = min(start + step, m)
        # ascending: the sides of the pairs are ranges that do not overlap
        wanted = np.concatenate([np.arange(start, stop) + side * m for side in range(degree)])
        rows, bad = gather_rows(source, wanted, progress)
        skipped |= dict.fromkeys(bad)
        gathered = gathered.plus(rows)
        sides = np.split(kernel.as_sample(rows.values), degree)
        used = np.logical_and.reduce(rows.used.reshape(degree, -1))
        first, last = np.searchsorted(edges, [start, stop - 1], side="right") - 1
        for block in range(int(first), int(last) + 1):
            part = slice(max(0, int(edges[block]) - start), int(edges[block + 1]) - start)
            keep = used[part]
            of_blocks[block].append(TupleMoments.of(kernel, *(side[part][keep] for side in sides)))
    moments = TupleMoments.joined([TupleMoments.pooled(parts) for parts in of_blocks])
    return StoredTuples(moments, m, gathered, tuple(skipped))
