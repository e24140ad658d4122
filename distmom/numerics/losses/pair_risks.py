"""Pairwise risks of blocks: of a metric, of a ranking. All pairs of a block, through its Gram matrix.

Memory of a block: a few tiles of pairs, and a few numbers for each feature of a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.losses.block_risk import MOST_PAIRS, BlockRisk, pairs_in_turn
from distmom.numerics.losses.table import LOSSES

Tile: TypeAlias = tuple[slice, slice, Floats, NDArray[Any]]
"""Rows, columns, margins, and the kinds of the pairs."""


TILE = 1 << 14
"""Approximate pairs of a tile: it fits into the processor's cache, so a dozen NumPy passes cost little."""


def both_kinds(targets: Floats) -> Bools:
    """Which blocks have a pair of equal and a pair of different targets; K blocks of B targets."""
    ordered = np.sort(targets, axis=1)
    equal = ordered[:, 1:] == ordered[:, :-1]
    return np.asarray(equal.any(axis=1) & ~equal.all(axis=1))


@dataclass(frozen=True)
class MetricRisk(BlockRisk):
    """Risk of a Mahalanobis metric M: mean loss of ``s (d^2 - threshold)`` over the pairs of a block.

    d^2 = (x - x')^T M (x - x'); s is 1 for rows of equal labels, which should be near, else -1. The
    parameters are the entries of M, row after row.

    Parameters
    ----------
    loss : {"hinge", "logistic"}
    threshold : float
        Squared distance between near and far.
    balanced : bool
        Pairs of equal labels together have the same weight as the others; else all pairs have equal weight.
    """

    loss: str = "hinge"
    threshold: float = 2.0
    balanced: bool = False
    pairwise: ClassVar[bool] = True

    def n_parameters(self, n_features: int) -> int:  # noqa: D102
        return n_features * n_features

    def usable(self, rows: Floats, targets: Floats) -> Bools:
        """Blocks that contain both kinds of pairs."""
        return both_kinds(targets)

    def losses(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        matrix = parameters.reshape(rows.shape[2], -1)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.array([self._loss(matrix, *block) for block in zip(rows, targets, strict=True)])

    def gradient(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        matrix = parameters.reshape(rows.shape[1], -1)
        near, far = self._weights(targets)
        row_sums = np.zeros(targets.size)
        mixed = np.zeros_like(rows)  # W X, with W the symmetric matrix of the pairs' weights
        for i, j, margin, same in self._margins(matrix, rows, targets):
            weight = LOSSES[self.loss].slope_at(margin)
            weight *= np.where(same, near, -far)
            above(weight)
            row_sums[i] += weight.sum(axis=1)
            row_sums[j] += weight.sum(axis=0)
            mixed[i] += weight @ rows[j]
            mixed[j] += weight.T @ rows[i]
        found = rows.T @ (row_sums[:, None] * rows - mixed)
        return np.asarray(0.5 * (found + found.T)).ravel()

    def _loss(self, matrix: Floats, rows: Floats, targets: Floats) -> float:
        near, far = self._weights(targets)
        total = 0.0
        for _, _, margin, same in self._margins(matrix, rows, targets):
            loss = above(LOSSES[self.loss].at(margin))
            if near != far:
                loss *= np.where(same, near, far)
            total += float(loss.sum())
        return total * near if near == far else total

    def _margins(self, matrix: Floats, rows: Floats, targets: Floats) -> Iterator[Tile]:
        """Tiles of s (d^2 - threshold), and of equality of targets; the matrix is symmetric."""
        half = rows @ matrix
        size = (half * rows).sum(axis=1)
        for i, j in pair_tiles(targets.size):
            squares = half[i] @ rows[j].T
            squares *= -2.0
            squares += size[i, None]
            squares += size[j] - self.threshold
            same = targets[i, None] == targets[j]
            squares *= np.where(same, 1.0, -1.0)
            yield i, j, squares, same

    def _weights(self, targets: Floats) -> tuple[float, float]:
        """Weights of a pair of equal and of different targets; those of all pairs sum to 1."""
        n_pairs = targets.size * (targets.size - 1) // 2
        if not self.balanced:
            return 1.0 / n_pairs, 1.0 / n_pairs
        counts = np.unique(targets, return_counts=True)[1]
        equal = int((counts * (counts - 1) // 2).sum())
        return 0.5 / max(1, equal), 0.5 / max(1, n_pairs - equal)


@dataclass(frozen=True)
class PairLabelRisk(BlockRisk):
    """The risk of `MetricRisk` for given pairs: a row is the difference of a pair, its target s = 1 or -1."""

    loss: str = "hinge"
    threshold: float = 2.0

    def n_parameters(self, n_features: int) -> int:  # noqa: D102
        return n_features * n_features

    def usable(self, rows: Floats, targets: Floats) -> Bools:
        """Blocks that contain both kinds of pairs."""
        return np.asarray((targets > 0.0).any(axis=1) & (targets < 0.0).any(axis=1))

    def losses(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(LOSSES[self.loss].at(self._margins(parameters, rows, targets)).mean(axis=1))

    def gradient(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        slope = targets * LOSSES[self.loss].slope_at(self._margins(parameters, rows, targets))
        return np.asarray(((slope / targets.size)[:, None] * rows).T @ rows).ravel()

    def _margins(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:
        matrix = parameters.reshape(rows.shape[-1], -1)
        squares = ((rows @ matrix) * rows).sum(axis=-1)
        return np.asarray(targets * (squares - self.threshold))


@dataclass(frozen=True)
class RankingRisk(BlockRisk):
    """Risk of ranking rows by a score w^T x: mean loss of ``-(w^T x - w^T x') sign(y - y')`` over all pairs.

    Pairs of equal outcomes contribute nothing but count as pairs. The parameters are w.

    Parameters
    ----------
    loss : {"hinge", "logistic"}
    penalty : float
        Half of this times the squared length of w is added to the loss of each block.
    """

    loss: str = "logistic"
    penalty: float = 0.0
    pairwise: ClassVar[bool] = True

    def n_parameters(self, n_features: int) -> int:  # noqa: D102
        return n_features

    def usable(self, rows: Floats, targets: Floats) -> Bools:
        """Blocks with two different outcomes."""
        return np.asarray((targets != targets[:, :1]).any(axis=1))

    def losses(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        found = []
        with np.errstate(over="ignore", invalid="ignore"):
            for x, y in zip(rows, targets, strict=True):
                tiles = self._margins(x @ parameters, y)
                sums = [float(above(LOSSES[self.loss].at(z) * (sign != 0.0)).sum()) for *_, z, sign in tiles]
                found.append(sum(sums))
        n_pairs = rows.shape[1] * (rows.shape[1] - 1) / 2
        return np.asarray(np.array(found) / n_pairs + 0.5 * self.penalty * float(parameters @ parameters))

    def gradient(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        share = np.zeros(targets.size)
        for i, j, z, sign in self._margins(rows @ parameters, targets):
            slope = above(LOSSES[self.loss].slope_at(z) * sign)
            share[i] -= slope.sum(axis=1)
            share[j] += slope.sum(axis=0)
        n_pairs = max(1, targets.size * (targets.size - 1) // 2)
        return np.array(rows.T @ share / n_pairs + self.penalty * parameters)

    def row_losses(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        n = len(targets)
        i, j = pairs_in_turn(n, MOST_PAIRS)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = rows @ parameters
            sign = np.sign(targets[i] - targets[j])
            values = LOSSES[self.loss].at((scores[j] - scores[i]) * sign) * (sign != 0.0)
            sums = np.bincount(i, values, n) + np.bincount(j, values, n)
            each = sums * (n / (2 * len(i)))
            return np.asarray(each + 0.5 * self.penalty * float(parameters @ parameters))

    def _margins(self, scores: Floats, targets: Floats) -> Iterator[Tile]:
        """Tiles of -(s - s') sign(y - y'), and of the signs."""
        for i, j in pair_tiles(targets.size):
            sign = np.sign(targets[i, None] - targets[j])
            yield i, j, (scores[j] - scores[i, None]) * sign, sign


def pair_tiles(n_rows: int) -> Iterator[tuple[slice, slice]]:
    """Rows ``[a, b)`` and columns ``[a, n)`` of tiles that cover all pairs once above the diagonal."""
    start = 0
    while start < n_rows:
        stop = min(n_rows, start + max(16, TILE // (n_rows - start)))
        yield slice(start, stop), slice(start, n_rows)
        start = stop


def above(tile: Floats) -> Floats:
    """The tile, in place, with zeros on and below the diagonal."""
    side = tile.shape[0]
    tile[:, :side] *= _upper(side)
    return tile


@lru_cache(maxsize=8)
def _upper(side: int) -> Floats:
    found = np.triu(np.ones((side, side)), 1)
    found.setflags(write=False)
    return found
