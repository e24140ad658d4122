"""Block means of several columns, by groups or not: the reduction behind every robust mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from distmom.numerics.moments import Moments, merge
from distmom.reductions import Accumulator
from distmom.reductions.layouts import Layout
from distmom.reductions.state import MeanState, merge_states

NanPolicy = Literal["omit", "raise", "keep"]


def load_kernels() -> None:
    """Load the compiled merge, and with it Numba: after that every other kernel loads in milliseconds."""
    nothing = Moments.empty(1)
    merge(nothing, nothing, compiled=True)


@dataclass(frozen=True)
class BlockMeans:
    """Moments of the row blocks and of the file cells of some columns.

    Attributes
    ----------
    columns : tuple of str
        Names of the value columns, for errors.
    layout : Layout
        How rows form blocks.
    n_cells : int
        Cells that hold whole files, each file in the cell its path is hashed to.
    seed : int
        128 bits; keys all draws.
    sample_size : int
        Rows kept as a uniform sample, of each column and group.
    grouped : bool
        Whether rows come with group codes.
    most_bytes : int, optional
        Memory that the groups of one unit may take; more is a ResourceError.
    nan : {"omit", "raise", "keep"}
        What a NaN does: left out and counted, an error, or a value that ruins its block.
    compiled : bool
        Use compiled kernels (same bits).
    weights : str, optional
        Name of the weights, which rows bring as one more column behind the others: the blocks then have
        weighted means. Rows without a positive weight are counted, and do not enter.
    """

    columns: tuple[str, ...]
    layout: Layout
    n_cells: int
    seed: int
    sample_size: int
    grouped: bool = False
    most_bytes: int | None = None
    nan: NanPolicy = "omit"
    compiled: bool = False
    weights: str | None = None

    def begin(self, n_files: int, window: Any = None) -> Accumulator:
        """An accumulator for a unit of `n_files` files; `window` is what the layout needs to know of it."""
        if not self.grouped or self.layout.by_leaf:
            from distmom.reductions.leafwise import LeafwiseMeans

            return LeafwiseMeans(self, n_files, window)
        from distmom.reductions.rowwise import RowwiseMeans

        return RowwiseMeans(self, n_files, window)

    def merge(self, left: MeanState, right: MeanState) -> MeanState:
        """The state of both; `left` holds the rows that come first in the lake."""
        return merge_states(left, right, compiled=self.compiled)

    def state_bytes(self, n_groups: int = 1) -> int:
        """Bytes of the state of `n_groups` groups."""
        cells = (24 if self.weights is None else 48) * (self.layout.n_blocks + self.n_cells)
        return n_groups * (8 + len(self.columns) * (24 + cells + 16 * self.sample_size))
