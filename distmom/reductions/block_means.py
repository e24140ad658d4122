"""Block means of several columns, by groups or not: the reduction behind every robust mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from distmom.errors import ResourceError
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.samples.stretches import MOST
from distmom.reductions import Accumulator
from distmom.reductions.layout import Layout
from distmom.reductions.state import MeanState, merge_states

NanPolicy = Literal["omit", "raise", "keep"]
UnitKind = Literal["file", "columns"]

SKETCH, SKETCH_OF_GROUPS = 4_096, 16_384
"""Up to this many units (with groups: pairs of group and unit) are counted exactly."""


def load_kernels() -> None:
    """Load the compiled merge, and with it Numba: every other kernel then loads in milliseconds."""
    nothing = Moments.empty(1)
    nothing.merge(nothing, compiled=True)


class TooManyGroups(ResourceError):
    """There are more groups than fit into memory with all their blocks."""


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
        Cells of whole files; each file is in the cell to which its path is hashed.
    seed : int
        128 bits; the key of all draws.
    sample_size : int
        Rows kept as a uniform sample, of each column and group.
    grouped : bool
        Whether rows come with group codes.
    most_bytes : int, optional
        Memory that the groups of one unit may take; more raises ResourceError.
    most_groups : int, optional
        Groups of a state; more raise `TooManyGroups`.
    nan : {"omit", "raise", "keep"}
        How to handle NaN: leave it out and count it, raise an error, or keep it, which makes its block NaN.
    compiled : bool
        Use compiled kernels (bit-for-bit identical).
    weights : str, optional
        Name of the weights, which come as one more column after the others; blocks then have weighted means.
        Rows without a positive weight are counted, and left out.
    joint : bool
        A row is one vector: it enters all columns or, if one of its values is missing, none.
    pool_size, pool_quota : int
        Rows kept as a large uniform sample of each column, whatever their group, and rows that a leaf offers
        to it; 0: no sample.
    pool_bound : float
        Rows with larger keys do not enter that sample; 1 if the number of rows is unknown.
    stretch_rows : int
        Initial number of rows of a stretch, whose means are kept; 0: none. There are no stretches with
        groups.
    cuts : tuple of (tuple of float, tuple of float), length C or 0
        In each column, only rows with values strictly between these ends count: the ends of their group, by
        its code, or the last ones.
    count_units : {"file", "columns"}, optional
        Count the distinct units of each group: files with rows, or units whose hashes come with the rows.
    """

    columns: tuple[str, ...]
    layout: Layout
    n_cells: int
    seed: int
    sample_size: int
    grouped: bool = False
    most_bytes: int | None = None
    most_groups: int | None = None
    nan: NanPolicy = "omit"
    compiled: bool = False
    weights: str | None = None
    joint: bool = False
    count_units: UnitKind | None = None
    pool_size: int = 0
    pool_quota: int = 0
    pool_bound: float = 1.0
    stretch_rows: int = 0
    cuts: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...] = ()

    @cached_property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        """Sets of columns whose rows enter together: one set per column, or one for all."""
        every = tuple(range(len(self.columns)))
        return (every,) if self.joint else tuple((c,) for c in every)

    @property
    def rowwise(self) -> bool:
        """Whether rows are taken one by one, not leaf by leaf."""
        return self.layout.by_row or (self.grouped and not self.layout.by_leaf)

    @property
    def leafwise(self) -> bool:
        """Whether whole leaves may be handed over, as other reductions of the same rows take them."""
        return not self.rowwise

    @property
    def sketch_size(self) -> int:
        """Hashes of units that are kept."""
        if self.count_units is None:
            return 0
        return SKETCH_OF_GROUPS if self.grouped else SKETCH

    def begin(self, n_files: int, window: Any = None) -> Accumulator:
        """An accumulator for a unit of `n_files` files; `window` is what the layout needs to know."""
        if not self.rowwise:
            from distmom.reductions.accumulate.leafwise import LeafwiseMeans

            return LeafwiseMeans(self, n_files, window)
        from distmom.reductions.accumulate.rowwise import RowwiseMeans

        return RowwiseMeans(self, n_files, window)

    def merge(self, left: MeanState, right: MeanState) -> MeanState:
        """The state of both; `left` has the rows that come first in the lake."""
        sizes = {"sketch_size": self.sketch_size, "pool_size": self.pool_size}
        found = merge_states(left, right, compiled=self.compiled, **sizes)
        self.check_groups(len(found.keys))
        return found

    def check_groups(self, n_groups: int) -> None:
        """Raise TooManyGroups if there are too many groups."""
        if self.most_groups is not None and n_groups > self.most_groups:
            raise TooManyGroups(
                f"by: there are more than the {self.most_groups:,} groups that fit into memory; group by "
                "fewer values, filter with where, or allow more memory_limit"
            )

    def state_bytes(self, n_groups: int = 1) -> int:
        """Bytes of the state of `n_groups` groups."""
        block = 24 if self.weights is None else 48
        column = 24 + block * (self.layout.n_blocks + self.n_cells) + 16 * self.sample_size
        return 16 * self.sketch_size + n_groups * (8 + len(self.columns) * column)

    def pool_bytes(self, rows: int) -> int:
        """Bytes of the large samples of all columns, of `rows` rows each, and of their stretches."""
        row = 32 + 8 * (self.weights is not None) + 8 * self.grouped
        stretches = min(MOST, 1 + rows // max(self.stretch_rows, 1)) if self.stretch_rows else 0
        return len(self.columns) * (row * rows + 32 * stretches)
