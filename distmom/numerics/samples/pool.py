"""A large uniform sample of the rows of a column, drawn leaf by leaf.

Every row has an independent uniform key, and the sample is the rows with the smallest keys, as in
``sample.py``: smallest keys of a union are among the smallest of its parts, so samples merge in any order. A
leaf offers at most a quota of its rows. What a leaf held back is known: its rows above the largest key that
it offered. So the sample is complete below the least such key, and nothing above that key is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints, Record, Words
from distmom.numerics.blocks.labels import mix
from distmom.numerics.blocks.leaf import LEAF_ROWS, NONE_GONE
from distmom.numerics.samples.sample import leaf_sample, uniforms
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin("distmom.numerics.samples.sample")

LEAST_QUOTA, WHOLE = 256, 1_024
"""Rows of a leaf that are offered at least; a leaf of so many rows (a file of few rows) offers all."""

PLENTY = 2
"""Leaves offer so many times their part of the sample, as far as it is known beforehand."""

HASHED = 64
"""A leaf of at most so many times its quota, or of few rows, has a key hashed for each row; of a larger one
only the rows that are taken get a key."""

Part = tuple[Floats, Floats, Floats | None, Ints | None, Words | None, Ints | None]
"""Keys, values, weights and groups of some rows; of which files they are, and their numbers there."""

_STREAM = np.uint64(0x6A09E667F3BCC909)
"""Parts these keys from those of other draws about the same file."""


def leaf_quota(size: int, n_rows: int) -> int:
    """Rows that each leaf offers to a sample of `size` of about `n_rows` rows.

    Examples
    --------
    >>> leaf_quota(65_536, 10_000), leaf_quota(65_536, 10**6), leaf_quota(65_536, 10**9)
    (65536, 18726, 256)
    """
    n_leaves = max(1, n_rows // LEAF_ROWS)
    return min(size, max(LEAST_QUOTA, PLENTY * -(-size // n_leaves) if n_rows > LEAF_ROWS else size))


def pool_keys(keys: Words) -> Words:
    """The keys of the files' draws for their sample."""
    with np.errstate(over="ignore"):
        return mix(keys ^ _STREAM)


def pool_key(key: np.uint64) -> np.uint64:
    """The same of one file."""
    return np.uint64(pool_keys(np.array([key], np.uint64))[0])


def hashed_keys(key: np.uint64 | Words, leaf: int, rows: Ints) -> Floats:
    """Independent uniform keys of the given rows of a leaf, or, with a key for each, of several files."""
    return uniforms(key, 2 * leaf, rows)


def _uniform(keys: Floats) -> Floats:
    """1 - exp(-k) of keys below 1/`HASHED` or so, up to 1e-9 of it: the same bits everywhere."""
    out: Any = 1.0
    for n in range(4, 1, -1):
        out = 1.0 - out * keys / n
    return np.asarray(out * keys)


@dataclass(frozen=True)
class RowPool(Record):
    """A uniform sample of rows: all rows whose key is at most `below`, in any order.

    Attributes
    ----------
    keys : ndarray of float64, shape (n,)
    values : ndarray of float64, shape (n,)
    weights : ndarray of float64, shape (n,), or None
    below : float
        Infinite if these are all rows.
    codes : ndarray of int64, shape (n,), or None
        Numbers of the rows' groups, where there are groups.
    files, rows : ndarray of uint64 and of int64, shape (n,), or None
        Keys of the files, and numbers of the rows there.
    """

    keys: Floats
    values: Floats
    weights: Floats | None
    below: np.float64
    codes: Ints | None = None
    files: Words | None = None
    rows: Ints | None = None

    @classmethod
    def smallest(cls, size: int, below: float, *parts: Part) -> RowPool:
        """The sample of all rows of some parts, at most `size` of them."""
        keys = np.concatenate([part[0] for part in parts])
        some = np.flatnonzero(keys <= below)
        if some.size > size:
            some = some[np.argpartition(keys[some], size - 1)[:size]]
            below = float(keys[some].max())
        found = (_of_some(parts, i, some) for i in range(1, 6))
        values, weights, codes, files, rows = found
        return cls(keys[some], values, weights, np.float64(below), codes, files, rows)

    def sound(self, n_groups: int, *, weighted: bool) -> bool:
        """Whether the arrays fit each other, and the groups."""
        arrays = [a for a in (self.keys, self.values, self.weights, self.files, self.rows) if a is not None]
        codes = np.zeros(self.keys.size, np.int64) if self.codes is None else self.codes
        return (
            ((self.weights is not None) == weighted or not self.keys.size)
            and all(a.ndim == 1 and a.shape == self.keys.shape and a.dtype.itemsize == 8 for a in arrays)
            and (codes.shape == self.keys.shape and codes.dtype == np.int64)
            and (not codes.size or 0 <= codes.min() <= codes.max() < n_groups)
        )

    @property
    def parts(self) -> Part:
        """The arrays."""
        return self.keys, self.values, self.weights, self.codes, self.files, self.rows

    def at(self, some: Ints | Bools) -> RowPool:
        """Some of the rows."""
        parts: list[Any] = [None if a is None else a[some] for a in self.parts]
        keys, values, weights, *places = parts
        return RowPool(keys, values, weights, self.below, *places)

    def renumbered(self, where: Ints) -> RowPool:
        """The same rows, group g of which is number ``where[g]`` now."""
        return self if self.codes is None else replace(self, codes=where[self.codes])

    def in_order(self) -> RowPool:
        """The rows in the order of their keys, which is a random order that does not depend on the work."""
        order = np.argsort(self.keys)
        if np.any(np.diff(self.keys[order]) == 0.0):  # hardly ever
            order = np.lexsort((self.values, self.keys))
        return self.at(order)

    def merge(self, other: RowPool, size: int) -> RowPool:
        """The sample of the union of two disjoint sets of rows, whose groups have the same numbers."""
        parts = [self.parts, other.parts]
        return RowPool.smallest(size, min(self.below, other.below), *parts)


