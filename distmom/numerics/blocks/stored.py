"""Moments of contiguous blocks, for rows that are exchangeable in their stored order."""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import NOTHING, Bools, Floats, Ints, read_only
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.blocks.leaf import (
    NONE_GONE,
    SHIFT_PROBES,
    Weights,
    has_lost,
    kind_of,
    middle_value,
    together,
    with_total,
)
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

LANES = 64
"""Number of lanes of a sum: value i of a block goes to lane i modulo this number; then lane by lane."""


def stored_moments(
    x: Floats,
    gone: Bools | None,
    first: int,
    edges: Ints,
    *,
    rest: Floats = NOTHING,
    weights: Weights | None = None,
    compiled: bool = False,
) -> BlockState:
    """Moments of the contiguous blocks in one leaf.

    Parameters
    ----------
    x : ndarray of float64, shape (n,)
        Values of consecutive rows of a lake.
    gone : ndarray of bool, shape (n + size of the rest,), or None
        Rows that do not count, including those of weight 0.
    first : int
        Number of the first row in the whole lake.
    edges : ndarray of int64, shape (n_blocks + 1,)
        First row of each block, ascending (`labels.stored_edges`).
    rest : ndarray of float64
        Further values of the leaf, so that two batches need not be copied together.
    weights : Weights, optional
        Weights of the values and of the rest.
    compiled : bool
        Use the compiled twin (same bits).

    Returns
    -------
    Moments, or WeightedMoments of weighted rows
        Of shape (n_blocks + 1,): the blocks, empty if they have no rows here, and last all rows together.
    """
    if compiled and _kernels.ready("stored_blocks", x.size + rest.size):
        w, w_rest = (None, None) if weights is None else map(read_only, weights)
        both = kind_of(w).empty(edges.size)
        hidden = NONE_GONE if gone is None else gone
        _kernels.stored_blocks(read_only(x), w, read_only(rest), w_rest, hidden, first, edges, tuple(both))
        return both
    x, w = together(x, rest), None if weights is None else together(*weights)
    places = np.clip(edges - first, 0, x.size)
    if gone is not None:
        places = np.concatenate([[0], np.cumsum(~gone)])[places]
        x, w = x[~gone], None if w is None else w[~gone]
    out: BlockState = kind_of(w).empty(edges.size - 1)
    some = np.flatnonzero(np.diff(places))
    if some.size:
        blocks = _blocks(x, w, places[some], places[some + 1])
        for all_blocks, those_with_rows in zip(out, blocks, strict=True):
            all_blocks[some] = those_with_rows
    return with_total(out)


def _blocks(x: Floats, w: Floats | None, begin: Ints, end: Ints) -> BlockState:
    """Moments of the rows ``begin[k] … end[k] - 1``, at least one.

    The shift is one of the values: so without weights their second moment about it is at most n + 1 times
    that about the mean, and of its 53 bits at most the 17 of n are lost. With weights the sum is repeated
    about the mean if it has lost more.
    """
    n = end - begin
    place = np.arange(-(-int(n.max()) // LANES) * LANES)  # the rows laid out in lanes, padded with zeros
    inside = place < n[:, None]
    rows = np.where(inside, begin[:, None] + place, 0)
    kind = kind_of(w)

    def about(shift: Floats) -> BlockState:
        u = x[rows] - shift[:, None]
        v = u if w is None else np.where(inside, w[rows], 0.0)
        u = np.where(inside, u if w is None else v * u, 0.0)
        # a sum over an axis that is not the last adds in order
        lanes = (term.reshape(n.size, -1, LANES).sum(axis=1) for term in kind.terms(v, u))
        return kind.from_sums(n, [np.cumsum(lane, axis=1)[:, -1] for lane in lanes], shift)

    with np.errstate(invalid="ignore", over="ignore"):
        shift = _middle_values(x, begin, end)
        found = about(shift)
        if w is not None and (lost := has_lost(found, shift)).any():
            again = about(np.where(lost, found.squares[1], shift))
            found = kind(*(np.where(lost, new, old) for new, old in zip(again, found, strict=True)))
        return found


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
