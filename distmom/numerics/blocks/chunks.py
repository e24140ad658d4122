"""Block moments of one leaf whose rows are labelled in chunks of consecutive rows.

A burst of bad rows, or of rows that resemble their neighbours, then falls into few blocks instead of into as
many as it has rows. Chunks are aligned to the row number in the file: a leaf's edge may cut one, and its rest
goes on in the same block.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distmom.numerics.arrays import Bools, Floats, read_only
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.labels import Labels, LabelTable, chunk_labels
from distmom.numerics.blocks.leaf import (
    NONE_GONE,
    Weights,
    amid,
    kind_of,
    leaf_moments,
    middle_value,
    recentred,
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
    w: Floats | None = None,
    compiled: bool = False,
) -> BlockState:
    """Moments of the random blocks in one leaf, chunks of `chunk_rows` rows going to one block.

    Parameters and result are those of `leaf.leaf_moments`, which this is for ``chunk_rows=1``; `w` are the
    rows' weights. Sums are taken block by block in the order of the rows.
    """
    if chunk_rows == 1:
        weights = None if w is None else Weights(w)
        return leaf_moments(x, gone, first_row, key, table, weights=weights, compiled=compiled)
    if compiled and w is None:
        return _compiled_moments(x, gone, (first_row, chunk_rows, key, table.forward), table.n_blocks)
    labels = chunk_labels(first_row, x.size, chunk_rows, key, table)
    return labelled_moments(x, w, gone, labels, table.n_blocks, compiled=compiled)


def labelled_moments(
    x: Floats, w: Floats | None, gone: Bools | None, labels: Labels, n_blocks: int, *, compiled: bool = False
) -> BlockState:
    """Moments of given blocks; the compiled twin (same bits) is for rows with weights.

    About one shift for all blocks: so this is for the rows of one leaf, `cells.Cells` for cells of very
    different levels.
    """
    kind = kind_of(w)

    def about(shift: float) -> BlockState:
        if compiled:
            count, sums = np.zeros(n_blocks, np.int64), np.zeros((5, n_blocks))
            rows = read_only(x), read_only(w), NONE_GONE if gone is None else gone, labels  # type: ignore[arg-type]
            _kernels.add_labelled(*rows, shift, count, sums)
            return with_total(kind.from_sums(count, list(sums), shift), compiled=True)
        used = slice(None) if gone is None else ~gone
        mine = labels[used]
        with np.errstate(invalid="ignore", over="ignore"):
            u = x[used] - shift
            v = u if w is None else w[used]
            terms = kind.terms(v, u if w is None else v * u)
            added = [np.bincount(mine, term, n_blocks).astype(np.float64, copy=False) for term in terms]
        return with_total(kind.from_sums(np.bincount(mine, minlength=n_blocks), added, shift))

    return recentred(about, middle_value(x, gone))


def _compiled_moments(x: Floats, gone: Bools | None, place: tuple[Any, ...], n_blocks: int) -> Moments:
    shift = middle_value(x, gone)
    out = Moments.unfilled(n_blocks + 1)
    rows = (x, NONE_GONE if gone is None else gone, *place)
    if _kernels.leaf_chunks(*rows, shift, *out) and (better := amid(out, shift)) != shift:
        _kernels.leaf_chunks(*rows, better, *out)
    return out
