"""The state of block means: fixed size for each group and column, mergeable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.memory import look_ahead_at
from distmom.numerics.arrays import Ints
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.weighted_moments import WeightedMoments
from distmom.numerics.samples.distinct import UnitSketch
from distmom.numerics.samples.pool import RowPool, merge_pools
from distmom.numerics.samples.sample import RowSample
from distmom.numerics.samples.stretches import Stretches

Key = tuple[Any, ...]
"""Sortable key of a group; the empty tuple without groups."""

NULLS, NANS, INFS = 0, 1, 2
ZEROS = 2
"""Place of the zero weights: infinite weights are refused, so their place is free."""


@dataclass(frozen=True)
class MeanState:
    """The result of one pass over some rows; G groups, C columns.

    Attributes
    ----------
    keys : tuple of Key, length G
        Ascending and distinct.
    n_rows : ndarray of int64, shape (G,)
        Rows that passed the filter.
    counts : ndarray of int64, shape (C, G, 3), or (1, G, 3) if rows are vectors
        Nulls, NaNs and infinities among them. With weights these are counts of the rows that have a weight,
        and one more line at the end counts the rows without: null, NaN or zero.
    moments : Moments or WeightedMoments, of shape (C, G, n_blocks + n_cells)
        First the row blocks, then the cells of whole files.
    samples : tuple of RowSample, length C
        Uniform samples of the used rows, shape (G, size); empty if not requested.
    units : UnitSketch, optional
        Hashes of units, which give the number of units in each group.
    pools : tuple of RowPool, length C or 0
        Large uniform samples of the used rows, with the numbers of their groups, if any.
    stretches : tuple of Stretches, length C or 0
        Means of neighbouring rows, if there are no groups.
    """

    keys: tuple[Key, ...]
    n_rows: Ints
    counts: Ints
    moments: BlockState
    samples: tuple[RowSample, ...]
    units: UnitSketch | None = None
    pools: tuple[RowPool, ...] = ()
    stretches: tuple[Stretches, ...] = ()

    def moved(self, distances: Sequence[float]) -> MeanState:
        """The state of the same rows with all values of each column shifted by a distance."""
        columns = [self.moments.at(c).moved(distance) for c, distance in enumerate(distances)]
        pairs = zip(self.samples, distances, strict=False)  # there may be no samples
        samples = tuple(s._replace(values=s.values + distance) for s, distance in pairs)
        pools = zip(self.pools, distances, strict=False)
        moved = tuple(replace(p, values=p.values + distance) for p, distance in pools)
        runs = zip(self.stretches, distances, strict=False)
        return replace(
            self,
            moments=columns[0].stacked(*columns[1:]),
            samples=samples,
            pools=moved,
            stretches=tuple(replace(s, mean=s.mean + distance) for s, distance in runs),
        )

    def some_groups(self, groups: Ints) -> MeanState:
        """The state of some groups, or of all in another order; without units and large samples."""
        return replace(
            self,
            keys=tuple(self.keys[g] for g in groups.tolist()),
            n_rows=self.n_rows[groups],
            counts=self.counts[:, groups],
            moments=self.moments.at((slice(None), groups)),
            samples=tuple(s.each(lambda a, _: a[groups]) for s in self.samples),
            units=None,
            pools=(),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        samples = sum(s.keys.nbytes + s.values.nbytes for s in self.samples)
        more = sum(p.nbytes for p in (*self.pools, *self.stretches)) + (
            0 if self.units is None else self.units.nbytes
        )
        return self.n_rows.nbytes + self.counts.nbytes + self.moments.nbytes + samples + more


def sizes_of(state: MeanState) -> tuple[int, ...]:
    """Numbers of columns, of blocks and cells, of weights and of sampled rows: states with equal sizes merge.

    Raises
    ------
    ValueError
        If the sizes of the arrays are inconsistent, which no reduction produces: kernels would read past
        their ends.
    """
    n_groups, shape = len(state.keys), state.moments.count.shape
    n_columns, n_blocks = (shape[0], shape[2]) if len(shape) == 3 else (0, 0)
    weighted = isinstance(state.moments, WeightedMoments)
    lines = (n_columns + weighted, 1 + weighted)  # vectors have one
    sizes = {a.shape[-1] for sample in state.samples for a in sample if a.ndim == 2}
    good = (
        state.n_rows.shape == (n_groups,)
        and state.counts.shape in [(n, n_groups, 3) for n in lines]
        and all(a.shape == (n_columns, n_groups, n_blocks) for a in state.moments)
        and all(a.shape == (n_groups, size) for sample in state.samples for a in sample for size in sizes)
        and len(state.pools) in (0, n_columns)
        and all(p.sound(n_groups, weighted=weighted) for p in state.pools)
        and len(state.stretches) in (0, n_columns)
        and all(s.sound() for s in state.stretches)
    )
    if not good:
        raise ValueError("the arrays of a state do not fit each other")
    return n_columns, n_blocks, int(weighted), len(state.samples), *sizes


def merge_states(
    left: MeanState, right: MeanState, *, compiled: bool = False, sketch_size: int = 0, pool_size: int = 0
) -> MeanState:
    """The state of the union of two disjoint sets of rows; `left` has those that come first."""
    if left.keys != right.keys:
        keys = tuple(sorted({*left.keys, *right.keys}))
        left, right = aligned(left, keys), aligned(right, keys)
    return MeanState(
        left.keys,
        left.n_rows + right.n_rows,
        left.counts + right.counts,
        left.moments.merge(right.moments, compiled=compiled),
        tuple(a.merge(b, compiled=compiled) for a, b in zip(left.samples, right.samples, strict=True)),
        None if left.units is None or right.units is None else left.units.merge(right.units, sketch_size),
        merge_pools(left.pools, right.pools, pool_size, compiled=compiled),
        tuple(a.merge(b) for a, b in zip(left.stretches, right.stretches, strict=True)),
    )


def aligned(state: MeanState, keys: tuple[Key, ...]) -> MeanState:
    """The same state over a larger set of groups; groups it has not met are empty."""
    if state.keys == keys:
        return state
    place = {key: i for i, key in enumerate(keys)}
    where = np.array([place[key] for key in state.keys], np.int64)
    new = np.setdiff1d(np.arange(len(keys)), where, assume_unique=True)

    def spread(a: NDArray[Any], axis: int, fill: float = 0) -> NDArray[Any]:
        shape = (*a.shape[:axis], len(keys), *a.shape[axis + 1 :])
        out = np.empty(shape, a.dtype)
        out[(slice(None),) * axis + (where,)] = a
        out[(slice(None),) * axis + (new,)] = fill
        return out

    return MeanState(
        keys,
        spread(state.n_rows, 0),
        spread(state.counts, 1),
        state.moments.each(lambda a: spread(a, 1)),
        tuple(s.each(lambda a, none: spread(a, 0, none)) for s in state.samples),
        None if state.units is None else state.units.renumbered(where),
        tuple(pool.renumbered(where) for pool in state.pools),
        state.stretches,
    )


def in_key_order(state: MeanState) -> MeanState:
    """The same state with its groups, numbered as they were met, sorted by key."""
    look_ahead_at(state)
    return aligned(state, tuple(sorted(state.keys)))
