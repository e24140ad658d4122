"""Tuples of rows for incomplete U-statistics of any degree, drawn from all tuples of any number of rows.

As ``pairs.py`` does: bounded integers, each skipping those before it, put in order, are uniform over all
C(n, d) tuples; repeats are drawn again from the next node.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.pairs import sample_pairs
from distmom.numerics.random import Key, bounded64, take_in_order, words

Ints: TypeAlias = NDArray[np.int64]


def sample_tuples(
    key: Key, block: int, n: int, degree: int, size: int, *, replace: bool = False, compiled: bool = False
) -> tuple[Ints, ...]:
    """`size` tuples of different rows, uniform over all tuples of `degree` of n rows.

    Parameters
    ----------
    key, block
        The address: ``stream_key(seed, purpose)`` and the number of the sample.
    n : int
        Rows, degree <= n < 2**63.
    degree : int
        At least 2.
    size : int
        Tuples; without repeats at most C(n, degree).
    replace : bool
        Tuples may repeat.
    compiled : bool
        Draw pairs with Numba (the same ones).

    Returns
    -------
    ndarrays of int64, shape (size,), as many as the degree
        Row numbers, ascending in each tuple; tuples in ascending order.

    Raises
    ------
    ValueError
        If there are fewer rows than a tuple has, or fewer tuples than are to be drawn without repeats.

    Examples
    --------
    >>> [rows.tolist() for rows in sample_tuples(1, 0, 3, 3, 1)]
    [[0], [1], [2]]
    """
    if degree == 2:
        return sample_pairs(key, block, n, size, replace=replace, compiled=compiled)
    if n < degree or degree < 2 or size < 0:
        raise ValueError(f"tuples of {degree} need as many rows and a size that is not negative: {n}, {size}")
    if replace:
        return _columns(_draw(key, block, 0, n, degree, size))
    n_tuples = comb(n, degree)
    if size > n_tuples:
        raise ValueError(f"{size} tuples without repeats are more than the {n_tuples} that there are")
    if 2 * size > n_tuples:
        left_out = set(map(tuple, _distinct(key, block, n, degree, n_tuples - size).tolist()))
        kept = [rows for rows in combinations(range(n), degree) if rows not in left_out]
        return _columns(np.array(kept, np.int64).reshape(-1, degree))
    return _columns(_distinct(key, block, n, degree, size))


def _columns(tuples: Ints) -> tuple[Ints, ...]:
    ordered = tuples[np.lexsort(tuples.T[::-1])]
    return tuple(np.ascontiguousarray(ordered.T))


def _distinct(key: Key, block: int, n: int, degree: int, size: int) -> Ints:
    found = np.empty((0, degree), np.int64)
    node = 0
    while len(found) < size:
        fresh = _draw(key, block, node, n, degree, size - len(found))
        found = np.unique(np.concatenate([found, fresh]), axis=0)
        node += 1
    return found


def _draw(key: Key, block: int, node: int, n: int, degree: int, size: int) -> Ints:
    """`size` independent tuples, ascending, in the order of their words."""

    def fetch(start: int, n_words: int) -> NDArray[np.uint64]:
        return words(key, block, n_words, node=node, first=start)

    bounds = np.tile(np.array([n - taken for taken in range(degree)], np.uint64), size)
    drawn = take_in_order(fetch, bounds, bounded64).astype(np.int64).reshape(size, degree)
    tuples = drawn[:, :1]
    for place in range(1, degree):
        row = drawn[:, place]
        for taken in tuples.T:  # ascending: the numbers that are left, without each of these
            row = row + (row >= taken)
        tuples = np.sort(np.column_stack([tuples, row]), axis=1)
    return tuples
