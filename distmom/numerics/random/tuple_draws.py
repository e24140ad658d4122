"""Tuples of rows for incomplete U-statistics of any degrees, drawn from all tuples of any numbers of rows.

Each sample's bounded integers, where each skips those before it, are put in order. They are uniform over all
C(n_1, d_1) C(n_2, d_2) ... tuples, exactly, without their number or an index of them: 2**63 is no limit.
Draws use the streams (key, block, node), node = 0, 1, .... Without repeats, the tuples still missing after
repeats are removed come from the next node. The first distinct ones of uniform tuples are a uniform set
of tuples.
"""

from __future__ import annotations

from itertools import combinations, pairwise, product
from math import comb, prod
from typing import TypeAlias

import numpy as np

from distmom.numerics.arrays import Ints
from distmom.numerics.random.philox import Key, bounded_in_order

Degrees: TypeAlias = tuple[int, ...]
"""A number for each sample."""

Tuples: TypeAlias = tuple[Ints, ...]
"""First rows, second rows, and so on."""

PACKED = 1 << 32
"""Rows whose pairs fit a 64-bit word."""


def sample_tuples(
    key: Key,
    block: int,
    rows: Degrees,
    degrees: Degrees,
    size: int,
    *,
    replace: bool = False,
) -> Tuples:
    """`size` tuples of rows of one or several samples, uniform over all possible tuples.

    Parameters
    ----------
    key, block
        The address: ``stream_key(seed, purpose)`` and the number of the draw.
    rows : tuple of int
        Rows of each sample, degree <= n < 2**63.
    degrees : tuple of int
        Different rows of each sample in a tuple; two or more in all.
    size : int
        Number of tuples; without repeats at most the number of possible ones.
    replace : bool
        Whether tuples may repeat.

    Returns
    -------
    ndarrays of int64, shape (size,), one for each row of a tuple
        Row numbers, those of the first sample first, ascending within each sample of a tuple; tuples in
        ascending order.

    Raises
    ------
    ValueError
        If a sample has fewer rows than a tuple needs, or there are fewer tuples than are to be drawn without
        repeats.

    Notes
    -----
    If more than half of all tuples are drawn, those left out are drawn instead. Memory O(size).

    Examples
    --------
    >>> [side.tolist() for side in sample_tuples(1, 0, (3,), (3,), 1)]
    [[0], [1], [2]]
    >>> [side.tolist() for side in sample_tuples(1, 0, (1, 2), (1, 2), 1)]
    [[0], [0], [1]]
    """
    if any(n < d or d < 1 for n, d in zip(rows, degrees, strict=True)) or sum(degrees) < 2 or size < 0:
        raise ValueError(
            f"tuples of {degrees} need as many rows and a size that is not negative: {rows}, {size}"
        )
    how = key, block, rows, degrees
    if replace:
        return _ordered(_draw(*how, 0, size), max(rows))
    n_tuples = prod(comb(n, d) for n, d in zip(rows, degrees, strict=True))
    if size > n_tuples:
        raise ValueError(f"{size} tuples without repeats are more than the {n_tuples} that there are")
    if 2 * size > n_tuples:
        return _all_but(_distinct(*how, n_tuples - size), rows, degrees)
    return _distinct(*how, size)


def _all_but(left_out: Tuples, rows: Degrees, degrees: Degrees) -> Tuples:
    """All tuples except the given ones."""
    if sum(degrees) == 2:
        kept = np.ones((rows[0], rows[-1]), np.bool_)
        kept[left_out] = False
        return np.nonzero(np.triu(kept, 1) if degrees == (2,) else kept)
    known = set(zip(*(row.tolist() for row in left_out), strict=True))
    choices = (combinations(range(n), d) for n, d in zip(rows, degrees, strict=True))
    everything = (sum(chosen, ()) for chosen in product(*choices))
    others = [chosen for chosen in everything if chosen not in known]
    return tuple(np.array(others, np.int64).reshape(-1, sum(degrees)).T.copy())


def _ordered(tuples: Tuples, n: int) -> Tuples:
    """Tuples in ascending order; their rows are below n."""
    if len(tuples) == 2 and n <= PACKED:
        first, second = (row.astype(np.uint64) for row in tuples)
        order = np.argsort((first << np.uint64(32)) | second)
    else:
        order = np.lexsort(tuples[::-1])
    return tuple(row[order] for row in tuples)


def _distinct(key: Key, block: int, rows: Degrees, degrees: Degrees, size: int) -> Tuples:
    found: Tuples = (np.empty(0, np.int64),) * sum(degrees)
    node = 0
    while found[0].size < size:
        fresh = _draw(key, block, rows, degrees, node, size - found[0].size)
        found = _ordered(tuple(map(np.concatenate, zip(found, fresh, strict=True))), max(rows))
        new = np.zeros(found[0].size, np.bool_)
        new[:1] = True
        for row in found:
            new[1:] |= row[1:] != row[:-1]
        found = tuple(row[new] for row in found)
        node += 1
    return found


def _draw(key: Key, block: int, rows: Degrees, degrees: Degrees, node: int, size: int) -> Tuples:
    """`size` independent tuples, ascending within each sample, in the order of their words."""
    left = [n - taken for n, d in zip(rows, degrees, strict=True) for taken in range(d)]
    bounds = np.array(left, np.uint64)
    drawn = bounded_in_order(key, block, node, np.tile(bounds, size)).reshape(size, len(left)).T
    starts = np.cumsum((0, *degrees)).tolist()
    return tuple(row for a, b in pairwise(starts) for row in _skipping(drawn[a:b]))


def _skipping(drawn: Ints) -> list[Ints]:
    """Different numbers, ascending, from ranks among the numbers not taken before."""
    tuples: list[Ints] = []
    for row in drawn:
        for taken in tuples:  # ascending: the numbers that remain without each of these
            row = row + (row >= taken)
        for place, taken in enumerate(tuples):
            tuples[place], row = np.minimum(taken, row), np.maximum(taken, row)
        tuples.append(row)
    return tuples
