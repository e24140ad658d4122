"""Risks of blocks of rows as functions of parameters, with gradients: the objectives of a robust descent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from distmom.errors import blaming
from distmom.numerics.arrays import Bools, Floats

MOST_PAIRS = 1 << 18
"""Pairs of rows of several blocks whose losses are in memory together; a single block may have more."""


class BlockRisk:
    """A mean loss over the rows, or if `pairwise` over the pairs of rows, of a block."""

    pairwise: ClassVar[bool] = False

    @property
    def least_rows(self) -> int:
        """Least number of rows for one loss in the average; 0 if unknown."""
        return 2 if self.pairwise else 1

    def n_parameters(self, n_features: int) -> int:
        """Number of parameters."""
        raise NotImplementedError

    def usable(self, rows: Floats, targets: Floats) -> Bools:
        """Which of K blocks, of shape (K, B, d) and (K, B), are informative about the parameters: all."""
        return np.ones(rows.shape[0], np.bool_)

    def losses(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:
        """Loss of each of K blocks."""
        raise NotImplementedError

    def row_losses(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:
        """Loss of each of n rows, of shape (n, d) and (n,); of pairs the mean over some of the row's."""
        assert not self.pairwise
        return self.losses(parameters, rows[:, None], targets[:, None])

    def gradient(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:
        """Gradient of the loss of one block, of shape (B, d) and (B,)."""
        raise NotImplementedError


@dataclass(frozen=True)
class UserRisk(BlockRisk):
    """A risk that a user wrote.

    Parameters
    ----------
    function : callable
        ``function(parameters, rows, targets) -> (value, gradient)`` for one block: takes arrays of shapes
        (p,), (B, d), (B,), returns a number and an array of shape (p,).
    size : int
        p.
    """

    function: Callable[[Floats, Floats, Floats], tuple[float, Floats]]
    size: int
    least_rows: ClassVar[int] = 0  # unknown: a risk of rows or of pairs

    def n_parameters(self, n_features: int) -> int:  # noqa: D102
        return self.size

    def losses(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        with blaming("loss"):
            found = [self.function(parameters, *block)[0] for block in zip(rows, targets, strict=True)]
        return np.array(found, np.float64)

    def gradient(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        with blaming("loss"):
            found = np.asarray(self.function(parameters, rows, targets)[1], np.float64)
        if found.shape != (self.size,):
            raise ValueError(f"the gradient must have shape ({self.size},), not {found.shape}")
        return found


@lru_cache(maxsize=8)
def pairs_of(n_rows: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First and second row of all pairs of `n_rows` rows."""
    first, second = np.triu_indices(n_rows, 1)
    first.setflags(write=False)
    second.setflags(write=False)
    return first, second


def pairs_in_turn(n_rows: int, most: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First and second row of about `most` pairs: of each row with at least one of its next neighbours.

    All rows are in equally many pairs, so the mean over them has little more variance than over all pairs.

    Examples
    --------
    >>> np.stack(pairs_in_turn(5, 10), axis=1).tolist()
    [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [0, 2], [1, 3], [2, 4], [3, 0], [4, 1]]
    """
    n_turns = max(1, min((n_rows - 1) // 2, most // max(1, n_rows)))
    first = np.tile(np.arange(n_rows), n_turns)
    return first, (first + np.repeat(np.arange(1, n_turns + 1), n_rows)) % max(1, n_rows)


def few_blocks(n_blocks: int, n_rows: int) -> list[slice]:
    """Consecutive blocks whose pairs are in memory together."""
    step = max(1, 2 * MOST_PAIRS // max(1, n_rows * n_rows))
    return [slice(start, start + step) for start in range(0, n_blocks, step)]
