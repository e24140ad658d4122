"""Pairs of rows for incomplete U-statistics, drawn from all pairs of any number of rows.

A pair is two bounded integers: i < n, and j < n - 1 that skips i. Put in order it is uniform over all n (n -
1) / 2 pairs, exactly, without their number or an index of the triangle: no 2**63 in the way, memory O(size).
Draws are taken from the streams (key, block, node), node = 0, 1, ...: without repeats, those that are missing
once all repeats are gone come from the next node. The first distinct ones of uniform pairs are a uniform set
of pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Ints, Words
from distmom.numerics.random.philox import Key, bounded64, take_in_order, words
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

_PACKED = 1 << 32  # rows whose pairs fit a 64-bit word


def sample_pairs(
    key: Key, block: int, n: int, size: int, *, replace: bool = False, compiled: bool = False
) -> tuple[Ints, Ints]:
    """`size` pairs of different rows, uniform over all pairs of n rows.

    Parameters
    ----------
    key, block
        The address: ``stream_key(seed, "pairs")`` and the number of the sample.
    n : int
        Rows, 2 <= n < 2**63.
    size : int
        Pairs; without repeats at most n (n - 1) / 2.
    replace : bool
        Pairs may repeat (sampling with replacement).
    compiled : bool
        Use the compiled twin (same pairs).

    Returns
    -------
    first, second : ndarray of int64, shape (size,)
        Row numbers, first < second, in ascending order of (first, second).

    Raises
    ------
    ValueError
        If there are fewer than two rows, or fewer pairs than are to be drawn without repeats.

    Notes
    -----
    More than half of all pairs are drawn as those that are left out. Memory O(size).

    Examples
    --------
    >>> sample_pairs(1, 0, 3, 3)[0].tolist()
    [0, 0, 1]
    """
    if n < 2 or size < 0:
        raise ValueError(f"pairs need two rows and a size that is not negative, got {n} and {size}")
    return _sample(key, block, (n, n), size, True, replace, compiled)


def sample_cross(
    key: Key, block: int, sizes: tuple[int, int], size: int, *, replace: bool = False, compiled: bool = False
) -> tuple[Ints, Ints]:
    """`size` pairs of one row of each of two samples, uniform over all ``sizes[0] * sizes[1]``.

    As `sample_pairs` otherwise. For one sample against itself use `sample_pairs`.

    Raises
    ------
    ValueError
        If a sample is empty, or there are fewer pairs than are to be drawn without repeats.
    """
    if min(sizes) < 1 or size < 0:
        raise ValueError(
            f"pairs need a row of each sample and a size that is not negative, got {sizes} and {size}"
        )
    return _sample(key, block, sizes, size, False, replace, compiled)


def _sample(
    key: Key, block: int, sizes: tuple[int, int], size: int, same: bool, replace: bool, compiled: bool
) -> tuple[Ints, Ints]:
    if replace:
        first, second = _draw(key, block, 0, sizes, size, same, compiled)
        order = _order(first, second, max(sizes))
        return first[order], second[order]
    n_pairs = sizes[0] * (sizes[0] - 1) // 2 if same else sizes[0] * sizes[1]
    if size > n_pairs:
        raise ValueError(f"{size} pairs without repeats are more than the {n_pairs} that there are")
    if 2 * size > n_pairs:
        left_out = _distinct(key, block, sizes, n_pairs - size, same, compiled)
        kept = np.ones(sizes, np.bool_)
        if same:
            kept = np.triu(kept, 1)
        kept[left_out] = False
        first, second = np.nonzero(kept)
        return first, second
    return _distinct(key, block, sizes, size, same, compiled)


def _distinct(
    key: Key, block: int, sizes: tuple[int, int], size: int, same: bool, compiled: bool
) -> tuple[Ints, Ints]:
    first = second = np.empty(0, np.int64)
    node = 0
    while first.size < size:
        fresh = _draw(key, block, node, sizes, size - first.size, same, compiled)
        first, second = np.concatenate([first, fresh[0]]), np.concatenate([second, fresh[1]])
        order = _order(first, second, max(sizes))
        first, second = first[order], second[order]
        new = np.ones(first.size, np.bool_)
        new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
        first, second = first[new], second[new]
        node += 1
    return first, second


def _order(first: Ints, second: Ints, n: int) -> NDArray[np.intp]:
    if n <= _PACKED:
        return np.argsort((first.astype(np.uint64) << np.uint64(32)) | second.astype(np.uint64))
    return np.lexsort((second, first))


def _draw(
    key: Key, block: int, node: int, sizes: tuple[int, int], size: int, same: bool, compiled: bool
) -> tuple[Ints, Ints]:
    """`size` independent pairs in the order of their words: two for each, and one more for each rejection."""
    bounds = np.array([sizes[0], sizes[1] - same], np.uint64)
    if compiled:
        out = np.empty((2, size), np.int64)
        _kernels.fill_pairs(np.uint64(key), np.uint64(block), np.uint64(node), bounds, same, out)
        return out[0], out[1]

    def fetch(start: int, n_words: int) -> Words:
        return words(key, block, n_words, node=node, first=start)

    numbers = take_in_order(fetch, np.tile(bounds, size), bounded64).astype(np.int64).reshape(size, 2)
    first, second = numbers[:, 0], numbers[:, 1]
    if same:
        second = second + (second >= first)
        first, second = np.minimum(first, second), np.maximum(first, second)
    return first, second
