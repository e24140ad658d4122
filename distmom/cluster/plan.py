"""Cutting a listing into units of work.

A unit is a node of the dyadic tree over file numbers (or, for a part of one large file, over that file's
leaves), so its state is a node of the canonical merge, and the cuts never affect a result. Units carry only
paths and numbers.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from distmom.numerics.tree import covered

if TYPE_CHECKING:
    from distmom.lake.source import FileRef

MB = 1_000_000
UNIT_BYTES = 128 * MB  # 0.2 to 0.3 s of decoding: a task costs a cluster about 2 ms
LEAST_UNIT_BYTES = 4 * MB  # below this, a unit is not worth sending to another thread
MOST_FILES = 500  # opening a file costs about 0.1 ms, however small it is
LEAST_FILES = 32
UNITS_PER_THREAD = 4  # so that threads finish at about the same time
SLACK = 1.1  # so that a byte does not separate files of about equal size
MANY_UNITS = 64  # from here on the scheduler's cost per unit matters
UNITS_A_SECOND = 330  # handed out by a scheduler
BYTES_A_SECOND = 200 * MB  # read by a thread: more from a disk, less from an object store
SAMPLED = 256  # units of a long plan that are weighed, evenly spaced


@dataclass(frozen=True, slots=True)
class Unit:
    """One task: an aligned range of files, or an aligned range of leaves of one file.

    Attributes
    ----------
    number : int
        Position in the plan, in listing order.
    level, index : int
        The unit covers the file numbers ``[index << level, min((index + 1) << level, n_files))``.
    files : tuple of FileRef
        Those files.
    rows : (int, int) or None
        For a part of a single file (then ``level`` is 0): its rows ``[start, stop)``; ``start`` is a multiple
        of ``LEAF_ROWS << leaf_level``.
    leaf_level, leaf_index : int
        The part's node in the tree over the file's leaves.
    n_leaves : int
        Leaves of the whole file; 0 unless ``rows`` is given.
    n_bytes : int
        Estimated bytes read.
    window : object
        Extras of the reduction for this unit (small, picklable).
    """

    number: int
    level: int
    index: int
    files: tuple[FileRef, ...]
    rows: tuple[int, int] | None = None
    leaf_level: int = 0
    leaf_index: int = 0
    n_leaves: int = 0
    n_bytes: int = 0
    window: Any = None

    @property
    def first_file(self) -> int:
        """Number of the unit's first file in the listing."""
        return self.index << self.level

    @property
    def name(self) -> str:
        """The unit's name in messages: ``t/5.parquet and 3 more``."""
        first = (self.files[0].path or "the data in memory") if self.files else "no file"
        if self.rows is not None:
            return f"{first} (rows {self.rows[0]} to {self.rows[1]})"
        return first if len(self.files) < 2 else f"{first} and {len(self.files) - 1} more"


@dataclass(frozen=True)
class Done:
    """The part of a listing that is done: nodes of the tree over its files, and of partly read files.

    Attributes
    ----------
    nodes : collection of (int, int)
        Levels and indices.
    parts : mapping of int to collection of (int, int)
        For each partly read file, by number, the nodes of the tree over its leaves.
    """

    nodes: Collection[tuple[int, int]] = ()
    parts: Mapping[int, Collection[tuple[int, int]]] = field(default_factory=dict)


