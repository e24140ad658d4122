"""Shared by both accumulators: merging the leaves of a file and the files of a unit in the fixed order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distmom.errors import DataError
from distmom.memory import look_ahead_at
from distmom.numerics.arrays import Bools, Ints
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.labels import file_cell
from distmom.numerics.blocks.weighted_moments import LARGEST, plain_rows
from distmom.numerics.samples.distinct import DistinctUnits, UnitSketch
from distmom.numerics.samples.pool import sharing
from distmom.numerics.samples.pool_sampler import PoolSampler
from distmom.numerics.samples.stretches import StretchSums
from distmom.numerics.tree import DyadicTree, StreamingTree
from distmom.reductions.accumulate.leaves import (
    KeyedFiles,
    Mask,
    Rows,
    all_of,
    any_of,
    missing_rows,
    nan_refused,
    strange_rows,
)
from distmom.reductions.state import INFS, NANS, NULLS, ZEROS, Key, MeanState, in_key_order

if TYPE_CHECKING:
    from distmom.reductions.block_means import BlockMeans


class FileTree:
    """Moments of shape (columns, groups, blocks + cells) over the files of one unit.

    A leaf is pushed with its row blocks alone; the moments of all its rows are carried as one more block and
    go into the file's cell when the file ends.
    """

    def __init__(self, spec: BlockMeans, n_files: int) -> None:
        self._spec = spec
        # a function, not a method: in a reference cycle the arrays would wait for the garbage collector
        merge = partial(_united, compiled=spec.compiled)
        self._files: DyadicTree[BlockState] = DyadicTree(n_files, merge)
        self._leaves: StreamingTree[BlockState] = StreamingTree(merge)

    def push_leaf(self, blocks: BlockState) -> None:
        """Add the next leaf of the file: shape (columns, groups, n_blocks + 1), last all rows together."""
        self._leaves.push(blocks)

    def push_files(self, level: int, index: int, state: BlockState | None) -> None:
        """Add the node (level, index) over the files of the unit: all its files together."""
        self._files.push(level, index, state)

    def end_file(self, number: int, key: np.uint64) -> BlockState | None:
        """Put the file's rows into its cell; return the moments of all its rows, or None if it has none."""
        leaves = self._leaves.close()
        if leaves is None:
            self._files.push(0, number, None)
            return None
        look_ahead_at(leaves)
        n_blocks, n_cells = leaves.count.shape[-1] - 1, self._spec.n_cells
        cell = file_cell(key, n_cells) if n_cells else None

        def placed(source: NDArray[Any]) -> NDArray[Any]:
            target = np.zeros((*source.shape[:-1], n_blocks + n_cells), source.dtype)
            target[..., :n_blocks] = source[..., :n_blocks]
            if cell is not None:
                target[..., n_blocks + cell] = source[..., -1]
            return target

        self._files.push(0, number, leaves.each(placed))
        return leaves.at((..., -1))

    def result(self, n_groups: int) -> BlockState | None:
        """The moments of all files, for `n_groups` groups; None if there was no row."""
        root = self._files.root
        return root if root is None or root.count.shape[1] == n_groups else _widened(root, n_groups)


def _united(left: BlockState, right: BlockState, *, compiled: bool) -> BlockState:
    """The moments of both."""
    groups = right.count.shape[1]
    if left.count.shape[1] != groups:  # groups are numbered as they are met: later leaves have more
        groups = max(left.count.shape[1], groups)
        left, right = _widened(left, groups), _widened(right, groups)
    return left.merge(right, compiled=compiled)


def _widened(moments: BlockState, n_groups: int) -> BlockState:
    missing = n_groups - moments.count.shape[1]
    return moments.each(lambda a: np.pad(a, ((0, 0), (0, missing), (0, 0))))


def weigh(rows: Rows) -> tuple[Rows, Mask, Ints]:
    """Rows with only positive weights kept; mask of null weights; numbers of rows with other odd weights."""
    parts = [part[-1] for part in (rows.values, rows.rest) if part]
    plain = plain_rows(*parts)
    odd = np.zeros(0, np.int64)
    if plain is None and rows.valid[-1] is None:
        return rows, None, odd
    gone, null = missing_rows(rows.valid[-1], rows.keep)
    if plain is not None:  # a null's value may be anything
        odd = np.flatnonzero(~plain if gone is None else ~(plain | gone))
    if gone is not None:
        plain = ~gone if plain is None else plain & ~gone
    return replace(rows, keep=plain), null, odd