def _of_some(parts: Sequence[Part], i: int, some: Ints | Bools) -> Any:
    """Array i of the parts, of some of all their rows; parts without rows may have none."""
    arrays: list[Any] = [part[i] for part in parts if part[i] is not None]
    return np.concatenate(arrays)[some] if arrays else None


class PoolSampler:
    """Collects the sample of one column, leaf by leaf.

    Parameters
    ----------
    size : int
        Most rows.
    quota : int
        Most rows of a leaf.
    compiled : bool
        Draw with Numba (the same rows).
    """

    def __init__(self, size: int, quota: int, *, compiled: bool = False) -> None:
        self._size, self._quota, self._compiled = size, quota, compiled
        self._parts: list[Part] = []
        self._waiting = 0
        self._below = np.inf
        self._file = np.uint64(0)
        self._key = pool_key(self._file)

    def offer(
        self, key: np.uint64, leaf: int, n_rows: int, gone: Bools | None, *columns: tuple[Floats, Floats]
    ) -> None:
        """Offer the rows of a leaf of the file with this key; those that are `gone` do not count.

        `columns` are the values, and the weights where rows have some, each in two arrays.
        """
        if key != self._file:
            self._file, self._key = key, pool_key(key)
        keys, rows = self._drawn(self._key, leaf, n_rows, gone)
        if keys.size:
            values, *weights = (_taken(*column, rows) for column in columns)
            places = np.full(keys.size, key), leaf * LEAF_ROWS + rows
            self.add(keys, values, weights[0] if weights else None, None, *places)

    def _drawn(self, key: np.uint64, leaf: int, n_rows: int, gone: Bools | None) -> tuple[Floats, Ints]:
        n_used = n_rows if gone is None else n_rows - int(np.count_nonzero(gone))
        if n_used <= max(WHOLE, HASHED * self._quota):
            return self._hashed(key, leaf, n_rows, n_used, gone)
        below = self._below * (1.0 + self._below) if self._below < 0.5 else np.inf  # above -log(1 - u)
        if self._compiled:
            keys, rows = self._compiled_sample(key, leaf, n_rows, n_used, gone, below)
        else:
            keys, rows = leaf_sample(key, leaf, n_rows, gone, self._quota, below)
        full, keys = keys.size == self._quota, _uniform(keys)
        if full:
            self._below = min(self._below, float(keys[-1]))
        few = int(np.searchsorted(keys, self._below, side="right"))
        return keys[:few], rows[:few]

    def _compiled_sample(
        self, key: np.uint64, leaf: int, n_rows: int, n_used: int, gone: Bools | None, below: float
    ) -> tuple[Floats, Ints]:
        """The same as `leaf_sample`."""
        keys = np.empty(self._quota)
        keys = keys[: _kernels.spacings(key, 2 * leaf, n_used, below, keys)]
        rows, seen = np.empty(keys.size, np.int64), np.zeros(n_rows // 64 + 1, np.uint64)
        used, pool = np.empty(0, np.int64), n_rows
        if gone is not None and 2 * n_used < n_rows:  # too many rejections: draw among the used rows instead
            used, pool = np.flatnonzero(~gone), n_used
        _kernels.distinct_rows(key, 2 * leaf + 1, pool, used, NONE_GONE if gone is None else gone, seen, rows)
        return keys, rows

    def _hashed(
        self, key: np.uint64, leaf: int, n_rows: int, n_used: int, gone: Bools | None
    ) -> tuple[Floats, Ints]:
        """With a key for each row, where many are wanted."""
        keys = hashed_keys(key, leaf, np.arange(n_rows))
        few = keys <= self._below
        if gone is not None:
            few &= ~gone
        rows = np.flatnonzero(few)
        keys = keys[rows]
        if keys.size >= self._quota and n_used > max(WHOLE, self._quota):
            some = np.argpartition(keys, self._quota - 1)[: self._quota]
            keys, rows = keys[some], rows[some]
            self._below = float(keys.max())
        return keys, rows

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
        self._waiting += keys.size
        if self._waiting > PLENTY * self._size:
            self._settle()

    def add_files(self, keys: Words, rows: Ints, values: Floats, weights: Floats | None) -> None:
        """Add all rows of files of one small leaf each: for each row its file's key and its number there."""
        self.add(hashed_keys(pool_keys(keys), 0, rows), values, weights, None, keys, rows)

    def _settle(self) -> RowPool:
        nothing, nowhere = np.empty(0), (np.empty(0, np.uint64), np.empty(0, np.int64))
        parts = self._parts or [(nothing, nothing, None, None, *nowhere)]
        pool = RowPool.smallest(self._size, self._below, *parts)
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
