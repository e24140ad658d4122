"""Compiled draws of pairs; the NumPy twin with the same pairs is in ``pairs.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import njit
from distmom.numerics.random.philox_compiled import bounded64, word_pair

U = np.uint64
_ONE = U(1)


@njit
def fill_pairs(key, block, node, bounds, same, out):
    """Twin of `pairs._draw`."""
    place = U(0)
    first, second = U(0), U(0)
    for i in range(out.shape[1]):
        for side in range(2):
            while True:
                if place & _ONE:
                    word = second
                else:
                    first, second = word_pair(key, place >> _ONE, block, node)
                    word = first
                place += _ONE
                number, accepted = bounded64(word, bounds[side])
                if accepted:
                    break
            out[side, i] = np.int64(number)
        if same:
            a, b = out[0, i], out[1, i]
            b += b >= a
            out[0, i], out[1, i] = min(a, b), max(a, b)
