"""Collects a large row sample leaf by leaf.

A leaf offers at most a quota of its rows. The rows that it kept back are known: those with keys above the
largest key offered. So the sample is complete below the least such key, and nothing above that key is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distmom.numerics.arrays import NOTHING, Bools, Floats, Ints, Words, read_only
from distmom.numerics.blocks.labels import mix
from distmom.numerics.blocks.leaf import LEAF_ROWS, NONE_GONE
from distmom.numerics.samples.pool import Part, RowPool
from distmom.numerics.samples.sample import leaf_sample, uniforms
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

NO_ROWS, NONE = np.empty(0, np.int64), (NOTHING, NOTHING)

LEAST_QUOTA, WHOLE = 256, 1_024
"""Least number of rows that a leaf offers; a leaf with no more rows (a file of few rows) offers all."""

OFFERED = 1.5
"""Leaves offer this many times their part of the sample, as far as it is known in advance."""

PLENTY = 2
"""Number of samples that may wait before the rows to keep are chosen."""

HASHED = 85
"""A leaf with at most this many times its quota, or few rows, has a hashed key for each row; in a larger one
only the rows that are taken get a key."""

_STREAM = np.uint64(0x6A09E667F3BCC909)
"""Separates these keys from those of other draws for the same file."""

_WORD = 0xFFFFFFFFFFFFFFFF


def leaf_quota(size: int, n_rows: int) -> int:
    """Rows that each leaf offers to a sample of `size` of about `n_rows` rows.

    Examples
    --------
    >>> leaf_quota(65_536, 10_000), leaf_quota(65_536, 10**6), leaf_quota(65_536, 10**9)
    (65536, 14044, 256)
    """
    n_leaves = max(1, n_rows // LEAF_ROWS)
    offered = int(OFFERED * -(-size // n_leaves)) if n_rows > LEAF_ROWS else size
    return min(size, max(LEAST_QUOTA, offered))


def key_bound(size: int, n_rows: int) -> float:
    """No key above it is among the `size` smallest of `n_rows` or more rows; 1: any may be.

    With a margin of six standard errors.

    Examples
    --------
    >>> key_bound(65_536, 100_000), round(key_bound(65_536, 10**9), 8)
    (1.0, 6.707e-05)
    """
    bound = (size + 6.0 * size**0.5) / max(n_rows, 1)
    return bound if bound < 0.5 else 1.0


def pool_keys(keys: Words) -> Words:
    """The keys of the files' draws for their sample."""
    with np.errstate(over="ignore"):
        return mix(keys ^ _STREAM)


def pool_key(key: np.uint64) -> np.uint64:
    """The same for one file, with Python's integers, which takes a tenth of the time."""
    z = int(key) ^ int(_STREAM)
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _WORD
    return np.uint64(z ^ z >> 31)


def hashed_keys(key: np.uint64 | Words, leaf: int, rows: Ints) -> Floats:
    """Independent uniform keys of the given rows of a leaf, or, with a key for each, of several files."""
    return uniforms(key, 2 * leaf, rows)


def _uniform(keys: Floats) -> Floats:
    """1 - exp(-k) for keys below about 1/`HASHED`, up to 1e-9 of it: the same bits everywhere."""
    out = np.ones(1)
    for n in range(4, 1, -1):
        out = 1.0 - out * keys / n
    return np.asarray(out * keys)


class Buffer:
    """Room for rows that kernels draw: keys, values, weights if `weighted`, files, numbers in these."""

    def __init__(self, *, weighted: bool) -> None:
        self.n = 0
        self._weighted = weighted
        self._arrays = self._empty(0)

    def _empty(self, size: int) -> tuple[Floats, Floats, Floats, Words, Ints]:
        weights = np.empty(size if self._weighted else 0)
        return np.empty(size), np.empty(size), weights, np.empty(size, np.uint64), np.empty(size, np.int64)

    def room(self, more: int) -> tuple[Floats, Floats, Floats, Words, Ints]:
        """The arrays, with room for `more` rows from place `n` on."""
        if self.n + more > self._arrays[0].size:
            old, self._arrays = self._arrays, self._empty(2 * (self.n + more))
            for before, now in zip(old, self._arrays, strict=True):
                now[: before.size] = before
        return self._arrays

    def taken(self) -> Part:
        """The rows; the buffer is empty afterwards, so copy them at once."""
        n, (keys, values, weights, files, rows) = self.n, self._arrays
        self.n = 0
        return keys[:n], values[:n], weights[:n] if self._weighted else None, None, files[:n], rows[:n]


