"""Rows drawn from one leaf, without or with replacement, and the moments of their values for all blocks.

With replacement every number is uniform on 0 ... n - 1. Without, Floyd's method: for ``j = n - b ... n - 1``
take a number t uniform on 0 ... j, or j if t was taken before. All sets of b rows are equally likely;
their order is not random. If more than half of the rows are drawn, the ones left out are drawn. The words
come from the stream (key, block, leaf), 32 bits for each number.

``compiled=True`` gives the same rows in the same order, and the same bits, from ``sampled_leaf_compiled.py``.

References
----------
Bentley & Floyd (1987), Programming pearls: a sample of brilliance.
Chan, Golub & LeVeque (1983), Algorithms for computing the sample variance (corrected two-pass).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Bools, Floats, Ints, Words
from distmom.numerics.random.philox import Key, bounded32, philox, take_in_order
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

NONE_GONE, NO_CODES = np.empty(0, np.bool_), np.empty(0, np.int64)
MAX_ROWS = (1 << 31) - 1
_CHUNK_ROWS = 1 << 18  # drawn rows that the twin keeps in memory at once


def leaf_sample(
    key: Key, block: int, leaf: int, n: int, b: int, *, replace: bool = False, compiled: bool = False
) -> Ints:
    """`b` rows of a leaf of `n` rows, uniform over sets of distinct rows, or sequences with replacement.

    Parameters
    ----------
    key : int
        From `random.stream_key`.
    block, leaf : int
        The address: the block's number, and the leaf's number among all leaves of the lake.
    n, b : int
        ``0 <= b <= n < 2**31``; with replacement b may exceed n, if n > 0.
    replace : bool
        Draw with replacement: rows may be drawn several times.
    compiled : bool
        Use Numba: 3 nanoseconds per row instead of about 80.

    Returns
    -------
    ndarray of int64, shape (b,)
        Positions in 0 ... n - 1, in the order of the draw (ascending if more than half are drawn without
        replacement).

    Raises
    ------
    ValueError
        If `b` or `n` is out of range.

    Examples
    --------
    >>> leaf_sample(1, 0, 0, 3, 3).tolist()
    [0, 1, 2]
    """
    rows, sizes, places = np.empty(max(b, 0), np.int64), np.array([b]), np.zeros(1, np.int64)
    fill_numbers(key, block, leaf, n, sizes, 0, places, rows, replace=replace, compiled=compiled)
    return rows


def fill_numbers(
    key: Key,
    first_block: int,
    leaf: int,
    n: int,
    counts: Ints,
    first_row: int,
    places: Ints,
    out: Ints,
    *,
    replace: bool = False,
    compiled: bool = False,
) -> None:
    """Write the rows that consecutive blocks draw from a leaf, those of `leaf_sample`, as row numbers.

    Parameters
    ----------
    key, leaf, n, replace, compiled
        As in `leaf_sample`.
    first_block : int
        Number of the first of the blocks.
    counts : ndarray of int64, shape (K,)
        Rows that each block draws.
    first_row : int
        Number, in the lake, of the leaf's first row.
    places : ndarray of int64, shape (K,)
        Where in `out` each block's numbers begin; moved to the place after them.
    out : ndarray of int64
    """
    sizes = np.ascontiguousarray(counts, dtype=np.int64)
    _check(n, sizes, replace)
    if not sizes.any():
        return
    if compiled:
        _kernels.fill_numbers(
            np.uint64(key), first_block, np.uint64(leaf), n, sizes, replace, first_row, places, out
        )
        return
    for k in np.flatnonzero(sizes).tolist():
        block, size = np.array([first_block + k], np.uint64), sizes[k : k + 1]
        out[places[k] : places[k] + size[0]] = _draw(key, leaf, n, block, size, replace)[1] + first_row
        places[k] += size[0]


def sampled_leaf_moments(
    x: Floats,
    gone: Bools | None,
    codes: Ints | None,
    n_groups: int,
    key: Key,
    leaf: int,
    counts: Ints,
    compiled: bool = False,
    *,
    replace: bool = False,
) -> tuple[Ints, Floats, Floats]:
    """Count, mean and sum of squared deviations of each block's sample of one leaf, by group.

    Parameters
    ----------
    x : ndarray of float64, shape (n,)
        The leaf's values. Rows not finite make a mean inf, -inf or NaN by the rules of addition, and its m2
        NaN; an m2 too large for a float is inf.
    gone : ndarray of bool, shape (n,), or None
        Rows that do not count (missing or filtered): dropped after the draw.
    codes : ndarray of int64, shape (n,), or None
        Group of each row that counts, in 0 ... n_groups - 1; None if there is one group.
    n_groups : int
    key, leaf
        The address, as in `leaf_sample`.
    counts : ndarray of int64, shape (K,)
        Rows that blocks 0 ... K - 1 draw from this leaf: a column of `SampleWindow.counts`.
    compiled : bool
        Use Numba: 5 to 9 nanoseconds a drawn row instead of 100 to 200, and 20 microseconds instead of 0.3 ms
        to start with each leaf.
    replace : bool
        Draw with replacement: a row drawn m times counts m times.

    Returns
    -------
    count : ndarray of int64, shape (n_groups, K)
    mean, m2 : ndarray of float64, shape (n_groups, K)
        Both 0 if nothing was drawn.

    Raises
    ------
    ValueError
        If a count exceeds the leaf's rows (with replacement: 2**31 - 1), or a code the number of groups.

    Notes
    -----
    Two passes over each block's drawn values, the second one centred at the mean of the first and corrected
    by its own sum: no cancellation whatever the level of the values. Memory: the three results and, compiled,
    20 bytes for each row of the largest draw and n / 8 bytes.
    """
    sizes = np.ascontiguousarray(counts, dtype=np.int64)
    n = x.size
    _check(n, sizes, replace)
    if codes is not None:
        real = codes if gone is None else codes[~gone]
        if real.size and not 0 <= real.min() <= real.max() < n_groups:
            raise ValueError(f"codes must be in [0, {n_groups}), got {real.min()} to {real.max()}")
    elif n_groups != 1:
        raise ValueError(f"without codes there is one group, got n_groups={n_groups}")
    if not sizes.any():
        shape = (n_groups, sizes.size)
        return np.zeros(shape, dtype=np.int64), np.zeros(shape), np.zeros(shape)
    if not compiled:
        return _twin_moments(x, gone, codes, n_groups, key, leaf, sizes, replace)
    shape = (sizes.size, n_groups)
    count, mean, m2 = np.zeros(shape, dtype=np.int64), np.zeros(shape), np.zeros(shape)
    rows = x, NONE_GONE if gone is None else gone, NO_CODES if codes is None else codes
    draws = np.uint64(key), np.uint64(leaf), _frozen(sizes), replace
    _kernels.block_moments(*map(_frozen, rows), *draws, count, mean, m2)
    return _by_group(count, mean, m2)


def _by_group(count: Ints, mean: Floats, m2: Floats) -> tuple[Ints, Floats, Floats]:
    return np.ascontiguousarray(count.T), np.ascontiguousarray(mean.T), np.ascontiguousarray(m2.T)


def _frozen(a: NDArray[Any]) -> NDArray[Any]:
    """A contiguous read-only view: Arrow's memory is read-only, so a single signature is compiled."""
    view = np.ascontiguousarray(a).view()
    view.flags.writeable = False
    return view


