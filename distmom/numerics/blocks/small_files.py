"""Moments of many files with few rows: all of them at once, stored as their few non-empty cells.

A file with no more rows than there are blocks puts every row into a block of its own. Its moments fill a
few of hundreds of cells, so only the non-empty cells go through the dyadic tree over the files: merging with
an empty cell keeps the bits of the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Floats, Ints, Words
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.labels import LabelTable, run_choices_of
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.blocks.weighted_moments import WeightedMoments


def first_labels(rows: Ints, files: Ints, keys: Words, table: LabelTable) -> Ints:
    """Blocks of rows of the first run of their files: `labels.labels` for many files.

    `rows` are numbers of rows in their file, below ``table.n_blocks``; `files` are positions in `keys`.
    """
    choice, rotation = run_choices_of(np.zeros(keys.size, np.uint64), keys, table.n_blocks)
    blocks = table.forward[choice[files], rows].astype(np.int64) - rotation[files]
    return np.where(blocks < 0, blocks + table.n_blocks, blocks)


def row_moments(x: Floats, w: Floats | None = None) -> BlockState:
    """Moments of blocks of one row each; `w` are weights, if rows have such."""
    one, none = np.ones(x.size, np.int64), np.zeros(x.size)
    return Moments(one, x.copy(), none) if w is None else WeightedMoments(one, w, x, w * w, x, none)


def file_moments(x: Floats, files: Ints, n_files: int, w: Floats | None = None) -> BlockState:
    """Moments of all rows of each file; `files` ascends; `w` are weights, if rows have such.

    Two passes about the first value of the file, in the order of the rows: a constant has a second moment of
    exactly 0. Not finite if a value is not, or if differences overflow.
    """
    count = np.bincount(files, minlength=n_files)
    first = np.cumsum(count) - count
    filled = count > 0
    centre = np.zeros(n_files)
    centre[filled] = x[first[filled]]
    with np.errstate(invalid="ignore", over="ignore"):
        away = x - centre[files]
        if w is None:
            return Moments(count, *_centred(away, files, centre, count, None))
        square = w * w
        total, total2 = (_sums(files, mass, n_files) for mass in (w, square))
        mean, _ = _centred(away, files, centre, total, w)
        return WeightedMoments(count, total, mean, total2, *_centred(away, files, centre, total2, square))


def _centred(
    away: Floats, files: Ints, centre: Floats, total: NDArray[Any], mass: Floats | None
) -> tuple[Floats, Floats]:
    """Mean and second moment of each file from differences to its centre; `mass` None is 1 for all rows."""
    n = centre.size
    shift = _sums(files, away if mass is None else mass * away, n) / np.where(total > 0, total, 1)
    rest = away - shift[files]
    square = rest * rest
    return centre + shift, _sums(files, square if mass is None else mass * square, n)


def _sums(files: Ints, terms: Floats, n_files: int) -> Floats:
    return np.bincount(files, terms, minlength=n_files).astype(np.float64, copy=False)


def merge_over_files(
    cells: Ints, files: Ints, moments: BlockState, levels: int, *, compiled: bool = False
) -> tuple[Ints, BlockState]:
    """Moments of each cell over all files, merged as by the dyadic tree over the files' numbers.

    Parameters
    ----------
    cells, files : ndarray of int64, shape (n,)
        Cell and file of each entry: ascending, no pair twice.
    moments : Moments or WeightedMoments of shape (n,)
        Moments of the rows of the file in the cell.
    levels : int
        Levels of the tree: the files' numbers agree except for their last `levels` bits.
    compiled : bool
        Use the compiled merge (same bits).

    Returns
    -------
    cells : ndarray of int64
        Ascending, each once.
    moments : Moments or WeightedMoments
    """
    for _ in range(levels):
        files = files >> 1
        left = np.flatnonzero((cells[1:] == cells[:-1]) & (files[1:] == files[:-1]))
        if left.size:
            both = moments.at(left).merge(moments.at(left + 1), compiled=compiled)
            for target, source in zip(moments, both, strict=True):
                target[left] = source
            stay = np.ones(cells.size, np.bool_)
            stay[left + 1] = False
            cells, files, moments = cells[stay], files[stay], moments.at(stay)
    return cells, moments
