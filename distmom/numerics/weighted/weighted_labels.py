"""Weighted block moments of one leaf whose rows come with their blocks, as chunks of consecutive rows do."""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.blocks.leaf import NONE_GONE, middle_value, read_only, with_total
from distmom.numerics.twins import compiled_twin
from distmom.numerics.weighted.weighted_moments import WeightedMoments, amid, from_sums, has_lost

_kernels = compiled_twin(__name__)

Mask = Bools | None


def weighted_labelled_moments(
    x: Floats,
    w: Floats,
    gone: Mask,
    labels: Ints,
    n_blocks: int,
    *,
    compiled: bool = False,
) -> WeightedMoments:
    """Weighted moments of given blocks.

    Parameters
    ----------
    x, w : ndarray of float64, shape (n,)
        Values and weights; anything where `gone`.
    gone : ndarray of bool, shape (n,), or None
        Rows that do not count, those of weight 0 included.
    labels : ndarray of int64, shape (n,)
        The block of each row, below `n_blocks`.
    compiled : bool
        Use the compiled twin (same bits).

    Returns
    -------
    WeightedMoments
        Of shape (n_blocks + 1,): the blocks, and last all rows together.

    Notes
    -----
    Sums are taken block by block in the order of the rows, about one shift for all blocks: so this is for the
    rows of one leaf, `weighted_cells.WeightedCells` for cells of very different levels.
    """
    shift = middle_value(x, gone)
    moments = _about(x, w, gone, labels, n_blocks, shift, compiled)
    if has_lost(moments.at(slice(-1)), shift).any():
        better = amid(moments, shift)
        if better != shift:
            moments = _about(x, w, gone, labels, n_blocks, better, compiled)
    return moments


def _about(
    x: Floats,
    w: Floats,
    gone: Mask,
    labels: Ints,
    n_blocks: int,
    shift: float,
    compiled: bool,
) -> WeightedMoments:
    """Moments from sums about `shift`."""
    count, sums = np.zeros(n_blocks, np.int64), np.zeros((5, n_blocks))
    if compiled:
        hidden = NONE_GONE if gone is None else gone
        _kernels.add_labelled(read_only(x), read_only(w), hidden, labels, shift, count, sums)
    else:
        if gone is not None:
            x, w, labels = x[~gone], w[~gone], labels[~gone]
        with np.errstate(invalid="ignore", over="ignore"):
            u = w * (x - shift)
            count += np.bincount(labels, minlength=n_blocks)
            for total, terms in zip(sums, (w, u, w * w, w * u, u * u), strict=True):
                total += np.bincount(labels, terms, n_blocks)
    return with_total(from_sums(count, sums, shift), compiled=compiled)