def _check(n: int, sizes: Ints, replace: bool) -> None:
    most = MAX_ROWS if replace and n else n
    if n > MAX_ROWS or (sizes.size and not 0 <= sizes.min() <= sizes.max() <= most):
        raise ValueError(f"a leaf of {n} rows (at most 2**31 - 1) cannot give {sizes.max(initial=0)} rows")


def _twin_moments(
    x: Floats,
    gone: Bools | None,
    codes: Ints | None,
    n_groups: int,
    key: Key,
    leaf: int,
    sizes: Ints,
    replace: bool,
) -> tuple[Ints, Floats, Floats]:
    n = x.size
    blocks = np.flatnonzero(sizes)
    shape = (sizes.size, n_groups)
    count, mean, m2 = np.zeros(shape, dtype=np.int64), np.zeros(shape), np.zeros(shape)
    step = max(1, _CHUNK_ROWS // max(1, sizes.max(initial=0)))
    for start in range(0, blocks.size, step):
        part = blocks[start : start + step]
        lane, row = _draw(key, leaf, n, part.astype(np.uint64), sizes[part], replace)
        if gone is not None:
            used = ~gone[row]
            lane, row = lane[used], row[used]
        cell = lane * n_groups if codes is None else lane * n_groups + codes[row]
        pieces = _cell_moments(x[row], cell, part.size * n_groups)
        count[part], mean[part], m2[part] = (a.reshape(part.size, n_groups) for a in pieces)
    return _by_group(count, mean, m2)


def _cell_moments(values: Floats, cell: Ints, n_cells: int) -> tuple[Ints, Floats, Floats]:
    """Moments of each cell; `bincount` adds in the order of the rows, as the compiled loops do."""

    def sums(weights: Floats) -> Floats:
        return np.bincount(cell, weights, minlength=n_cells).astype(np.float64, copy=False)

    with np.errstate(over="ignore", invalid="ignore"):  # inf and overflow are handled below
        count = np.bincount(cell, minlength=n_cells)
        size = np.maximum(count, 1).astype(np.float64)
        shift = sums(values) / size
        if not np.isfinite(shift).all():  # inf among the values, or a sum of finite ones overflowed
            shift = np.where(np.isfinite(shift), shift, sums(values / size[cell]))
        d = values - shift[cell]
        s1, s2 = sums(d), sums(d * d)
        finite = np.isfinite(s2)
        mean = np.where(finite, shift + s1 / size, shift)
        m2 = np.where(finite, np.maximum(0.0, s2 - s1 * (s1 / size)), np.inf)
    return count, mean, np.where(np.isfinite(shift), m2, np.nan)


def _draw(key: Key, leaf: int, n: int, blocks: Words, sizes: Ints, replace: bool) -> tuple[Ints, Ints]:
    """The rows of several blocks, as (place in `blocks`, row); the rows of one block keep their order."""
    if replace:
        lane = np.repeat(np.arange(blocks.size), sizes)
        return lane, _bounded_rows(key, leaf, blocks, sizes, np.full(lane.size, n))
    few = np.minimum(sizes, n - sizes)
    last = np.concatenate([np.arange(n - size, n) for size in few])
    drawn = _bounded_rows(key, leaf, blocks, few, last + 1)
    rows = []
    for own, size, first in zip(np.split(drawn, np.cumsum(few)[:-1]), sizes, n - few, strict=True):
        taken: dict[int, None] = {}  # an ordered set
        for step, row in enumerate(own.tolist(), first):
            taken[step if row in taken else row] = None
        mine = np.fromiter(taken, np.int64, len(taken))
        rows.append(mine if mine.size == size else np.delete(np.arange(n), mine))
    return np.repeat(np.arange(blocks.size), sizes), np.concatenate(rows)


def _bounded_rows(key: Key, leaf: int, blocks: Words, few: Ints, bounds: Ints) -> Ints:
    """For each number its bounded draw, from the words of its block's stream in order."""
    calls = (few + 3) // 4
    lane = np.repeat(np.arange(blocks.size), calls)
    index = np.arange(lane.size) - np.repeat(np.cumsum(calls) - calls, calls)
    halves = _halves(key, leaf, blocks[lane], index.astype(np.uint64))
    needed = np.arange(4) < (few[lane] - 4 * index)[:, None]
    bound = bounds.astype(np.uint64)
    rows, accepted = bounded32(halves[needed], bound)
    if not accepted.all():
        stop = np.cumsum(few)
        for k in np.unique(np.searchsorted(stop, np.flatnonzero(~accepted), side="right")):
            own = slice(stop[k] - few[k], stop[k])
            rows[own] = _with_rejections(key, leaf, blocks[k : k + 1], bound[own])
    return rows.astype(np.int64)


def _with_rejections(key: Key, leaf: int, block: Words, bounds: Words) -> Words:
    def fetch(first: int, size: int) -> Words:
        index = np.arange(first // 4, (first + size + 3) // 4, dtype=np.uint64)
        return _halves(key, leaf, block, index).ravel()[first % 4 :][:size]

    return take_in_order(fetch, bounds, bounded32)


def _halves(key: Key, leaf: int, block: Words, index: Words) -> Words:
    """The four 32-bit words of each counter, shape (counters, 4)."""
    return np.stack(philox(key, index, block, np.array([leaf], dtype=np.uint64)), axis=1)
