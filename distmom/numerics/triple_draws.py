"""Triples of rows for incomplete U-statistics of degree 3, drawn from all triples of any number of rows.

As ``pairs.py`` does: three bounded integers, each skipping those before it, put in order, are uniform over
all C(n, 3) triples; repeats are drawn again from the next node.
"""

from __future__ import annotations

from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.pairs import sample_pairs
from distmom.numerics.random import Key, bounded64, take_in_order, words

Ints: TypeAlias = NDArray[np.int64]


def sample_tuples(
    key: Key, block: int, n: int, degree: int, size: int, *, replace: bool = False, compiled: bool = False
) -> tuple[Ints, ...]:
    """Tuples of 2 or 3 different rows: `sample_pairs` or `sample_triples`."""
    if degree == 2:
        return sample_pairs(key, block, n, size, replace=replace, compiled=compiled)
    if degree == 3:
        return sample_triples(key, block, n, size, replace=replace)
    raise ValueError(f"tuples have 2 or 3 rows, got {degree}")


def sample_triples(
    key: Key, block: int, n: int, size: int, *, replace: bool = False
) -> tuple[Ints, Ints, Ints]:
    """`size` triples of different rows, uniform over all triples of n rows.

    Parameters
    ----------
    key, block
        The address: ``stream_key(seed, "triples")`` and the number of the sample.
    n : int
        Rows, 3 <= n < 2**63.
    size : int
        Triples; without repeats at most C(n, 3).
    replace : bool
        Triples may repeat.

    Returns
    -------
    three ndarrays of int64, shape (size,)
        Row numbers, ascending in each triple; triples in ascending order.

    Raises
    ------
    ValueError
        If there are fewer than three rows, or fewer triples than are to be drawn without repeats.

    Examples
    --------
    >>> [rows.tolist() for rows in sample_triples(1, 0, 3, 1)]
    [[0], [1], [2]]
    """
    if n < 3 or size < 0:
        raise ValueError(f"triples need three rows and a size that is not negative, got {n} and {size}")
    if replace:
        return _columns(_draw(key, block, 0, n, size))
    n_triples = n * (n - 1) * (n - 2) // 6
    if size > n_triples:
        raise ValueError(f"{size} triples without repeats are more than the {n_triples} that there are")
    if 2 * size > n_triples:
        left_out = set(map(tuple, _distinct(key, block, n, n_triples - size).tolist()))
        kept = [triple for triple in combinations(range(n), 3) if triple not in left_out]
        return _columns(np.array(kept, np.int64).reshape(-1, 3))
    return _columns(_distinct(key, block, n, size))


def _columns(triples: Ints) -> tuple[Ints, Ints, Ints]:
    ordered = triples[np.lexsort(triples.T[::-1])]
    first, second, third = np.ascontiguousarray(ordered.T)
    return first, second, third


def _distinct(key: Key, block: int, n: int, size: int) -> Ints:
    found = np.empty((0, 3), np.int64)
    node = 0
    while len(found) < size:
        fresh = _draw(key, block, node, n, size - len(found))
        found = np.unique(np.concatenate([found, fresh]), axis=0)
        node += 1
    return found


def _draw(key: Key, block: int, node: int, n: int, size: int) -> Ints:
    """`size` independent triples, ascending, in the order of their words."""

    def fetch(start: int, n_words: int) -> NDArray[np.uint64]:
        return words(key, block, n_words, node=node, first=start)

    bounds = np.tile(np.array([n, n - 1, n - 2], np.uint64), size)
    first, second, third = take_in_order(fetch, bounds, bounded64).astype(np.int64).reshape(size, 3).T
    second = second + (second >= first)
    low, high = np.minimum(first, second), np.maximum(first, second)
    third = third + (third >= low)  # the numbers that are left, without the lower one
    third = third + (third >= high)  # and without the higher one
    return np.sort(np.stack([low, high, third], axis=1), axis=1)
