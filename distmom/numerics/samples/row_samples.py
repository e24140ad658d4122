"""Row numbers of exact random samples: B of n rows for each block, without or with replacement.

The same draws as those of sampled means (``sample_tree.py``, ``sampled_leaf.py``), as numbers: for statistics
that need all rows of a block together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distmom.numerics.arrays import Ints
from distmom.numerics.blocks.leaf import LEAF_ROWS
from distmom.numerics.random.philox import stream_key
from distmom.numerics.samples.sample_tree import SampleTree
from distmom.numerics.samples.sampled_leaf import fill_numbers


def leaf_sizes(file_rows: Ints) -> Ints:
    """Rows of every leaf of a lake, in order, from the rows of its files."""
    leaves = -(-file_rows // LEAF_ROWS)
    out = np.full(int(leaves.sum()), LEAF_ROWS, np.int64)
    last = np.cumsum(leaves) - 1
    some = leaves > 0
    out[last[some]] = file_rows[some] - (leaves[some] - 1) * LEAF_ROWS
    return out


@dataclass(frozen=True)
class RowSamples:
    """Samples of `block_size` rows of a lake, each on its own without replacement, or with.

    Attributes
    ----------
    seed : int
        128 bits.
    file_rows : ndarray of int64
        Rows of each file, in listing order; at least one in all.
    block_size : int
    replace : bool
    compiled : bool
        Draw with Numba (the same rows).

    Examples
    --------
    >>> RowSamples(0, np.array([3, 0, 2]), 5).numbers(7, 2).tolist()
    [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]
    """

    seed: int
    file_rows: Ints
    block_size: int
    replace: bool = False
    compiled: bool = False

    def numbers(self, first_block: int, n_blocks: int) -> Ints:
        """Row numbers in the lake of consecutive blocks, ascending in each; shape (n_blocks, block_size).

        A row that is drawn several times (with replacement) is repeated.

        Raises
        ------
        ValueError
            If `block_size` exceeds the rows of the lake without replacement.
        """
        key = stream_key(self.seed, "monte_carlo" if self.replace else "swor")
        sizes = leaf_sizes(self.file_rows)
        window = SampleTree(sizes).window(0, sizes.size)
        counts = window.counts(
            key,
            n_blocks,
            self.block_size,
            replace=self.replace,
            compiled=self.compiled,
            first_block=first_block,
        )
        out = np.empty(n_blocks * self.block_size, np.int64)
        places = np.arange(n_blocks) * self.block_size
        how = {"replace": self.replace, "compiled": self.compiled}
        first_rows = np.cumsum(sizes) - sizes
        for leaf in np.flatnonzero(counts.any(axis=0)).tolist():
            n, first_row = int(sizes[leaf]), int(first_rows[leaf])
            fill_numbers(key, first_block, leaf, n, counts[:, leaf], first_row, places, out, **how)
        return np.sort(out.reshape(n_blocks, self.block_size), axis=1)
