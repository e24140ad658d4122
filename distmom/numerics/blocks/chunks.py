"""Block moments of one leaf whose rows are labelled in chunks of consecutive rows.

A burst of bad rows, or of rows that resemble their neighbours, then falls into few blocks instead of into as
many as it has rows. Chunks are aligned to the row number in the file: a leaf's edge may cut one, and its rest
goes on in the same block.
"""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.blocks.labels import LabelTable, chunk_labels
from distmom.numerics.blocks.leaf import (
    LOST_BITS,
    amid,
    from_sums,
    has_lost,
    leaf_moments,
    middle_value,
    with_total,
)
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)


def chunk_moments(
    x: Floats,
    gone: Bools | None,
    first_row: int,
    key: np.uint64,
    table: LabelTable,
    chunk_rows: int,
    *,
    compiled: bool = False,
) -> Moments:
    """Moments of the random blocks in one leaf, chunks of `chunk_rows` rows going to one block.

    Parameters and result are those of `leaf.leaf_moments`, which this is for ``chunk_rows=1``. Sums are taken
    block by block in the order of the rows.
    """
    if chunk_rows == 1:
        return leaf_moments(x, gone, first_row, key, table, compiled=compiled)
    shift = middle_value(x, gone)
    moments, lost = _shifted(x, gone, first_row, key, table, chunk_rows, shift, compiled)
    better = amid(moments.at(slice(-1)), shift) if lost else shift
    if better == shift:
        return moments
    return _shifted(x, gone, first_row, key, table, chunk_rows, better, compiled)[0]


def _shifted(
    x: Floats,
    gone: Bools | None,
    first_row: int,
    key: np.uint64,
    table: LabelTable,
    chunk_rows: int,
    shift: float,
    compiled: bool,
) -> tuple[Moments, bool]:
    """Moments from sums about `shift`, and whether some block has lost digits."""
    k = table.n_blocks
    if compiled:
        out = Moments(np.empty(k + 1, np.int64), np.empty(k + 1), np.empty(k + 1))
        none = gone if gone is not None else np.empty(0, np.bool_)
        lost = _kernels.leaf_chunks(
            x, none, first_row, chunk_rows, key, table.forward, shift, LOST_BITS, *out
        )
        return out, bool(lost)
    labels = chunk_labels(first_row, x.size, chunk_rows, key, table)
    with np.errstate(invalid="ignore", over="ignore"):
        d = x - shift
        used = labels
        if gone is not None:
            d[gone] = 0.0
            used = labels[~gone]
        count = np.bincount(used, minlength=k)
        s1, s2 = (np.asarray(np.bincount(labels, terms, k), np.float64) for terms in (d, d * d))
        blocks = from_sums(count, s1, s2, shift)
    return with_total(blocks), has_lost(blocks, shift)
