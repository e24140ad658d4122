"""Number of distinct units in each group: from a sample of units by their hashes, which merges exactly.

Among all distinct pairs (unit, group), those are kept for which the 64-bit hash of the unit is below a bound.
With fewer than `size` pairs there is no bound; otherwise it is the size-th smallest hash. Without a bound all
pairs are kept and counted. With one, the bound is the share of all hashes below it, which gives the number of
units (bottom-k sketch; Bar-Yossef et al. 2002, Beyer et al. 2007). The sketch of a union follows from the
sketches of its parts: they merge in any order, and repetitions change nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints, Words
from distmom.numerics.blocks.labels import GOLDEN

NO_BOUND = np.uint64(2**64 - 1)

PIECE = 1 << 14  # rows offered at once: the first ones set a bound that excludes most of the next


class UnitSketch(NamedTuple):
    """The kept pairs, distinct and in order of hash and group; their hashes are below the bound."""

    hashes: Words
    groups: Ints
    bound: np.uint64 = NO_BOUND

    def merge(self, other: UnitSketch, size: int) -> UnitSketch:
        """The sketch of the union; both use the same group numbers."""
        hashes = np.concatenate([self.hashes, other.hashes])
        groups = np.concatenate([self.groups, other.groups])
        return smallest(hashes, groups, size, min(self.bound, other.bound))

    def renumbered(self, numbers: Ints) -> UnitSketch:
        """The same with group g renumbered to ``numbers[g]``."""
        return smallest(self.hashes, numbers[self.groups], self.hashes.size + 1, self.bound)

    @property
    def exact(self) -> bool:
        """Whether all pairs are kept."""
        return bool(self.bound == NO_BOUND)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.hashes.nbytes + self.groups.nbytes

    def counts(self, n_groups: int) -> Floats:
        """Number of units of each group.

        If not exact, unbiased with a relative standard error of 1/sqrt(number of the group's kept pairs).
        """
        kept = np.bincount(self.groups, minlength=n_groups).astype(np.float64)
        return kept if self.exact else kept / (float(self.bound) * 2.0**-64)

    def in_both(self, first: int, second: int) -> float:
        """Number of units that two groups share; if not exact, as for `counts`."""
        mine, other = (self.hashes[self.groups == g] for g in (first, second))
        kept = float(np.intersect1d(mine, other, assume_unique=True).size)
        return kept if self.exact else kept / (float(self.bound) * 2.0**-64)


def smallest(hashes: Words, groups: Ints, size: int, bound: np.uint64 = NO_BOUND) -> UnitSketch:
    """The sketch of any pairs; those at or above a bound may be missing."""
    order = np.lexsort((groups, hashes))
    hashes, groups = hashes[order], groups[order]
    new = np.ones(hashes.size, np.bool_)
    new[1:] = (hashes[1:] != hashes[:-1]) | (groups[1:] != groups[:-1])
    kept = np.flatnonzero(new)[:size]
    if kept.size == size:
        bound = min(bound, hashes[kept[-1]])
    kept = kept[hashes[kept] < bound]
    return UnitSketch(hashes[kept], groups[kept], bound)


class DistinctUnits:
    """Collects the sketch of rows as they arrive.

    Rows of units that occurred before must cost little: a table keeps words made of hash and group, one per
    slot, which lets some pairs through again. (Two pairs with the same word would count as one: among a
    million pairs with probability 3e-8.)
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept = UnitSketch(np.empty(0, np.uint64), np.empty(0, np.int64))
        self._words = np.zeros(1 << (32 * size - 1).bit_length(), np.uint64)  # 0 stands for an empty slot

    def offer(self, hashes: Words, groups: Ints, keep: Bools | None) -> None:
        """Offer the units of rows: their hashes and their groups; arbitrary where a row is not kept."""
        for start in range(0, hashes.size, PIECE):
            part = slice(start, start + PIECE)
            self._offer(hashes[part], groups[part], None if keep is None else keep[part])

    def _offer(self, hashes: Words, groups: Ints, keep: Bools | None) -> None:
        low = hashes < self._kept.bound
        rows = np.flatnonzero(low if keep is None else low & keep)
        hashes, groups = hashes.take(rows), groups.take(rows)
        words = hashes + groups.astype(np.uint64) * GOLDEN
        slots = (words & np.uint64(self._words.size - 1)).astype(np.int64)
        fresh = self._words[slots] != words
        if fresh.any():
            self._words[slots[fresh]] = words[fresh]
            self._kept = self._kept.merge(UnitSketch(hashes[fresh], groups[fresh]), self._size)

    def result(self) -> UnitSketch:
        """The sketch of all rows offered."""
        return self._kept
