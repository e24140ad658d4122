"""The leaves of a file in one column: their moments, merged as they come, and the row sample; compiled.

Leaf after leaf is summed, looked at for NaN and infinity, offered to the sample and merged with those before
it, all in one compiled call: what Python does between two leaves costs as much as a good part of their sums.
The slow twin does all this one by one, with `leaf_moments` or `stored_moments`, `LeafSampler` and
`StreamingTree`.
"""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints, read_only
from distmom.numerics.blocks.labels import LabelTable
from distmom.numerics.blocks.leaf import NONE_GONE, amid
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.samples.sample import LeafSampler
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

Gone = Bools | None
PUSHED, STRANGE, LOST = range(3)
_NO_SAMPLE = np.empty(0)


class LeafStack:
    """Merges the leaves of one file after the other.

    Parameters
    ----------
    n_cells : int
        Row blocks, and one cell more for all rows together.
    sampler : LeafSampler, optional
        A compiled one; is offered the rows.

    Notes
    -----
    The order of merging is that of `tree.StreamingTree`: one complete node for each set bit of the number of
    leaves so far, the largest first. These nodes are the first rows of three arrays.
    """

    def __init__(self, n_cells: int, sampler: LeafSampler | None = None) -> None:
        self._sampler = sampler
        self._nodes = Moments.empty(4, n_cells)
        self._n = 0

    def push_random(
        self,
        x: Floats,
        rest: Floats,
        gone: Gone,
        first_row: int,
        key: np.uint64,
        table: LabelTable,
        leaf: int,
        anything: bool,
    ) -> bool:
        """Add the next leaf of the file, in random blocks.

        Parameters
        ----------
        x, rest : ndarray of float64
            Values of the leaf, in two arrays.
        gone : ndarray of bool, or None
            Rows that do not count.
        first_row : int
            Row number, in the file, of the first of them.
        key : uint64
            Of the file.
        table : LabelTable
        leaf : int
            Number of the leaf in the file.
        anything : bool
            Also if there are NaNs or infinities.

        Returns
        -------
        bool
            Whether it was added.
        """
        rows, draws = (x, rest, gone), (first_row, key, table.inverse, table.forward)
        status = self._add(_kernels.push_random, *rows, draws, nan, leaf, anything)
        if status == LOST:
            better = amid(self._nodes.at(self._next_row()), nan)
            status = self._add(_kernels.push_random, *rows, draws, better, leaf, anything)
        return status == PUSHED

    def push_stored(
        self,
        x: Floats,
        rest: Floats,
        gone: Gone,
        first: int,
        edges: Ints,
        key: np.uint64,
        leaf: int,
        anything: bool,
    ) -> bool:
        """Add the next leaf of the file, in contiguous blocks; parameters as of `stored.stored_moments`."""
        return self._add(_kernels.push_stored, x, rest, gone, first, edges, key, leaf, anything) == PUSHED

    def _add(self, push: Any, x: Floats, rest: Floats, gone: Gone, *where: Any) -> int:
        """Call a kernel; what has become of the leaf."""
        row, rows = self._next_row(), (read_only(x), read_only(rest), NONE_GONE if gone is None else gone)
        status = int(push(*rows, *where, *self._nodes, row, self._n, *self._lines()))
        self._n += status == PUSHED
        return status

    def _lines(self) -> tuple[Floats, Floats]:
        return (_NO_SAMPLE, _NO_SAMPLE) if self._sampler is None else self._sampler.lines

    def _next_row(self) -> int:
        """The row for the next leaf; this may replace `_nodes` by longer arrays."""
        row = self._n.bit_count()
        if row == len(self._nodes.count):
            self._nodes = self._nodes.each(lambda a: np.concatenate([a, np.zeros_like(a)]))
        return row

    def close(self) -> Moments | None:
        """All leaves since the last close, shape (1, n_cells); None if there were none."""
        total: Moments | None = None
        for row in reversed(range(self._n.bit_count())):
            node = self._nodes.at(slice(row, row + 1))
            total = node.each(np.copy) if total is None else node.merge(total, compiled=True)
        self._n = 0
        return total
