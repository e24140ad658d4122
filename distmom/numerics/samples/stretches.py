"""Means of stretches of neighbouring rows: a summary of the order of the rows of a column.

The rows of a file are divided at multiples of a size, a power of two. If there are too many stretches, each
absorbs its neighbour, as in a dyadic tree: the result does not depend on the division of the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints, Record, Words
from distmom.numerics.blocks.leaf import LEAF_ROWS, together
from distmom.numerics.samples.pool import RowPool

LEAST_ROWS, FINE_ROWS = 512, 32
"""Initial rows of a stretch; and those used if a large sample contains all rows, at most `FEW_ROWS`."""

FEW_ROWS = 16_384

MOST = 8_192
"""Most stretches kept of a column. With more files than this nothing of the order is kept."""

FREE_ROWS = 1 << 23
"""From this number of rows on a stretch is a leaf, whose mean is known."""


def stretch_rows(n_rows: int) -> int:
    """Initial rows of a stretch, for about `n_rows` rows in all.

    Below `FREE_ROWS` they are those of states, which do not know how many rows will follow: the means are
    then the same.

    Examples
    --------
    >>> stretch_rows(10_000), stretch_rows(5_000_000), stretch_rows(10**8)
    (512, 512, 131072)
    """
    return LEAF_ROWS if n_rows >= FREE_ROWS else LEAST_ROWS


@dataclass(frozen=True)
class Stretches(Record):
    """Stretches with rows, in the order of the keys of their files and of their numbers there.

    Attributes
    ----------
    files : ndarray of uint64, shape (n,)
        Keys of the files.
    numbers : ndarray of int64, shape (n,)
        First row over `rows`.
    mass, mean : ndarray of float64, shape (n,)
        Used rows, or their sum of weights, and their mean.
    rows : int
        Rows of a whole stretch; 0 if there were too many files.
    """

    files: Words
    numbers: Ints
    mass: Floats
    mean: Floats
    rows: np.int64

    @classmethod
    def of(cls, rows: int, *parts: tuple[Words, Ints, Floats, Floats]) -> Stretches:
        """The stretches of some parts, which are in the order of the lake if a stretch is in two of them."""
        files, numbers, mass, mean = (np.concatenate([part[i] for part in parts]) for i in range(4))
        order = np.lexsort((numbers, files))
        found = cls(files[order], numbers[order], mass[order], mean[order], np.int64(rows))
        return found._met()

    def _met(self) -> Stretches:
        """The same with neighbours of equal number merged."""
        found = self
        while (
            same := (found.files[1:] == found.files[:-1]) & (found.numbers[1:] == found.numbers[:-1])
        ).any():
            same[1:] &= ~same[:-1]  # the first two of several
            first, second = np.flatnonzero(same), np.flatnonzero(same) + 1
            mass, mean = found.mass.copy(), found.mean.copy()
            mass[first] += mass[second]
            with np.errstate(invalid="ignore", over="ignore"):
                mean[first] += (mean[second] - mean[first]) * (mass[second] / mass[first])
            rest = np.ones(mass.size, np.bool_)
            rest[second] = False
            found = Stretches(found.files[rest], found.numbers[rest], mass[rest], mean[rest], found.rows)
        return found

    def few(self, most_rows: float = np.inf) -> Stretches:
        """The same in at most `MOST` stretches, or in stretches of `most_rows`."""
        found = self
        while found.files.size > MOST and found.rows < most_rows:
            if np.count_nonzero(found.files[1:] != found.files[:-1]) + 1 > MOST:
                return Stretches(
                    found.files[:0], found.numbers[:0], found.mass[:0], found.mean[:0], np.int64(0)
                )
            found = found.of_rows(2 * int(found.rows))
        return found

    def of_rows(self, rows: int) -> Stretches:
        """Stretches of `rows` rows, a power of two times the present number."""
        found = self
        while 0 < found.rows < rows:
            found = Stretches(found.files, found.numbers // 2, found.mass, found.mean, 2 * found.rows)._met()
        return found

    def merge(self, other: Stretches) -> Stretches:
        """The stretches of the union of two disjoint sets of rows; these come first."""
        return self.joined(other, np.inf)

    def joined(self, other: Stretches, most_rows: float) -> Stretches:
        """The same, limited as by `few`."""
        rows = max(int(self.rows), int(other.rows)) if self.rows and other.rows else 0
        both = [one.of_rows(rows) for one in (self, other)]
        if not rows:
            return self if not self.rows else other
        return Stretches.of(rows, *[(one.files, one.numbers, one.mass, one.mean) for one in both]).few(
            most_rows
        )

    def sound(self) -> bool:
        """Whether the arrays are consistent."""
        arrays: tuple[Any, ...] = (self.files, self.numbers, self.mass, self.mean)
        kinds = "uiff"
        return all(
            a.shape == self.files.shape and a.ndim == 1 and a.dtype.kind == k
            for a, k in zip(arrays, kinds, strict=True)
        )


class StretchSums:
    """Collects the stretches of one column, leaf by leaf."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._parts: list[tuple[Words, Ints, Floats, Floats]] = []
        self._leaves: list[tuple[np.uint64, int, float, float]] = []
        self._waiting = 0
        self._found: list[Stretches] = []

    def offer(
        self,
        key: np.uint64,
        first_row: int,
        gone: Bools | None,
        whole: tuple[float, float],
        *columns: tuple[Floats, Floats],
    ) -> None:
        """Add a leaf of the file with this key; rows that are `gone` do not count.

        `whole` are mass and mean of its used rows; `columns` are the values, and the weights if rows have
        any, each in two arrays.
        """
        first = first_row // self._rows
        if self._rows == LEAF_ROWS:
            if whole[0] > 0.0:
                self._leaves.append((key, first, *whole))
                self._counted(1)
            return
        x, *weights = (together(*column) for column in columns)
        starts = np.arange(0, x.size, self._rows)
        if gone is not None:
            x = np.where(gone, 0.0, x)
        with np.errstate(invalid="ignore", over="ignore"):
            if weights:
                w = weights[0] if gone is None else np.where(gone, 0.0, weights[0])
                mass, sums = np.add.reduceat(w, starts), np.add.reduceat(w * x, starts)
            elif gone is not None:
                mass, sums = np.add.reduceat((~gone).astype(np.float64), starts), np.add.reduceat(x, starts)
            else:
                mass, sums = (
                    np.minimum(x.size - starts, self._rows).astype(np.float64),
                    np.add.reduceat(x, starts),
                )
            some = mass > 0.0
            self._add(key, first + np.flatnonzero(some), mass[some], sums[some] / mass[some])

    def _add(self, key: np.uint64, numbers: Ints, mass: Floats, mean: Floats) -> None:
        self._append(np.full(numbers.size, key), numbers, mass, mean)

    def _append(self, files: Words, numbers: Ints, mass: Floats, mean: Floats) -> None:
        self._parts.append((files, numbers, mass, mean))
        self._counted(numbers.size)

    def _counted(self, n: int) -> None:
        self._waiting += n
        if self._waiting > 2 * MOST:
            self._settle()

    def add_files(self, keys: Words, rows: Ints, x: Floats, w: Floats | None) -> None:
        """Add all used rows of small files: for each row its file's key and its number in the file."""
        if not x.size:
            return
        numbers = rows // self._rows
        new = (keys[1:] != keys[:-1]) | (numbers[1:] != numbers[:-1])
        starts = np.concatenate([[0], 1 + np.flatnonzero(new)])
        ones = np.ones(x.size) if w is None else w
        with np.errstate(invalid="ignore", over="ignore"):
            mass, sums = np.add.reduceat(ones, starts), np.add.reduceat(x if w is None else w * x, starts)
            some = mass > 0.0
            starts = starts[some]
            self._append(keys[starts], numbers[starts], mass[some], sums[some] / mass[some])

    def _settle(self) -> Stretches:
        """Merge up to stretches of a leaf: larger ones consist of whole branches of the tree over leaves."""
        keys, numbers, mass, mean = zip(*self._leaves, strict=True) if self._leaves else ((),) * 4
        leaves = np.array(keys, np.uint64), np.array(numbers, np.int64), np.array(mass), np.array(mean)
        found = Stretches.of(self._rows, *self._parts, leaves).few(LEAF_ROWS)
        self._found = [found if not self._found else self._found[0].joined(found, LEAF_ROWS)]
        self._parts, self._leaves, self._waiting = [], [], 0
        return self._found[0]

    def result(self) -> Stretches:
        """The stretches of all rows offered."""
        return self._settle().few()


def stretches_of(pools: Sequence[RowPool], kept: Sequence[Stretches]) -> tuple[Stretches, ...]:
    """The stretches that were kept for each column, or finer ones if a sample contains all rows."""
    found = []
    for i, stretches in enumerate(kept):
        pool = pools[i] if pools else None
        few = pool is not None and np.isinf(pool.below) and pool.keys.size <= FEW_ROWS
        found.append(of_pool(pool) if few and pool is not None else stretches)
    return tuple(found)


def of_pool(pool: RowPool) -> Stretches:
    """Stretches of the rows of a sample; empty if it does not know their positions."""
    sums = StretchSums(FINE_ROWS)
    if pool.files is not None and pool.rows is not None:
        order = np.lexsort((pool.rows, pool.files))
        weights = None if pool.weights is None else pool.weights[order]
        sums.add_files(pool.files[order], pool.rows[order], pool.values[order], weights)
    return sums.result()
