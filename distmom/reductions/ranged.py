"""Block means of the groups whose keys lie in a range, which ends where there would be too many of them.

Groups are summed up independently, so those of a range have the same bits as among all. Who reads the data
once for each range has all of them, in memory for a few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distmom.reductions import Accumulator
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.keyed_pools import KEY_BYTES, Pools
from distmom.reductions.state import Key, MeanState


@dataclass(frozen=True)
class RangedState:
    """The state of the groups with keys below `high` (None: all that were asked for).

    The large samples are those of all rows, whatever their keys, and not in `state`.
    """

    state: MeanState
    high: Key | None
    pools: Pools

    @property
    def nbytes(self) -> int:
        """Bytes of all of it, about."""
        return self.state.nbytes + KEY_BYTES * len(self.state.keys) + self.pools.nbytes

    def below(self, high: Key | None) -> RangedState:
        """The same without the groups from `high` on."""
        if high is None or high == self.high:
            return self
        n = sum(key < high for key in self.state.keys)
        some = self.state if n == len(self.state.keys) else self.state.some_groups(np.arange(n))
        return replace(self, state=some, high=high)


@dataclass(frozen=True)
class RangedMeans:
    """The reduction to a `RangedState` of at most so many groups.

    Attributes
    ----------
    means : BlockMeans
        With groups, and without units that are counted.
    most : int
    """

    means: BlockMeans
    most: int

    def begin(self, n_files: int, window: Any = None) -> Accumulator:
        """An accumulator for a unit of `n_files` files; `window` is what the layout needs to know of it."""
        return self.means.begin(n_files, window)

    def of_range(
        self, accumulator: Any, keys: Sequence[Key | None], every: list[Key], high: Key | None
    ) -> RangedState | None:
        """The result of an accumulator: `keys` are those of the range, and None of all others.

        `every` are the keys of all groups, by which the large samples are numbered.
        """
        found: MeanState | None = accumulator.as_met(keys)
        if found is None:
            return None
        mine = {g: key for g, key in enumerate(keys) if key is not None}
        order = np.array(sorted(mine, key=mine.__getitem__), np.int64)
        pools = Pools(tuple(every), found.pools).sampled() if found.pools else Pools((), ())
        return RangedState(found.some_groups(order), high, pools)

    def merge(self, left: RangedState, right: RangedState) -> RangedState:
        """The state of both, up to where both reach or fewer groups: no more than fit."""
        high = min((one.high for one in (left, right) if one.high is not None), default=None)
        left, right = left.below(high), right.below(high)
        keys = {*left.state.keys, *right.state.keys}
        if len(keys) > self.most:
            high = sorted(keys)[max(1, 7 * self.most // 8)]
            left, right = left.below(high), right.below(high)
        pools = left.pools.merge(right.pools, self.means.pool_size)
        return RangedState(self.means.merge(left.state, right.state), high, pools)
