"""Compiled hypergeometric and binomial draws; the twins are in ``counts.py`` and ``loader.py``."""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-incomplete-defs

from __future__ import annotations

import math
from typing import Any

import numpy as np

from distmom.numerics._jit import entry, njit, standing_for
from distmom.numerics.random import counts as twin
from distmom.numerics.random import loader
from distmom.numerics.random.philox_compiled import next_bounded, word_at, word_pair

U = np.uint64
_ONE = U(1)
_SHIFT = U(11)
_UNIT = 2.0**-53
URN_LIMIT, WAITING_LIMIT, TINY = twin.URN_LIMIT, twin.WAITING_LIMIT, twin.TINY
HAT_SLOPE, HAT_OFFSET = twin.HAT_SLOPE, twin.HAT_OFFSET
LN2_HIGH, LN2_LOW, SQRT_HALF = loader.LN2_HIGH, loader.LN2_LOW, loader.SQRT_HALF
ONE_OVER_2PI, STIRLING_TABLE, ATANH_TERMS = loader.ONE_OVER_2PI, loader.STIRLING_TABLE, loader.ATANH_TERMS

_minus_log: Any = None

atanh_tail: Any = njit(loader.atanh_tail)


@njit
def log(x):
    """Twin of `loader.log`."""
    mantissa, exponent = math.frexp(x)
    e = float(exponent)
    if mantissa < SQRT_HALF:
        mantissa *= 2.0
        e -= 1.0
    s = (mantissa - 1.0) / (mantissa + 1.0)
    return e * LN2_HIGH + (2.0 * s + (2.0 * s * atanh_tail(s * s) + e * LN2_LOW))


@njit
def log_complement(p):
    """Twin of `loader.log_complement`."""
    if p <= 0.05:
        s = -p / (2.0 - p)
        return 2.0 * s + 2.0 * s * atanh_tail(s * s)
    return log(1.0 - p)


@njit
def stirling_error(x):
    """Twin of `loader.stirling_error`."""
    if x < 16.0:
        return STIRLING_TABLE[np.int64(x)]
    z = 1.0 / (x * x)
    return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - 1.0 / 1188 * z) * z) * z) * z) / x


@njit
def misfit(x, mu):
    """Twin of `loader.misfit`."""
    difference = x - mu
    total = x + mu
    if abs(difference) < 0.1 * total:
        v = difference / total
        return difference * v + 2.0 * x * (v * atanh_tail(v * v)) + stirling_error(x)
    if x > 0.0:
        return x * log(x / mu) + (mu - x) + stirling_error(x)
    return mu


@njit
def spread(x):
    """Twin of `loader.spread`."""
    return x if x > 0.0 else ONE_OVER_2PI


table_misfit: Any = njit(standing_for(loader.table_misfit, "one", misfit=misfit, spread=spread, log=log))
trials_misfit: Any = njit(standing_for(loader.trials_misfit, "one", misfit=misfit, spread=spread, log=log))


@njit
def open_closed(word):
    """Twin of `random.open_closed`."""
    return np.float64((word >> _SHIFT) + _ONE) * _UNIT


@njit
def urn(key, block, node, good, total, sample):
    """Twin of `counts._urn`."""
    left = U(good)
    place, second = U(0), U(0)
    for step in range(sample):
        number, place, second = next_bounded(key, block, node, place, second, U(total - step))
        if number < left:
            left -= _ONE
    return good - np.int64(left)


def _ratio(key, block, node, mode, mean, variance, top, numbers):
    """Twin of `counts._ratio`."""
    centre = mean - mode + 0.5
    width = HAT_SLOPE * math.sqrt(variance + 0.5) + HAT_OFFSET
    base = _minus_log(float(mode), *numbers)
    attempt = U(0)
    while True:
        first, second = word_pair(key, attempt, block, node)
        u = open_closed(first)
        v = np.float64(second >> _SHIFT) * _UNIT
        x = float(mode) + float(math.floor(centre + width * (v - 0.5) / u))
        if 0.0 <= x <= top and base - _minus_log(x, *numbers) >= 2.0 * log(u):
            return np.int64(x)
        attempt += _ONE


_of_table: Any = njit(standing_for(_ratio, "table", _minus_log=table_misfit))
_of_trials: Any = njit(standing_for(_ratio, "trials", _minus_log=trials_misfit))


@njit
def ratio_table(key, block, node, g, b, m):
    """Twin of `counts._ratio_table`."""
    total = g + b
    mean = m * (g / total)
    variance = mean * (b / total) * ((total - m) / (total - 1.0))
    mode = math.floor((m + 1.0) * ((g + 1.0) / (total + 2.0)))
    return _of_table(key, block, node, mode, mean, variance, m, (g, b, m))


@njit
def ratio_trials(key, block, node, n, p):
    """Twin of `counts._ratio_trials`."""
    mean = n * p
    return _of_trials(key, block, node, math.floor((n + 1.0) * p), mean, mean * (1.0 - p), n, (n, p))


@njit
def waiting(key, block, node, n, p):
    """Twin of `counts._waiting`."""
    rate = log_complement(max(p, TINY))
    position = 0.0
    count = 0
    step = U(0)
    while True:
        word = word_at(key, step, block, node)
        position += np.floor(log(open_closed(word)) / rate) + 1.0
        if position > n:
            return count
        count += 1
        step += _ONE


@entry("u8 u8[] u8[] i8[] i8[] i8[] i8[]")
def hypergeometric(key, block, node, good, bad, sample, out) -> None:
    """Twin of `counts.hypergeometric` on flat arrays."""
    for i in range(out.size):
        g, b, m = good[i], bad[i], sample[i]
        total = g + b
        few, rare = min(m, total - m), min(g, b)
        first, second = max(few, rare), min(few, rare)
        x = 0
        if second > URN_LIMIT:
            x = ratio_table(key, block[i], node[i], float(first), float(total - first), float(second))
        elif second > 0:
            x = urn(key, block[i], node[i], first, total, second)
        if g > b:
            x = few - x
        out[i] = g - x if m > few else x


@entry("u8 u8[] u8[] i8[] f8[] i8[]")
def binomial(key, block, node, trials, chance, out) -> None:
    """Twin of `counts.binomial` on flat arrays."""
    for i in range(out.size):
        p = 1.0 - chance[i] if chance[i] > 0.5 else chance[i]
        n = float(trials[i])
        x = 0
        if n * p >= WAITING_LIMIT:
            x = ratio_trials(key, block[i], node[i], n, p)
        elif n * p > 0.0:
            x = waiting(key, block[i], node[i], n, p)
        out[i] = trials[i] - x if chance[i] > 0.5 else x
