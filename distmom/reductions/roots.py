"""Sums of lakes in different folders, brought together: the folder is part of what keys their files.

Files have their keys from seed and path below the folder, so that a lake may be moved. Files of one path
in two folders, such as a ``part-0`` for each day, then share a cell, where a bad one cannot be told from
good ones, and their rows of one number share a block. Blocks of random rows are as good under any numbers,
and so are cells: when lakes come together, each has its numbers turned by a distance hashed from its folder.
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

    units = state.units if spec.count_units != "file" else _told_apart(state.units, spec.seed, root)
    key = folder_key(spec.seed, root)
    runs = tuple(replace(s, files=s.files ^ key) for s in state.stretches)
    pools = tuple(replace(p, files=None if p.files is None else p.files ^ key) for p in state.pools)
    return replace(state, moments=state.moments.each(turn), units=units, pools=pools, stretches=runs)


def cell_of(seed: int, path: str, n_cells: int, root: str | None = None) -> int:
    """The cell of a file; `root` is its folder where lakes of several have been brought together."""
    cell = file_cell(file_key(seed, path), n_cells)
    return cell if root is None else (cell + _distance(seed, root, n_cells)) % n_cells


def folder_key(seed: int, root: str) -> np.uint64:
    """What the keys of the files of a folder are joined with, where lakes of several are brought together."""
    return stream_key(seed, f"root/{root}")


def keyed_paths(seed: int, files: Sequence[str], roots: Sequence[str] | None = None) -> dict[int, str]:
    """Paths of files by the keys that sums have of them, in the order of names: part-2 before part-10."""
    found: dict[int, str] = {}
    for path, root in zip(files, roots or (None,) * len(files), strict=True):
        key = file_key(seed, path)
        if root is not None:
            key ^= folder_key(seed, root)
        found[int(key)] = path if root is None else f"{root.rstrip('/')}/{path}"
    return dict(sorted(found.items(), key=lambda item: _natural(item[1])))


def _natural(path: str) -> list[tuple[int, str]]:
    """Numbers in names by their size: part-2 comes before part-10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", path)]


def _distance(seed: int, root: str, n: int) -> int:
    return int(folder_key(seed, root)) % n if n else 0


def _told_apart(units: UnitSketch | None, seed: int, root: str) -> UnitSketch | None:
    """Files of one path in two folders are two units."""
    if units is None:
        return None
    hashes = units.hashes ^ (folder_key(seed, root) & LOW_BITS)
    return smallest(hashes, units.groups, hashes.size + 1, units.bound)
