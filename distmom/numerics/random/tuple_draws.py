"""Tuples of rows for incomplete U-statistics of any degrees, drawn from all tuples of any numbers of rows.

As ``pairs.py`` does: bounded integers, each skipping those of its sample before it, put in order, are uniform
over all C(n_1, d_1) C(n_2, d_2) ... tuples; repeats are drawn again from the next node.
"""

from __future__ import annotations

from itertools import combinations, pairwise, product
from math import comb, prod

import numpy as np

from distmom.numerics.arrays import Ints, Words
from distmom.numerics.random.pair_draws import sample_cross, sample_pairs
from distmom.numerics.random.philox import Key, bounded64, take_in_order, words


def sample_tuples(
    key: Key,
    block: int,
    rows: tuple[int, ...],
    degrees: tuple[int, ...],
    size: int,
    *,
    replace: bool = False,
    compiled: bool = False,
) -> tuple[Ints, ...]:
    """`size` tuples of rows of one or several samples, uniform over all tuples that there are.

    Parameters
    ----------
    key, block
        The address: ``stream_key(seed, purpose)`` and the number of the draw.
    rows : tuple of int
        Rows of each sample, degree <= n < 2**63.
    degrees : tuple of int
        Different rows of each sample in a tuple; two or more in all.
    size : int
        Tuples; without repeats at most as many as there are.
    replace : bool
        Tuples may repeat.
    compiled : bool
        Draw pairs with Numba (the same ones).

    Returns
    -------
    ndarrays of int64, shape (size,), as many as the degrees add up to
        Row numbers, those of the first sample first, ascending within each sample of a tuple; tuples in
        ascending order.

    Raises
    ------
    ValueError
        If a sample has fewer rows than a tuple takes, or there are fewer tuples than are to be drawn without
        repeats.

    Examples
    --------
    >>> [side.tolist() for side in sample_tuples(1, 0, (3,), (3,), 1)]
    [[0], [1], [2]]
    >>> [side.tolist() for side in sample_tuples(1, 0, (1, 2), (1, 2), 1)]
    [[0], [0], [1]]
    """
    if degrees == (2,):
        return sample_pairs(key, block, rows[0], size, replace=replace, compiled=compiled)
    if degrees == (1, 1):
        return sample_cross(key, block, (rows[0], rows[1]), size, replace=replace, compiled=compiled)
    if any(n < d or d < 1 for n, d in zip(rows, degrees, strict=True)) or sum(degrees) < 2 or size < 0:
        raise ValueError(
            f"tuples of {degrees} need as many rows and a size that is not negative: {rows}, {size}"
        )
    if replace:
        return _columns(_draw(key, block, 0, rows, degrees, size))
    n_tuples = prod(comb(n, d) for n, d in zip(rows, degrees, strict=True))
    if size > n_tuples:
        raise ValueError(f"{size} tuples without repeats are more than the {n_tuples} that there are")
    if 2 * size > n_tuples:
        left_out = set(map(tuple, _distinct(key, block, rows, degrees, n_tuples - size).tolist()))
        choices = (combinations(range(n), d) for n, d in zip(rows, degrees, strict=True))
        everything = (sum(chosen, ()) for chosen in product(*choices))
        kept = [chosen for chosen in everything if chosen not in left_out]
        return _columns(np.array(kept, np.int64).reshape(-1, sum(degrees)))
    return _columns(_distinct(key, block, rows, degrees, size))


def _columns(tuples: Ints) -> tuple[Ints, ...]:
    return tuple(np.ascontiguousarray(_ordered(tuples).T))


def _ordered(tuples: Ints) -> Ints:
    return tuples[np.lexsort(tuples.T[::-1])]


def _distinct(key: Key, block: int, rows: tuple[int, ...], degrees: tuple[int, ...], size: int) -> Ints:
    found = np.empty((0, sum(degrees)), np.int64)
    node = 0
    while len(found) < size:
        fresh = _draw(key, block, node, rows, degrees, size - len(found))
        found = _ordered(np.concatenate([found, fresh]))
        new = np.ones(len(found), np.bool_)
        new[1:] = (found[1:] != found[:-1]).any(axis=1)
        found = found[new]
        node += 1
    return found


def _draw(
    key: Key, block: int, node: int, rows: tuple[int, ...], degrees: tuple[int, ...], size: int
) -> Ints:
    """`size` independent tuples, ascending within each sample, in the order of their words."""

    def fetch(start: int, n_words: int) -> Words:
        return words(key, block, n_words, node=node, first=start)

    left = [n - taken for n, d in zip(rows, degrees, strict=True) for taken in range(d)]
    bounds = np.tile(np.array(left, np.uint64), size)
    drawn = take_in_order(fetch, bounds, bounded64).astype(np.int64).reshape(size, len(left))
    starts = np.cumsum((0, *degrees))
    return np.column_stack([_skipping(drawn[:, a:b]) for a, b in pairwise(starts.tolist())])


def _skipping(drawn: Ints) -> Ints:
    """Different numbers, ascending, from numbers among those that the ones before leave."""
    tuples = drawn[:, :1]
    for place in range(1, drawn.shape[1]):
        row = drawn[:, place]
        for taken in tuples.T:  # ascending: the numbers that are left, without each of these
            row = row + (row >= taken)
        tuples = np.sort(np.column_stack([tuples, row]), axis=1)
    return tuples
