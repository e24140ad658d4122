"""Rows sorted into cells as they are read: the rows of a block are adjacent, in the order of the lake.

The sizes of the cells are known, so every row goes straight to its final place: no comparisons, and each row
moves once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints, read_only
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

NOT_OURS = -1
"""Cell number of rows that belong elsewhere."""


class CellRows:
    """Rows of some cells, those of each cell together.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_cells,)
        Rows of each cell.
    n_columns : int
        Number of values per row.
    compiled : bool
        Use compiled kernels (same places).
    first_cell : int
        Number of the first cell among all cells.
    """

    def __init__(self, sizes: Ints, n_columns: int, *, compiled: bool = False, first_cell: int = 0) -> None:
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.next = self.starts[:-1].copy()
        self._buffer = np.empty((int(self.starts[-1]), n_columns))
        self._compiled = compiled
        self.first_cell = first_cell

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.next.size

    def add(self, columns: Sequence[Floats], gone: Bools | None, cells: Ints) -> None:
        """Append rows to their cells.

        Parameters
        ----------
        columns : sequence of ndarray of float64, shape (n,)
            Values; arbitrary where `gone`.
        gone : ndarray of bool, shape (n,), or None
            Rows that do not count.
        cells : ndarray of int64, shape (n,)
            Cell of each row, or `NOT_OURS`; arbitrary where `gone`.

        Raises
        ------
        ValueError
            If a cell gets more rows than its size.
        """
        if self._compiled:
            none = np.empty(0, np.bool_) if gone is None else gone
            places = np.empty(cells.size, np.int64)
            if not _kernels.places_of(read_only(cells), none, self.starts, self.next, places):
                raise ValueError("a cell got more rows than its size")
            for c, x in enumerate(columns):
                _kernels.put(read_only(x), places, self._buffer, c)
            return
        rows, places = self._places(cells, gone)
        for c, x in enumerate(columns):
            self._buffer[places, c] = x[rows]

    def _places(self, cells: Ints, gone: Bools | None) -> tuple[Ints, Ints]:
        """NumPy twin: the rows of these cells, sorted by cell, and their places."""
        ours = cells != NOT_OURS if gone is None else (cells != NOT_OURS) & ~gone
        rows = np.flatnonzero(ours)
        rows = rows[np.argsort(cells[rows], kind="stable")]
        mine = cells[rows]
        met = np.bincount(mine, minlength=self.n_cells)
        if (self.next + met > self.starts[1:]).any():
            raise ValueError("a cell got more rows than its size")
        before = np.cumsum(met) - met
        places = self.next[mine] + np.arange(mine.size) - before[mine]
        self.next += met
        return rows, places

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return self._buffer.nbytes

    @property
    def whole(self) -> bool:
        """Whether every cell has all its rows."""
        return bool((self.next == self.starts[1:]).all())

    def rows(self, cell: int) -> Floats:
        """Rows of a cell, shape (n, n_columns): a view."""
        return self._buffer[self.starts[cell] : self.next[cell]]
