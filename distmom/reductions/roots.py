"""Sums of lakes in different folders, brought together: the folder is part of what keys their files.

Files have their keys from seed and path below the folder, so that a lake may be moved. Files of one path
in two folders, such as a ``part-0`` for each day, then share a cell, where a bad one cannot be told from
good ones, and their rows of one number share a block. Blocks of random rows are as good under any numbers,
and so are cells: when lakes come together, each has its numbers turned by a distance hashed from its folder.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.blocks.labels import file_cell, file_key
from distmom.numerics.random.philox import stream_key
from distmom.numerics.samples.distinct import UnitSketch, smallest
from distmom.reductions.state import MeanState

if TYPE_CHECKING:
    from distmom.reductions.block_means import BlockMeans

LOW_BITS = np.uint64((1 << 40) - 1)
"""Of the hash of a file: others rank it among the smallest, these only tell whether two are the same."""


def turned(state: MeanState, spec: BlockMeans, root: str) -> MeanState:
    """The sums of the lake in a folder, as they go together with those of other folders.

    Units that rows name in columns are the same in all lakes, and stay where they are.
    """
    layout = spec.layout
    if layout.by_row:
        return state
    n_blocks, each = layout.n_blocks, layout.n_blocks // layout.repeats
    by_block, by_cell = _distance(spec.seed, root, each), _distance(spec.seed, root, spec.n_cells)

    def turn(array: NDArray[Any]) -> NDArray[Any]:
        rows = array[..., :n_blocks].reshape(*array.shape[:-1], layout.repeats, each)
        rows = np.roll(rows, by_block, axis=-1).reshape(*array.shape[:-1], n_blocks)
        return np.concatenate([rows, np.roll(array[..., n_blocks:], by_cell, axis=-1)], axis=-1)

    pools = tuple(
        p if p.cells is None else replace(p, cells=(p.cells + by_cell) % spec.n_cells) for p in state.pools
    )
    units = state.units if spec.count_units != "file" else _told_apart(state.units, spec.seed, root)
    return replace(state, moments=state.moments.each(turn), units=units, pools=pools)


def cell_of(seed: int, path: str, n_cells: int, root: str | None = None) -> int:
    """The cell of a file; `root` is its folder where lakes of several have been brought together."""
    cell = file_cell(file_key(seed, path), n_cells)
    return cell if root is None else (cell + _distance(seed, root, n_cells)) % n_cells


def _distance(seed: int, root: str, n: int) -> int:
    return int(stream_key(seed, f"root/{root}")) % n if n else 0


def _told_apart(units: UnitSketch | None, seed: int, root: str) -> UnitSketch | None:
    """Files of one path in two folders are two units."""
    if units is None:
        return None
    hashes = units.hashes ^ (stream_key(seed, f"root/{root}") & LOW_BITS)
    return smallest(hashes, units.groups, hashes.size + 1, units.bound)
