"""Memory of a pass over rows: decoded batches, a leaf, running sums, and sums being merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from distmom.lake.extent import Extent
from distmom.lake.files.footers import DICTIONARY_BYTES
from distmom.lake.keys.text_numbers import table_bytes
from distmom.memory import Held, Memory
from distmom.numerics.blocks.leaf import LEAF_ROWS
from distmom.numerics.samples.pool_sampler import WHOLE

if TYPE_CHECKING:
    from distmom.cluster import Unit
    from distmom.lake import ReadOptions
    from distmom.reductions.block_means import BlockMeans

ROW_BYTES = 4
"""Bytes per value in a file, for a rough number of rows."""

UNIT_TABLE_BYTES = 12_000_000
"""Bytes of tables that look up the hashes of a column's units, and the units met so far."""

UNKNOWN_GROUPS = 100
"""Assumed groups, if footers do not bound their number."""

ARENA_BYTES, ARENA_LEAVES = 10_000_000, 8
"""Memory kept by allocators for each thread, and its stack; up to as much again for so many leaves."""

LEAF_COPIES = 4
"""Number of arrays for the rows of a leaf, one column at a time: values, masks, draws, places."""

AT_WORK = 2
"""States of a unit at work: that of a leaf or file, besides that of all before it."""

GROUPED_ROW_BYTES = 300
"""Bytes per row of a batch that is assigned to its group: code, cell and hashes."""

GROWN = 1.35
"""Factor for spare room of groups while they are being found; states that are passed on have none."""

ANSWER, RESULT_BYTES = 7, 20_000
"""Copies of a column's sums while the rule merges and sorts its blocks; bytes of its result."""

MERGED = 3
"""States of a merge: both sides, and the result."""


