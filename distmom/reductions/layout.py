"""The common base of layouts: how the rows of a leaf are assigned to blocks.

A layout gives the moments of the row blocks of one leaf; the reduction merges leaves and does not use labels.
All layouts are picklable; what varies between units comes with the unit, as `window`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints, Words
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.cells import Cells
from distmom.numerics.blocks.leaf import Draws, Known, Weights, together
from distmom.numerics.blocks.stored import stored_moments


@dataclass(slots=True)
class Place:
    """Where rows are: their file's key, the first row's number in it, the file's number in its unit.

    Also the hashes of the units of the rows, if units were requested.
    """

    key: np.uint64
    first_row: int
    file: int = 0
    units: Words | None = None


@dataclass(slots=True)
class LeafRows:
    """One column of a leaf: values, in two arrays; rows that do not count; group codes (None: one group).

    Also weights, if any; rows of weight 0 do not count. `known` are moments of columns of the same leaf.
    """

    x: Floats
    rest: Floats
    gone: Bools | None
    codes: Ints | None
    n_groups: int
    place: Place
    weights: Weights | None = None
    known: Known | None = None

    @property
    def w(self) -> Floats | None:
        """Weights in one array, if there are any."""
        return None if self.weights is None else together(*self.weights)


class Layout:
    """A way to form row blocks; subclasses are frozen dataclasses.

    Attributes
    ----------
    n_blocks : int
        Row blocks in the state.
    repeats : int
        Number of partitions: the row blocks form this many sets of equal size, each with every row once.
    by_leaf : bool
        Whether grouped rows, too, must be taken leaf by leaf; `add_rows` is then undefined.
    by_row : bool
        Whether rows are taken one by one even without groups.
    window : {None, "rows", "leaves"}
        What a unit must know about the rest of the lake: nothing, the numbers of its files' first rows, or
        the leaves of each sample.
    n_draws : int
        Total number of drawn rows, if blocks are samples.
    """

    repeats = 1
    by_leaf = False
    by_row = False
    window: Literal["rows", "leaves"] | None = None
    n_draws = 0

    if TYPE_CHECKING:

        @property
        def n_blocks(self) -> int: ...  # noqa: D102

    @property
    def partitions(self) -> tuple[Layout, ...]:
        """The layout of each partition."""
        return (self,)

    def runs(self, place: Place) -> Draws | None:
        """The draws of the rows from this place on, if every run of rows gives one row to each block."""
        return None

    def draw_bytes(self, n_rows: int | None, *, compiled: bool) -> int:
        """Bytes that assign the rows of a leaf to blocks; `n_rows` is that of the lake, if known."""
        return 0

    def leaf(self, rows: LeafRows, window: Any, *, compiled: bool) -> BlockState:
        """Moments of one leaf, shape (groups, n_blocks + 1): its row blocks, and last all its rows.

        There is one group unless `by_leaf`. This method goes row by row, using `cells`; layouts have faster
        ways.
        """
        x = together(rows.x, rows.rest)
        mine = Cells(weighted=rows.weights is not None, compiled=compiled)
        mine.grow(self.n_blocks)
        labels = self.cells(np.zeros(x.size, np.int64), rows.place, window)
        mine.add(x, rows.gone, labels, rows.w)
        return mine.moments(self.n_blocks).at(None).joined(whole_moments(rows, compiled=compiled))

    def cells(self, codes: Ints, place: Place, window: Any) -> Ints:
        """The cell of each row: its group's code times the number of blocks, plus its block."""
        raise NotImplementedError(f"rows of {type(self).__name__} may have several blocks")

    def add_rows(self, cells: Cells, rows: LeafRows, window: Any) -> None:
        """Add rows to their cells; with several partitions a row is added once for each of them."""
        assert rows.codes is not None
        mine = self.cells(rows.codes, rows.place, window)
        cells.add(rows.x, rows.gone, mine, rows.w)


def whole_moments(rows: LeafRows, *, compiled: bool) -> BlockState:
    """Moments of all rows of a leaf together, shape (groups, 1)."""
    if rows.codes is None:
        everything = np.array([0, max(rows.x.size + rows.rest.size, 1)])
        return contiguous(rows, 0, everything, compiled).at((None, slice(1, None)))
    groups = Cells(weighted=rows.weights is not None, compiled=compiled)
    groups.grow(rows.n_groups)
    groups.add(together(rows.x, rows.rest), rows.gone, rows.codes, rows.w)
    return groups.moments(rows.n_groups).at((slice(None), None))


def contiguous(rows: LeafRows, first: int, edges: Ints, compiled: bool) -> BlockState:
    """Moments of the contiguous blocks between these edges, then of all rows; row 0 is number `first`."""
    return stored_moments(
        rows.x, rows.gone, first, edges, rest=rows.rest, weights=rows.weights, compiled=compiled
    )
