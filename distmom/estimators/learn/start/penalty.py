"""The penalty of a classifier or a ranking."""

from __future__ import annotations

import math

from distmom.checks import check_positive
from distmom.errors import ConfigError
from distmom.estimators.learn.run import ScaledSample


def check_penalty(alpha: float | str) -> None:
    """Raise ConfigError for what is neither "auto" nor a number of at least 0."""
    if isinstance(alpha, str):
        if alpha != "auto":
            raise ConfigError(f'alpha: must be "auto" or a number of at least 0, not {alpha!r}')
    else:
        check_positive("alpha", alpha, zero=True)


def penalty_of(alpha: float | str, sample: ScaledSample, *, pairs: bool = False) -> float:
    """The number; "auto" is one over the number of sampled rows n, of pairs one over n times its root.

    The pairs of n rows tell less than as many independent rows, and more than n of them. One over the rows
    holds back an order almost without error; one over the pairs follows wrong outcomes.
    """
    if not isinstance(alpha, str):
        return alpha
    n = len(sample.targets)
    return 1.0 / (n * math.sqrt(n) if pairs else n)