class Scope(NamedTuple):
    """How much is read: rows of the lake and of a unit of work; units, their files, and threads."""

    n_rows: int
    n_files: int
    unit_rows: int
    unit_files: int
    n_units: int
    threads: int

    @classmethod
    def of(
        cls, extent: Extent | None, units: Sequence[Unit], n_rows: int | None, n_bytes: float, threads: int
    ) -> Scope:
        """Estimated from footers, or from bytes if there are none."""
        n_bytes = max(n_bytes, 1.0)
        if n_rows is None:
            n_rows = int(n_bytes / ROW_BYTES) if extent is None else extent.n_rows
        share = max((unit.n_bytes for unit in units), default=0) / n_bytes
        files = [len(unit.files) for unit in units]
        rows = min(n_rows, 1 + int(n_rows * share))
        return cls(n_rows, sum(files), rows, max(files, default=0), max(1, len(units)), threads)

    @property
    def waiting(self) -> int:
        """About how many states wait for their neighbours or their turn while all threads are busy."""
        done = self.n_units - min(self.n_units, self.threads)
        return min(done, self.threads + (self.n_units - 1).bit_length() - 1)

    @property
    def few(self) -> bool:
        """Whether there are so few units that no merged state waits while others are merged and read."""
        return 1 < self.n_units <= max(4, 2 * self.threads)

    def offered(self, quota: int, *, unit: bool) -> int:
        """Rows offered to a large sample, of which each leaf gives `quota`."""
        n_rows, n_files = (self.unit_rows, self.unit_files) if unit else (self.n_rows, self.n_files)
        leaves = max(1, n_files, -(-n_rows // LEAF_ROWS))
        return min(n_rows, leaves * max(quota, WHOLE if n_rows <= leaves * WHOLE else quota))


def reading_memory(read: ReadOptions, extent: Extent | None, *, by_leaf: bool = True) -> Memory:
    """Memory of the batches that a thread decodes, and of the leaf made of them if rows go `by_leaf`."""
    known = extent or Extent(2 * read.batch_rows, read.batch_rows, 2 * read.batch_rows, {})
    found = known.reading(read.names, read.batch_rows, DICTIONARY_BYTES)
    rows, n_values = min(LEAF_ROWS, known.rows), len(read.value_names)
    waiting = 0
    many = 2 * read.batch_rows < LEAF_ROWS or any(c.text for c in known.chunks.values())
    if by_leaf and many and known.rows > 1:
        waiting = 2 * rows  # many batches, or those of texts, which end with each row group, are joined
    elif by_leaf and read.batch_rows % LEAF_ROWS:
        waiting = min(read.batch_rows, rows)  # the rest of a batch is the first piece of the next leaf
    held = 8 * n_values * waiting
    leaf = LEAF_COPIES * 8 * rows
    kept = 0 if read.by else ARENA_LEAVES * 8 * n_values * rows  # groups' rows are taken batch by batch
    arena = ARENA_BYTES + min(ARENA_BYTES, kept)
    remedy = "use fewer columns"
    return found + Memory(
        (
            Held("leaf", leaf + held + arena, remedy=remedy),
            Held("units", UNIT_TABLE_BYTES * len(read.units)),
        )
    )


def means_memory(reduction: BlockMeans, read: ReadOptions, extent: Extent | None, scope: Scope) -> Memory:
    """Memory of a pass of means."""
    found = reading_memory(read, extent)
    draws = reduction.layout.draw_bytes(scope.n_rows, compiled=reduction.compiled)
    n_groups = 1
    if reduction.grouped:
        most = None if extent is None else extent.n_keys(read.by)
        n_groups = UNKNOWN_GROUPS if most is None else max(most, 1)
    rows = read.batch_rows if extent is None else min(read.batch_rows, extent.rows)
    grouping = Held(
        "rows of groups", GROUPED_ROW_BYTES * rows * reduction.grouped + _texts_bytes(read, extent)
    )
    return found + Memory((Held("draws", draws), grouping)) + state_memory(reduction, scope, n_groups)


def _texts_bytes(read: ReadOptions, extent: Extent | None) -> int:
    """Bytes of the tables that number the texts of keys."""
    chunks = [] if extent is None else [extent.chunks[name] for name in read.by if name in extent.chunks]
    return sum(
        table_bytes(UNKNOWN_GROUPS if one.n_keys is None else one.n_keys, one.n_bytes)
        for one in chunks
        if one.text
    )


def state_memory(reduction: BlockMeans, scope: Scope, n_groups: int = 1) -> Memory:
    """Memory of the sums of a unit at work, of waiting sums, and of a merge."""
    remedy = "group by fewer values" if reduction.grouped else "use fewer columns or blocks"

    def pool(rows: int, *, times: int = 1) -> int:
        return reduction.pool_bytes(min(rows, times * reduction.pool_size)) if reduction.pool_size else 0

    offered = scope.offered(reduction.pool_quota, unit=True)
    everything = scope.offered(reduction.pool_quota, unit=False)
    waiting, several = scope.waiting, scope.n_units > 1
    merging = (2 * pool(everything // 2) + pool(everything)) * several
    if scope.few:  # all that is merged while others read has just been waiting; the last merge is alone
        waits, parts = waiting * pool(offered), 2 * pool(everything // 4)
        last = merging - waits - scope.threads * pool(offered, times=3)
        merging = max(parts + pool(everything // 2) - min(waits, parts), last)

    def held(unit: int, whole: int, at_work: int, waits: int, merged: int, sure: bool) -> tuple[Held, ...]:
        room = 1.0 if sure else GROWN
        return (
            Held("sums at work", AT_WORK * room * unit + at_work, remedy=remedy, sure=sure),
            Held("sums that wait", waiting * (unit + waits), each=False, remedy=remedy, sure=sure),
            Held(
                "sums being merged", MERGED * whole * several + merged, each=False, remedy=remedy, sure=sure
            ),
        )

    one = reduction.state_bytes(1)
    pieces = held(one, one, pool(offered, times=3), pool(offered), merging, True)
    if n_groups > 1:
        in_unit, in_all = (reduction.state_bytes(n) - one for n in (min(n_groups, scope.unit_rows), n_groups))
        pieces += held(in_unit, in_all, 0, 0, 0, False)
    answer = Held(
        "the answer",
        ANSWER * one / max(1, len(reduction.columns)) + RESULT_BYTES * len(reduction.columns),
        each=False,
        remedy="use fewer columns or blocks",
    )
    return Memory((*pieces, answer), at_once=scope.n_units)
