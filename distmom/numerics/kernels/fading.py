"""Sums of exp(-rate |x - y|) over all pairs by sorting: at each gap the running sum decays by one factor.

The compiled twin is in ``fading_compiled.py``.
"""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.exponential import exp_of_negative
from distmom.numerics.kernels.sums import ascending
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

COMPILE = 1 << 14  # below this number of rows the loop ends before Numba is loaded


def rows_within(x: Floats, rate: float, weights: Floats | None) -> Floats:
    """Sum of exp(-rate |x_i - x_j|) over the other rows j, for each row i."""
    order = ascending(x)
    mass = np.ones(x.size) if weights is None else weights[order]
    found = np.empty(x.size)
    found[order] = fade(_factors(x[order], rate), mass)
    return found


def rows_between(
    x: Floats, y: Floats, rate: float, weights: tuple[Floats, ...] | None
) -> tuple[Floats, Floats]:
    """The same over the rows of the other sample, for each row of both."""
    pooled = np.concatenate([x, y])
    order = ascending(pooled)
    first = order < x.size
    mass = np.ones(pooled.size) if weights is None else np.concatenate(weights)[order]
    factors = _factors(pooled[order], rate)
    found = np.empty(pooled.size)
    found[order] = np.where(
        first, fade(factors, np.where(first, 0.0, mass)), fade(factors, np.where(first, mass, 0.0))
    )
    return found[: x.size], found[x.size :]


def _factors(ordered: Floats, rate: float) -> Floats:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(exp_of_negative(-(np.diff(ordered) * rate)))


def fade(factors: Floats, mass: Floats, *, compiled: bool | None = None) -> Floats:
    """At each place the mass of all other places, multiplied by the factors between.

    Parameters
    ----------
    factors : ndarray of float64, shape (n - 1,)
        Between neighbours, in [0, 1].
    mass : ndarray of float64, shape (n,)
    compiled : bool, optional
        Use the compiled twin (same bits); by default from 2**14 places.
    """
    if compiled is None:
        compiled = mass.size >= COMPILE
    sums = np.zeros(mass.size)
    if compiled:
        _kernels.fade(factors, mass, sums)
        return sums
    for ahead in (slice(None), slice(None, None, -1)):
        passed, so_far = 0.0, []
        for factor, own in zip(factors[ahead].tolist(), mass[ahead].tolist(), strict=False):
            passed = (passed + own) * factor
            so_far.append(passed)
        sums[ahead][1:] += so_far
    return sums
