"""In which ranges rows of blocks are regrouped: read again for each range, or sorted on disk once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from distmom.cluster import Executor
from distmom.cluster.memory import in_words, program, thread_memory
from distmom.lake.saved.spill import PIECE_BYTES
from distmom.memory import Held, Memory
from distmom.numerics.arrays import Ints
from distmom.reductions.rows.keep_rows import BlockRange
from distmom.reductions.rows.sort_rows import BlockBuckets

RANGE_BYTES = 512_000_000
"""Bytes of rows that a unit of work keeps, unless one block alone has more; keeping more saves passes."""

WORDS = 14
"""Words of memory for each row of the block that is being evaluated: sorted copies, ranks, means at rows."""

MOST_READS = 2
"""How often each kept value may be read; beyond that, rows are sorted on disk.

Measured for Gini's difference (64 million rows of one column, 101 blocks, two threads, warm file cache),
seconds of a processor: 8.1 to 8.9 by way of the disk; 8.9 to 10.9, 9.4, 12.5 and 19.2 if the lake is read
again for 2, 4, 8 and 16 ranges. The evaluation takes about 5 of them.
"""

LEAST_BYTES = 64_000_000
"""Fewer bytes than this are always read again: sorting on disk gains nothing."""

DISK_BYTES, DISK_SHARE, RANGES_PER_THREAD = 128_000_000, 4, 4
"""Rows of a range read from disk: most bytes, and the divisor for a share of a thread's memory.
More ranges cost nothing there, and spread the work more evenly."""

MOST_BUCKETS = 4096
"""With more ranges the pieces on disk would be small and slow to read."""

FEWER_ROWS = "use more blocks, which are smaller, or fewer columns"

LEAST_RUN, SORT_COPIES, SORT_BYTES = 8_000_000, 4, 60_000_000
"""Fewest bytes of rows sorted together, number of copies in memory meanwhile, and further memory: measured,
with everything that is loaded for it."""


class Piece(NamedTuple):
    """The blocks of one question."""

    sizes: Ints  # rows of each block, those of all samples together
    names: tuple[str, ...]  # values kept of a row
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


class Regrouping(NamedTuple):
    """Ranges of blocks, and where their rows come from."""

    ranges: list[list[Cut]]
    needed: int  # bytes of memory of the largest unit of work
    disk: int = 0  # bytes of sorted rows on disk; 0 if the lake is read again for every range
    room: int = 0  # bytes of rows that are sorted together
    note: str | None = None  # for people who look at the plan

    def memory(self, executor: Executor) -> Memory:
        """All memory that a process holds."""
        return program(executor) + Memory((Held("rows of blocks", self.needed, remedy=FEWER_ROWS),))

    @property
    def passes(self) -> int:
        """How often the lake is read."""
        return 1 if self.disk else len(self.ranges)

    @property
    def n_buckets(self) -> int:
        """Cuts of all ranges, one after the other."""
        return sum(map(len, self.ranges))


def planned_regrouping(pieces: Sequence[Piece], executor: Executor, *, on_disk: bool = True) -> Regrouping:
    """How to regroup the rows of all pieces; data in memory is not written to disk.

    ResourceError if rows have to be written to a folder named by the user that lacks space.
    """
    again = Regrouping(*planned_ranges(pieces, executor))
    if not on_disk or not _reads_too_often(pieces, again.ranges):
        return again
    scratch = executor.scratch
    if not scratch.reaches_all:
        return again._replace(note="no: name a folder that all workers share as scratch")
    sorted_ = _by_disk(pieces, executor)
    if sorted_.n_buckets > MOST_BUCKETS:
        return again._replace(note=f"no: {sorted_.n_buckets:,} ranges are too many; allow more memory")
    if sorted_.memory(executor).needed(executor.threads_per_process) > executor.memory:
        return again._replace(note="no: there is not enough memory to sort rows")
    if scratch.named:
        scratch.check_room(sorted_.disk)
    elif scratch.free_bytes() < sorted_.disk:
        return again._replace(note=f"no: {in_words(sorted_.disk)} have no room; name a folder as scratch")
    return sorted_._replace(note=f"{in_words(sorted_.disk)} in {scratch.parent}")


def _reads_too_often(pieces: Sequence[Piece], ranges: Sequence[Sequence[Cut]]) -> bool:
    """Whether it is faster to sort all rows on disk than to read columns for every range of blocks."""
    if len({piece.n_columns for piece in pieces}) > 1:
        return False
    n_rows = max(int(piece.sizes.sum()) for piece in pieces)
    read = n_rows * sum(len({name for cut in cuts for name in pieces[cut.piece].names}) for cuts in ranges)
    kept = sum(int(piece.sizes.sum()) * piece.n_columns for piece in pieces)
    return 8 * kept >= LEAST_BYTES and read > MOST_READS * kept


def _by_disk(pieces: Sequence[Piece], executor: Executor) -> Regrouping:
    """Ranges and bytes of rows that are sorted on disk."""
    enough, each = RANGES_PER_THREAD * executor.threads, thread_memory(executor)
    ranges, needed = planned_ranges(pieces, executor, enough, max(1, min(DISK_BYTES, each // DISK_SHARE)))
    n_buckets = sum(map(len, ranges))
    loaded = batch_bytes(pieces) + SORT_BYTES
    room = max(LEAST_RUN, min(n_buckets * PIECE_BYTES, (each - loaded) // SORT_COPIES))
    n_rows = sum(int(piece.sizes.sum()) for piece in pieces)
    row_bytes = 8 * pieces[0].n_columns + label_type(ranges).itemsize
    disk = int(1.02 * n_rows * row_bytes) + 1_000 * n_buckets * (1 + n_rows * row_bytes // room)
    return Regrouping(ranges, max(needed, loaded + SORT_COPIES * min(room, n_rows * row_bytes)), disk, room)


def planned_ranges(
    pieces: Sequence[Piece], executor: Executor, enough: int | None = None, most: int | None = None
) -> tuple[list[list[Cut]], int]:
    """Ranges of the blocks of all pieces, one after the other, and the bytes that the largest of them needs.

    There are `enough` ranges, one per thread by default, or more if memory or `most`, the most bytes of the
    rows of a range, require it.

    A range may begin and end anywhere: it may contain the last blocks of one piece and the first of the next.
    """
    reading = batch_bytes(pieces)
    evaluation = max(8 * (WORDS + 2 * p.n_columns) * int(p.sizes.max()) for p in pieces)
    room = max(1, min(thread_memory(executor) - reading - evaluation, most or RANGE_BYTES))
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
    """Memory needed to decode the values of all pieces."""
    return max(64 * piece.batch_rows for piece in pieces) * (sum(p.n_columns for p in pieces) + 4)


def range_edges(n_bytes: Ints, room: int, threads: int) -> list[int]:
    """Cut blocks of `n_bytes` into ranges of at most `room` bytes (or one block), at least one per thread.

    The cuts do not affect results: a block is in one range, and the order of its rows is fixed.
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


def label_type(ranges: Sequence[Sequence[Cut]]) -> np.dtype[np.generic]:
    """Integer type for the place of a block in its range."""
    most = max(cut.stop - cut.first for cuts in ranges for cut in cuts)
    return np.dtype(np.uint16 if most <= 1 << 16 else np.int32)


def block_buckets(ranges: Sequence[Sequence[Cut]], piece: int, blocks: BlockRange) -> BlockBuckets:
    """The buckets of all blocks of one piece: its cuts, among those of all pieces."""
    bucket = np.empty(blocks.sizes.size, np.uint16)
    label = np.empty(blocks.sizes.size, label_type(ranges))
    for number, cut in enumerate(cut for cuts in ranges for cut in cuts):
        if cut.piece == piece:
            bucket[cut.first : cut.stop] = number
            label[cut.first : cut.stop] = np.arange(cut.stop - cut.first)
    return BlockBuckets(blocks, bucket, label)