class GroupCounts:
    """Counts of rows, nulls, NaNs and infinities of the groups of one unit."""

    def __init__(self, spec: BlockMeans) -> None:
        self._spec = spec
        n_groups = 0 if spec.grouped else 1
        self.n_rows = np.zeros(n_groups, np.int64)
        n_counted = len(spec.sets) + (spec.weights is not None)
        self.counts = np.zeros((n_counted, n_groups, 3), np.int64)

    def rows(self, rows: Rows, n_groups: int) -> None:
        """Count rows that pass the filter; `n_groups` groups have been met so far."""
        self.make_room(n_groups)
        self._add(self.n_rows, rows, rows.keep)

    def make_room(self, n_groups: int) -> None:
        """Make room for the counts of `n_groups` groups."""
        more = n_groups - self.n_rows.size
        if more > 0:
            self.n_rows = np.pad(self.n_rows, (0, more))
            self.counts = np.pad(self.counts, ((0, 0), (0, more), (0, 0)))

    def weighed(self, rows: Rows, path: str) -> Rows:
        """Count the rows without a positive weight; return the rows with only the others kept.

        Raises
        ------
        DataError
            If the weight of a row that passed the filter is negative, infinite or far too large, or NaN under
            ``nan="raise"``.
        """
        if self._spec.weights is None:
            return rows
        weighed, null, odd = weigh(rows)
        if null is not None or odd.size:
            self._count_weightless(rows, null, odd, path)
        return weighed

    def _count_weightless(self, rows: Rows, null: Mask, odd: Ints, path: str) -> None:
        """Count null weights and the few `odd` ones: NaN, zero, or refused."""
        v = rows.column(-1)[odd] if odd.size else np.zeros(0)
        nan = np.isnan(v)
        bad = np.flatnonzero(~nan & ~((v >= 0.0) & (v <= LARGEST)))
        if bad.size:
            self._refuse_weight(float(v[bad[0]]), rows.first_row + int(odd[bad[0]]), path)
        if self._spec.nan == "raise" and nan.any():
            raise nan_refused(self._spec.weights, rows.first_row + int(odd[nan][0]), path)
        for kind, those in ((NULLS, null), (NANS, odd[nan]), (ZEROS, odd[~nan])):
            if those is not None:
                self._add(self.counts[-1, :, kind], rows, those)

    def missing(self, rows: Rows, number: int) -> Mask:
        """Count the rows that are null in a column of a set; return a mask of null or filtered rows."""
        known = all_of([rows.valid[c] for c in self._spec.sets[number]])
        gone, null = missing_rows(known, rows.keep)
        if null is not None:
            self._add(self.counts[number, :, NULLS], rows, null)
        for c in self._spec.sets[number] if self._spec.cuts else ():
            low, high = map(np.asarray, self._spec.cuts[c])
            x = rows.column(c)
            if rows.codes is not None and low.size > 1:  # the code of a dropped row may be -1
                group = np.minimum(rows.codes, low.size - 1)
                low, high = low[group], high[group]
            gone = any_of(gone, ~((x > low) & (x < high)))
        return gone

    def strange(self, rows: Rows, number: int, gone: Mask, path: str) -> Mask:
        """Count rows with NaN, and rows with infinities but no NaN, in a set; return a mask of excluded rows.

        Excluded are the rows that are `gone` already and, under ``nan="omit"``, rows with NaN.
        """
        nan: Mask = None
        inf: Mask = None
        for c in self._spec.sets[number]:
            is_nan, is_inf = strange_rows(rows.column(c), gone)
            if is_nan is not None and self._spec.nan == "raise":
                raise nan_refused(self._spec.columns[c], rows.first_row + int(np.argmax(is_nan)), path)
            nan, inf = any_of(nan, is_nan), any_of(inf, is_inf)
        if inf is not None:
            self._add(self.counts[number, :, INFS], rows, inf if nan is None else inf & ~nan)
        if nan is None:
            return gone
        self._add(self.counts[number, :, NANS], rows, nan)
        return gone if self._spec.nan == "keep" else any_of(gone, nan)

    def _add(self, target: Ints, rows: Rows, those: Mask | Ints) -> None:
        """Add the marked or listed rows (None: all rows) to the counts of their groups."""
        if rows.codes is None:
            listed = those is not None and those.dtype != np.bool_
            target[0] += rows.n_rows if those is None else those.size if listed else np.count_nonzero(those)
            return
        codes = rows.codes if those is None else rows.codes[those]
        target += np.bincount(codes, minlength=target.size)

    def _refuse_weight(self, weight: float, row: int, path: str) -> None:
        rule, remedy = "weights must not be negative", "filter such rows out with where, or clean the file"
        if weight > 0.0:
            rule = f"weights must be finite and at most {LARGEST:.2g}"
            remedy = "clean the file" if np.isinf(weight) else "divide all weights by a constant"
        raise DataError(
            f"{path or 'data'}: weight {self._spec.weights!r} is {weight:g} in row {row}; {rule}: {remedy}"
        )


