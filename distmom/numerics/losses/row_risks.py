"""Risks of single rows in blocks: linear models with squared, Huber, pinball and logistic loss."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.losses.block_risk import BlockRisk
from distmom.numerics.losses.table import LOSSES, LossFunction

BEND, LEAST_SPREAD = 2.0, 0.1
"""Scales of the residuals from which Huber's loss is linear, if that is nearer than `threshold` units of the
targets: a larger value follows wrong targets, a smaller one follows less of skewed noise (for exponential
noise it misses a tenth of its standard deviation). And the least scale: a smaller one accounts for at most a
hundredth of R^2, and steps across it would be tiny."""


class PredictorRisk(BlockRisk):
    """A mean loss of a linear predictor w^T x + b of each row. The parameters are w and, last, b."""

    penalty: float

    def n_parameters(self, n_features: int) -> int:  # noqa: D102
        return n_features + 1

    def touching(self, predicted: Floats, targets: Floats) -> tuple[Floats, Floats]:
        """Slope of each row's loss in its prediction, and curvature of a parabola that touches from above."""
        raise NotImplementedError

    def bends(self, predicted: Floats, targets: Floats) -> Floats:
        """Second derivative of each row's loss in its prediction, or the curvature of the parabola."""
        return self.touching(predicted, targets)[1]

    def surprise(self, predicted: Floats, targets: Floats) -> Floats:
        """Distance of each row from its prediction: its residual, or the root of twice its loss."""
        raise NotImplementedError


@dataclass(frozen=True)
class LinearRisk(PredictorRisk):
    """Mean loss of the residuals y - w^T x - b. The parameters are w and, last, b.

    Parameters
    ----------
    loss : {"squared", "huber", "pinball"}
        r^2/2; r^2/2 up to `threshold` and linear beyond; `quantile` times r above zero and `quantile` - 1
        times r below.
    threshold, quantile : float
    penalty : float
        Half of this times the squared length of w is added to the loss of each block.
    """

    loss: str = "squared"
    threshold: float = 1.345
    quantile: float = 0.5
    penalty: float = 0.0

    def narrowed(self, spread: float) -> LinearRisk:
        """The same for residuals of this scale, in units of the targets: Huber's loss bends there."""
        if self.loss != "huber":
            return self
        return replace(self, threshold=min(self.threshold, BEND * max(LEAST_SPREAD, spread)))

    def touching(self, predicted: Floats, targets: Floats) -> tuple[Floats, Floats]:  # noqa: D102
        loss, parameter = self._row
        residuals = targets - predicted
        return -loss.slope_at(residuals, parameter), loss.curvature_at(residuals, parameter)

    def surprise(self, predicted: Floats, targets: Floats) -> Floats:  # noqa: D102
        return np.abs(targets - predicted)

    def losses(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        with np.errstate(over="ignore", invalid="ignore"):
            loss, parameter = self._row
            values = loss.at(targets - _linear(parameters, rows), parameter)
            return np.asarray(values.mean(axis=1) + _penalty(self.penalty, parameters))

    def gradient(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        loss, parameter = self._row
        slope = -loss.slope_at(targets - _linear(parameters, rows), parameter) / targets.size
        return _linear_gradient(slope, rows, self.penalty, parameters)

    @property
    def _row(self) -> tuple[LossFunction, float]:
        """The loss and its parameter; r^2/2 is Huber's without a threshold."""
        if self.loss == "squared":
            return LOSSES["huber"], math.inf
        loss = LOSSES[self.loss]
        return loss, 0.0 if loss.parameter is None else float(getattr(self, loss.parameter.name))


@dataclass(frozen=True)
class LogisticRisk(PredictorRisk):
    """Mean logistic loss of labels 0 and 1 with log odds w^T x + b. The parameters are w and, last, b."""

    penalty: float = 0.0

    def touching(self, predicted: Floats, targets: Floats) -> tuple[Floats, Floats]:  # noqa: D102
        loss = LOSSES["logistic"]
        return loss.slope_at(predicted) - targets, loss.curvature_at(predicted)

    def bends(self, predicted: Floats, targets: Floats) -> Floats:  # noqa: D102
        share = LOSSES["logistic"].slope_at(predicted)
        return share * (1.0 - share)

    def surprise(self, predicted: Floats, targets: Floats) -> Floats:  # noqa: D102
        return np.sqrt(2.0 * LOSSES["logistic"].at((1.0 - 2.0 * targets) * predicted))

    def losses(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        with np.errstate(over="ignore", invalid="ignore"):
            z = (1.0 - 2.0 * targets) * _linear(parameters, rows)
            loss = LOSSES["logistic"].at(z).mean(axis=1)
            return np.asarray(loss + _penalty(self.penalty, parameters))

    def gradient(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        slope = (LOSSES["logistic"].slope_at(_linear(parameters, rows)) - targets) / targets.size
        return _linear_gradient(slope, rows, self.penalty, parameters)


@dataclass(frozen=True)
class SoftmaxRisk(BlockRisk):
    """Mean log loss of several classes, numbered from 0; the parameters are w and b of each class in turn."""

    n_classes: int
    penalty: float = 0.0

    def n_parameters(self, n_features: int) -> int:  # noqa: D102
        return self.n_classes * (n_features + 1)

    def surprise(self, predicted: Floats, targets: Floats) -> Floats:
        """Root of twice the loss of each row, by its log odds of all classes."""
        return np.asarray(np.sqrt(2.0 * _log_loss(predicted, targets)))

    def losses(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        w = parameters.reshape(self.n_classes, -1)
        with np.errstate(over="ignore", invalid="ignore"):
            loss = _log_loss(rows @ w[:, :-1].T + w[:, -1], targets)
            return np.asarray(loss.mean(axis=1) + 0.5 * self.penalty * float((w[:, :-1] ** 2).sum()))

    def gradient(self, parameters: Floats, rows: Floats, targets: Floats) -> Floats:  # noqa: D102
        w = parameters.reshape(self.n_classes, -1)
        share = softmax(rows @ w[:, :-1].T + w[:, -1])
        share[np.arange(targets.size), targets.astype(np.int64)] -= 1.0
        share /= targets.size
        gradient = np.concatenate(
            [share.T @ rows + self.penalty * w[:, :-1], share.sum(axis=0)[:, None]], axis=1
        )
        return np.asarray(gradient.ravel())


def _log_loss(z: Floats, targets: Floats) -> Floats:
    own = np.take_along_axis(z, targets.astype(np.int64)[..., None], axis=-1)
    highest = z.max(axis=-1, keepdims=True)
    log = np.log(np.exp(z - highest).sum(axis=-1, keepdims=True)) + highest - own
    return np.asarray(log[..., 0])


def softmax(z: Floats) -> Floats:
    """exp(z) divided by its sum along the last axis."""
    with np.errstate(over="ignore"):
        share = np.exp(z - z.max(axis=-1, keepdims=True))
    return np.asarray(share / share.sum(axis=-1, keepdims=True))


def _linear(parameters: Floats, rows: Floats) -> Floats:
    return np.asarray(rows @ parameters[:-1] + parameters[-1])


def _penalty(penalty: float, parameters: Floats) -> float:
    return 0.5 * penalty * float(parameters[:-1] @ parameters[:-1])


def _linear_gradient(slope: Floats, rows: Floats, penalty: float, parameters: Floats) -> Floats:
    """Gradient in w and b, given the derivative of the block's loss in each prediction."""
    return np.append(rows.T @ slope + penalty * parameters[:-1], slope.sum())
