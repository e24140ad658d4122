"""Uniform samples of the rows of very many groups, most of which have few rows.

Same rows as `GroupSampler` and `RowSample`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints, Words
from distmom.numerics.random.philox import closed_open
from distmom.numerics.ranks.order import regrouped, run_starts
from distmom.numerics.samples.group_sample import NO_BOUND, GroupSampler, row_words
from distmom.numerics.samples.sample import RowSample
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

ROWS_TOGETHER = 1 << 18
"""This many rows wait before they are sorted by group."""


class SparseSample(NamedTuple):
    """Sampled rows: groups ascend, and keys within each."""

    groups: Ints
    keys: Floats
    values: Floats

    def sorted(self, *, compiled: bool = False) -> SparseSample:
        """The same rows, which may be in any order, sorted by group and key."""
        if compiled and _kernels.ready("sort_rows", self.groups.size):
            out = self.unfilled(self.groups.size)
            _kernels.sort_rows(*self, *out)
            return out
        return self.at(np.lexsort((self.keys, self.groups)))

    @classmethod
    def unfilled(cls, n: int) -> SparseSample:
        """Arrays still to be filled."""
        return cls(np.empty(n, np.int64), np.empty(n), np.empty(n))

    def at(self, index: Any) -> SparseSample:
        """Some of the rows."""
        return SparseSample(self.groups[index], self.keys[index], self.values[index])

    def merge(self, other: SparseSample, size: int, *, compiled: bool = False) -> SparseSample:
        """For each group the rows with the smallest keys of both, at most `size`; of equal keys, these."""
        n = self.groups.size + other.groups.size
        if compiled and _kernels.ready("merge_rows", n):
            out = self.unfilled(n)
            left = slice(0, _kernels.merge_rows(*self, *other, size, *out))
            groups, keys, values = out.at(left)
            return out if left.stop == n else SparseSample(groups.copy(), keys.copy(), values.copy())
        both = SparseSample(*(np.concatenate(pair) for pair in zip(self, other, strict=True))).sorted()
        runs = run_starts(both.groups) if n else np.zeros(1, np.int64)
        ranks = np.arange(n) - np.repeat(runs[:-1], np.diff(runs))
        return both.at(ranks < size)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self)

    def renumbered(self, where: Ints) -> SparseSample:
        """The same rows where group g is number ``where[g]``; -1: it is left out."""
        index, groups = regrouped(self.groups, where)
        return SparseSample(groups, self.keys[index], self.values[index])

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

    def __init__(self, size: int, left_out: int, *, compiled: bool = False) -> None:
        super().__init__(size, compiled=False)
        self._left_out, self._merges = left_out, compiled
        self._sorted: list[SparseSample] = []  # each of less than half the rows of the one before
        self._waiting: list[SparseSample] = []
        self._n_waiting = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the sample."""
        return sum(part.nbytes for part in self._sorted)

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
        if not self._n_waiting:
            return
        rows = SparseSample(*(np.concatenate(arrays) for arrays in zip(*self._waiting, strict=True)))
        self._waiting, self._n_waiting = [], 0
        few = rows.sorted(compiled=self._merges).merge(NOTHING, self.size, compiled=self._merges)
        self._sorted.append(few)
        while len(self._sorted) > 1 and 2 * self._sorted[-1].groups.size > self._sorted[-2].groups.size:
            self._join()

    def _join(self) -> None:
        """Merge the last two parts, so that each row is moved a few times only."""
        last = self._sorted.pop()
        self._sorted[-1] = self._sorted[-1].merge(last, self.size, compiled=self._merges)

    def drop(self, kept: Bools) -> None:
        """Drop the rows of the groups that are not kept."""
        self._settle()
        self._sorted = [part.at(kept[part.groups]) for part in self._sorted]

    def rows(self) -> SparseSample:
        """The sample."""
        self._settle()
        while len(self._sorted) > 1:
            self._join()
        return self._sorted[0] if self._sorted else NOTHING
