"""Weighted block moments of one leaf; see ``leaf.py`` for leaves and ``weighted.py`` for the moments.

Per block five sums are taken: of w, w d, w^2, w^2 d and w^2 d^2, with d = x - shift. A row that does not
count enters with w = 0, and then with w d = 0 whatever its value.
"""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.blocks.labels import LabelTable, run_choices
from distmom.numerics.blocks.leaf import (
    NO_REST,
    NONE_GONE,
    SHIFT_PROBES,
    add_in_order,
    middle_value,
    read_only,
    together,
    with_total,
)
from distmom.numerics.twins import compiled_twin
from distmom.numerics.weighted.weighted_moments import WeightedMoments, amid, from_sums, has_lost

_kernels = compiled_twin(__name__)

Mask = Bools | None


def weighted_leaf_moments(
    x: Floats,
    w: Floats,
    gone: Mask,
    first_row: int,
    key: np.uint64,
    table: LabelTable,
    *,
    rest: tuple[Floats, Floats] = (NO_REST, NO_REST),
    compiled: bool = False,
) -> WeightedMoments:
    """Weighted moments of the random blocks in one leaf.

    Parameters
    ----------
    x, w : ndarray of float64, shape (n,)
        Values and weights of consecutive rows of a file; anything where `gone`. Not changed.
    gone : ndarray of bool, shape (n + size of the rest,), or None
        Rows that do not count, those of weight 0 included; None where all count.
    rest : (ndarray of float64, ndarray of float64)
        Further values and weights of the leaf, which need not be copied together with the others.
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
    if compiled:
        return _compiled_moments(x, w, rest, gone, first_row, key, table)
    x, w = together(x, rest[0]), together(w, rest[1])
    shift = middle_value(x, gone)
    rows = (x, w, gone, first_row, key, table)
    moments = _about(*rows, shift)
    if has_lost(moments.at(slice(-1)), shift).any():
        better = amid(moments, shift)
        if better != shift:
            moments = _about(*rows, better)
    return moments


def _compiled_moments(
    x: Floats,
    w: Floats,
    rest: tuple[Floats, Floats],
    gone: Mask,
    first_row: int,
    key: np.uint64,
    table: LabelTable,
) -> WeightedMoments:
    n = table.n_blocks + 1
    out = WeightedMoments(np.empty(n, np.int64), *(np.empty(n) for _ in range(5)))
    hidden = NONE_GONE if gone is None else gone
    rows = (*map(read_only, (x, w, *rest)), hidden, first_row, key, table.inverse)
    shift = _kernels.middle_value(rows[0], rows[2], hidden, SHIFT_PROBES)
    if _kernels.weighted_leaf_blocks(*rows, shift, *out):
        better = amid(out, shift)
        if better != shift:
            _kernels.weighted_leaf_blocks(*rows, better, *out)
    return out


def _about(
    x: Floats,
    w: Floats,
    gone: Mask,
    first_row: int,
    key: np.uint64,
    table: LabelTable,
    shift: float,
) -> WeightedMoments:
    """NumPy twin of `weighted_leaf_compiled.weighted_leaf_blocks`: rows missing from a run have no mass."""
    k, n = table.n_blocks, x.size
    sums, count = np.zeros((5, k)), np.zeros(k, np.int64)
    if n:
        first_run = first_row // k
        n_runs = (first_row + n - 1) // k - first_run + 1
        choice, rotation = run_choices(first_run, n_runs, key, k)
        places = table.inverse[choice[:, None], rotation[:, None] + np.arange(k)].astype(np.int64)
        offset = first_row - first_run * k
        edges = (offset, n_runs * k - offset - n)
        with np.errstate(invalid="ignore", over="ignore"):
            both = w, w * (x - shift)
            if gone is not None:
                both = np.where(gone, 0.0, both[0]), np.where(gone, 0.0, both[1])
            v, u = (np.take_along_axis(np.pad(a, edges).reshape(n_runs, k), places, 1) for a in both)
            for total, terms in zip(sums, (v, u, v * v, v * u, u * u), strict=True):
                total[:] = add_in_order(total, terms)
        count = np.count_nonzero(v > 0.0, axis=0)
    return with_total(from_sums(count, sums, shift))
