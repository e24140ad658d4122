"""What both accumulators share: merging the leaves of a file and the files of a unit in the fixed order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from distmom.errors import DataError
from distmom.numerics.labels import file_cell
from distmom.numerics.moments import Moments, merge
from distmom.numerics.tree import DyadicTree, StreamingTree
from distmom.reductions.leaves import Mask, Rows, all_of, any_of, missing_rows, strange_rows
from distmom.reductions.state import INFS, NANS, NULLS

if TYPE_CHECKING:
    from distmom.reductions.block_means import BlockMeans


class FileTree:
    """Moments of shape (columns, groups, blocks + cells) over the files of one unit.

    A leaf is pushed with its row blocks alone; the moments of all its rows together travel as one more block
    and are put into the file's cell when the file ends.
    """

    def __init__(self, spec: BlockMeans, n_files: int) -> None:
        self._spec = spec
        self._files: DyadicTree[Moments] = DyadicTree(n_files, self._merge)
        self._leaves: StreamingTree[Moments] = StreamingTree(self._merge)

    def _merge(self, left: Moments, right: Moments) -> Moments:
        groups = right.count.shape[1]
        if left.count.shape[1] != groups:  # groups are numbered as they are met: later leaves know more
            groups = max(left.count.shape[1], groups)
            left, right = _widened(left, groups), _widened(right, groups)
        return merge(left, right, compiled=self._spec.compiled)

    def push_leaf(self, blocks: Moments) -> None:
        """Add the next leaf of the file: shape (columns, groups, n_blocks + 1), last all rows together."""
        self._leaves.push(blocks)

    def push_files(self, level: int, index: int, state: Moments | None) -> None:
        """Add the node (level, index) over the files of the unit: all its files together."""
        self._files.push(level, index, state)

    def end_file(self, number: int, key: np.uint64) -> None:
        """Put the file's rows into its cell."""
        leaves = self._leaves.close()
        if leaves is None:
            self._files.push(0, number, None)
            return
        n_blocks, n_cells = leaves.count.shape[-1] - 1, self._spec.n_cells
        state = Moments.empty(*leaves.count.shape[:-1], n_blocks + n_cells)
        cell = n_blocks + file_cell(key, n_cells) if n_cells else None
        for target, source in zip(state, leaves, strict=True):
            target[..., :n_blocks] = source[..., :n_blocks]
            if cell is not None:
                target[..., cell] = source[..., -1]
        self._files.push(0, number, state)

    def result(self, n_groups: int) -> Moments | None:
        """The moments of all files, for `n_groups` groups; None if there was no row."""
        root = self._files.root
        return root if root is None or root.count.shape[1] == n_groups else _widened(root, n_groups)


def _widened(moments: Moments, n_groups: int) -> Moments:
    missing = n_groups - moments.count.shape[1]
    return moments.each(lambda a: np.pad(a, ((0, 0), (0, missing), (0, 0))))


class Census:
    """Counts of rows, nulls, NaNs and infinities of the groups of one unit."""

    def __init__(self, spec: BlockMeans) -> None:
        self._spec = spec
        n_groups = 0 if spec.grouped else 1
        self.n_rows = np.zeros(n_groups, np.int64)
        self.counts = np.zeros((len(spec.sets), n_groups, 3), np.int64)

    def rows(self, rows: Rows, n_groups: int) -> None:
        """Count rows that pass the filter; `n_groups` groups have been met so far."""
        self.make_room(n_groups)
        self._add(self.n_rows, rows, rows.keep)

    def make_room(self, n_groups: int) -> None:
        """Have counts for that many groups."""
        more = n_groups - self.n_rows.size
        if more > 0:
            self.n_rows = np.pad(self.n_rows, (0, more))
            self.counts = np.pad(self.counts, ((0, 0), (0, more), (0, 0)))

    def missing(self, rows: Rows, number: int) -> Mask:
        """Count the rows that are null in a column of a set, and say which are null or filtered."""
        known = all_of([rows.valid[c] for c in self._spec.sets[number]])
        gone, null = missing_rows(known, rows.keep)
        if null is not None:
            self._add(self.counts[number, :, NULLS], rows, null)
        return gone

    def strange(self, rows: Rows, number: int, gone: Mask, path: str) -> Mask:
        """Count rows with NaN, and those without but with infinities, in a set; say which rows do not enter.

        Those are the rows that are `gone` already, and under ``nan="omit"`` those with NaN.
        """
        nan: Mask = None
        inf: Mask = None
        for c in self._spec.sets[number]:
            is_nan, is_inf = strange_rows(rows.column(c), gone)
            if is_nan is not None and self._spec.nan == "raise":
                self._refuse(self._spec.columns[c], is_nan, rows.first_row, path)
            nan, inf = any_of(nan, is_nan), any_of(inf, is_inf)
        if inf is not None:
            self._add(self.counts[number, :, INFS], rows, inf if nan is None else inf & ~nan)
        if nan is None:
            return gone
        self._add(self.counts[number, :, NANS], rows, nan)
        return gone if self._spec.nan == "keep" else any_of(gone, nan)

    def _add(self, target: NDArray[np.int64], rows: Rows, mask: Mask) -> None:
        """Add the marked rows (all, where the mask is None) to their groups' counts."""
        if rows.codes is None:
            target[0] += rows.n_rows if mask is None else np.count_nonzero(mask)
            return
        codes = rows.codes if mask is None else rows.codes[mask]
        target += np.bincount(codes, minlength=target.size)

    def _refuse(self, column: str, nan: NDArray[np.bool_], first_row: int, path: str) -> None:
        row = first_row + int(np.argmax(nan))
        raise DataError(
            f'{path or "data"}: column {column!r} is NaN in row {row}, and nan="raise" forbids it; '
            'use nan="omit" to leave NaN out (counted), or clean the file'
        )
