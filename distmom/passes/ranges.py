"""Ranges of blocks whose rows a unit of work keeps together: as many as memory allows, and enough of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from distmom.cluster.memory import PROCESS_BYTES
from distmom.numerics.arrays import Ints
from distmom.passes.cell_map import CellMap
from distmom.reductions.rows.keep_rows import BlockRange

if TYPE_CHECKING:
    from distmom.cluster import Executor

RANGE_BYTES = 512_000_000
"""Rows that a unit of work keeps, unless one block alone has more: keeping more spares passes."""

WORDS = 14
"""Words of memory for each row of the block that is being evaluated: sorted copies, ranks, means at rows."""


class Piece(NamedTuple):
    """The blocks of one question.

    Attributes
    ----------
    sizes : ndarray of int64
        Rows of each block, those of all samples together.
    names : tuple of str
        Values kept of a row.
    batch_rows : int
    """

    sizes: Ints
    names: tuple[str, ...]
    batch_rows: int

    @property
    def n_columns(self) -> int:
        """Number of values kept of a row."""
        return len(self.names)


class Cut(NamedTuple):
    """Blocks first … stop - 1 of one piece."""

    piece: int
    first: int
    stop: int


def planned_ranges(
    pieces: Sequence[Piece], executor: Executor, enough: int | None = None, most: int | None = None
) -> tuple[list[list[Cut]], int]:
    """Ranges of the blocks of all pieces, one after the other, and the bytes that the largest of them needs.

    There are `enough` of them, one for each thread by default, or more where memory or `most`, the bytes of
    the rows of a range, ask for it.

    A range begins and ends anywhere: it may hold the last blocks of a piece and the first ones of the next.
    """
    reading = batch_bytes(pieces)
    evaluation = max(8 * (WORDS + 2 * p.n_columns) * int(p.sizes.max()) for p in pieces)
    room = max(1, min(thread_bytes(executor) - reading - evaluation, most or RANGE_BYTES))
    n_bytes = np.concatenate([8 * p.n_columns * p.sizes for p in pieces])
    edges = range_edges(n_bytes, room, enough or executor.threads)
    worst = max(int(n_bytes[first:stop].sum()) for first, stop in pairwise(edges))
    ends = np.cumsum([p.sizes.size for p in pieces]).tolist()
    ranges = []
    for first, stop in pairwise(edges):
        cuts = []
        for number, (piece, end) in enumerate(zip(pieces, ends, strict=True)):
            start = end - piece.sizes.size
            low, high = max(first, start), min(stop, end)
            if low < high:
                cuts.append(Cut(number, low - start, high - start))
        ranges.append(cuts)
    return ranges, worst + evaluation + reading


def batch_bytes(pieces: Sequence[Piece]) -> int:
    """Memory in which the values of all pieces are decoded."""
    return max(64 * piece.batch_rows for piece in pieces) * (sum(p.n_columns for p in pieces) + 4)


def thread_bytes(executor: Executor) -> int:
    """Memory that a unit of work has for itself."""
    return (executor.memory - PROCESS_BYTES) // executor.threads_per_process


def range_edges(n_bytes: Ints, room: int, threads: int) -> list[int]:
    """Cut blocks of so many bytes into ranges of at most `room` bytes (or one block), for every thread one.

    Where the cuts fall changes no result: a block is in one range, and its rows have one order.
    """
    total = int(n_bytes.sum())
    wanted = max(1, threads, -(-total // room))
    share = max(1, min(room, -(-total // wanted)))
    edges, held = [0], 0
    for number, size in enumerate(n_bytes.tolist()):
        if (held and held + size > room) or held >= share:
            edges.append(number)
            held = 0
        held += size
    return [*edges, n_bytes.size]


def kept_blocks(cells: CellMap, first: int, stop: int) -> BlockRange:
    """What a unit of work that keeps the blocks first … stop - 1 needs to know."""
    starts: Ints = cells.starts
    low = int(np.searchsorted(starts, first, side="right")) - 1
    high = int(np.searchsorted(starts, stop, side="left"))
    mine = cells.cells[low:high] - first
    inside = (mine >= 0) & (mine < stop - first)
    return BlockRange(
        low, np.where(inside, mine, -1).astype(np.int32), cells.sizes[first:stop], first_cell=first
    )
