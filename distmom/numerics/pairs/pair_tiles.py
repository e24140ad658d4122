"""All pairs of the rows of a block, a tile of the upper triangle of their matrix at a time.

A tile fits into the processor's cache, so that a dozen passes of NumPy over it cost little; and the memory of
a block of any size is that of one tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from distmom.numerics.arrays import Floats

TILE = 1 << 14
"""Pairs of a tile, about."""


def pair_tiles(n_rows: int) -> Iterator[tuple[slice, slice]]:
    """Rows ``[a, b)`` and columns ``[a, n)`` of tiles that cover all pairs once, below the diagonal aside."""
    start = 0
    while start < n_rows:
        stop = min(n_rows, start + max(16, TILE // (n_rows - start)))
        yield slice(start, stop), slice(start, n_rows)
        start = stop


def above(tile: Floats) -> Floats:
    """The tile, in place, with zeros on and below the diagonal."""
    side = tile.shape[0]
    tile[:, :side] *= _upper(side)
    return tile


@lru_cache(maxsize=8)
def _upper(side: int) -> Floats:
    found = np.triu(np.ones((side, side)), 1)
    found.setflags(write=False)
    return found
