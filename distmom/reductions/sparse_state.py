"""The state of block means of very many groups, with mostly empty blocks: only non-empty cells are stored.

Groups are sorted by the hashes of their keys, so a range of hashes is a slice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from distmom.errors import ResourceError
from distmom.numerics.arrays import Ints, Words
from distmom.numerics.blocks.sparse_cells import CellTable, united
from distmom.numerics.hash_ranges import HashRange
from distmom.numerics.samples.sparse_sample import SparseSample
from distmom.reductions.keyed_pools import KEY_BYTES
from distmom.reductions.state import MeanState


@dataclass(frozen=True)
class SparseState:
    """The result of one pass over some rows, like `MeanState`; G groups, C columns.

    Attributes
    ----------
    hashes : ndarray of uint64, shape (G,)
        Hashes of the keys; ascending.
    keys : ndarray of object, shape (G,)
    n_rows : ndarray of int64, shape (G,)
    counts : ndarray of int64, shape (L, G, 3)
    cells : tuple of CellTable, length C
        Tables with `width` cells per group.
    samples : tuple of SparseSample, length C
    width, sample_size : int
    """

    hashes: Words
    keys: NDArray[np.object_]
    n_rows: Ints
    counts: Ints
    cells: tuple[CellTable, ...]
    samples: tuple[SparseSample, ...]
    width: int
    sample_size: int

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self.hashes.size

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, and approximate bytes of the keys."""
        fixed = (KEY_BYTES + 8) * self.n_groups + self.n_rows.nbytes + self.counts.nbytes
        sums = sum(table.nbytes for table in self.cells)
        return fixed + sums + sum(sample.nbytes for sample in self.samples)

    def merge(self, other: SparseState, *, compiled: bool = False) -> SparseState:
        """The state of the union of two disjoint sets of rows; these come first."""
        hashes, mine, others = united(self.hashes, other.hashes)
        keys = np.empty(hashes.size, object)
        keys[mine] = self.keys
        again = np.zeros(hashes.size, np.bool_)
        again[mine] = True
        if not np.all(keys[others[again[others]]] == other.keys[again[others]]):
            raise two_keys_in_one()
        keys[others] = other.keys
        n_rows = np.zeros(hashes.size, np.int64)
        counts = np.zeros((len(self.counts), hashes.size, 3), np.int64)
        for where, one in ((mine, self), (others, other)):
            n_rows[where] += one.n_rows
            counts[:, where] += one.counts
        cells = (
            a.renumbered(mine, self.width, compiled=compiled).merge(
                b.renumbered(others, self.width, compiled=compiled), compiled=compiled
            )
            for a, b in zip(self.cells, other.cells, strict=True)
        )
        samples = (
            a.renumbered(mine).merge(b.renumbered(others), self.sample_size, compiled=compiled)
            for a, b in zip(self.samples, other.samples, strict=True)
        )
        return replace(
            self,
            hashes=hashes,
            keys=keys,
            n_rows=n_rows,
            counts=counts,
            cells=tuple(cells),
            samples=tuple(samples),
        )

    def within(self, hashes: HashRange) -> SparseState:
        """The groups whose keys have hashes in a range."""
        some = hashes.slice_of(self.hashes)
        return self if some == slice(0, self.n_groups) else self.groups(some.start, some.stop)

    def groups(self, start: int, stop: int) -> SparseState:
        """Some consecutive groups."""
        part = slice(start, stop)
        return replace(
            self,
            hashes=self.hashes[part].copy(),
            keys=self.keys[part].copy(),
            n_rows=self.n_rows[part].copy(),
            counts=self.counts[:, part].copy(),
            cells=tuple(table.groups(start, stop, self.width) for table in self.cells),
            samples=tuple(sample.of_groups(start, stop) for sample in self.samples),
        )

    def pieces(self, n: int) -> Iterator[SparseState]:
        """All groups, at most `n` at a time."""
        for start in range(0, self.n_groups, n):
            yield self.groups(start, min(self.n_groups, start + n))

    def dense(self) -> MeanState:
        """The same with all blocks."""
        first, *others = (table.dense(self.n_groups, self.width) for table in self.cells)
        samples = tuple(sample.dense(self.n_groups, self.sample_size) for sample in self.samples)
        moments = first.stacked(*others)
        return MeanState(tuple(self.keys.tolist()), self.n_rows, self.counts, moments, samples)


def two_keys_in_one() -> ResourceError:
    """The error for two keys with the same hash, which is very rare."""
    return ResourceError(
        "by: the keys of two groups have the same hash of 64 bits; use another rng, under which they differ"
    )
