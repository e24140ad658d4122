"""The large uniform sample of a column whose rows arrive with the codes of their groups.

The samples of the groups already have a hashed key for each row, and the large sample uses the same keys: its
rows are those of the smallest keys whatever their group, so its size does not depend on the number of groups.
"""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.blocks.leaf import LEAF_ROWS
from distmom.numerics.random.philox import closed_open
from distmom.numerics.samples.group_sample import GroupSampler
from distmom.numerics.samples.pool import Part, RowPool
from distmom.numerics.samples.pool_sampler import PLENTY, PoolSampler

LEAST_PIECE = 4_096
"""Rows offered at a time; more if few of them are taken."""

ALL = 2**64 - 1
"""The largest hash."""


class GroupPoolSampler(PoolSampler):
    """Collects the sample of one column from the rows that its `GroupSampler` sees, leaf by leaf."""

    def __init__(self, size: int, quota: int, *, bound: float = 1.0) -> None:
        super().__init__(size, quota)
        self._below = bound if bound < 1.0 else np.inf
        self._leaf = (np.uint64(0), -1)
        self._mine: list[Part] = []  # of the current leaf
        self._n_mine = self._n_used = 0

    def offer_rows(
        self,
        sampler: GroupSampler,
        key: np.uint64,
        first_row: int,
        codes: Ints,
        x: Floats,
        gone: Bools | None,
        n_groups: int,
        weights: Floats | None,
        groups: Ints | None = None,
    ) -> None:
        """Offer the rows ``first_row …`` of a file to the samples of the groups, and to this one.

        `groups` are their codes in this sample, if different.
        """
        groups = codes if groups is None else groups
        start = 0
        while start < x.size:
            row = first_row + start
            if (leaf := (key, row // LEAF_ROWS)) != self._leaf:
                self._end()
                self._leaf = leaf
            few = max(LEAST_PIECE, int(PLENTY * self._quota / min(self._below, 1.0)))
            stop = min(x.size, start + few, start + LEAF_ROWS - row % LEAF_ROWS)
            part = slice(start, stop)
            skipped = None if gone is None else gone[part]
            words, rows = sampler.offer(key, row, codes[part], x[part], skipped, n_groups, self._bound())
            self._n_used += stop - start - (0 if skipped is None else int(np.count_nonzero(skipped)))
            if rows.size:
                rows = rows + start
                w = None if weights is None else weights[rows]
                self._mine.append((closed_open(words), x[rows], w, groups[rows], None, None))
                self._n_mine += rows.size
                if self._n_mine > PLENTY * self._quota:
                    self._thin()
            start = stop

    def _bound(self) -> np.uint64:
        """Hashes below this bound are wanted: those of keys up to the largest that may enter."""
        return np.uint64(ALL if self._below >= 1.0 else min((int(self._below * 2.0**53) + 1) << 11, ALL))

    def _lower(self) -> None:
        """The sample is complete up to the last row of the quota of the current leaf."""
        keys = np.concatenate([part[0] for part in self._mine])
        self._below = min(self._below, float(np.partition(keys, self._quota - 1)[self._quota - 1]))

    def _thin(self) -> None:
        """Keep the quota of the current leaf."""
        self._lower()
        pool = RowPool.smallest(self._quota, self._below, *self._mine)
        self._mine = [pool.parts]
        self._n_mine = pool.keys.size

    def _end(self) -> None:
        """Take the rows of the leaf."""
        if self._n_mine >= self._quota and self._n_used > self._quota:
            self._lower()
        for part in self._mine:
            self.add(*part)
        self._mine, self._n_mine, self._n_used = [], 0, 0

    def result(self) -> RowPool:
        """The sample of all rows offered."""
        self._end()
        return super().result()
