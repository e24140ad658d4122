"""Compiled exp and logistic loss of single numbers; the twins of arrays are in ``exponential.py``.

Compiled functions may call those twins by their names: they get these.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="misc"

from __future__ import annotations

from numba import types
from numba.extending import intrinsic, overload

from distmom.numerics._jit import inline
from distmom.numerics.kernels import exponential

LOWEST, LOG2E, ROUND = exponential.LOWEST, exponential.LOG2E, exponential.ROUND
LN2_HIGH, LN2_LOW = exponential.LN2_HIGH, exponential.LN2_LOW
EXPONENT = exponential.EXPONENT
C13, C12, C11, C10, C9, C8, C7, C6 = exponential.INVERSE_FACTORIALS
A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1 = exponential.INVERSE_ODD
LN2, SQRT2_LESS_1 = exponential.LN2, exponential.SQRT2_LESS_1


@intrinsic
def _as_bits(context, x):
    """The 64 bits of a float as an integer."""

    def generate(target, builder, signature, arguments):
        return builder.bitcast(arguments[0], target.get_value_type(types.int64))

    return types.int64(types.float64), generate


@intrinsic
def _as_float(context, bits):
    """The float with these 64 bits."""

    def generate(target, builder, signature, arguments):
        return builder.bitcast(arguments[0], target.get_value_type(types.float64))

    return types.float64(types.int64), generate


@inline
def exp_of_negative(t):
    """Twin of `exponential.exp_of_negative`."""
    t = t if t > LOWEST else LOWEST
    shifted = t * LOG2E + ROUND
    n = shifted - ROUND
    r = (t - n * LN2_HIGH) - n * LN2_LOW
    s = C13
    s = s * r + C12
    s = s * r + C11
    s = s * r + C10
    s = s * r + C9
    s = s * r + C8
    s = s * r + C7
    s = s * r + C6
    s = s * r + 1.0 / 120.0
    s = s * r + 1.0 / 24.0
    s = s * r + 1.0 / 6.0
    s = s * r + 0.5
    s = s * r + 1.0
    s = s * r + 1.0
    return s * _as_float((_as_bits(shifted) << 52) + EXPONENT)


@inline
def softplus(z):
    """Twin of `exponential.softplus`."""
    u = exp_of_negative(-abs(z))
    large = u > SQRT2_LESS_1
    s = (u - 1.0) / (u + 3.0) if large else u / (u + 2.0)
    q = s * s
    tail = A11
    tail = tail * q + A10
    tail = tail * q + A9
    tail = tail * q + A8
    tail = tail * q + A7
    tail = tail * q + A6
    tail = tail * q + A5
    tail = tail * q + A4
    tail = tail * q + A3
    tail = tail * q + A2
    tail = tail * q + A1
    log = 2.0 * s + 2.0 * s * (tail * q)
    return (z if z > 0.0 else 0.0) + (log + LN2 if large else log)


@overload(exponential.exp_of_negative, inline="always")
def _exp_of_negative(t):
    return lambda t: exp_of_negative(t)


@overload(exponential.softplus, inline="always")
def _softplus(z):
    return lambda z: softplus(z)
