"""Large samples of rows that carry the keys of their groups, so no state with the same groups is needed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distmom.numerics.arrays import Ints
from distmom.numerics.samples.pool import RowPool
from distmom.reductions.state import Key


class Pools(NamedTuple):
    """Large samples, and the keys of the groups of their rows."""

    keys: tuple[Key, ...]
    pools: tuple[RowPool, ...]

    def places_in(self, keys: tuple[Key, ...]) -> Ints:
        """Place of each group among other keys; -1 if it is absent."""
        place = {key: i for i, key in enumerate(keys)}
        return np.array([place.get(key, -1) for key in self.keys], np.int64)

    def at(self, keys: tuple[Key, ...]) -> tuple[RowPool, ...]:
        """The samples with the groups numbered as in `keys`, which contains all of them."""
        if keys == self.keys:
            return self.pools
        where = self.places_in(keys)
        return tuple(pool.renumbered(where) for pool in self.pools)

    def merge(self, other: Pools, size: int) -> Pools:
        """The samples of the rows of both, which are disjoint; each of at most `size` rows."""
        keys = tuple(sorted({*self.keys, *other.keys}))
        mine, others = self.at(keys), other.at(keys)
        pairs = zip(mine, others, strict=True) if mine else ()
        return Pools(keys, tuple(a.merge(b, size) for a, b in pairs) or others)

    @property
    def nbytes(self) -> int:
        """Bytes of the samples, and approximate bytes of the keys."""
        return KEY_BYTES * len(self.keys) + sum(pool.nbytes for pool in self.pools)


KEY_BYTES = 200
"""Bytes per key of a group: small Python objects, and their places in tables."""
