"""A large uniform sample of the rows of a column.

Every row has an independent uniform key, and the sample is the rows with the smallest keys, as in
``sample.py``: smallest keys of a union are among the smallest of its parts, so samples merge in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints, Record, Words, read_only
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

Part = tuple[Floats, Floats, Floats | None, Ints | None, Words | None, Ints | None]
"""Keys, values, weights and groups of some rows, their files, and their numbers in these."""


@dataclass(frozen=True)
class RowPool(Record):
    """A uniform sample of rows: all rows whose key is at most `below`, in any order.

    Attributes
    ----------
    keys : ndarray of float64, shape (n,)
    values : ndarray of float64, shape (n,)
    weights : ndarray of float64, shape (n,), or None
    below : float
        Bound of the keys; infinite if these are all rows.
    codes : ndarray of int64, shape (n,), or None
        Numbers of the rows' groups, if there are groups.
    files, rows : ndarray of uint64 and of int64, shape (n,), or None
        Keys of the files, and numbers of the rows in them.
    """

    keys: Floats
    values: Floats
    weights: Floats | None
    below: np.float64
    codes: Ints | None = None
    files: Words | None = None
    rows: Ints | None = None

    @classmethod
    def smallest(cls, size: int, below: float, *parts: Part, compiled: bool = False) -> RowPool:
        """The sample of all rows of some parts, at most `size` of them."""
        return _Chosen.of([part[0] for part in parts], size, below, compiled=compiled).pool(parts)

    def sound(self, n_groups: int, *, weighted: bool) -> bool:
        """Whether the arrays are consistent with each other and with the groups."""
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
        """The same rows, with group g renumbered to ``where[g]``."""
        return self if self.codes is None else replace(self, codes=where[self.codes])

    def in_order(self) -> RowPool:
        """The rows in the order of their keys: random, whatever the division of the work."""
        [found] = all_in_order([self])
        return found

    def same_rows(self, other: RowPool) -> bool:
        """Whether it is a sample of another column of the same rows."""
        pairs = zip(
            replace(self, values=self.keys).parts, replace(other, values=other.keys).parts, strict=True
        )
        return self.below == other.below and all(
            a is b or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs
        )

    def shares(self, other: RowPool) -> bool:
        """Whether all arrays but the values are those of the other sample."""
        mine, others = replace(self, values=self.keys).parts, replace(other, values=other.keys).parts
        return self.below == other.below and all(a is b for a, b in zip(mine, others, strict=True))

    def merge(self, other: RowPool, size: int, *, compiled: bool = False) -> RowPool:
        """The sample of the union of two disjoint sets of rows, whose groups have the same numbers."""
        [found] = merge_pools([self], [other], size, compiled=compiled)
        return found


class _Chosen(NamedTuple):
    """The rows that stay: marks of those of each part, their number, and the bound of their keys."""

    low: list[Bools]
    n: int
    below: np.float64
    marked: Callable[..., int]

    @classmethod
    def of(cls, keys: Sequence[Floats], size: int, below: float, *, compiled: bool) -> _Chosen:
        """The rows with keys up to `below`, at most `size` of them."""
        low = [one <= below for one in keys]
        n = sum(map(np.count_nonzero, low))
        if n > size:
            below = float(np.partition(np.concatenate(keys), size - 1)[size - 1])
            low = [one <= below for one in keys]
            n = sum(map(np.count_nonzero, low))
        n_rows = sum(mark.size for mark in low)
        marked = _kernels.marked if compiled and _kernels.ready("marked", n_rows) else _marked
        return cls(low, n, np.float64(below), marked)

    def rows(self, arrays: Sequence[Any]) -> Any:
        """Their values in one array of each part; None if no part has one."""
        return _of_parts(arrays, self.low, self.n, self.marked)

    def pool(self, parts: Sequence[Part]) -> RowPool:
        """The sample."""
        keys, values, weights, *places = [self.rows(arrays) for arrays in zip(*parts, strict=True)]
        return RowPool(keys, values, weights, self.below, *places)


def sharing(pools: Sequence[RowPool]) -> tuple[RowPool, ...]:
    """The samples of some columns; neighbours of the same rows share all arrays but the values."""
    found: list[RowPool] = []
    for pool in pools:
        same = bool(found) and found[-1].same_rows(pool)
        found.append(replace(found[-1], values=pool.values) if same else pool)
    return tuple(found)


def merge_pools(
    left: Sequence[RowPool], right: Sequence[RowPool], size: int, *, compiled: bool = False
) -> tuple[RowPool, ...]:
    """`RowPool.merge` of each column; the rows of neighbours that share their arrays are chosen once."""
    found: list[RowPool] = []
    last: tuple[RowPool, RowPool, _Chosen] | None = None
    for one, other in zip(left, right, strict=True):
        if last is not None and one.shares(last[0]) and other.shares(last[1]):
            found.append(replace(found[-1], values=last[2].rows([one.values, other.values])))
            continue
        below, keys = min(one.below, other.below), [one.keys, other.keys]
        last = one, other, _Chosen.of(keys, size, below, compiled=compiled)
        found.append(last[2].pool([one.parts, other.parts]))
    return tuple(found)


def all_in_order(pools: Sequence[RowPool]) -> tuple[RowPool, ...]:
    """Samples of some columns, each `in_order`; if their rows are the same they share their arrays."""
    found: list[RowPool] = []
    last: RowPool | None = None  # the sample with that order
    order = np.empty(0, np.int64)
    for pool in pools:
        if last is not None and last.same_rows(pool):
            found.append(replace(found[-1], values=pool.values[order]))
            continue
        last, order = pool, np.argsort(pool.keys)
        keys = pool.keys[order]
        if (keys[1:] == keys[:-1]).any():  # very rare
            last, order = None, np.lexsort((pool.values, pool.keys))
        found.append(pool.at(order))
    return tuple(found)


def _of_parts(arrays: Sequence[Any], low: Sequence[Bools], n_kept: int, marked: Callable[..., int]) -> Any:
    """The marked values of one array of each part, without extra memory; parts without rows may have none."""
    some = [(a, m) for a, m in zip(arrays, low, strict=True) if a is not None]
    if not some:
        return None
    if n_kept == sum(a.size for a, _ in some):
        return np.concatenate([a for a, _ in some])
    out, n = np.empty(n_kept + 1, some[0][0].dtype), 0
    for a, m in some:
        n = marked(read_only(a), m, out, n)
    return out[:n]


def _marked(a: Any, low: Bools, out: Any, at: int) -> int:
    """Copy the marked values to `out` from a place on; return the place after them."""
    found = a if low.all() else a[np.flatnonzero(low)]
    out[at : at + found.size] = found
    return at + int(found.size)