def plan_units(
    files: Sequence[FileRef],
    row_counts: Sequence[int] | None = None,
    *,
    column_share: float = 1.0,
    threads: int = 1,
    unit_bytes: int | None = None,
    max_files: int | None = None,
    leaf_rows: int | None = None,
    done: Done | None = None,
) -> tuple[Unit, ...]:
    """Cut ``files`` (in listing order) into units of at most ``unit_bytes`` bytes and ``max_files`` files.

    Parameters
    ----------
    files : sequence of FileRef
        The listing; a file's number is its position here.
    row_counts : sequence of int, optional
        Rows of each file, negative where unknown. Only a file with a known count can be cut.
    column_share : float
        Share of a file's bytes that is read (requested columns over all columns).
    threads : int
        Number of working threads. Only the default sizes depend on it: small lakes are cut finer, so that
        every thread has work, unless there are so many threads that handing out units takes longer than
        reading.
    unit_bytes, max_files : int, optional
        Largest unit. Default: 128 MB and 500 files, less for small inputs. A single file may be larger:
        it is cut if its rows are known and it exceeds twice ``unit_bytes`` (the second part of a row group
        has to decode the first).
    leaf_rows : int, optional
        Rows of a leaf; ``distmom.numerics.blocks.leaf.LEAF_ROWS`` unless a test says otherwise.
    done : Done, optional
        Cut only what is not done. If given (it may be empty), no unit is cut short by the end of the listing,
        so that its node remains one when files are added.

    Returns
    -------
    tuple of Unit
        In listing order; empty for an empty listing.

    Notes
    -----
    Linear in the number of files, in time and memory: a node of the tree over file numbers is halved until it
    fits, and prefix sums give the bytes of any node.
    """
    from distmom.numerics.blocks.leaf import LEAF_ROWS

    before = [0, *accumulate(file.size for file in files)]
    left = _Left(len(files), done)
    total = left.bytes(before) * column_share
    share = units_wanted(total, threads)
    if unit_bytes is None:
        unit_bytes = bytes_of_unit(total, threads)
    if max_files is None:
        max_files = min(MOST_FILES, max(LEAST_FILES, -(-left.n_files // share)))
    units: list[Unit] = []
    for level, index in _nodes(before, unit_bytes / column_share, max_files, left):
        start, stop = index << level, min((index + 1) << level, len(files))
        n_bytes = int((before[stop] - before[start]) * column_share)
        rows = -1 if row_counts is None or level else int(row_counts[index])
        whole = Unit(len(units), level, index, tuple(files[start:stop]), n_bytes=n_bytes)
        begun = left.parts.get(index) if level == 0 else None
        if begun or (level == 0 and rows > 0 and n_bytes > 2 * unit_bytes):
            units.extend(_parts(whole, rows, unit_bytes, leaf_rows or LEAF_ROWS, begun or ()))
        else:
            units.append(whole)
    return tuple(units)


def units_wanted(total: float, threads: int) -> int:
    """Number of units to cut: some per thread, at most as many as are handed out while one is read."""
    handed_out = int((total * UNITS_A_SECOND / BYTES_A_SECOND) ** 0.5)
    return max(1, min(UNITS_PER_THREAD * threads, max(MANY_UNITS, handed_out)))


def bytes_of_unit(total: float, threads: int) -> int:
    """Most bytes of a unit."""
    return int(min(UNIT_BYTES, max(LEAST_UNIT_BYTES, SLACK * total / units_wanted(total, threads))))


class _Left:
    """The part of ``n`` files or leaves that is left to read."""

    def __init__(self, n: int, done: Done | None) -> None:
        self.whole_nodes = done is not None
        done = done or Done()
        self.nodes = frozenset(done.nodes)
        self.parts = done.parts
        self._n = n
        self._read = covered(n, done.nodes)
        self.n_files = n - sum(self._read)
        touched = self._read.copy()
        for number in self.parts:  # left, but not combined with others
            touched[number] = 1
        self._touched = [0, *accumulate(touched)]

    def bytes(self, before: Sequence[int]) -> int:
        """Bytes of the remaining files, from the bytes before each."""
        if not self.nodes:
            return before[-1]
        return sum(before[i + 1] - before[i] for i, read in enumerate(self._read) if not read)

    def fits(self, level: int, index: int) -> bool:
        """Whether a node can be one unit: no part is read and, if requested, the end does not cut it."""
        start, stop = index << level, (index + 1) << level
        if stop > self._n:
            if self.whole_nodes:
                return False
            stop = self._n
        return self._touched[stop] == self._touched[start]


def _nodes(
    before: Sequence[int], most_bytes: float, most_files: int, left: _Left
) -> Iterator[tuple[int, int]]:
    """Largest nodes over the remaining files that fit, from left to right (or single files that do not)."""
    n_files = len(before) - 1
    stack = [((n_files - 1).bit_length(), 0)] if n_files else []
    while stack:
        level, index = stack.pop()
        if (level, index) in left.nodes:
            continue
        start, stop = index << level, min((index + 1) << level, n_files)
        small = stop - start <= most_files and before[stop] - before[start] <= most_bytes
        if level == 0 or (small and left.fits(level, index)):
            yield level, index
            continue
        right = 2 * index + 1
        if right << (level - 1) < n_files:
            stack.append((level - 1, right))
        stack.append((level - 1, right - 1))


def _parts(
    whole: Unit, n_rows: int, unit_bytes: int, leaf_rows: int, read: Collection[tuple[int, int]]
) -> Iterator[Unit]:
    """Aligned ranges of a file's unread leaves, each within ``unit_bytes`` or of one leaf."""
    n_leaves = -(-n_rows // leaf_rows)
    leaf_bytes = whole.n_bytes / n_rows * leaf_rows
    left = _Left(n_leaves, Done(read) if read else None)
    nodes = _nodes(range(n_leaves + 1), max(1.0, unit_bytes / leaf_bytes), n_leaves, left)
    for number, (level, index) in enumerate(nodes, whole.number):
        start, stop = (index << level) * leaf_rows, min(((index + 1) << level) * leaf_rows, n_rows)
        part = replace(whole, number=number, rows=(start, stop), leaf_level=level, leaf_index=index)
        yield replace(part, n_leaves=n_leaves, n_bytes=whole.n_bytes * (stop - start) // n_rows)


def merge_depth(units: Sequence[Unit], n_files: int) -> int:
    """Most merges between a unit's state and the result: the height of the tree over the units."""
    root = max(n_files - 1, 0).bit_length()
    # for a part of a file also the levels above it in the tree over the file's leaves; for others 0 - 0
    within = (max(unit.n_leaves - 1, 0).bit_length() - unit.leaf_level - unit.level for unit in units)
    return max((root + levels for levels in within), default=0)


def scheduler_bytes(units: Sequence[Unit]) -> int:
    """Bytes of the descriptions of all units as sent; for a long plan, estimated from a sample."""
    if not units:
        return 0
    step = max(1, -(-len(units) // SAMPLED))
    chosen = units[::step]
    sizes = sum(len(pickle.dumps(unit, pickle.HIGHEST_PROTOCOL)) for unit in chosen)
    return sizes * len(units) // len(chosen)
