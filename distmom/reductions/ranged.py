"""Block means of the groups whose keys are in a range, which ends before there are too many groups.

Groups are summed independently, so the results of a range are bit-for-bit those of a run over all groups.
Reading the data once for each range covers all groups in the memory of a few.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from distmom.numerics.hash_ranges import HashRange
from distmom.numerics.samples.pool import RowPool
from distmom.reductions.accumulate.sparse import RangeCodes, SparseMeans
from distmom.reductions.block_means import BlockMeans
from distmom.reductions.sparse_state import SparseState


@dataclass(frozen=True)
class RangedState:
    """The state of the requested groups whose keys have hashes below `high`.

    The large samples are those of all rows; their groups are coded by the hashes of the keys.
    """

    state: SparseState | None
    high: int
    pools: tuple[RowPool, ...]

    @property
    def nbytes(self) -> int:
        """Approximate bytes of the whole state."""
        return self.of_groups + sum(pool.nbytes for pool in self.pools)

    @property
    def of_groups(self) -> int:
        """Bytes of the groups."""
        return 0 if self.state is None else self.state.nbytes

    def below(self, high: int) -> RangedState:
        """The same without the groups from `high` on."""
        if high >= self.high:
            return self
        state = None if self.state is None else self.state.within(HashRange(high=high))
        return replace(self, state=state, high=high)


@dataclass(frozen=True)
class RangedMeans:
    """The reduction to a `RangedState`.

    Attributes
    ----------
    means : BlockMeans
        With groups, and without counted units.
    n_known : int
        Groups that have the first codes in each unit; rows of all keys outside the range have the next code.
    most : float
        Bytes of a unit's sums.
    """

    means: BlockMeans
    n_known: int
    most: float

    def begin(self, n_files: int, window: Any = None) -> SparseMeans:
        """An accumulator for a unit of `n_files` files; `window` is what the layout needs to know."""
        return SparseMeans(self.means, n_files, window, self.n_known, self.most)

    def of_range(self, accumulator: SparseMeans, encoder: RangeCodes) -> RangedState:
        """The state of an accumulator."""
        state, pools = accumulator.state(encoder)
        return RangedState(state, encoder.within.high, pools)

    def merge(self, left: RangedState, right: RangedState) -> RangedState:
        """The state of both, for the hashes that both cover."""
        high = min(left.high, right.high)
        left, right = left.below(high), right.below(high)
        state = left.state or right.state
        if left.state is not None and right.state is not None:
            state = left.state.merge(right.state, compiled=self.means.compiled)
        both = zip(left.pools, right.pools, strict=True)
        return RangedState(state, high, tuple(a.merge(b, self.means.pool_size) for a, b in both))
