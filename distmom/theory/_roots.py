"""One root finder for monotone functions of one variable, without SciPy's optimisers."""

from __future__ import annotations

import math
from collections.abc import Callable


def last_nonpositive(
    function: Callable[[float], float], low: float, high: float, tolerance: float = 1e-10
) -> float:
    """Largest x in [low, high] with ``function(x) <= 0``, for an increasing function.

    The answer errs downwards by at most ``tolerance``, never upwards, so that a bound solved with it
    stays a bound. ``function(low) <= 0`` is assumed; values of -inf (logarithms of tails that
    underflow) are fine.

    Chandrupatla (1997): inverse quadratic interpolation if three points allow it, else bisection.
    """
    newest, at_newest = high, function(high)
    if at_newest <= 0.0:
        return high
    opposite, at_opposite = low, min(0.0, function(low))
    fraction = 0.5
    while abs(newest - opposite) > tolerance:
        # keep half a tolerance from both ends, so that the bracket closes from both sides
        margin = 0.5 * tolerance / abs(newest - opposite)
        x = newest + min(max(fraction, margin), 1.0 - margin) * (opposite - newest)
        if x in (newest, opposite):  # neighbouring floats
            break
        value = function(x)
        if (value > 0.0) == (at_newest > 0.0):
            dropped, at_dropped = newest, at_newest
        else:
            dropped, at_dropped = opposite, at_opposite
            opposite, at_opposite = newest, at_newest
        newest, at_newest = x, value
        fraction = _next_fraction((newest, opposite, dropped), (at_newest, at_opposite, at_dropped))
    return opposite if at_newest > 0.0 else newest


def _next_fraction(points: tuple[float, float, float], values: tuple[float, float, float]) -> float:
    """Fraction of the way from the newest point to the opposite one at which to evaluate next."""
    (a, b, c), (fa, fb, fc) = points, values
    if not (math.isfinite(fa) and math.isfinite(fb) and math.isfinite(fc)) or fa == fb or fc in (fa, fb):
        return 0.5
    xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
    if not phi * phi < xi or not (1.0 - phi) ** 2 < 1.0 - xi:
        return 0.5
    return fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