MANY = 1 << 16
"""Pairs of file and group that are passed on together."""


class UnitCounter:
    """Collects, for each group, the units with rows that pass the filter."""

    def __init__(self, spec: BlockMeans) -> None:
        self._by_file = spec.count_units == "file"
        self._met = DistinctUnits(spec.sketch_size)
        self._files: list[tuple[np.uint64, Ints]] = []
        self._n_pairs = 0

    def add(self, rows: Rows, codes: Ints | None, key: np.uint64, n_groups: int) -> None:
        """Count the next rows of the file with this key; `codes` are their groups (None without groups)."""
        if not self._by_file:
            assert rows.units is not None and codes is not None
            self._met.offer(rows.units, codes, rows.keep)
            return
        groups = _groups_met(codes, rows.keep, n_groups)
        self._files.append((key, groups))
        self._n_pairs += groups.size
        if self._n_pairs >= MANY:
            self._hand_on()

    def _hand_on(self) -> None:
        if self._files:
            hashes = np.concatenate([np.full(groups.size, key) for key, groups in self._files])
            self._met.offer(hashes, np.concatenate([groups for _, groups in self._files]), None)
        self._files, self._n_pairs = [], 0

    def result(self) -> UnitSketch:
        """The sketch of all rows."""
        self._hand_on()
        return self._met.result()


def _groups_met(codes: Ints | None, keep: Bools | None, n_groups: int) -> Ints:
    """Groups that contain any of the rows."""
    if codes is None:
        return np.zeros(int(keep is None or bool(keep.any())), np.int64)
    return np.flatnonzero(np.bincount(codes if keep is None else codes[keep], minlength=n_groups))


class MeansKeeper(KeyedFiles):
    """Common base of the two accumulators of `BlockMeans`."""

    _samplers: Sequence[Any]
    _pools: Sequence[PoolSampler] = ()
    """Of each column, if any."""

    def __init__(self, spec: BlockMeans, n_files: int, window: Any) -> None:
        super().__init__(spec.seed)
        self._spec = spec
        self._window = window
        self._tree = FileTree(spec, n_files)
        self._group_counts = GroupCounts(spec)
        self._units = UnitCounter(spec) if spec.count_units else None
        self._stretches: list[StretchSums] = []

    def result(self, keys: list[Key]) -> MeanState | None:  # noqa: D102
        found = self.as_met(keys)
        return None if found is None else in_key_order(found)

    def as_met(self, keys: Sequence[Any]) -> MeanState | None:
        """The result with its groups in the order of their codes."""
        moments = self._tree.result(len(keys))
        if moments is None:
            return None
        samples = tuple(sampler.result(len(keys)) for sampler in self._samplers)
        units = None if self._units is None else self._units.result()
        counts = self._group_counts.counts
        pools = sharing([pool.result() for pool in self._pools])
        stretches = tuple(sums.result() for sums in self._stretches)
        n_rows = self._n_rows(moments)
        return MeanState(tuple(keys), n_rows, counts, moments, samples, units, pools, stretches)

    def _n_rows(self, moments: BlockState) -> Ints:
        """Rows of each group that passed the filter."""
        return self._group_counts.n_rows
