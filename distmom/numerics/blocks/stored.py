"""Moments of contiguous blocks, for rows that are exchangeable as they are stored."""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.blocks.leaf import (
    NO_REST,
    NONE_GONE,
    SHIFT_PROBES,
    from_sums,
    middle_value,
    read_only,
    together,
    with_total,
)
from distmom.numerics.blocks.moments import Moments
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

LANES = 64
"""Sums are taken in so many lanes, value i of a block in lane i modulo their number; then lane by lane."""


def stored_moments(
    x: Floats,
    gone: Bools | None,
    first: int,
    edges: Ints,
    *,
    rest: Floats = NO_REST,
    compiled: bool = False,
) -> Moments:
    """Moments of the contiguous blocks in one leaf.

    Parameters
    ----------
    x : ndarray of float64, shape (n,)
        Values of consecutive rows of a lake.
    gone : ndarray of bool, shape (n + size of the rest,), or None
        Rows that do not count.
    first : int
        Number of the first of them in the whole lake.
    edges : ndarray of int64, shape (n_blocks + 1,)
        First row of each block, ascending (`labels.stored_edges`).
    rest : ndarray of float64
        Further values of the leaf: what was read in two batches need not be copied together.
    compiled : bool
        Use the compiled twin (same bits).

    Returns
    -------
    Moments
        Of shape (n_blocks + 1,): the blocks, empty where they have no rows here, and last all rows together.
    """
    if compiled:
        both = Moments.empty(edges.size)
        hidden = NONE_GONE if gone is None else gone
        _kernels.stored_blocks(read_only(x), read_only(rest), hidden, first, edges, *both)
        return both
    x = together(x, rest)
    places = np.clip(edges - first, 0, x.size)
    if gone is not None:
        places = np.concatenate([[0], np.cumsum(~gone)])[places]
        x = x[~gone]
    out = Moments.empty(edges.size - 1)
    some = np.flatnonzero(np.diff(places))
    if some.size:
        blocks = _blocks(x, places[some], places[some + 1])
        for all_blocks, those_with_rows in zip(out, blocks, strict=True):
            all_blocks[some] = those_with_rows
    return with_total(out)


def _blocks(x: Floats, begin: Ints, end: Ints) -> Moments:
    """Moments of the rows ``begin[k] … end[k] - 1``, at least one.

    The shift is one of the values: so their second moment about it is at most n + 1 times that about the
    mean, and of its 53 bits no more than the 17 of n are lost.
    """
    shift = _middle_values(x, begin, end)
    n = end - begin
    place = np.arange(-(-int(n.max()) // LANES) * LANES)  # the rows laid out in lanes, padded with zeros
    inside = place < n[:, None]
    with np.errstate(invalid="ignore", over="ignore"):
        d = x[np.where(inside, begin[:, None] + place, 0)] - shift[:, None]
        lanes = np.where(inside, d, 0.0).reshape(n.size, -1, LANES)
        # a sum over an axis that is not the last adds in order
        s1 = np.cumsum(lanes.sum(axis=1), axis=1)[:, -1]
        s2 = np.cumsum((lanes * lanes).sum(axis=1), axis=1)[:, -1]
        return from_sums(n, s1, s2, shift)


def _middle_values(x: Floats, begin: Ints, end: Ints) -> Floats:
    """`middle_value` of each block."""
    n = (end - begin)[:, None]
    probe = np.arange(SHIFT_PROBES)
    places = np.where(n > SHIFT_PROBES, probe * n // SHIFT_PROBES, probe)
    probes = x[begin[:, None] + np.minimum(places, n - 1)]
    probes[~np.isfinite(probes) | (places >= n)] = np.inf
    found = np.count_nonzero(np.isfinite(probes), axis=1)
    probes.sort(axis=1)
    middle: Floats = probes[np.arange(n.size), np.maximum(found - 1, 0) // 2] + 0.0
    for k in np.flatnonzero(found == 0):
        middle[k] = middle_value(x[begin[k] : end[k]], None)
    return middle
