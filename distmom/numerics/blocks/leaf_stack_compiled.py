"""Compiled steps from one leaf to the next; `leaf_stack` says what their slow twin is."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import math

from distmom.numerics._jit import brief, njit
from distmom.numerics.blocks.leaf_compiled import leaf_about, leaf_blocks
from distmom.numerics.blocks.leaf_stack import LOST, PUSHED, STRANGE
from distmom.numerics.blocks.moments_compiled import merge_cell
from distmom.numerics.blocks.stored_compiled import stored_blocks
from distmom.numerics.samples.sample_compiled import offer_leaf


@brief
def collapse(count, mean, m2, row, n):
    """Merge the node in `row`, the leaf after `n` others, with those before it that are complete now."""
    while n & 1:
        left = row - 1
        for k in range(count.shape[1]):
            count[left, k], mean[left, k], m2[left, k] = merge_cell(
                count[left, k], mean[left, k], m2[left, k], count[row, k], mean[row, k], m2[row, k]
            )
        row = left
        n >>= 1


@njit
def settle(x, rest, gone, key, leaf, anything, count, mean, m2, row, n, keys, values):
    """Sample and merge a leaf whose moments are in `row`, unless it is strange."""
    if not (anything or math.isfinite(mean[row, mean.shape[1] - 1])):
        return STRANGE
    if keys.size > 0:
        offer_leaf(key, leaf, x, rest, gone, keys, values)
    collapse(count, mean, m2, row, n)
    return PUSHED


@njit
def push_random(x, rest, gone, draws, shift, leaf, anything, count, mean, m2, row, n, keys, values):
    """Add a leaf in random blocks; returns what has become of it. With a shift of NaN it may be `LOST`."""
    first_row, key, inverse, forward = draws
    blocks = count[row], mean[row], m2[row]
    where = x, rest, gone, first_row, key, inverse, forward
    if not math.isnan(shift):
        leaf_about(*where, shift, *blocks)
    elif leaf_blocks(*where, *blocks)[0]:
        return LOST
    return settle(x, rest, gone, key, leaf, anything, count, mean, m2, row, n, keys, values)


@njit
def push_stored(x, rest, gone, first, edges, key, leaf, anything, count, mean, m2, row, n, keys, values):
    """Add a leaf in contiguous blocks; returns what has become of it."""
    count[row] = 0
    mean[row] = 0.0
    m2[row] = 0.0
    stored_blocks(x, None, rest, None, gone, first, edges, (count[row], mean[row], m2[row]))
    return settle(x, rest, gone, key, leaf, anything, count, mean, m2, row, n, keys, values)
