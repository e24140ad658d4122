"""Moments of many files with few rows: all of them at once, kept as the few cells that hold anything.

A file with no more rows than there are blocks puts every row into a block of its own. Its moments fill a
handful among hundreds of cells, so the dyadic tree over the files is walked by the filled cells alone: an
empty one hands the other's bits on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.labels import LabelTable, run_choices_of
from distmom.numerics.moments import Moments, merge

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def first_labels(rows: Ints, files: Ints, keys: NDArray[np.uint64], table: LabelTable) -> Ints:
    """Blocks of rows of the first run of their files: `labels.labels` for many files.

    `rows` are numbers of rows in their file, below ``table.n_blocks``; `files` are places in `keys`.
    """
    choice, rotation = run_choices_of(np.zeros(keys.size, np.uint64), keys, table.n_blocks)
    blocks = table.forward[choice[files], rows].astype(np.int64) - rotation[files]
    return np.where(blocks < 0, blocks + table.n_blocks, blocks)


def file_moments(x: Floats, files: Ints, n_files: int) -> Moments:
    """Moments of all rows of each file; `files` ascends.

    Two passes about the first value of the file, in the order of the rows: a constant has a second moment of
    exactly 0. Not finite where a value is not, or where differences overflow.
    """
    count = np.bincount(files, minlength=n_files)
    first = np.cumsum(count) - count
    filled = count > 0
    centre = np.zeros(n_files)
    centre[filled] = x[first[filled]]
    with np.errstate(invalid="ignore", over="ignore"):
        away = x - centre[files]
        shift = np.bincount(files, away, minlength=n_files) / np.maximum(count, 1)
        rest = away - shift[files]
        m2 = np.bincount(files, rest * rest, minlength=n_files).astype(np.float64, copy=False)
        return Moments(count, centre + shift, m2)


def merge_over_files(
    cells: Ints, files: Ints, moments: Moments, levels: int, *, compiled: bool = False
) -> tuple[Ints, Moments]:
    """Moments of each cell over all files, merged as the dyadic tree over the files' numbers merges them.

    Parameters
    ----------
    cells, files : ndarray of int64, shape (n,)
        Cell and file of each entry: ascending, no pair twice.
    moments : Moments of shape (n,)
        Of the rows that the file has in the cell.
    levels : int
        Levels of the tree: the files' numbers agree but for their last `levels` bits.
    compiled : bool
        Use the compiled merge (same bits).

    Returns
    -------
    cells : ndarray of int64
        Ascending, each once.
    moments : Moments
    """
    for _ in range(levels):
        files = files >> 1
        left = np.flatnonzero((cells[1:] == cells[:-1]) & (files[1:] == files[:-1]))
        if left.size:
            both = merge(moments.at(left), moments.at(left + 1), compiled=compiled)
            for target, source in zip(moments, both, strict=True):
                target[left] = source
            stay = np.ones(cells.size, np.bool_)
            stay[left + 1] = False
            cells, files, moments = cells[stay], files[stay], moments.at(stay)
    return cells, moments
