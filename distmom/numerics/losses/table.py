"""The table of losses. A new loss is one row of it: rows, margins, cells, tiles and risks then support it.

A loss is a function of a number x and a parameter t: of the residual x = truth - prediction, or of a margin x
that should be low. Losses of labels are functions of truth and prediction. The same function is compiled for
single numbers, with the same bits: it is made of arithmetic, `abs`, `np.maximum`, `where` and functions of
``exponential``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.exponential import exp_of_negative, softplus, where

LEAST_PROBABILITY = float(np.finfo(np.float64).tiny)
"""A label to which a model gives probability 0 costs about 708: finite, but a great deal."""


CORNER = 1e-4
"""Below this distance from zero the curvature is the one at this distance: a corner has none."""


class Parameter(NamedTuple):
    """The parameter of a loss: a positive number below some bound."""

    name: str
    default: float
    below: float = math.inf


@dataclass(frozen=True)
class LossFunction:
    """A row of the table.

    Attributes
    ----------
    name : str
    of : {"residual", "margin", "labels"}
    value, slope : callable
        Functions of x and the parameter; for labels of truth and prediction. Learning needs a slope.
    parameter : Parameter, optional
    compiled : bool
        Whether its value can be compiled with the same bits.
    keeps_nan : bool
        Whether the value of NaN is NaN.
    """

    name: str
    of: Literal["residual", "margin", "labels"]
    value: Callable[..., Any]
    slope: Callable[..., Any] | None = None
    parameter: Parameter | None = None
    compiled: bool = True
    keeps_nan: bool = True

    def __call__(
        self, truth: NDArray[Any], predicted: NDArray[Any], parameter: float | None = None
    ) -> Floats:
        """The loss of each row."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.of == "labels":
                return np.asarray(self.value(truth, predicted), np.float64)
            return np.asarray(self.value(truth - predicted, self.given(parameter)))

    def given(self, parameter: float | None = None) -> float:
        """The parameter, or its default; 0 if there is none."""
        if parameter is not None:
            return float(parameter)
        return 0.0 if self.parameter is None else self.parameter.default

    def at(self, x: Floats, parameter: float = 0.0) -> Floats:
        """Values; NaN stays NaN."""
        found = np.asarray(self.value(x, parameter))
        return found if self.keeps_nan else np.where(np.isnan(x), np.nan, found)

    def curvature_at(self, x: Floats, parameter: float = 0.0) -> Floats:
        """Second derivatives of the parabolas above the loss that share its value and slope at x.

        For losses that are the sum of an even function and a linear one: if the former has the slope c x, it
        is c (de Leeuw & Lange 2009, Comput. Stat. Data Anal.).
        """
        away = np.maximum(np.abs(x), CORNER)
        return np.asarray((self.slope_at(away, parameter) - self.slope_at(-away, parameter)) / (2.0 * away))

    def slope_at(self, x: Floats, parameter: float = 0.0) -> Floats:
        """Derivatives; at a corner, a value between those of its sides."""
        assert self.slope is not None
        return np.asarray(self.slope(x, parameter))


def squared(r: Any, _t: float) -> Any:
    """r^2."""
    return r * r


def _squared_slope(r: Any, _t: float) -> Any:
    return 2.0 * r


def absolute(r: Any, _t: float) -> Any:
    """|r|."""
    return abs(r)


def huber(r: Any, t: float) -> Any:
    """r^2/2 up to the threshold t, then t (|r| - t/2)."""
    away = abs(r)
    return where(away <= t, 0.5 * away * away, t * (away - 0.5 * t))


def _huber_slope(r: Any, t: float) -> Any:
    return np.clip(r, -t, t)


def pinball(r: Any, q: float) -> Any:
    """Loss q r where r > 0, else (q - 1) r: its mean is least at the q-quantile of the truth."""
    return np.maximum(q * r, (q - 1.0) * r)


def _pinball_slope(r: Any, q: float) -> Any:
    return where(r > 0.0, q, where(r < 0.0, q - 1.0, 0.0))


def hinge(z: Any, _t: float) -> Any:
    """max(0, 1 + z)."""
    return np.maximum(1.0 + z, 0.0)


def _hinge_slope(z: Any, _t: float) -> Any:
    return where(1.0 + z > 0.0, 1.0, 0.0)


def logistic(z: Any, _t: float) -> Any:
    """log(1 + exp(z)); that of NaN is 3e-308."""
    return softplus(z)


def _logistic_slope(z: Any, _t: float) -> Any:
    u = exp_of_negative(-abs(z))
    return where(z > 0.0, 1.0, u) / (1.0 + u)


def zero_one(truth: Any, predicted: Any) -> Any:
    """1 if the labels differ, else 0."""
    return where(truth != predicted, 1.0, 0.0)


def log(truth: Any, probability: Any) -> Any:
    """-log of the probability given to the truth: labels 0 and 1, and the probability of 1."""
    return log_of_given(np.where(truth == 1, probability, 1.0 - probability))


def log_of_given(probability: Floats) -> Floats:
    """-log of the probability that was given to each row's own label."""
    return -np.log(np.maximum(probability, LEAST_PROBABILITY))


LOSSES: dict[str, LossFunction] = {
    loss.name: loss
    for loss in (
        LossFunction("squared", "residual", squared, _squared_slope),
        LossFunction("absolute", "residual", absolute),
        LossFunction("huber", "residual", huber, _huber_slope, Parameter("threshold", 1.0)),
        LossFunction("pinball", "residual", pinball, _pinball_slope, Parameter("quantile", 0.5, below=1.0)),
        LossFunction("zero_one", "labels", zero_one),
        LossFunction("log", "labels", log, compiled=False),
        LossFunction("hinge", "margin", hinge, _hinge_slope),
        LossFunction("logistic", "margin", logistic, _logistic_slope, keeps_nan=False),
    )
}


def names_of(*kinds: str, slope: bool = False) -> tuple[str, ...]:
    """Names of the losses of these kinds: all of them, or those with a slope."""
    rows = (loss for loss in LOSSES.values() if loss.of in kinds)
    return tuple(loss.name for loss in rows if loss.slope is not None or not slope)
