"""Compiled twins of what labels are made of; they are inlined into the kernels of other modules."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import inline
from distmom.numerics.blocks.labels import PERMUTATIONS

U = np.uint64
_LAST = U(PERMUTATIONS - 1)


@inline
def mix(z):
    """Twin of `labels.mix`."""
    z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
    return z ^ (z >> U(31))


@inline
def run_choice(run, key, n_blocks):
    """Twin of `labels.run_choices` for one run: which permutation, and by how much it is rotated."""
    z = mix(U(run) * U(0x9E3779B97F4A7C15) + key)
    return np.int64(z & _LAST), np.int64(((z >> U(32)) * U(n_blocks)) >> U(32))
