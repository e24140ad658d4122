"""The profile of a lake in one pass: block means, facts of each file, a large sample, and sums by unit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distmom.numerics.arrays import Ints, Record
from distmom.numerics.samples.sample import RowSample
from distmom.numerics.tree import DyadicTree
from distmom.reductions import Accumulator
from distmom.reductions.accumulate.leafwise import LeafwiseMeans
from distmom.reductions.accumulate.leaves import Rows
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.file_facts import FileFacts, FileWatcher
from distmom.reductions.state import Key, MeanState, merge_states

Window = Ints
"""The window of a unit: the number of each of its files, ascending; files of one number count as one."""


@dataclass(frozen=True)
class ProfileState(Record):
    """The state after one pass over some rows.

    Attributes
    ----------
    blocks : MeanState or None
        Block means of the columns with values; None if there are none.
    facts : FileFacts
    samples : tuple of RowSample
        A large sample of each column with values.
    units : MeanState or None
        Moments of each unit, if units were asked for: one block each.
    """

    blocks: MeanState | None
    facts: FileFacts
    samples: tuple[RowSample, ...]
    units: MeanState | None = None


@dataclass(frozen=True)
class Profile:
    """Declaration of the profile.

    Attributes
    ----------
    blocks : BlockMeans
        The block means of the columns with values, without groups.
    n_present : int
        Further columns, of which only nulls are counted.
    sample_size : int
        Rows of the large sample.
    units : BlockMeans, optional
        The sums by units: with groups, without row blocks.
    """

    blocks: BlockMeans
    n_present: int
    sample_size: int
    units: BlockMeans | None = None

    def begin(self, n_files: int, window: Any = None) -> Accumulator:
        """An accumulator for a unit of `n_files` files, numbered by its window."""
        return ProfileAccumulator(self, n_files, window)

    def merge(self, left: ProfileState, right: ProfileState) -> ProfileState:
        """The state of both; `left` has the rows that come first in the lake."""
        compiled = self.blocks.compiled
        samples = zip(left.samples, right.samples, strict=True)
        units = _merged(left.units, right.units, compiled)
        if self.units is not None and units is not None:
            self.units.check_groups(len(units.keys))
        return ProfileState(
            _merged(left.blocks, right.blocks, compiled),
            left.facts.merge(right.facts),
            tuple(a.merge(b, compiled=compiled) for a, b in samples),
            units,
        )

    def more_bytes(self, n_files: int) -> int:
        """Bytes of the state of `n_files` files, besides the block means and the sums by units."""
        n_columns = len(self.blocks.columns)
        return n_files * (16 + 64 * n_columns + 8 * self.n_present) + 16 * n_columns * self.sample_size


def _merged(left: MeanState | None, right: MeanState | None, compiled: bool) -> MeanState | None:
    if left is None or right is None:
        return right if left is None else left
    return merge_states(left, right, compiled=compiled)


class ProfileAccumulator:
    """The `Accumulator` of a `Profile`."""

    def __init__(self, spec: Profile, n_files: int, window: Window) -> None:
        self._spec = spec
        self._window = window
        blocks = spec.blocks
        self._n_values = len(blocks.columns)
        self._watcher = FileWatcher(self._n_values, n_files, spec.sample_size, compiled=blocks.compiled)
        self._blocks = LeafwiseMeans(blocks, n_files, None, self._watcher) if blocks.columns else None
        self._units = None if spec.units is None else spec.units.begin(n_files)
        self._n_rows = np.zeros(n_files, np.int64)
        self._absent = np.zeros((spec.n_present, n_files), np.int64)
        self._number = 0

    def start_file(self, number: int, path: str) -> None:  # noqa: D102
        self._number = number
        for part in (self._blocks, self._units):
            if part is not None:
                part.start_file(number, path)

    def add(self, rows: Rows, n_groups: int) -> None:  # noqa: D102
        keep = rows.keep
        self._n_rows[self._number] += rows.n_rows if keep is None else np.count_nonzero(keep)
        for p, valid in enumerate(rows.valid[self._n_values :]):
            if valid is not None:
                gone = ~valid if keep is None else ~valid & keep
                self._absent[p, self._number] += np.count_nonzero(gone)
        rows = replace(rows, valid=rows.valid[: self._n_values])
        if self._blocks is not None:
            self._blocks.add(replace(rows, codes=None), 1)
        if self._units is not None:
            self._units.add(rows, n_groups)

    def end_file(self) -> None:  # noqa: D102
        for part in (self._blocks, self._units):
            if part is not None:
                part.end_file()

    def result(self, keys: list[Key]) -> ProfileState | None:  # noqa: D102
        blocks = None if self._blocks is None else self._blocks.result([()])
        units = None if self._units is None else self._units.result(keys)
        if not self._n_rows.any() and blocks is None:
            return None
        facts = self._watcher.facts(self._window, self._n_rows, self._absent)
        return ProfileState(blocks, _folded(facts), self._watcher.samples(), units)


def _folded(facts: FileFacts) -> FileFacts:
    """Merge neighbours with the same number, in the order of the lake's files, whatever the units."""
    if np.all(facts.number[1:] > facts.number[:-1]):
        return facts
    tree: DyadicTree[FileFacts] = DyadicTree(facts.number.size, FileFacts.merge)
    for place in range(facts.number.size):
        tree.push(0, place, facts.take(slice(place, place + 1)))
    found = tree.root
    assert found is not None
    return found
