"""The sums of one stream of rows, which may arrive in any pieces and be saved at any row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from distmom.numerics.samples.pool import RowPool
from distmom.numerics.tree import ENDLESS, DyadicTree, fold
from distmom.reductions.accumulate.leaves import Rows, join
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.keyed_pools import Pools
from distmom.reductions.state import Key, MeanState

BOTH_SMALL = 2
"""Pieces are joined if the earlier one is at most this many times as long, so each row moves only a few
times."""


@dataclass(frozen=True)
class StreamNode:
    """One node of the tree over the leaves of a stream."""

    level: int
    index: int
    state: MeanState | None


@dataclass(frozen=True)
class StreamState:
    """The saved form of a stream: its complete leaves as nodes, and the rows of the current leaf.

    The codes of these rows are the places of their groups in `keys`. Large samples do not depend on the order
    in which they are merged: `pools` are those of all nodes, whose states have none; their groups are in
    `pool_keys`.
    """

    n_rows: int
    nodes: tuple[StreamNode, ...]
    pending: Rows | None
    keys: tuple[Key, ...]
    pools: tuple[RowPool, ...] = ()
    pool_keys: tuple[Key, ...] = ()


class LeafStream:
    """Takes the rows of a stream in order; a leaf is reduced as soon as it is complete.

    Parameters
    ----------
    reduction : BlockMeans
    name : str
        Name of the stream; keys its draws as a file's path does.
    leaf_rows : int
        Rows that are reduced together: one leaf, or several leaves that the reduction takes together.
    saved : StreamState, optional
        Continue from there.
    """

    def __init__(
        self, reduction: BlockMeans, name: str, leaf_rows: int, saved: StreamState | None = None
    ) -> None:
        saved = StreamState(0, (), None, ()) if saved is None else saved
        self.reduction = reduction
        self._name = name
        self._leaf_rows = leaf_rows
        self._pieces = [] if saved.pending is None else [saved.pending]
        self._tree: DyadicTree[MeanState] = DyadicTree(ENDLESS, reduction.merge)
        for node in saved.nodes:
            self._tree.push(node.level, node.index, node.state)
        self.n_rows = saved.n_rows
        self._keys = saved.keys
        self._pools = Pools(saved.pool_keys, saved.pools)

    @property
    def room(self) -> int:
        """Rows until the current leaf is complete."""
        return self._leaf_rows - self.n_rows % self._leaf_rows

    def add(self, rows: Rows, keys: Sequence[Key]) -> bool:
        """Add the next rows, at most `room`; return whether the leaf is now complete.

        `keys` are those of the groups in the leaf so far, in the order of their codes.
        """
        rows, self._keys = replace(rows, first_row=self.n_rows), tuple(keys)
        whole = rows.n_rows == self.room
        self._pieces.append(rows if whole else _owned(rows))
        self.n_rows += rows.n_rows
        if whole:
            state = self._begun()
            if state is not None:
                self._pools, state = self._with(state), replace(state, pools=())
            self._tree.push(0, self.n_rows // self._leaf_rows - 1, state)
            self._pieces = []
        while len(self._pieces) > 1 and self._pieces[-2].n_rows <= BOTH_SMALL * self._pieces[-1].n_rows:
            self._pieces[-2:] = [join(self._pieces[-2:]).whole()]
        return whole

    def _begun(self) -> MeanState | None:
        """The state of the current leaf."""
        accumulator = self.reduction.begin(1)
        accumulator.start_file(0, self._name)
        accumulator.add(join(self._pieces).whole(), len(self._keys))
        accumulator.end_file()
        state: MeanState | None = accumulator.result(list(self._keys))
        return state

    def total(self) -> MeanState | None:
        """The state of all rows so far; None if there are none. The stream can continue."""
        nodes, pools = self._tree.waiting, self._pools
        if self._pieces:
            begun = self._begun()
            if begun is not None:
                pools, begun = self._with(begun), replace(begun, pools=())
            nodes[0, self.n_rows // self._leaf_rows] = begun
        total = fold(nodes, self.reduction.merge)
        return None if total is None else replace(total, pools=pools.at(total.keys))

    def _with(self, state: MeanState) -> Pools:
        """The large samples of all rows so far and of those in `state`."""
        return self._pools.merge(Pools(state.keys, state.pools), self.reduction.pool_size)

    def saved(self) -> StreamState:
        """Everything needed to continue."""
        pending = join(self._pieces).whole() if self._pieces else None
        return StreamState(
            self.n_rows,
            tuple(StreamNode(*node, self._tree.waiting[node]) for node in sorted(self._tree.waiting)),
            pending,
            self._keys if self._pieces else (),
            self._pools.pools,
            self._pools.keys,
        )


def _owned(rows: Rows) -> Rows:
    """A copy of the rows in memory of their own: the caller may reuse its arrays."""
    return replace(rows, **{f.name: _copy(getattr(rows, f.name)) for f in fields(rows)})


def _copy(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_copy, value))
    return value.copy() if isinstance(value, np.ndarray) else value
