"""Facts of each file, column by column: rows, missing values, moments, smallest and largest value.

These facts come with the sums of blocks: the moments of a file are those that go into its cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Floats, Ints, Record
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.leaf import LEAF_ROWS, together
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.samples.sample import LeafSampler, RowSample, row_keys

if TYPE_CHECKING:
    from distmom.reductions.accumulate.small_files import Together
    from distmom.reductions.layout import LeafRows

KINDS = 3
"""Nulls, NaNs and infinities, in the order of `state.NULLS`, `NANS` and `INFS`."""


@dataclass(frozen=True)
class FileFacts(Record):
    """Facts of F files (or folders), C columns with values and P columns of which only nulls are counted.

    Attributes
    ----------
    number : ndarray of int64, shape (F,)
        Numbers of the files in the windows of the units, ascending and distinct. Files with one number are
        taken together.
    n_rows : ndarray of int64, shape (F,)
        Rows that passed the filter.
    counts : ndarray of int64, shape (C, F, 3)
        Nulls, NaNs and infinities among them.
    moments : Moments of shape (C, F)
        Moments of the used rows: all but nulls and NaNs.
    low, high : ndarray of float64, shape (C, F)
        Smallest and largest used value; infinity and minus infinity if there is none.
    absent : ndarray of int64, shape (P, F)
        Nulls in the columns without values.
    """

    number: Ints
    n_rows: Ints
    counts: Ints
    moments: Moments
    low: Floats
    high: Floats
    absent: Ints

    def _parts(self) -> list[tuple[NDArray[Any], int]]:
        """All arrays, and the axis of the files."""
        arrays = [(self.number, 0), (self.n_rows, 0), (self.counts, 1)]
        return arrays + [(a, 1) for a in (*self.moments, self.low, self.high, self.absent)]

    @classmethod
    def _of(cls, parts: list[NDArray[Any]]) -> FileFacts:
        number, n_rows, counts, n, mean, m2, low, high, absent = parts
        return cls(number, n_rows, counts, Moments(n, mean, m2), low, high, absent)

    def each(self, change: Callable[[NDArray[Any], int], NDArray[Any]]) -> FileFacts:
        """Apply `change` to every array; its second argument is the axis of the files."""
        return self._of([change(array, axis) for array, axis in self._parts()])

    def take(self, places: Any) -> FileFacts:
        """Some of the files, given by their places or a slice."""
        return self.each(lambda a, axis: a[places] if axis == 0 else a[:, places])

    def merge(self, other: FileFacts) -> FileFacts:
        """The facts of both; the first file of `other` may be the last of these, or be in its folder."""
        if self.number[-1] != other.number[0]:
            return self._joined(other)
        both = self.take(slice(-1, None))._added(other.take(slice(1)))
        return self.take(slice(-1))._joined(both)._joined(other.take(slice(1, None)))

    def _joined(self, other: FileFacts) -> FileFacts:
        pairs = zip(self._parts(), other._parts(), strict=True)
        return self._of([np.concatenate([a, b], axis) for (a, axis), (b, _) in pairs])

    def _added(self, other: FileFacts) -> FileFacts:
        """Add the rows of both, file by file."""
        return FileFacts(
            self.number,
            self.n_rows + other.n_rows,
            self.counts + other.counts,
            self.moments.merge(other.moments),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.absent + other.absent,
        )

    def over(self, places: Ints, n: int) -> FileFacts:
        """Combine files with the same place: n places, each with one or more files."""
        order = np.argsort(places, kind="stable")
        ends = np.searchsorted(places[order], np.arange(n + 1))
        parts = [self.take(order[a:b])._whole() for a, b in pairwise(ends.tolist())]
        arrays = zip(*(part._parts() for part in parts), strict=True)
        found = self._of([np.concatenate([a for a, _ in line], line[0][1]) for line in arrays])
        return replace(found, number=np.arange(n))

    def _whole(self) -> FileFacts:
        """All files together, as one."""
        return FileFacts(
            self.number[:1],
            self.n_rows.sum(keepdims=True),
            self.counts.sum(axis=1, keepdims=True),
            self.moments.total().at((slice(None), None)),
            self.low.min(axis=1, keepdims=True),
            self.high.max(axis=1, keepdims=True),
            self.absent.sum(axis=1, keepdims=True),
        )


class LargeSampler:
    """A row sample so large that most files fit into it: rows are buffered, and enter many at a time."""

    def __init__(self, size: int, *, compiled: bool) -> None:
        self._size = size
        self._sampler = LeafSampler(size, compiled=compiled)
        self._keys: list[Floats] = []
        self._values: list[Floats] = []
        self._waiting = 0

    def offer(self, rows: LeafRows) -> None:
        """Offer the used rows of a leaf, as `sample.LeafSampler.offer`."""
        key, leaf, n = rows.place.key, rows.place.first_row // LEAF_ROWS, rows.x.size + rows.rest.size
        if n - (0 if rows.gone is None else int(np.count_nonzero(rows.gone))) > self._size:
            self._sampler.offer(key, leaf, rows.x, rows.gone, rows.rest)
            return
        used = np.arange(n) if rows.gone is None else np.flatnonzero(~rows.gone)
        self.add(row_keys(key, 2 * leaf, used), together(rows.x, rows.rest)[used])

    def add(self, keys: Floats, values: Floats) -> None:
        """Add rows whose keys are known."""
        self._keys.append(keys)
        self._values.append(values)
        self._waiting += keys.size
        if self._waiting >= self._size:
            self._settle()

    def _settle(self) -> None:
        if self._keys:
            self._sampler.add(np.concatenate(self._keys), np.concatenate(self._values))
        self._keys, self._values, self._waiting = [], [], 0

    def result(self) -> RowSample:
        """The sample of all rows offered."""
        self._settle()
        return self._sampler.result()


class FileWatcher:
    """Collects the facts of the files of one unit, and a sample of their rows, while leaves are summed.

    Parameters
    ----------
    n_columns : int
        Columns with values.
    n_files : int
    sample_size : int
        Rows of the sample of each column.
    compiled : bool
    """

    def __init__(self, n_columns: int, n_files: int, sample_size: int, *, compiled: bool) -> None:
        self._samplers = [LargeSampler(sample_size, compiled=compiled) for _ in range(n_columns)]
        self.counts = np.zeros((n_columns, n_files, KINDS), np.int64)
        self.moments = Moments.empty(n_columns, n_files)
        self.low = np.full((n_columns, n_files), np.inf)
        self.high = np.full((n_columns, n_files), -np.inf)
        self._before = np.zeros((n_columns, KINDS), np.int64)

    def leaf(self, c: int, rows: LeafRows) -> None:
        """Add column c of the next leaf of the file; NaN occurs only in rows that do not count."""
        number = rows.place.file
        self._samplers[c].offer(rows)
        n = rows.x.size
        for part, gone in ((rows.x, slice(n)), (rows.rest, slice(n, None))):
            x = part if rows.gone is None else part[~rows.gone[gone]]
            if x.size:
                self.low[c, number] = min(self.low[c, number], float(x.min()))
                self.high[c, number] = max(self.high[c, number], float(x.max()))

    def end_file(self, number: int, counts: Ints, whole: BlockState | None) -> None:
        """End a file that was processed by itself; `counts` (n_columns, 3) are those of all files so far."""
        self.counts[:, number] = counts - self._before
        self._before = counts.copy()
        if whole is not None:
            for target, source in zip(self.moments, whole, strict=True):
                target[:, number] = source[:, 0]

    def together(self, files: Together) -> None:
        """Add small files that were processed together; none of them has NaNs or infinities."""
        numbers = files.numbers
        for c, sampler in enumerate(self._samplers):
            sampler.add(*files.sample(c))
            nulls, whole, low, high = files.of_files(c)
            self.counts[c, numbers, 0] = nulls
            self.low[c, numbers], self.high[c, numbers] = low, high
            for target, source in zip(self.moments, whole, strict=True):
                target[c, numbers] = source

    def samples(self) -> tuple[RowSample, ...]:
        """The sample of each column."""
        return tuple(sampler.result() for sampler in self._samplers)

    def facts(self, number: Ints, n_rows: Ints, absent: Ints) -> FileFacts:
        """The facts of each file of the unit; a smallest value of -0.0 counts as 0.0."""
        return FileFacts(number, n_rows, self.counts, self.moments, self.low + 0.0, self.high + 0.0, absent)
