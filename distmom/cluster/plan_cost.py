"""What a plan costs before any row is read: merges one after the other, and bytes to the scheduler."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

from distmom.cluster.plan import Unit

SAMPLED = 256
"""Units of a long plan that are weighed, evenly spaced."""


def merge_depth(units: Sequence[Unit], n_files: int) -> int:
    """The longest way of a unit's state to the result, in merges: the height of the tree over its units."""
    root = max(n_files - 1, 0).bit_length()
    return max((root - unit.level + _inside(unit) for unit in units), default=0)


def _inside(unit: Unit) -> int:
    """Levels of the tree over the leaves of one file above a unit that is a part of it."""
    return 0 if unit.rows is None else max(unit.n_leaves - 1, 0).bit_length() - unit.leaf_level


def scheduler_bytes(units: Sequence[Unit]) -> int:
    """Bytes of the descriptions of all units as they are sent; of a long plan, by some of them."""
    if not units:
        return 0
    step = max(1, -(-len(units) // SAMPLED))
    chosen = units[::step]
    sizes = sum(len(pickle.dumps(unit, pickle.HIGHEST_PROTOCOL)) for unit in chosen)
    return sizes * len(units) // len(chosen)
