"""Weighted moments of contiguous blocks; see ``stored.py`` for those and ``weighted.py`` for the moments."""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.blocks.leaf import NO_REST, NONE_GONE, middle_value, read_only, together, with_total
from distmom.numerics.blocks.stored import LANES
from distmom.numerics.twins import compiled_twin
from distmom.numerics.weighted.weighted_moments import WeightedMoments, from_sums, has_lost

_kernels = compiled_twin(__name__)

Mask = Bools | None


def weighted_stored_moments(
    x: Floats,
    w: Floats,
    gone: Mask,
    first: int,
    edges: Ints,
    *,
    rest: tuple[Floats, Floats] = (NO_REST, NO_REST),
    compiled: bool = False,
) -> WeightedMoments:
    """Weighted moments of the contiguous blocks in one leaf.

    Parameters
    ----------
    x, w : ndarray of float64, shape (n,)
        Values and weights of consecutive rows of a lake.
    gone : ndarray of bool, shape (n + size of the rest,), or None
        Rows that do not count, those of weight 0 included.
    first, edges
        As for `stored.stored_moments`.
    rest : (ndarray of float64, ndarray of float64)
        Further values and weights of the leaf.
    compiled : bool
        Use the compiled twin (same bits).

    Returns
    -------
    WeightedMoments
        Of shape (n_blocks + 1,): the blocks, empty where they have no rows here, and last all rows together.
    """
    if compiled:
        both = WeightedMoments.empty(edges.size)
        parts = map(read_only, (x, w, *rest))
        _kernels.weighted_stored_blocks(*parts, NONE_GONE if gone is None else gone, first, edges, *both)
        return both
    x, w = together(x, rest[0]), together(w, rest[1])
    out = WeightedMoments.empty(edges.size - 1)
    places = np.clip(edges - first, 0, x.size)
    for k in np.flatnonzero(np.diff(places)).tolist():
        here = slice(int(places[k]), int(places[k + 1]))
        values, weights = x[here], w[here]
        if gone is not None:
            values, weights = values[~gone[here]], weights[~gone[here]]
        if values.size:
            for target, number in zip(out, _one_block(values, weights), strict=True):
                target[k] = number[0]
    return with_total(out)


def _one_block(values: Floats, weights: Floats) -> WeightedMoments:
    """Moments of weighted values, at least one; about their mean if the first shift lost digits."""
    shift = middle_value(values, None)
    block = _about(values, weights, shift)
    if has_lost(block, shift)[0]:
        block = _about(values, weights, float(block.mean2[0]))
    return block


def _about(values: Floats, weights: Floats, shift: float) -> WeightedMoments:
    """Moments, of shape (1,), from sums about a shift; value i is added in lane i modulo `LANES`."""
    sums = np.zeros((5, LANES))
    whole = values.size - values.size % LANES
    v = weights
    with np.errstate(invalid="ignore", over="ignore"):
        u = v * (values - shift)
        for total, terms in zip(sums, (v, u, v * v, v * u, u * u), strict=True):
            total += terms[:whole].reshape(-1, LANES).sum(axis=0)
            total[: values.size - whole] += terms[whole:]
        return from_sums(np.array([values.size]), np.cumsum(sums, axis=1)[:, -1:], shift)
