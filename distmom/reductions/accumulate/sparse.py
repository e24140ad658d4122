"""Accumulating row by row into the non-empty (group, block) cells, for very many groups."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from distmom.numerics.arrays import Bools, Ints, Words
from distmom.numerics.blocks.labels import file_cell
from distmom.numerics.blocks.sparse_cells import CellTable, SparseCells
from distmom.numerics.samples.pool import RowPool
from distmom.numerics.samples.sparse_sample import SparseSampler
from distmom.numerics.tree import DyadicTree, StreamingTree
from distmom.reductions.accumulate.rowwise import RowwiseMeans
from distmom.reductions.keyed_pools import KEY_BYTES
from distmom.reductions.sparse_state import SparseState, two_keys_in_one
from distmom.reductions.state import NANS, NULLS, Key

if TYPE_CHECKING:
    from distmom.numerics.hash_ranges import HashRange
    from distmom.reductions.block_means import BlockMeans

Tables = tuple[CellTable, ...]
"""Of each column."""


class RangeCodes(Protocol):
    """Numbers the groups of a range, such as `RangeEncoder`."""

    within: HashRange

    @property
    def hashes(self) -> Words:
        """Hash of the key of each code."""
        ...

    @property
    def inside(self) -> Bools:
        """Whether the key of each code has been met and is in the range."""
        ...

    def keys_of(self, codes: Ints) -> list[Key]:
        """The keys with these codes."""
        ...


class SparseMeans(RowwiseMeans):
    """The `Accumulator` for the groups of a range of keys; rows of all other groups have the code `others`.

    Its size is bounded while it is filled: `fit` drops groups when it exceeds `most` bytes.
    """

    def __init__(self, spec: BlockMeans, n_files: int, window: Any, others: int, most: float) -> None:
        self._most = most
        super().__init__(spec, n_files, window)
        left_out = (others * self._blocks, (others + 1) * self._blocks)
        weighted = spec.weights is not None
        self._sums = [SparseCells(left_out, weighted=weighted, compiled=spec.compiled) for _ in spec.columns]
        self._cells = [*self._sums]
        self._sampled = [
            SparseSampler(spec.sample_size, others, compiled=spec.compiled) for _ in self._samplers
        ]
        self._samplers = [*self._sampled]
        self._one = self._blocks + (self._n_once > 0)  # cells of a group in a leaf
        self._all = spec.layout.n_blocks + spec.n_cells  # and in the state
        self._leaves: StreamingTree[Tables] = StreamingTree(partial(_merged, compiled=spec.compiled))
        self._files: DyadicTree[Tables] = DyadicTree(n_files, partial(_merged, compiled=spec.compiled))

    def _make_room(self, n_groups: int) -> None:
        self._n_groups = n_groups
        self._group_counts.make_room(n_groups)

    def _push(self) -> None:
        if self._filled:
            self._leaves.push(tuple(cells.take(self._blocks, self._n_once) for cells in self._sums))
        self._filled = False

    def end_file(self) -> None:  # noqa: D102
        self._push()
        leaves = self._leaves.close()
        if leaves is not None:
            leaves = tuple(self._placed(table) for table in leaves)
        self._files.push(0, self._number, leaves)

    def _placed(self, table: CellTable) -> CellTable:
        """The rows of a file, those of each group together in the file's cell."""
        n_blocks, n_cells = self._spec.layout.n_blocks, self._spec.n_cells
        groups, places = np.divmod(table.ids, self._one)
        whole = places == self._one - 1 if n_blocks else np.ones(places.size, np.bool_)
        if n_cells:
            places = np.where(whole, n_blocks + file_cell(self._key, n_cells), places)
            return table._replace(ids=groups * self._all + places)
        return CellTable((groups * self._all + places)[~whole], table.moments.at(~whole))

    @property
    def nbytes(self) -> int:
        """Bytes of the sums and samples."""
        waiting = [*self._leaves.states, *(s for s in self._files.waiting.values() if s is not None)]
        tables = sum(table.nbytes for state in waiting for table in state)
        sums = sum(cells.nbytes for cells in self._sums)
        return tables + sums + sum(sampler.nbytes for sampler in self._sampled)

    def fit(self, encoder: RangeCodes) -> None:
        """Drop groups, largest hashes first, until the others fit into the allowed memory."""
        while (n := int(np.count_nonzero(kept := encoder.inside))) > 1:
            if self.nbytes + n * (KEY_BYTES + 32) <= self._most:
                return
            encoder.within = encoder.within.narrowed(0.5)
            kept = encoder.inside
            for cells in self._sums:
                cells.drop(kept, self._blocks)
            for sampler in self._sampled:
                sampler.drop(kept)
            self._leaves.change(partial(_of_groups, kept=kept, width=self._one))
            self._files.change(partial(_of_groups, kept=kept, width=self._all))

    def state(self, encoder: RangeCodes) -> tuple[SparseState | None, tuple[RowPool, ...]]:
        """The state of the groups in the range (None if none), and the large samples of all rows."""
        pools = tuple(pool.result() for pool in self._pools)
        tables, hashes = self._files.root, encoder.hashes
        codes = np.flatnonzero(encoder.inside)
        if tables is None:
            return None, pools
        codes = codes[np.argsort(hashes[codes])]
        where = np.full(hashes.size, -1)
        where[codes] = np.arange(codes.size)
        cells = tuple(table.renumbered(where, self._all, compiled=self._spec.compiled) for table in tables)
        samples = tuple(sampler.rows().renumbered(where) for sampler in self._sampled)
        counts = self._group_counts.counts[:, codes]
        mine = hashes[codes]
        if np.any(mine[1:] == mine[:-1]):
            raise two_keys_in_one()
        keys = np.empty(codes.size, object)
        keys[:] = encoder.keys_of(codes)
        state = SparseState(
            mine,
            keys,
            self._used(cells[0], counts),
            counts,
            cells,
            samples,
            self._all,
            self._spec.sample_size,
        )
        return state, pools

    def _used(self, cells: CellTable, counts: Ints) -> Ints:
        """Rows of each group that entered the first column, or are missing there."""
        groups, places = np.divmod(cells.ids, self._all)
        once = places < self._n_once if self._n_once else np.ones(places.size, np.bool_)
        used = np.zeros(counts.shape[1], np.int64)
        np.add.at(used, groups[once], cells.moments.count[once])
        missing = [NULLS] if self._spec.nan == "keep" else [NULLS, NANS]
        weightless = counts[-1].sum(axis=-1) if self._spec.weights is not None else 0
        return np.asarray(used + counts[0][:, missing].sum(axis=-1) + weightless)


def _merged(left: Tables, right: Tables, *, compiled: bool) -> Tables:
    return tuple(a.merge(b, compiled=compiled) for a, b in zip(left, right, strict=True))


def _of_groups(tables: Tables, *, kept: Bools, width: int) -> Tables:
    return tuple(table.at(kept[table.ids // width]) for table in tables)
