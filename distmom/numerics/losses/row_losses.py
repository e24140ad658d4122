"""Losses of single rows: arrays of truths and predictions in, an array of losses out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Floats

Loss = Callable[[Floats, Floats], Floats]

LEAST_PROBABILITY = float(np.finfo(np.float64).tiny)
"""A label to which a model gives probability 0 costs about 708: finite, but a great deal."""


def squared(truth: Floats, predicted: Floats) -> Floats:
    """(y - f)^2."""
    with np.errstate(over="ignore", invalid="ignore"):
        away = truth - predicted
        return np.asarray(away * away)


def absolute(truth: Floats, predicted: Floats) -> Floats:
    """|y - f|."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.abs(truth - predicted)


def huber(truth: Floats, predicted: Floats, threshold: float = 1.0) -> Floats:
    """(y - f)^2/2 up to the threshold t, then t (|y - f| - t/2)."""
    away = absolute(truth, predicted)
    with np.errstate(over="ignore"):
        return np.where(away <= threshold, 0.5 * away * away, threshold * (away - 0.5 * threshold))


def pinball(truth: Floats, predicted: Floats, quantile: float = 0.5) -> Floats:
    """Loss q (y - f) where y > f, else (1 - q) (f - y): least in the mean at the q-quantile of y."""
    with np.errstate(over="ignore", invalid="ignore"):
        away = truth - predicted
        return np.maximum(quantile * away, (quantile - 1.0) * away)


def zero_one(truth: NDArray[np.generic], predicted: NDArray[np.generic]) -> Floats:
    """1 where the labels differ, else 0."""
    return np.asarray(truth != predicted, np.float64)


def log(truth: Floats, probability: Floats) -> Floats:
    """-log of the probability given to the truth: labels 0 and 1, and the probability of 1."""
    given = np.where(truth == 1, probability, 1.0 - probability)
    return -np.log(np.maximum(given, LEAST_PROBABILITY))


def log_of_given(probability: Floats) -> Floats:
    """-log of the probability that was given to each row's own label."""
    return -np.log(np.maximum(probability, LEAST_PROBABILITY))


LOSSES: dict[str, Loss] = {
    "squared": squared,
    "absolute": absolute,
    "huber": huber,
    "pinball": pinball,
    "zero_one": zero_one,
    "log": log,
}
"""Losses by name."""
