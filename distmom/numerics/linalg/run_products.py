"""Co-moments of random blocks by the compiled kernel: run by run, all columns and pairs in one sweep.

`comoments.leaf_comoments` with the labels of the rows has the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distmom.numerics.arrays import NOTHING, Bools, Floats, Ints
from distmom.numerics.blocks.labels import SHORT
from distmom.numerics.blocks.leaf import NONE_GONE, Draws, Known, moments_ready, raw_moments
from distmom.numerics.linalg.comoments import Comoments
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)


def runs_ready(n_rows: int, n_columns: int, draws: Draws) -> bool:
    """Whether the kernels take the leaves of so many rows and columns; if not, NumPy does this work."""
    n_pairs = n_columns * (n_columns + 1) // 2
    short = draws[2].n_blocks <= SHORT
    return short and moments_ready(n_rows) and bool(_kernels.ready("add_runs", n_rows * n_pairs))


class RunColumns:
    """The columns of one leaf, each in two arrays, and the draws that assign its rows to blocks.

    For `known` moments of columns see `leaf.leaf_moments`.
    """

    def __init__(
        self,
        columns: Sequence[Floats],
        rest: Sequence[Floats],
        draws: Draws,
        known: Known | None = None,
    ) -> None:
        self._columns = [np.ascontiguousarray(x) for x in columns]
        self._rest = [np.ascontiguousarray(x) for x in rest] or [NOTHING] * len(columns)
        self._draws, self._known = draws, known

    def means(self, gone: Bools | None) -> tuple[Ints, Floats]:
        """Rows of each block, and means of each column in it, shape (c, n_blocks).

        They are about the leaf's middle value, even where a block's second moment has lost its digits.
        """
        pieces = zip(self._columns, self._rest, strict=True)
        found = [raw_moments(x, rest, gone, self._draws, self._known)[0] for x, rest in pieces]
        return found[0].count[:-1], np.stack([one.mean[:-1] for one in found])

    def comoments(self, gone: Bools | None, count: Ints, mean: Floats) -> Comoments:
        """Co-moments of the blocks with these rows and means."""
        first_row, key, table = self._draws
        c, n_blocks = mean.shape
        tiles = -(-n_blocks // _kernels.WIDTH)
        away, n_pairs = np.zeros((c + 1, tiles * _kernels.ROOM)), c * (c + 3) // 2
        away[c] = 1.0
        sums, product = np.zeros((tiles, n_pairs * _kernels.WIDTH)), np.empty((n_blocks, c, c))
        row = 0
        for part in (self._columns, self._rest):
            addresses, n = np.array([x.ctypes.data for x in part], np.int64), part[0].size
            hidden = NONE_GONE if gone is None else gone[row : row + n]
            rows = addresses, n, hidden, first_row + row, key, table.inverse, table.forward
            _kernels.add_runs(*rows, mean, away, sums)
            row += n
        _kernels.finish(sums, count, product)
        return Comoments(count, np.ascontiguousarray(mean.T), product)
