"""Pairwise risks of blocks: of a metric, of a ranking. All pairs of a block, by way of its Gram matrix.

Memory of a block: a few numbers for each pair and each feature of a row; never one for each pair and feature.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distmom.numerics.block_risk import Bools, Floats, few_blocks, pairs_of
from distmom.numerics.margin_losses import margin_loss, margin_slope


def both_kinds(targets: Floats) -> Bools:
    """Which blocks have a pair of equal and a pair of different targets; K blocks of B targets."""
    ordered = np.sort(targets, axis=1)
    equal = ordered[:, 1:] == ordered[:, :-1]
    return np.asarray(equal.any(axis=1) & ~equal.all(axis=1))


@dataclass(frozen=True)
class MetricRisk:
    """Risk of a Mahalanobis metric M: mean loss of ``s (d^2 - threshold)`` over the pairs of a block.

    d^2 = (x - x')^T M (x - x'); s is 1 for rows of equal labels, which should be near, else -1. The
    parameters are the entries of M, row after row.

    Parameters
    ----------
    loss : {"hinge", "logistic"}
    threshold : float
        Squared distance between near and far.
    balanced : bool
        Pairs of equal labels together weigh as much as the others; else each pair weighs the same.
    """

    loss: str = "hinge"
    threshold: float = 2.0
    balanced: bool = False

    def n_parameters(self, n_features: int) -> int:  # noqa: D102
        return n_features * n_features

    def usable(self, rows: Floats, targets: Floats) -> Bools:
        """Blocks that hold both kinds of pairs."""
        return both_kinds(targets)

    def losses(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        matrix = parameters.reshape(rows.shape[2], -1)
        i, j = pairs_of(rows.shape[1])
        found = []
        for part in few_blocks(*targets.shape):
            x, y = rows[part], targets[part]
            with np.errstate(over="ignore", invalid="ignore"):
                squares = _squared_distances(x, matrix)[:, i, j]
                same = y[:, i] == y[:, j]
                loss = margin_loss(self.loss, np.where(same, 1.0, -1.0) * (squares - self.threshold))
                found.append((loss * self._weights(same)).sum(axis=1))
        return np.concatenate(found)

    def gradient(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        matrix = parameters.reshape(rows.shape[1], -1)
        i, j = pairs_of(rows.shape[0])
        same = targets[i] == targets[j]
        side = np.where(same, 1.0, -1.0)
        squares = _squared_distances(rows[None], matrix)[0, i, j]
        slope = side * margin_slope(self.loss, side * (squares - self.threshold))
        return _spread_of_pairs(rows, slope * self._weights(same[None])[0]).ravel()

    def _weights(self, same: Bools) -> Floats:
        """Weights of the pairs of each block; they sum to 1."""
        n_pairs = same.shape[1]
        if not self.balanced:
            return np.full(same.shape, 1.0 / n_pairs)
        equal = np.maximum(same.sum(axis=1, keepdims=True), 1)
        other = np.maximum(n_pairs - equal, 1)
        return np.asarray(np.where(same, 0.5 / equal, 0.5 / other))


@dataclass(frozen=True)
class PairLabelRisk:
    """The risk of `MetricRisk` for given pairs: a row is the difference of a pair, its target s = 1 or -1."""

    loss: str = "hinge"
    threshold: float = 2.0

    def n_parameters(self, n_features: int) -> int:  # noqa: D102
        return n_features * n_features

    def usable(self, rows: Floats, targets: Floats) -> Bools:
        """Blocks that hold both kinds of pairs."""
        return np.asarray((targets > 0.0).any(axis=1) & (targets < 0.0).any(axis=1))

    def losses(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(margin_loss(self.loss, self._margins(parameters, rows, targets)).mean(axis=1))

    def gradient(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        slope = targets * margin_slope(self.loss, self._margins(parameters, rows, targets))
        return np.asarray(((slope / targets.size)[:, None] * rows).T @ rows).ravel()

    def _margins(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:
        matrix = parameters.reshape(rows.shape[-1], -1)
        squares = ((rows @ matrix) * rows).sum(axis=-1)
        return np.asarray(targets * (squares - self.threshold))


@dataclass(frozen=True)
class RankingRisk:
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

    def n_parameters(self, n_features: int) -> int:  # noqa: D102
        return n_features

    def usable(self, rows: Floats, targets: Floats) -> Bools:
        """Blocks with two different outcomes."""
        return np.asarray((targets != targets[:, :1]).any(axis=1))

    def losses(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        i, j = pairs_of(rows.shape[1])
        found = []
        for part in few_blocks(*targets.shape):
            with np.errstate(over="ignore", invalid="ignore"):
                score, y = rows[part] @ parameters, targets[part]
                sign = np.sign(y[:, i] - y[:, j])
                loss = margin_loss(self.loss, (score[:, j] - score[:, i]) * sign)
                found.append(np.where(sign == 0.0, 0.0, loss).mean(axis=1))
        return np.concatenate(found) + 0.5 * self.penalty * float(parameters @ parameters)

    def gradient(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        i, j = pairs_of(rows.shape[0])
        score = rows @ parameters
        sign = np.sign(targets[i] - targets[j])
        slope = sign * margin_slope(self.loss, (score[j] - score[i]) * sign) / max(1, i.size)
        share = np.bincount(j, slope, targets.size) - np.bincount(i, slope, targets.size)
        return np.array(rows.T @ share + self.penalty * parameters)


def _squared_distances(rows: Floats, matrix: Floats) -> Floats:
    """Squared distances within each of K blocks, (K, B, B); not exact zeros where rows are equal."""
    gram = (rows @ matrix) @ rows.transpose(0, 2, 1)
    size = np.diagonal(gram, axis1=1, axis2=2)
    return np.asarray(size[:, :, None] + size[:, None, :] - (gram + gram.transpose(0, 2, 1)))


def _spread_of_pairs(rows: Floats, weights: Floats) -> Floats:
    """Sum over the pairs of weight times (x - x')(x - x')^T, a symmetric matrix."""
    n = rows.shape[0]
    i, j = pairs_of(n)
    laplacian = np.zeros((n, n))
    laplacian[i, j] = -weights
    laplacian += laplacian.T
    laplacian[np.arange(n), np.arange(n)] = -laplacian.sum(axis=1)
    found = rows.T @ (laplacian @ rows)
    return np.asarray(0.5 * (found + found.T))
