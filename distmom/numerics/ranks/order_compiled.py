"""Compiled counts of concordant and discordant rows; the NumPy twin and explanations are in ``order.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from distmom.numerics._jit import entry, njit
from distmom.numerics.ranks.descent_compiled import SMALL_GROUP, groups


@njit
def _finish(ranks, places, counts, first, last, parity, lesser):
    """Count a small group pair by pair, with its rows in their original order; returns its pairs."""
    total = 0
    for i in range(first, last):
        count = 0
        for j in range(first, i):
            count += ranks[parity, j] < ranks[parity, i]
        total += count
        if places is not None:
            lesser[places[parity, i]] = counts[parity, i] + count
    return total


@njit
def _split(ranks, places, counts, first, middle, last, bit, parity):
    """Move the rows of a group that lack the bit before those that have it; returns the pairs found.

    A row that has it forms a pair, as the greater one, with each row before it that lacks it.
    """
    to = 1 - parity
    zero, one = first, middle
    total = 0
    for i in range(first, last):
        rank = ranks[parity, i]
        has = (rank >> bit) & 1
        at = zero + has * (one - zero)
        ranks[to, at] = rank
        before = has * (zero - first)
        total += before
        if places is not None:
            places[to, at] = places[parity, i]
            counts[to, at] = counts[parity, i] + before
        one += has
        zero += 1 - has
    return total


@entry("i4[,] none none i8[] none", "i4[,] i4[,] i4[,] i8[] i8[]", pays=2e6)
def count_lesser(ranks, places, counts, starts, lesser):
    """Pairs of places whose later one has the greater rank; for each place their number into `lesser`.

    `ranks`, `places` and `counts` have shape (2, n), their first lines are the ranks, 0 ... n - 1 and zeros.
    The last two and `lesser` may be None: then only the total is computed.
    """
    total = 0
    for first, middle, last, bit, at in groups(starts):
        if bit >= 0:
            total += _split(ranks, places, counts, first, middle, last, bit, at)
        elif bit == SMALL_GROUP:
            total += _finish(ranks, places, counts, first, last, at, lesser)
        elif places is not None:
            for i in range(first, last):
                lesser[places[at, i]] = counts[at, i]
    return total


@entry("i8[] i8[] i8[] i8[] i8[] i8[] i8[] i8[,]", pays=2e6)
def count_rows(order, ranks, starts, lesser, x_runs, both_runs, seen, out):
    """Counts of all five kinds into `out`, shape (n, 5), at the places of the rows as given.

    `ranks` are those of y in the sorted order, `seen` is 0 for each of them.
    """
    n = order.size
    x_run = 0
    for run in range(both_runs.size - 1):
        first, last = both_runs[run], both_runs[run + 1]
        while x_runs[x_run + 1] <= first:
            x_run += 1
        x_start, x_size = x_runs[x_run], x_runs[x_run + 1] - x_runs[x_run]
        rank, size = ranks[first], last - first
        y_start, y_size = starts[rank], starts[rank + 1] - starts[rank]
        y_before = seen[rank]
        seen[rank] += size
        down_left = lesser[first] - (first - x_start)
        down_right = y_start - lesser[first]
        up_left = x_start - down_left - y_before
        up_right = n - x_start - x_size - down_right - (y_size - y_before - size)
        for i in range(first, last):
            row = order[i]
            out[row, 0] = down_left + up_right
            out[row, 1] = down_right + up_left
            out[row, 2] = x_size - 1
            out[row, 3] = y_size - 1
            out[row, 4] = size - 1
