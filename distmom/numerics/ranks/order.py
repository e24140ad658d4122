"""Concordant, discordant and tied pairs of rows in two columns. Exact counts, O(n log n).

Rows are sorted by x, then y. For each row the earlier rows with a smaller y are counted while the y-ranks
are split bit by bit, from the highest down, stably. Rows whose higher bits agree are a group; if a row has
the bit, the earlier rows of its group that lack it have a smaller y. All other counts follow from this one
and from the sizes of ties. Counts are int64: exact for 3e9 rows.
The compiled twin is in ``order_compiled.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)
_digits = compiled_twin("distmom.numerics.ranks.digits")

COMPILE = 1 << 12  # below this number of rows NumPy ends before Numba is loaded


class OrderCounts(NamedTuple):
    """Numbers of pairs of rows, or for each row (in the order given) of other rows.

    ``concordant + discordant + x_tied + y_tied - both_tied`` is the number of all pairs, or n - 1.
    """

    concordant: Any
    discordant: Any
    x_tied: Any
    y_tied: Any
    both_tied: Any


def order_counts(
    x: Floats, y: Floats, *, rows: bool, compiled: bool | None = None
) -> tuple[OrderCounts, OrderCounts | None]:
    """Count concordant, discordant and tied pairs.

    Parameters
    ----------
    x, y : ndarray of float64, shape (n,)
        Without NaN; infinities are the greatest and least values. n >= 1.
    rows : bool
        Count for each row, too.
    compiled : bool, optional
        Use the compiled twin (same counts); by default from 4,096 rows.

    Returns
    -------
    pairs : OrderCounts
        Python integers.
    by_row : OrderCounts or None
        Arrays of int64, shape (n,).
    """
    n = x.size
    ranks, starts = dense_ranks(y)
    order, x_runs, both_runs = _sort_rows(x, ranks)
    sequence = ranks[order]
    if compiled is None:
        compiled = n >= COMPILE and _kernels.ready("count_lesser", n)
    if compiled:
        upward, lesser = _count_compiled(sequence, starts, rows)
    else:
        lesser = lesser_before(sequence, starts.size - 1)
        upward = int(lesser.sum())
    x_tied, y_tied, both_tied = (tied_pairs(runs) for runs in (x_runs, starts, both_runs))
    concordant = upward - (x_tied - both_tied)
    discordant = n * (n - 1) // 2 - concordant - x_tied - y_tied + both_tied
    pairs = OrderCounts(concordant, discordant, x_tied, y_tied, both_tied)
    if not rows:
        return pairs, None
    if compiled:
        out, seen = np.empty((n, 5), np.int64), np.zeros(starts.size - 1, np.int64)
        _kernels.count_rows(order, sequence, starts, lesser, x_runs, both_runs, seen, out)
        return pairs, OrderCounts(*out.T)
    return pairs, _from_lesser(order, sequence, lesser, starts, x_runs, both_runs)


def _count_compiled(sequence: Ints, starts: Ints, rows: bool) -> tuple[int, Ints]:
    n = sequence.size
    narrow = np.int32 if n < 1 << 31 else np.int64
    ranks = np.empty((2, n), narrow)
    ranks[0] = sequence
    if not rows:
        return int(_kernels.count_lesser(ranks, None, None, starts, None)), starts[:0]
    places, counts, lesser = np.empty((2, n), narrow), np.zeros((2, n), narrow), np.empty(n, np.int64)
    places[0] = np.arange(n)
    return int(_kernels.count_lesser(ranks, places, counts, starts, lesser)), lesser


def dense_ranks(values: Floats) -> tuple[Ints, Ints]:
    """Rank of each value among the distinct ones, and how many values are below each rank (and the total)."""
    order = np.argsort(values)
    starts = run_starts(values[order])
    ranks = np.empty(values.size, np.int64)
    ranks[order] = _spread(np.arange(starts.size - 1), starts)
    return ranks, starts


def run_starts(ordered: NDArray[Any]) -> Ints:
    """Places where a new value begins in a sorted array, and its size last."""
    fresh = np.empty(ordered.size + 1, np.bool_)
    fresh[0] = fresh[-1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:-1])
    return np.flatnonzero(fresh)


def stable_order(numbers: Ints, *, compiled: bool) -> Ints:
    """The stable order of numbers of at least 0."""
    if compiled and _digits.ready("stable_order", numbers.size):
        found: Ints = _digits.stable_order(numbers)
        return found
    return np.argsort(numbers, kind="stable")


def regrouped(groups: Ints, where: Ints) -> tuple[Any, Ints]:
    """The rows of sorted groups in the order of new numbers, as an index, and the new numbers.

    The new number of group g is ``where[g]``; if it is -1, the group is left out.
    """
    runs = run_starts(groups) if groups.size else np.zeros(1, np.int64)
    starts, lengths = runs[:-1], np.diff(runs)
    numbers = where[groups[starts]]
    if np.all(numbers >= 0) and np.all(numbers[1:] > numbers[:-1]):
        return slice(None), np.repeat(numbers, lengths)
    order = np.argsort(numbers)
    order = order[np.searchsorted(numbers[order], 0) :]
    starts, lengths = starts[order], lengths[order]
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum()), np.repeat(numbers[order], lengths)


def _spread(values: Ints, runs: Ints) -> Ints:
    """For each place the value of its run."""
    return values if runs.size == runs[-1] + 1 else np.repeat(values, np.diff(runs))


def tied_pairs(runs: Ints) -> int:
    """Pairs within runs of these starts (the end last)."""
    sizes = np.diff(runs)
    return int((sizes * (sizes - 1) // 2).sum())


def _sort_rows(x: Floats, ranks: Ints) -> tuple[Ints, Ints, Ints]:
    """Rows by x, then by the rank of y; starts of the runs of equal x and of equal pairs (and the end)."""
    order = np.argsort(x)
    x_runs = run_starts(x[order])
    if x_runs.size == x.size + 1:
        return order, x_runs, x_runs
    width = np.int64(ranks.max() + 1)
    keys = _spread(np.arange(x_runs.size - 1), x_runs) * width + ranks[order]
    again = np.argsort(keys)
    return order[again], x_runs, run_starts(keys[again])


def lesser_before(sequence: Ints, n_ranks: int) -> Ints:
    """For each place the number of earlier places with a smaller rank."""
    place = np.arange(sequence.size)
    lesser = np.zeros(sequence.size, np.int64)
    for bit in reversed(range((n_ranks - 1).bit_length())):
        values = sequence[place]
        starts = run_starts(values >> (bit + 1))
        has = (values >> bit) & 1
        lacking = np.cumsum(1 - has)
        before_group = np.concatenate([[0], lacking])[starts[:-1]]
        lesser[place] += has * (lacking - _spread(before_group, starts).astype(np.int64))
        place = place[np.argsort(values >> bit, kind="stable")]
    return lesser


def _from_lesser(
    order: Ints, sequence: Ints, lesser: Ints, starts: Ints, x_runs: Ints, both_runs: Ints
) -> OrderCounts:
    """All counts from the number of earlier rows with a smaller y."""
    n = order.size
    x_start, x_size = _spread(x_runs[:-1], x_runs), _spread(np.diff(x_runs), x_runs)
    both_start, both_size = _spread(both_runs[:-1], both_runs), _spread(np.diff(both_runs), both_runs)
    y_size = np.diff(starts)[sequence]
    by_y = np.argsort(sequence, kind="stable")
    in_run = np.empty(n, np.int64)
    in_run[by_y] = np.arange(n) - starts[sequence[by_y]]
    y_before = in_run[both_start]  # rows with a smaller x and the same y
    down_left = lesser - (both_start - x_start)
    down_right = starts[sequence] - lesser
    up_left = x_start - down_left - y_before
    up_right = n - x_start - x_size - down_right - (y_size - y_before - both_size)
    counts = np.empty((5, n), np.int64)
    counts[:, order] = (down_left + up_right, down_right + up_left, x_size - 1, y_size - 1, both_size - 1)
    return OrderCounts(*counts)
