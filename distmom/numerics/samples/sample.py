"""A uniform sample of rows that merges exactly: the rows with the smallest random keys.

Every row has an independent exponential key; a sample is the `size` rows with the smallest keys. The smallest
keys of a union are the smallest among those of its parts, so samples merge without further draws and in any
order. For a leaf the keys are not drawn row by row: the smallest keys of n rows are built upwards from
spacings, and their rows are drawn without replacement, which costs nothing for rows that are not taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from distmom.numerics.arrays import NOTHING, Bools, Floats, Ints, Words, read_only
from distmom.numerics.blocks.labels import GOLDEN, mix
from distmom.numerics.blocks.leaf import NONE_GONE, together
from distmom.numerics.random.loader import log
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)


class RowSample(NamedTuple):
    """Sampled rows of each group: keys ascending, padded with infinite keys (and NaN values).

    Both arrays have shape (n_groups, size).
    """

    keys: Floats
    values: Floats

    @classmethod
    def empty(cls, n_groups: int, size: int) -> RowSample:
        """A sample of no rows."""
        return cls(np.full((n_groups, size), np.inf), np.full((n_groups, size), np.nan))

    def each(self, change: Callable[[Floats, float], Floats]) -> RowSample:
        """A change of shape of both arrays; its second argument is the padding value."""
        return RowSample(change(self.keys, np.inf), change(self.values, np.nan))

    def merge(self, other: RowSample, *, compiled: bool = False) -> RowSample:
        """The sample, of the size of this one, of the union of two disjoint sets of rows, group by group."""
        if compiled and _kernels.ready("merge_samples", self.keys.size):
            out = RowSample(np.empty(self.keys.shape), np.empty(self.keys.shape))
            _kernels.merge_samples(*self, *other, *out)
            return out
        keys = np.concatenate([self.keys, other.keys], axis=1)
        values = np.concatenate([self.values, other.values], axis=1)
        order = np.argsort(keys, axis=1, kind="stable")[:, : self.keys.shape[1]]
        return RowSample(np.take_along_axis(keys, order, 1), np.take_along_axis(values, order, 1))


class LeafSampler:
    """Collects the row sample of one column, leaf by leaf.

    Parameters
    ----------
    size : int
        Largest number of rows to take.
    compiled : bool
        Use the compiled twin (same sample).
    """

    def __init__(self, size: int, *, compiled: bool = False) -> None:
        self._compiled = compiled
        self._sample = RowSample.empty(1, size)

    def offer(self, key: np.uint64, leaf: int, x: Floats, gone: Bools | None, rest: Floats = NOTHING) -> None:
        """Offer the rows of a leaf of the file with this key; those that are `gone` do not count.

        The leaf's values may come in two arrays, `x` and `rest`.
        """
        keys, values = self.lines
        if self._compiled and _kernels.ready("offer_leaf", x.size + rest.size):
            hidden = NONE_GONE if gone is None else gone
            _kernels.offer_leaf(key, leaf, read_only(x), read_only(rest), hidden, keys, values)
            return
        x = together(x, rest)
        fresh, rows = leaf_sample(key, leaf, x.size, gone, keys.size, float(keys[-1]))
        self._merge(fresh, x[rows])

    def add(self, keys: Floats, values: Floats) -> None:
        """Add rows whose keys are known, in any order."""
        few = np.flatnonzero(keys < self._sample.keys[0, -1])
        few = few[np.argsort(keys[few], kind="stable")]
        self._merge(keys[few], values[few])

    def _merge(self, keys: Floats, values: Floats) -> None:
        if keys.size:
            fresh = RowSample(keys[None], values[None])
            self._sample = self._sample.merge(fresh, compiled=self._compiled)

    @property
    def lines(self) -> tuple[Floats, Floats]:
        """Keys and values, to be filled in place by compiled code."""
        return self._sample.keys[0], self._sample.values[0]

    def result(self, n_groups: int = 1) -> RowSample:
        """The sample of all rows offered, as a sample of groups, with a single one."""
        return self._sample


def uniforms(key: np.uint64 | Words, stream: int, places: Ints) -> Floats:
    """Numbers in (0, 1): a pure function of key, stream and place."""
    with np.errstate(over="ignore"):
        start = mix(np.array([stream], np.uint64) * GOLDEN + key)
        words = mix(start + places.astype(np.uint64) * GOLDEN)
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def row_keys(key: np.uint64 | Words, stream: int, rows: Ints) -> Floats:
    """Independent exponential keys of the given rows of a leaf, or, with a key for each, of several files."""
    return -log(uniforms(key, stream, rows))


def leaf_sample(
    key: np.uint64, leaf: int, n_rows: int, gone: Bools | None, size: int, below: float
) -> tuple[Floats, Ints]:
    """Keys and places of the sampled rows of one leaf.

    Parameters
    ----------
    key : uint64
        `labels.file_key` of the file.
    leaf : int
        Number of the leaf in its file.
    n_rows : int
        Rows of the leaf.
    gone : ndarray of bool, shape (n_rows,), or None
        Rows that do not count.
    size : int
        Largest number of rows to take.
    below : float
        Keys above this bound are not needed (the largest key of a full sample, else infinity). It only saves
        work: keys below it are the same for any bound.

    Returns
    -------
    keys : ndarray of float64
        Ascending.
    rows : ndarray of int64
        Places within the leaf.
    """
    n_used = n_rows if gone is None else n_rows - int(np.count_nonzero(gone))
    if n_used <= size:
        rows = np.arange(n_rows) if gone is None else np.flatnonzero(~gone)
        keys = row_keys(key, 2 * leaf, rows)
        order = np.argsort(keys, kind="stable")
        keys, rows = keys[order], rows[order]
        few = int(np.searchsorted(keys, below, side="right"))
        return keys[:few], rows[:few]
    used, pool = None, n_rows
    if gone is not None and 2 * n_used < n_rows:  # too many rejections: draw among the used rows instead
        used, pool, gone = np.flatnonzero(~gone), n_used, None
    keys = _spacings(key, 2 * leaf, n_used, size, below)
    return keys, _distinct_rows(key, 2 * leaf + 1, pool, used, gone, keys.size)


def _spacings(key: np.uint64, stream: int, n_used: int, size: int, below: float) -> Floats:
    """The smallest of n_used exponential keys, ascending: at most `size`, none above `below`."""
    expected = n_used * below  # from above: a key is below the bound with probability 1 - exp(-below)
    guess = size if not expected < size else min(size, int(expected + 6.0 * np.sqrt(expected)) + 16)
    for chunk in (guess, size):
        steps = row_keys(key, stream, np.arange(chunk)) / (n_used - np.arange(chunk))
        keys = np.cumsum(steps)
        few = int(np.searchsorted(keys, below, side="right"))
        if few < chunk or chunk == size:
            return keys[:few]
    raise AssertionError("unreachable")  # pragma: no cover


def _distinct_rows(
    key: np.uint64, stream: int, pool: int, used: Ints | None, gone: Bools | None, size: int
) -> Ints:
    """`size` distinct rows of the pool in random order: repeats and rows that are gone are rejected."""
    drawn = 0
    rows = np.empty(0, np.int64)
    while rows.size < size:
        chunk = size - rows.size + 16 + size // 8
        fresh = (uniforms(key, stream, np.arange(drawn, drawn + chunk)) * pool).astype(np.int64)
        drawn += chunk
        if used is not None:
            fresh = used[fresh]
        elif gone is not None:
            fresh = fresh[~gone[fresh]]
        rows = np.concatenate([rows, fresh])
        _, first = np.unique(rows, return_index=True)
        rows = rows[np.sort(first)]
    return rows[:size]
