"""Exact random samples of B of n rows, without or with replacement, spread over the leaves of many files.

A sample of rows is drawn in two steps. A binary tree over the leaves determines the number of rows from each
leaf: at every node the share of its left half is hypergeometric, with replacement binomial. Then each leaf
draws its rows (``sampled_leaf.py``). Every set of B rows is equally likely (with replacement every sequence
of B rows), even if files are tiny. The draw at a node is addressed by (key, block, node), so any window of
leaves is computed on its own, from the totals beside its path to the root, with the same result as in the
whole tree. Blocks are independent, and more blocks keep the first ones.

The tree is the aligned one: node i of level l covers leaves ``i * 2**l`` to ``(i + 1) * 2**l - 1``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from distmom.numerics.arrays import Ints
from distmom.numerics.random.counts import MAX_TOTAL, binomial, hypergeometric
from distmom.numerics.random.philox import Key

LEVEL_SHIFT = 40  # a node's address is (level << 40) + index; level 0 is a leaf's own sample


class SampleTree:
    """The rows of all leaves, on the client.

    Parameters
    ----------
    leaf_rows : array_like of int, shape (L,)
        Rows of each leaf in path order; zeros are allowed.

    Raises
    ------
    ValueError
        If there is no leaf, a count is negative, or they sum to more than 2**53.

    Examples
    --------
    >>> SampleTree([3, 3, 3, 1]).window(0, 4).counts(key=1, n_blocks=2, block_size=8).sum(axis=1).tolist()
    [8, 8]
    """

    def __init__(self, leaf_rows: ArrayLike) -> None:
        rows = np.array(leaf_rows, dtype=np.int64)
        small = rows.ndim == 1 and rows.size > 0 and rows.min() >= 0 and rows.sum(dtype=np.float64) < 2.0**62
        if not small or rows.sum() > MAX_TOTAL:  # the float sum is rounded, the int64 one might have wrapped
            raise ValueError("leaf_rows must be a non-empty row of counts >= 0 that sum to at most 2**53")
        self._rows = rows
        self._before = np.concatenate([[0], np.cumsum(rows)])
        self.n_leaves = rows.size
        self.n_rows = int(self._before[-1])

    def window(self, first_leaf: int, stop_leaf: int) -> SampleWindow:
        """The data that a worker needs for the leaves ``first_leaf`` to ``stop_leaf - 1``.

        Raises
        ------
        ValueError
            If the range is empty or not within the leaves.
        """
        if not 0 <= first_leaf < stop_leaf <= self.n_leaves:
            raise ValueError(f"leaves {first_leaf} to {stop_leaf} are not within the {self.n_leaves} leaves")
        beside = []
        low, high = first_leaf, stop_leaf - 1
        for level in range((self.n_leaves - 1).bit_length()):
            left = self._total(level, low - 1) if low % 2 else 0
            right = self._total(level, high + 1) if high % 2 == 0 else 0
            beside.append((left, right))
            low, high = low // 2, high // 2
        return SampleWindow(first_leaf, self._rows[first_leaf:stop_leaf].copy(), tuple(beside))

    def _total(self, level: int, index: int) -> int:
        start, stop = (min(i << level, self.n_leaves) for i in (index, index + 1))
        return int(self._before[stop] - self._before[start])


@dataclass(frozen=True, slots=True, eq=False)
class SampleWindow:
    """A contiguous range of leaves with all that its samples depend on; small and picklable.

    Attributes
    ----------
    first_leaf : int
    rows : ndarray of int64, shape (leaves of the window,)
    beside : tuple of (int, int)
        For each level from the leaves up, the rows of the node to the left of the window's nodes and of the
        one to the right, if they are halves of a node that the window overlaps (else 0).
    """

    first_leaf: int
    rows: Ints
    beside: tuple[tuple[int, int], ...]

    @property
    def n_rows(self) -> int:
        """Rows of the whole lake."""
        return int(self.rows.sum()) + sum(left + right for left, right in self.beside)

    def counts(
        self,
        key: Key,
        n_blocks: int,
        block_size: int,
        *,
        replace: bool = False,
        compiled: bool = False,
        first_block: int = 0,
    ) -> Ints:
        """Number of rows that each block takes from each leaf of the window.

        Parameters
        ----------
        key : int
            From `random.stream_key`; the same for all windows and for `sampled_leaf_moments`.
        n_blocks, block_size : int
            K blocks of B rows each.
        replace : bool
            Draw with replacement: counts are multinomial, each half's probability rounded to a float64.
        compiled : bool
            Use Numba: about 0.3 instead of 2 microseconds per draw; a leaf and block cost at most one draw,
            and each window about log2(L) more for each block.
        first_block : int
            Number of the first of the blocks.

        Returns
        -------
        ndarray of int64, shape (n_blocks, leaves of the window)
            Summed over all leaves of the tree, block_size in each block.

        Raises
        ------
        ValueError
            If block_size is negative or exceeds the rows of the lake (with replacement: 2**53, or no rows).
        """
        most = self.n_rows if not replace else MAX_TOTAL if self.n_rows else 0
        if not 0 <= block_size <= most:
            raise ValueError(f"block_size must be in [0, {most}], got {block_size}")
        shares = np.full((n_blocks, 1), block_size, dtype=np.int64)
        for level, (first, totals) in reversed(list(enumerate(self._levels()))):
            left, right = totals[0::2], totals[1::2]
            nodes = (level + 1 << LEVEL_SHIFT) + (first >> 1) + np.arange(left.size)
            to_left = _split(key, first_block, nodes, left, right, shares, replace, compiled)
            children = np.stack([to_left, shares - to_left], axis=2).reshape(n_blocks, totals.size)
            inside = (self.first_leaf >> level) - first
            stop = ((self.first_leaf + self.rows.size - 1) >> level) + 1 - first
            shares = children[:, inside:stop]
        return np.ascontiguousarray(shares)

    def _levels(self) -> list[tuple[int, Ints]]:
        """For each level, the first node and the rows of all children of the nodes above the window."""
        levels = []
        first, totals = self.first_leaf, self.rows
        for left, right in self.beside:
            if first % 2:
                first, totals = first - 1, np.concatenate([[left], totals])
            if totals.size % 2:
                totals = np.concatenate([totals, [right]])
            levels.append((first, totals))
            first, totals = first >> 1, totals[0::2] + totals[1::2]
        return levels


def _split(
    key: Key,
    first_block: int,
    nodes: Ints,
    left: Ints,
    right: Ints,
    shares: Ints,
    replace: bool,
    compiled: bool,
) -> Ints:
    """Rows of the left half of each node, for each block: hypergeometric, with replacement binomial."""
    # already right if there is only one possible value
    to_left = np.where(right == 0, shares, 0) if replace else np.minimum(shares, left)
    some = replace | (shares < left + right)
    block, at = np.nonzero(some & (shares > 0) & (left > 0) & (right > 0))
    where, numbers = (key, block + first_block, nodes[at]), (left[at], right[at], shares[block, at])
    if replace:
        chance = numbers[0] / (numbers[0] + numbers[1])
        to_left[block, at] = binomial(*where, numbers[2], chance, compiled=compiled)
    else:
        to_left[block, at] = hypergeometric(*where, *numbers, compiled=compiled)
    return to_left
