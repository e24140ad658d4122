"""A uniform sample of rows of any size, drawn by a random number for each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distmom.numerics.arrays import Floats, Record, Words
from distmom.numerics.blocks.labels import file_key
from distmom.numerics.random.philox import words
from distmom.reductions import Accumulator
from distmom.reductions.accumulate.leaves import Rows
from distmom.reductions.rows.keep_rows import missing_values
from distmom.reductions.state import Key


@dataclass(frozen=True)
class ShuffledSample(Record):
    """Rows with the smallest random numbers, in the order of these numbers, which is a random order.

    Attributes
    ----------
    size : int
        Requested number of rows.
    numbers : ndarray of uint64, shape (n,)
        Ascending; n is `size`, or the number of all rows if there are fewer.
    values : ndarray of float64, shape (n,)
    units : ndarray of uint64, shape (n,)
        Hash of the unit (or the file) of each row.
    """

    size: int
    numbers: Words
    values: Floats
    units: Words

    @property
    def full(self) -> bool:
        """Whether some rows may not be in the sample."""
        return self.numbers.size == self.size

    def below(self, limit: np.uint64) -> ShuffledSample:
        """Rows whose number is at most the limit: one limit takes equal shares of two samples."""
        n = int(np.searchsorted(self.numbers, limit, side="right"))
        return ShuffledSample(self.size, self.numbers[:n], self.values[:n], self.units[:n])

    @staticmethod
    def smallest(size: int, *parts: tuple[Words, Floats, Words]) -> ShuffledSample:
        """The sample of all rows of some parts."""
        numbers, values, units = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = np.argsort(numbers, kind="stable")[:size]
        return ShuffledSample(size, numbers[order], values[order], units[order])


@dataclass(frozen=True)
class SampleRows:
    """The reduction to a `ShuffledSample` of one column; rows without a value do not enter.

    Attributes
    ----------
    size : int
    seed : int
        128 bits.

    Notes
    -----
    The number of a row depends on the seed, its file's path and its place there alone, so the sample is the
    same for any batches, units and workers.
    """

    size: int
    seed: int

    def begin(self, n_files: int, window: Any = None) -> RowSampler:
        """An accumulator."""
        return RowSampler(self)

    def merge(self, left: ShuffledSample, right: ShuffledSample) -> ShuffledSample:
        """The sample of both."""
        parts = ((one.numbers, one.values, one.units) for one in (left, right))
        return ShuffledSample.smallest(self.size, *parts)


class RowSampler(Accumulator):
    """The `Accumulator` of `SampleRows`."""

    def __init__(self, spec: SampleRows) -> None:
        self._spec = spec
        nothing = np.empty(0, np.uint64)
        self._found = ShuffledSample(spec.size, nothing, np.empty(0), nothing)
        self._parts: list[tuple[Words, Floats, Words]] = []
        self._waiting = 0
        self._key = self._file = np.uint64(0)

    def start_file(self, number: int, path: str) -> None:  # noqa: D102
        # no path contains a NUL: this key has streams of its own, besides those of the labels
        self._key = file_key(self._spec.seed, f"sample\0{path}")
        self._file = file_key(self._spec.seed, path)

    def add(self, rows: Rows, n_groups: int) -> None:  # noqa: D102
        numbers = words(self._key, 0, rows.n_rows, first=rows.first_row)
        gone = missing_values(rows, "omit")
        here = np.ones(rows.n_rows, np.bool_) if gone is None else ~gone
        if self._found.full:
            here &= numbers <= self._found.numbers[-1]
        units = np.full(rows.n_rows, self._file) if rows.units is None else rows.units
        self._parts.append((numbers[here], rows.column(0)[here], units[here]))
        self._waiting += self._parts[-1][0].size
        if self._waiting >= self._spec.size:
            self._take()

    def _take(self) -> None:
        held = (self._found.numbers, self._found.values, self._found.units)
        self._found = ShuffledSample.smallest(self._spec.size, held, *self._parts)
        self._parts, self._waiting = [], 0

    def result(self, keys: list[Key]) -> ShuffledSample:
        """The sample."""
        self._take()
        return self._found
