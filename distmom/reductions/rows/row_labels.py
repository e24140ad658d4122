"""The fine block of every row of a batch, in each layout that gives a row one block."""

from __future__ import annotations

from typing import Any

import numpy as np

from distmom.numerics.arrays import Ints
from distmom.numerics.blocks.cells import block_cells
from distmom.numerics.blocks.labels import file_cell, label_table, stored_labels
from distmom.numerics.random.keyed_hash import unit_cells
from distmom.reductions.layouts import Layout, NoRowBlocks, Place, RandomBlocks, StoredBlocks, UnitBlocks
from distmom.reductions.repeated import OnePartition


def row_labels(
    layout: Layout, n_cells: int, place: Place, n_rows: int, first_rows: Any, *, compiled: bool
) -> Ints:
    """Fine blocks of consecutive rows of a file: those that `BlockMeans` puts them into.

    Parameters
    ----------
    layout : Layout
    n_cells : int
        Cells of whole files, which are the blocks of a layout without row blocks.
    place : Place
    n_rows : int
    first_rows : sequence of int
        Of a layout of stored blocks: the number in the lake of the first row of each file.
    compiled : bool
        Use compiled kernels (same labels).

    Returns
    -------
    ndarray of int64, shape (n_rows,)
    """
    if isinstance(layout, NoRowBlocks):
        return np.full(n_rows, file_cell(place.key, n_cells))
    if isinstance(layout, StoredBlocks):
        first = int(first_rows[place.file]) + place.first_row
        return stored_labels(first, n_rows, layout.total_rows, layout.n_blocks)
    together = np.zeros(n_rows, np.int64)
    if isinstance(layout, UnitBlocks):
        assert place.units is not None
        return unit_cells(together, place.units, layout.n_blocks, compiled=compiled)
    if isinstance(layout, OnePartition):
        key = layout.key(place.key)
        return block_cells(together, place.first_row, key, layout.table, layout.width, compiled=compiled)
    if not isinstance(layout, RandomBlocks):
        raise NotImplementedError(f"rows of {type(layout).__name__} may have several blocks")
    table = label_table(layout.seed, layout.n_fine)
    return block_cells(
        together, place.first_row, place.key, table, layout.width, layout.chunk_rows, compiled=compiled
    )
