"""Uniform samples of the rows of very many groups, most of which have few rows.

Same rows as `GroupSampler` and `RowSample`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints, Words
from distmom.numerics.random.philox import closed_open
from distmom.numerics.ranks.order import run_starts
from distmom.numerics.samples.group_sample import NO_BOUND, GroupSampler, row_words
from distmom.numerics.samples.sample import RowSample

ROWS_TOGETHER = 1 << 18
"""This many rows wait before they are sorted by group."""


class SparseSample(NamedTuple):
    """Sampled rows: groups ascend, and keys within each."""

    groups: Ints
    keys: Floats
    values: Floats

    @classmethod
    def smallest(cls, size: int, *parts: SparseSample) -> SparseSample:
        """For each group the rows with the smallest keys among all parts, at most `size`."""
        groups, keys, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = np.lexsort((keys, groups))
        runs = run_starts(groups[order]) if order.size else np.zeros(1, np.int64)
        ranks = np.arange(order.size) - np.repeat(runs[:-1], np.diff(runs))
        order = order[ranks < size]
        return cls(groups[order], keys[order], values[order])

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self)

    def renumbered(self, where: Ints) -> SparseSample:
        """The same rows where group g is number ``where[g]``; -1: it is left out."""
        groups = where[self.groups]
        order = np.argsort(groups, kind="stable")
        order = order[np.searchsorted(groups[order], 0) :]
        return SparseSample(groups[order], self.keys[order], self.values[order])

    def of_groups(self, start: int, stop: int) -> SparseSample:
        """The rows of consecutive groups, renumbered from 0."""
        first, last = np.searchsorted(self.groups, [start, stop])
        part = slice(int(first), int(last))
        return SparseSample(self.groups[part] - start, self.keys[part].copy(), self.values[part].copy())

    def dense(self, n_groups: int, size: int) -> RowSample:
        """The samples of all groups."""
        out = RowSample.empty(n_groups, size)
        starts = np.searchsorted(self.groups, np.arange(n_groups))
        ranks = np.arange(self.groups.size) - starts[self.groups]
        out.keys[self.groups, ranks], out.values[self.groups, ranks] = self.keys, self.values
        return out


NOTHING = SparseSample(np.empty(0, np.int64), np.empty(0), np.empty(0))


class SparseSampler(GroupSampler):
    """As `GroupSampler`; rows with the code `left_out` are not sampled, only offered to the larger sample."""

    def __init__(self, size: int, left_out: int) -> None:
        super().__init__(size, compiled=False)
        self._left_out = left_out
        self._sample = NOTHING
        self._waiting: list[SparseSample] = []
        self._n_waiting = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the sample."""
        return self._sample.nbytes

    def offer(
        self,
        key: np.uint64,
        first_row: int,
        codes: Ints,
        x: Floats,
        gone: Bools | None,
        n_groups: int,
        bound: np.uint64 = NO_BOUND,
    ) -> tuple[Words, Ints]:
        """As `GroupSampler` does."""
        words = row_words(key, first_row, x.size)
        low = words < bound
        low_rows = np.flatnonzero(low if gone is None else low & ~gone)
        mine = codes != self._left_out
        rows = np.flatnonzero(mine if gone is None else mine & ~gone)
        self._waiting.append(SparseSample(codes[rows], closed_open(words[rows]), x[rows]))
        self._n_waiting += rows.size
        if self._n_waiting >= ROWS_TOGETHER:
            self._settle()
        return words[low_rows], low_rows

    def _settle(self) -> None:
        if self._n_waiting:
            self._sample = SparseSample.smallest(self.size, self._sample, *self._waiting)
        self._waiting, self._n_waiting = [], 0

    def drop(self, kept: Bools) -> None:
        """Drop the rows of the groups that are not kept."""
        self._settle()
        some = kept[self._sample.groups]
        groups, keys, values = self._sample
        self._sample = SparseSample(groups[some], keys[some], values[some])

    def rows(self) -> SparseSample:
        """The sample."""
        self._settle()
        return self._sample
