"""Compiled draws of pairs; the NumPy twin with the same pairs is in ``tuple_draws.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import njit
from distmom.numerics.random.philox_compiled import next_bounded

U = np.uint64


@njit
def fill_pairs(key, block, node, bounds, same, out):
    """Twin of `tuple_draws._draw` for pairs."""
    place, second = U(0), U(0)
    for i in range(out.shape[1]):
        for side in range(2):
            number, place, second = next_bounded(key, block, node, place, second, bounds[side])
            out[side, i] = np.int64(number)
        if same:
            a, b = out[0, i], out[1, i]
            b += b >= a
            out[0, i], out[1, i] = min(a, b), max(a, b)
