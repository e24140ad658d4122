"""What both accumulators share: merging the leaves of a file and the files of a unit in the fixed order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distmom.errors import DataError
from distmom.numerics.block_state import BlockState
from distmom.numerics.labels import file_cell
from distmom.numerics.tree import DyadicTree, StreamingTree
from distmom.numerics.weighted import LARGEST, plain_rows
from distmom.reductions.leaves import Floats, Mask, Rows, missing_rows, strange_rows
from distmom.reductions.state import INFS, NANS, NULLS, ZEROS

if TYPE_CHECKING:
    from distmom.reductions.block_means import BlockMeans


class FileTree:
    """Moments of shape (columns, groups, blocks + cells) over the files of one unit.

    A leaf is pushed with its row blocks alone; the moments of all its rows together travel as one more block
    and are put into the file's cell when the file ends.
    """

    def __init__(self, spec: BlockMeans, n_files: int) -> None:
        self._spec = spec
        self._files: DyadicTree[BlockState] = DyadicTree(n_files, self._merge)
        self._leaves: StreamingTree[BlockState] = StreamingTree(self._merge)

    def _merge(self, left: BlockState, right: BlockState) -> BlockState:
        groups = right.count.shape[1]
        if left.count.shape[1] != groups:  # groups are numbered as they are met: later leaves know more
            groups = max(left.count.shape[1], groups)
            left, right = _widened(left, groups), _widened(right, groups)
        return left.merge(right, compiled=self._spec.compiled)

    def push_leaf(self, blocks: BlockState) -> None:
        """Add the next leaf of the file: shape (columns, groups, n_blocks + 1), last all rows together."""
        self._leaves.push(blocks)

    def end_file(self, number: int, key: np.uint64) -> None:
        """Put the file's rows into its cell."""
        leaves = self._leaves.close()
        if leaves is None:
            self._files.push(0, number, None)
            return
        n_blocks, n_cells = leaves.count.shape[-1] - 1, self._spec.n_cells
        cell = file_cell(key, n_cells) if n_cells else None

        def placed(source: NDArray[Any]) -> NDArray[Any]:
            target = np.zeros((*source.shape[:-1], n_blocks + n_cells), source.dtype)
            target[..., :n_blocks] = source[..., :n_blocks]
            if cell is not None:
                target[..., n_blocks + cell] = source[..., -1]
            return target

        self._files.push(0, number, leaves.each(placed))

    def result(self, n_groups: int) -> BlockState | None:
        """The moments of all files, for `n_groups` groups; None if there was no row."""
        root = self._files.root
        return root if root is None or root.count.shape[1] == n_groups else _widened(root, n_groups)


def _widened(moments: BlockState, n_groups: int) -> BlockState:
    missing = n_groups - moments.count.shape[1]
    return moments.each(lambda a: np.pad(a, ((0, 0), (0, missing), (0, 0))))


class Census:
    """Counts of rows, nulls, NaNs and infinities of the groups of one unit."""

    def __init__(self, spec: BlockMeans) -> None:
        self._spec = spec
        n_groups = 0 if spec.grouped else 1
        self.n_rows = np.zeros(n_groups, np.int64)
        n_columns = len(spec.columns) + (spec.weights is not None)
        self.counts = np.zeros((n_columns, n_groups, 3), np.int64)

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

    def weighed(self, rows: Rows, path: str) -> tuple[Rows, Floats | None]:
        """Count the rows without a positive weight; the rows with only the others kept, and the weights.

        Raises
        ------
        DataError
            If the weight of a row that passed the filter is negative, infinite or far too large, or NaN under
            ``nan="raise"``.
        """
        if self._spec.weights is None:
            return rows, None
        w = rows.values[-1]
        plain = plain_rows(w, compiled=self._spec.compiled)
        if plain is None and rows.valid[-1] is None:
            return rows, w
        gone, null = missing_rows(rows.valid[-1], rows.keep)
        odd = np.zeros(0, np.int64)
        if plain is not None:  # a null's value may be anything
            odd = np.flatnonzero(~plain if gone is None else ~(plain | gone))
        self._count_weightless(rows, null, odd, path)
        if gone is None:
            return replace(rows, keep=plain), w
        return replace(rows, keep=~gone if plain is None else plain & ~gone), w

    def _count_weightless(self, rows: Rows, null: Mask, odd: NDArray[np.int64], path: str) -> None:
        """Count null weights, and the few `odd` ones, which are not plain numbers: NaN, zero, or refused."""
        w = rows.values[-1]
        v = w[odd]
        nan = np.isnan(v)
        bad = odd[~nan & ~((v >= 0.0) & (v <= LARGEST))]
        if bad.size:
            self._refuse_weight(float(w[bad[0]]), rows.first_row + int(bad[0]), path)
        if self._spec.nan == "raise" and nan.any():
            self._refuse(self._spec.weights, rows.first_row + int(odd[nan][0]), path)
        for kind, those in ((NULLS, null), (NANS, odd[nan]), (ZEROS, odd[~nan])):
            if those is not None:
                self._add(self.counts[-1, :, kind], rows, those)

    def missing(self, rows: Rows, c: int) -> Mask:
        """Count the nulls of column c, and say which rows are null or filtered."""
        gone, null = missing_rows(rows.valid[c], rows.keep)
        if null is not None:
            self._add(self.counts[c, :, NULLS], rows, null)
        return gone

    def strange(self, rows: Rows, c: int, gone: Mask, path: str) -> Mask:
        """Count NaNs and infinities of column c, and say which rows do not enter.

        Those are the rows that are `gone` already, and under ``nan="omit"`` the NaNs.
        """
        nan, inf = strange_rows(rows.values[c], gone)
        if inf is not None:
            self._add(self.counts[c, :, INFS], rows, inf)
        if nan is None:
            return gone
        if self._spec.nan == "raise":
            self._refuse(self._spec.columns[c], rows.first_row + int(np.argmax(nan)), path)
        self._add(self.counts[c, :, NANS], rows, nan)
        if self._spec.nan == "keep":
            return gone
        return nan if gone is None else gone | nan

    def _add(self, target: NDArray[np.int64], rows: Rows, those: Mask | NDArray[np.int64]) -> None:
        """Add the marked or listed rows (all, where there is None) to their groups' counts."""
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

    def _refuse(self, column: str | None, row: int, path: str) -> None:
        raise DataError(
            f'{path or "data"}: column {column!r} is NaN in row {row}, and nan="raise" forbids it; '
            'use nan="omit" to leave NaN out (counted), or clean the file'
        )
