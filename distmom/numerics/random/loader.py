"""Log probabilities of hypergeometric and binomial counts in Loader's form, up to a constant.

This form is a sum of small terms, whereas differences of log-gamma functions lose all digits (error 4e-3 for
10**12 rows). The logarithm is our own, made of additions, multiplications and divisions alone: so NumPy and
Numba, and any two processors or C libraries, give the same bits and the samplers make the same decisions.
The compiled twins are in ``counts_compiled.py``.

References
----------
Loader (2000), Fast and accurate computation of binomial probabilities.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distmom.numerics.arrays import Floats

LN2_HIGH, LN2_LOW = 0.6931467056274414, 4.7493250390316726e-07
SQRT_HALF = 0.7071067811865476
ONE_OVER_2PI = 0.15915494309189535
ATANH_TERMS = 12  # z**12 / 27 is below 2**-53 of the sum for the largest z = (3 - sqrt 8)**2

STIRLING = """
0.0 0.08106146679532726 0.0413406959554093 0.02767792568499834 0.020790672103765093
0.016644691189821193 0.013876128823070748 0.01189670994589177 0.010411265261972096
0.009255462182712733 0.00833056343336287 0.007573675487951841 0.00694284010720953
0.006408994188004207 0.0059513701127588475 0.005554733551962801
"""
STIRLING_TABLE = np.array([float(error) for error in STIRLING.split()])
"""0! = 1 has no Stirling form; `spread` and `misfit` treat 0 separately."""


def atanh_tail(z: Floats) -> Floats:
    """``z/3 + z**2/5 + ...``: atanh(s) = s + s * atanh_tail(s * s)."""
    total: Any = 1.0 / (2 * ATANH_TERMS + 1)
    for j in range(ATANH_TERMS - 1, 0, -1):
        total = total * z + 1.0 / (2 * j + 1)
    return total * z  # type: ignore[no-any-return]


def log(x: Floats) -> Floats:
    """Natural logarithm of positive normal numbers, to about one unit in the last place."""
    mantissa, exponent = np.frexp(x)
    low = mantissa < SQRT_HALF
    mantissa = np.where(low, mantissa * 2.0, mantissa)
    e = np.where(low, exponent - 1, exponent).astype(np.float64)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    return e * LN2_HIGH + (2.0 * s + (2.0 * s * atanh_tail(s * s) + e * LN2_LOW))


def log_complement(p: Floats) -> Floats:
    """``log(1 - p)`` for 0 <= p <= 1/2, accurate for tiny p."""
    small = p <= 0.05
    s = np.where(small, -p / (2.0 - p), 0.0)
    near = 2.0 * s + 2.0 * s * atanh_tail(s * s)
    return np.where(small, near, log(1.0 - np.where(small, 0.5, p)))


def stirling_error(x: Floats) -> Floats:
    """``log x! - log(sqrt(2 pi x) (x/e)**x)`` for integers x >= 1, and 0 at 0."""
    y = np.maximum(x, 15.0)
    z = 1.0 / (y * y)
    series = (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - 1.0 / 1188 * z) * z) * z) * z) / y
    return np.where(x < 16.0, STIRLING_TABLE[np.minimum(x, 15.0).astype(np.int64)], series)


def misfit(x: Floats, mu: Floats) -> Floats:
    """``x log(x/mu) + mu - x`` (Loader's deviance) plus the Stirling error of x."""
    difference = x - mu
    total = x + mu
    v = difference / total
    near = np.abs(difference) < 0.1 * total
    w = np.where(near, v, 0.0)
    series = difference * w + 2.0 * x * (w * atanh_tail(w * w))
    positive = np.where(x > 0.0, x, 1.0)
    direct = np.where(x > 0.0, x * log(positive / mu) + (mu - x), mu)
    return np.where(near, series, direct) + stirling_error(x)


def spread(x: Floats) -> Floats:
    """The factor x under the square root of Stirling's formula, such that 0! = 1 comes out right."""
    return np.where(x > 0.0, x, ONE_OVER_2PI)


def table_misfit(x: Floats, good: Floats, bad: Floats, sample: Floats) -> Floats:
    """Minus the log probability of x good ones in the sample, up to a constant of (good, bad, sample).

    With expectations ``mu`` of the four cells of the 2 x 2 table of (good or bad) by (drawn or not), it is
    the sum of the cells' `misfit` and of ``log(2 pi cell) / 2``.
    """
    total = good + bad
    p, q = sample / total, (total - sample) / total
    y, u, v = sample - x, good - x, bad - sample + x
    width = spread(x) * spread(y) * spread(u) * spread(v)
    deviance = (misfit(x, good * p) + misfit(y, bad * p)) + (misfit(u, good * q) + misfit(v, bad * q))
    return deviance + 0.5 * log(width)


def trials_misfit(x: Floats, n: Floats, p: Floats) -> Floats:
    """Minus the log probability of x successes, up to a constant of (n, p)."""
    y = n - x
    return (misfit(x, n * p) + misfit(y, n * (1.0 - p))) + 0.5 * log(spread(x) * spread(y))
