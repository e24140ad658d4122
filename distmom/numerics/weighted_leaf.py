"""Weighted block moments of one leaf; see ``leaf.py`` for leaves and ``weighted.py`` for the moments.

Per block five sums are taken: w, w d, w^2, w^2 d and w^2 d^2, with d = x - shift. A row that does not count
enters with w = 0, and then with d = 0 whatever its value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.labels import LabelTable, run_choices
from distmom.numerics.leaf import LOST_BITS, SHIFT_PROBES, add_in_order, middle_value, with_total
from distmom.numerics.median import lower_median
from distmom.numerics.stored import LANES, pieces
from distmom.numerics.weighted import WeightedMoments, from_sums, frozen

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_] | None


def weighted_leaf_moments(
    x: Floats,
    w: Floats,
    gone: Mask,
    first_row: int,
    key: np.uint64,
    table: LabelTable,
    *,
    compiled: bool = False,
) -> WeightedMoments:
    """Weighted moments of the random blocks in one leaf.

    Parameters
    ----------
    x, w : ndarray of float64, shape (n,)
        Values and weights of consecutive rows of a file; anything where `gone`. Not changed.
    gone : ndarray of bool, shape (n,), or None
        Rows that do not count, those of weight 0 included; None where all count.
    first_row, key, table
        As for `leaf.leaf_moments`.
    compiled : bool
        Use the compiled twin (same bits).

    Returns
    -------
    WeightedMoments
        Of shape (n_blocks + 1,): the blocks, and last all rows together. Infinite values ruin their block.

    Notes
    -----
    One pass; two where the first shift turns out far from the leaf's values. State: six numbers a block.
    """
    shift = middle_value(x, gone)
    moments, lost = _shifted(x, w, gone, first_row, key, table, shift, compiled)
    if lost:
        blocks = moments.at(slice(-1))
        better = float(lower_median(blocks.mean2[(blocks.count > 0) & np.isfinite(blocks.mean2)]))
        if better != shift:
            moments, _ = _shifted(x, w, gone, first_row, key, table, better, compiled)
    return moments


def _shifted(
    x: Floats,
    w: Floats,
    gone: Mask,
    first_row: int,
    key: np.uint64,
    table: LabelTable,
    shift: float,
    compiled: bool,
) -> tuple[WeightedMoments, bool]:
    """Moments from sums about `shift`, and whether that one lost digits."""
    if compiled:
        from distmom.numerics.weighted_leaf_compiled import weighted_leaf_blocks

        k = table.n_blocks + 1
        out = WeightedMoments(np.empty(k, np.int64), *(np.empty(k) for _ in range(5)))
        none = gone if gone is not None else np.empty(0, np.bool_)
        rows = frozen(x), frozen(w), none, first_row
        lost = weighted_leaf_blocks(*rows, key, table.inverse, shift, LOST_BITS, *out)
        return out, bool(lost)
    blocks = from_sums(*_sum_runs(x, w, gone, first_row, key, table, shift), shift)
    return with_total(blocks), bool(_lost(blocks, shift).any())


def _lost(moments: WeightedMoments, shift: float) -> NDArray[np.bool_]:
    """Blocks whose second moment has lost its digits: the raw one is much larger than the centred one."""
    with np.errstate(over="ignore", invalid="ignore"):
        raw = moments.weight2 * np.square(moments.mean2 - shift)
        return np.asarray((raw > LOST_BITS * moments.m2) & (moments.count > 1))


def _products(x: Floats, w: Floats, gone: Mask, shift: float) -> tuple[Floats, Floats]:
    """The masses w and w (x - shift) of each row; both 0 where it does not count."""
    with np.errstate(invalid="ignore", over="ignore"):
        u = w * (x - shift)
    return (w, u) if gone is None else (np.where(gone, 0.0, w), np.where(gone, 0.0, u))


def _sum_runs(
    x: Floats,
    w: Floats,
    gone: Mask,
    first_row: int,
    key: np.uint64,
    table: LabelTable,
    shift: float,
) -> tuple[NDArray[np.int64], Floats]:
    """NumPy twin of `weighted_leaf_compiled.sum_runs`: rows missing from a run have no mass."""
    k, n = table.n_blocks, x.size
    sums = np.zeros((5, k))
    if n == 0:
        return np.zeros(k, np.int64), sums
    first_run = first_row // k
    n_runs = (first_row + n - 1) // k - first_run + 1
    choice, rotation = run_choices(first_run, n_runs, key, k)
    places = table.inverse[choice[:, None], rotation[:, None] + np.arange(k)].astype(np.int64)
    offset = first_row - first_run * k
    edges = (offset, n_runs * k - offset - n)
    masses, products = (
        np.take_along_axis(np.pad(a, edges).reshape(n_runs, k), places, 1)
        for a in _products(x, w, gone, shift)
    )
    with np.errstate(invalid="ignore", over="ignore"):
        for total, terms in zip(sums, _terms(masses, products), strict=True):
            total[:] = add_in_order(total, terms)
    return np.count_nonzero(masses > 0.0, axis=0), sums


def _terms(v: Floats, u: Floats) -> tuple[Floats, ...]:
    return v, u, v * v, v * u, u * u


def weighted_stored_moments(
    x: Floats,
    w: Floats,
    gone: Mask,
    first: int,
    edges: NDArray[np.int64],
    *,
    compiled: bool = False,
) -> WeightedMoments:
    """Weighted moments of the contiguous blocks in one leaf; parameters as for `stored.stored_moments`."""
    out = WeightedMoments.empty(edges.size - 1)
    for k, rows in pieces(x.size, first, edges):
        values, weights = x[rows], w[rows]
        if gone is not None:
            there = ~gone[rows]
            values, weights = values[there], weights[there]
        if values.size:
            one = _one_block(values, weights, compiled)
            for target, number in zip(out, one, strict=True):
                target[k] = number
    return out


def _one_block(values: Floats, weights: Floats, compiled: bool) -> tuple[float, ...]:
    """Moments of weighted values, at least one; about their mean if the first shift lost digits."""
    if compiled:
        from distmom.numerics.weighted_leaf_compiled import one_weighted_block

        rows = frozen(values), frozen(weights)
        found: tuple[float, ...] = one_weighted_block(*rows, SHIFT_PROBES, LANES, LOST_BITS)
        return found
    shift = middle_value(values, None)
    block = _about(values, weights, shift)
    if _lost(block, shift)[0]:
        block = _about(values, weights, float(block.mean2[0]))
    return tuple(array[0] for array in block)


def _about(values: Floats, weights: Floats, shift: float) -> WeightedMoments:
    """Moments, of shape (1,), from sums about a shift; value i is added in lane i modulo `LANES`."""
    sums = np.zeros((5, LANES))
    whole = values.size - values.size % LANES
    with np.errstate(invalid="ignore", over="ignore"):
        for total, terms in zip(sums, _terms(weights, weights * (values - shift)), strict=True):
            total += terms[:whole].reshape(-1, LANES).sum(axis=0)
            total[: values.size - whole] += terms[whole:]
        return from_sums(np.array([values.size]), np.cumsum(sums, axis=1)[:, -1:], shift)
