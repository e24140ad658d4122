"""Uniform samples of the rows of many groups at once: the rows with the smallest hashed keys.

As in ``sample.py`` the smallest keys of a union are among the smallest of its parts, so any division of the
work gives the same sample. Rows of different groups are mixed, so here each row has a key: a hash of
(file, row).
"""

from __future__ import annotations

import numpy as np

from distmom.memory import look_ahead
from distmom.numerics.arrays import Bools, Floats, Ints, Words, read_only
from distmom.numerics.blocks.labels import GOLDEN, mix
from distmom.numerics.random.philox import closed_open
from distmom.numerics.ranks.order import run_starts
from distmom.numerics.samples.sample import RowSample
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

NO_BOUND = np.uint64(0)

CELLS_AT_ONCE = 1 << 18
"""Rows of this many groups are sorted together."""

ROOM = 1.5  # a smaller buffer is thinned more often, a larger one fills the caches


def row_words(key: np.uint64, first_row: int, n_rows: int) -> Words:
    """Hashes of consecutive rows of the file with this key."""
    with np.errstate(over="ignore"):
        return mix(np.arange(first_row, first_row + n_rows, dtype=np.uint64) * GOLDEN + ~key)


class GroupSampler:
    """Collects the sample of one column for a growing number of groups."""

    def __init__(self, size: int, *, compiled: bool) -> None:
        self.size = size
        self.compiled = compiled
        room = int(size * ROOM) + 1
        self._keys = np.empty((0, room))  # of the rows kept of each group, in any order
        self._values = np.empty((0, room))
        self._fill = np.empty(0, np.int64)
        self._last = np.empty(0, np.uint64)  # hashes above these are not needed
        self._low = np.empty(0, np.uint64), np.empty(0, np.int64)

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
        """Offer the rows ``first_row …`` of the file with this key; `codes` are their groups.

        Returns hashes and places of the rows whose hash is below a `bound`, in memory that is reused.
        """
        self._grow(n_groups)
        if self.compiled:
            none = gone if gone is not None else np.empty(0, np.bool_)
            n_low = 0
            if bound and self._low[0].size < x.size:
                self._low = np.empty(x.size, np.uint64), np.empty(x.size, np.int64)
            low_words, low_rows = self._low
            if self._fill.size:
                kept = self._last, self._keys, self._values, self._fill
                how = bound, *self._low
                rows = first_row, codes, read_only(x), none
                n_low = _kernels.offer_rows(~key, *rows, self.size, *kept, *how)
            return low_words[:n_low], low_rows[:n_low]
        words = row_words(key, first_row, x.size)
        wanted = np.ones(x.size, np.bool_) if gone is None else ~gone
        low_rows = np.flatnonzero(wanted & (words < bound)) if bound else np.empty(0, np.int64)
        low_words = words[low_rows]
        wanted[wanted] = words[wanted] <= self._last[codes[wanted]]
        groups, words, values = codes[wanted], words[wanted], x[wanted]
        order = np.lexsort((words, groups))
        groups, words, values = groups[order], words[order], values[order]
        for g, start, stop in _stretches(groups):
            few = slice(start, min(stop, start + self.size))
            self._add(g, closed_open(words[few]), values[few])
            if self._fill[g] == self.size:
                last = np.uint64(self._keys[g, self.size - 1] * 2.0**53)
                self._last[g] = (last << np.uint64(11)) | np.uint64(2047)
        return low_words, low_rows

    def _add(self, g: int, keys: Floats, values: Floats) -> None:
        both = np.concatenate([self._keys[g, : self._fill[g]], keys])
        order = np.argsort(both, kind="stable")[: self.size]
        joined = np.concatenate([self._values[g, : self._fill[g]], values])
        n = order.size
        self._keys[g, :n], self._values[g, :n], self._fill[g] = both[order], joined[order], n

    def _grow(self, n_groups: int) -> None:
        have = self._fill.size
        if n_groups <= have:
            return
        more = max(n_groups, 2 * have) - have
        look_ahead(2 * (have + more) * self._keys.shape[1] * self._keys.itemsize)
        self._keys, self._values = (_grown(lines, have + more) for lines in (self._keys, self._values))
        self._fill = np.concatenate([self._fill, np.zeros(more, np.int64)])
        self._last = np.concatenate([self._last, np.full(more, 2**64 - 1, np.uint64)])

    def result(self, n_groups: int) -> RowSample:
        """The sample of the first `n_groups` groups."""
        self._grow(n_groups)
        room = self._keys.shape[1]
        look_ahead(2 * n_groups * self.size * self._keys.itemsize)
        found = RowSample(np.empty((n_groups, self.size)), np.empty((n_groups, self.size)))
        portion = max(1, CELLS_AT_ONCE // room)
        for start in range(0, n_groups, portion):
            part = slice(start, min(start + portion, n_groups))
            filled = np.arange(room)[None, :] < self._fill[part, None]
            keys = np.where(filled, self._keys[part], np.inf)
            order = np.argsort(keys, axis=1)[:, : self.size]
            found.keys[part] = np.take_along_axis(keys, order, 1)
            found.values[part] = np.take_along_axis(np.where(filled, self._values[part], np.nan), order, 1)
        return found


def _grown(lines: Floats, n: int) -> Floats:
    """More lines, of which the first ones are these; the others use no memory yet."""
    found = np.empty((n, lines.shape[1]))
    found[: len(lines)] = lines
    return found


def _stretches(groups: Ints) -> list[tuple[int, int, int]]:
    """(group, start, stop) of each stretch of equal, sorted group numbers."""
    if groups.size == 0:
        return []
    runs = run_starts(groups)
    return list(zip(groups[runs[:-1]].tolist(), runs[:-1].tolist(), runs[1:].tolist(), strict=True))
