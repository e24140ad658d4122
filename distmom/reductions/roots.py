"""Merging sums of lakes in different folders: the folder becomes part of the key of each file.

The key of a file depends on the seed and its path below the folder, so a lake may be moved. Files with the
same path in two folders, such as a ``part-0`` for each day, would share a cell, in which a bad file cannot be
identified, and their rows with the same number would share a block. The numbering of random blocks and of
cells is arbitrary: when lakes are merged, the numbers of each are rotated by a distance hashed from its
folder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
"""Bits of the hash of a file that only identify it; the others rank it among the smallest."""


def turned(state: MeanState, spec: BlockMeans, root: str) -> MeanState:
    """The sums of the lake in a folder, rotated so that they can be merged with those of other folders.

    Units given by columns are the same in all lakes, and keep their places.
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

    units = state.units if spec.count_units != "file" else _told_apart(state.units, spec.seed, root)
    key = folder_key(spec.seed, root)
    runs = tuple(replace(s, files=s.files ^ key) for s in state.stretches)
    pools = tuple(replace(p, files=None if p.files is None else p.files ^ key) for p in state.pools)
    return replace(state, moments=state.moments.each(turn), units=units, pools=pools, stretches=runs)


def cell_of(seed: int, path: str, n_cells: int, root: str | None = None) -> int:
    """The cell of a file; `root` is its folder if lakes of several folders have been merged."""
    cell = file_cell(file_key(seed, path), n_cells)
    return cell if root is None else (cell + _distance(seed, root, n_cells)) % n_cells


def folder_key(seed: int, root: str) -> np.uint64:
    """Combined with the keys of the files of a folder, if lakes of several folders are merged."""
    return stream_key(seed, f"root/{root}")


def keyed_paths(seed: int, files: Sequence[str], roots: Sequence[str] | None = None) -> dict[int, str]:
    """Paths of files by the keys used in the sums, in natural order of names: part-2 before part-10."""
    found: dict[int, str] = {}
    for path, root in zip(files, roots or (None,) * len(files), strict=True):
        key = file_key(seed, path)
        if root is not None:
            key ^= folder_key(seed, root)
        found[int(key)] = path if root is None else f"{root.rstrip('/')}/{path}"
    return dict(sorted(found.items(), key=lambda item: _natural(item[1])))


def _natural(path: str) -> list[tuple[int, str]]:
    """Sort key with numbers in names by size: part-2 comes before part-10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", path)]


def _distance(seed: int, root: str, n: int) -> int:
    return int(folder_key(seed, root)) % n if n else 0


def _told_apart(units: UnitSketch | None, seed: int, root: str) -> UnitSketch | None:
    """Treat files with the same path in two folders as two units."""
    if units is None:
        return None
    hashes = units.hashes ^ (folder_key(seed, root) & LOW_BITS)
    return smallest(hashes, units.groups, hashes.size + 1, units.bound)
