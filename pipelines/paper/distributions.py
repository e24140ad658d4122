"""The four distributions of the experiments, samples of them, and what is to be estimated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
N_ROWS = 1000


@dataclass(frozen=True)
class Distribution:
    """A distribution of the experiments.

    Attributes
    ----------
    name : str
    draw : callable
        ``draw(generator, size)``.
    mean, variance : float
    scored_mean : float
        What the published table scores means against: for Pareto the mean 3/2 of the classical distribution,
        although the sample, which begins at 0, has the mean 1/2.
    """

    name: str
    draw: Callable[[np.random.Generator, Any], Floats]
    mean: float
    variance: float
    scored_mean: float


DISTRIBUTIONS = (
    Distribution("normal", lambda g, size: g.standard_normal(size), 0.0, 1.0, 0.0),
    Distribution("student3", lambda g, size: g.standard_t(3, size), 0.0, 3.0, 0.0),
    Distribution(
        "lognormal",
        lambda g, size: g.lognormal(0.0, 1.0, size),
        math.exp(0.5),
        (math.e - 1.0) * math.e,
        math.exp(0.5),
    ),
    Distribution("pareto3", lambda g, size: g.pareto(3.0, size), 0.5, 0.75, 1.5),
)


def samples(distribution: Distribution, replications: int, *seed: int, first: int = 0) -> Floats:
    """Independent samples, shape (replications, N_ROWS); those from number `first` of the same sequence."""
    g = np.random.default_rng([*seed, DISTRIBUTIONS.index(distribution)])
    for _ in range(first):
        distribution.draw(g, N_ROWS)  # drawing costs little beside estimating
    return distribution.draw(g, (replications, N_ROWS))