@dataclass
class LastDraw:
    """The last draw from a leaf whose rows all count: columns of the same rows draw the same.

    Attributes
    ----------
    of : tuple
        File, leaf, rows, and the bound of the keys before the draw.
    rows : tuple of ndarray
        Keys, places in the leaf, keys of the files, numbers in these.
    below : float
        The bound after the draw.
    """

    of: tuple[np.uint64, int, int, float] | None = None
    rows: tuple[Floats, Ints, Words, Ints] | None = None
    below: float = np.inf


class PoolSampler:
    """Collects the sample of one column, leaf by leaf.

    Parameters
    ----------
    size : int
        Largest number of rows.
    quota : int
        Largest number of rows from a leaf.
    bound : float
        Rows whose key is above it are not taken; for a leaf with missing rows it is larger in proportion.
    compiled : bool
        Draw with Numba (the same rows).
    last : LastDraw, optional
        Shared by the columns of one pass, which have the same size and quota.
    """

    def __init__(
        self,
        size: int,
        quota: int,
        *,
        bound: float = 1.0,
        compiled: bool = False,
        last: LastDraw | None = None,
    ) -> None:
        self._size, self._quota, self._compiled = size, quota, compiled
        self._highest = bound
        self._last = LastDraw() if last is None else last
        self._parts: list[Part] = []
        self._buffer: Buffer | None = None
        self._waiting = 0
        self._below = np.inf
        self._file = np.uint64(0)
        self._key = pool_key(self._file)

    def offer(
        self, key: np.uint64, leaf: int, n_rows: int, gone: Bools | None, *columns: tuple[Floats, Floats]
    ) -> None:
        """Offer the rows of a leaf of the file with this key; those that are `gone` do not count.

        `columns` are the values, and the weights if rows have any, each in two arrays.
        """
        if key != self._file:
            self._file, self._key = key, pool_key(key)
        n_used = n_rows if gone is None else n_rows - int(np.count_nonzero(gone))
        if self._highest < 1.0 and n_used:
            bound = self._highest * (n_rows / n_used)
            self._below = min(self._below, bound if bound < 1.0 else np.inf)
        many = n_used > max(WHOLE, HASHED * self._quota)
        if many and self._compiled and _kernels.ready("draw_rows", n_rows):
            self._draw_here(leaf, n_rows, n_used, gone, columns)
            return
        of = (key, leaf, n_rows, self._below)
        if gone is None and self._last.of == of and self._last.rows is not None:
            (keys, rows, files, numbers), self._below = self._last.rows, self._last.below
        else:
            keys, rows = (self._drawn if many else self._hashed)(leaf, n_rows, n_used, gone)
            files, numbers = np.full(keys.size, key), rows + leaf * LEAF_ROWS
            if gone is None:
                self._last.of, self._last.rows, self._last.below = (
                    of,
                    (keys, rows, files, numbers),
                    self._below,
                )
        if keys.size:
            values, *weights = (_taken(*column, rows) for column in columns)
            self.add(keys, values, weights[0] if weights else None, None, files, numbers)

    @property
    def _key_bound(self) -> float:
        """Exponential keys above this bound are not needed: -log(1 - u) is smaller."""
        return self._below * (1.0 + self._below) if self._below < 0.5 else np.inf

    def _drawn(self, leaf: int, n_rows: int, n_used: int, gone: Bools | None) -> tuple[Floats, Ints]:
        """A draw with keys only for the rows that are taken."""
        keys, rows = leaf_sample(self._key, leaf, n_rows, gone, self._quota, self._key_bound)
        full, keys = keys.size == self._quota, _uniform(keys)
        if full:
            self._below = min(self._below, float(keys[-1]))
        few = int(np.searchsorted(keys, self._below, side="right"))
        return keys[:few], rows[:few]

    def _draw_here(
        self,
        leaf: int,
        n_rows: int,
        n_used: int,
        gone: Bools | None,
        columns: tuple[tuple[Floats, Floats], ...],
    ) -> None:
        """The same, with their values, in one kernel: NumPy's calls take longer than the work."""
        if self._buffer is None:
            self._buffer = Buffer(weighted=len(columns) > 1)
        place = self._buffer.room(self._quota)
        used, pool = NO_ROWS, n_rows
        if gone is not None and 2 * n_used < n_rows:  # too many rejections: draw among the used rows instead
            used, pool = np.flatnonzero(~gone), n_used
        x, w = columns[0], columns[1] if len(columns) > 1 else NONE
        few, self._below = _kernels.draw_rows(
            (self._key, self._file),
            (leaf, n_used, pool, self._quota),
            (used, NONE_GONE if gone is None else gone),
            (self._key_bound, self._below),
            (read_only(x[0]), read_only(x[1]), read_only(w[0]), read_only(w[1])),
            place,
            self._buffer.n,
        )
        self._buffer.n += few
        self._added(few)

    def _hashed(self, leaf: int, n_rows: int, n_used: int, gone: Bools | None) -> tuple[Floats, Ints]:
        """A draw with a key for each row, if many are wanted."""
        held_back = n_used > max(WHOLE, self._quota)
        if self._compiled and _kernels.ready("hashed_rows", n_rows):
            keys, rows = self._hashed_here(leaf, n_rows, n_used, gone, held_back=held_back)
        else:
            keys = hashed_keys(self._key, leaf, np.arange(n_rows))
            few = keys <= self._below
            if gone is not None:
                few &= ~gone
            rows = np.flatnonzero(few)
            keys = keys[rows]
        if keys.size >= self._quota and held_back:
            some = np.argpartition(keys, self._quota - 1)[: self._quota]
            keys, rows = keys[some], rows[some]
            self._below = float(keys.max())
        return keys, rows

    def _hashed_here(
        self, leaf: int, n_rows: int, n_used: int, gone: Bools | None, *, held_back: bool
    ) -> tuple[Floats, Ints]:
        """The rows up to the bound, or the wanted number of rows with those next to them."""
        keys, rows = np.empty(n_rows), np.empty(n_rows, np.int64)
        hidden = NONE_GONE if gone is None else gone
        enough = (self._quota + 6.0 * self._quota**0.5 + 16.0) / n_used if held_back else np.inf
        few = 0
        if enough < self._below:
            few = _kernels.hashed_rows(self._key, leaf, n_rows, hidden, enough, keys, rows)
        if few < self._quota:
            few = _kernels.hashed_rows(self._key, leaf, n_rows, hidden, self._below, keys, rows)
        return keys[:few].copy(), rows[:few].copy()

    def add(
        self,
        keys: Floats,
        values: Floats,
        weights: Floats | None,
        codes: Ints | None = None,
        files: Words | None = None,
        rows: Ints | None = None,
    ) -> None:
        """Add rows whose keys are known, in any order."""
        self._parts.append((keys, values, weights, codes, files, rows))
        self._added(keys.size)

    def _added(self, n_rows: int) -> None:
        self._waiting += n_rows
        if self._waiting > PLENTY * self._size:
            self._settle()

    def add_files(self, keys: Words, rows: Ints, values: Floats, weights: Floats | None) -> None:
        """Add all rows of files of one small leaf each: for each row its file's key and its number in it."""
        self.add(hashed_keys(pool_keys(keys), 0, rows), values, weights, None, keys, rows)

    def _settle(self) -> RowPool:
        nothing, nowhere = np.empty(0), (np.empty(0, np.uint64), np.empty(0, np.int64))
        parts = [*self._parts, *([] if self._buffer is None else [self._buffer.taken()])]
        parts = parts or [(nothing, nothing, None, None, *nowhere)]
        pool = RowPool.smallest(self._size, self._below, *parts, compiled=self._compiled)
        self._parts, self._below = [pool.parts], float(pool.below)
        self._waiting = pool.keys.size
        return pool

    def result(self) -> RowPool:
        """The sample of all rows offered."""
        return self._settle()


def _taken(x: Floats, rest: Floats, rows: Ints) -> Floats:
    """Values of some rows of a leaf that comes in two arrays."""
    if not rest.size:
        return x[rows]
    later = rows >= x.size
    out = np.empty(rows.size)
    out[~later], out[later] = x[rows[~later]], rest[rows[later] - x.size]
    return out
