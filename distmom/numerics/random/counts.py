"""Exact hypergeometric and binomial draws, each a pure function of its address.

Small cases are integer urns or sums of waiting times; large ones use Stadlober's ratio of uniforms around the
mode, with the probabilities of ``loader.py``. Up to 2**53 rows (NumPy's own generator refuses 10**9).
``compiled=True`` gives the same bits from ``counts_compiled.py``.

References
----------
Stadlober (1990), The ratio of uniforms approach for generating discrete random variates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from distmom.numerics.arrays import Floats, Ints, Words
from distmom.numerics.random.loader import log, log_complement, table_misfit, trials_misfit
from distmom.numerics.random.philox import Key, bounded64, closed_open, open_closed, word_pairs
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin(__name__)

URN_LIMIT = 24  # up to this sample size an urn; above, the ratio of uniforms (its hat is checked from 25 on)
WAITING_LIMIT = 10.0  # binomials with a smaller mean are drawn by waiting times
TINY = 1e-300  # smaller probabilities are as good as zero, and their waiting times exceed any float
MAX_TOTAL = 1 << 53  # all counts must be exact in float64
HAT_SLOPE, HAT_OFFSET = 1.7155277699214135, 0.8989161620588988  # 2 sqrt(2/e) and 3 - 2 sqrt(3/e)


def hypergeometric(
    key: Key,
    block: ArrayLike,
    node: ArrayLike,
    good: ArrayLike,
    bad: ArrayLike,
    sample: ArrayLike,
    *,
    compiled: bool = False,
) -> Ints:
    """Number of good rows among `sample` rows drawn without replacement from good + bad rows.

    Parameters
    ----------
    key : int
        From `random.stream_key`.
    block, node : array_like of int
        The address of each draw.
    good, bad, sample : array_like of int
        Non-negative, ``sample <= good + bad <= 2**53``. All five broadcast.
    compiled : bool
        Use Numba: 0.1 to 0.4 microseconds per draw instead of about 3.

    Returns
    -------
    ndarray of int64, the broadcast shape

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> hypergeometric(1, 0, [0, 1], 10**12, 0, 5).tolist()
    [5, 5]
    """
    shape, at, (g, b, m) = _flatten(
        block, node, *(np.asarray(a, dtype=np.int64) for a in (good, bad, sample))
    )
    if not (_within(g, MAX_TOTAL) and _within(b, MAX_TOTAL - g) and _within(m, g + b)):
        raise ValueError("hypergeometric needs good, bad >= 0 and 0 <= sample <= good + bad <= 2**53")
    if compiled:
        out = np.empty(g.size, dtype=np.int64)
        _kernels.hypergeometric(np.uint64(key), *at, g, b, m, out)
        return out.reshape(shape)
    total = g + b
    few = np.minimum(m, total - m)  # draw the rows left out if they are fewer
    rare = np.minimum(g, b)
    first, second = np.maximum(few, rare), np.minimum(few, rare)  # rows and columns may be exchanged
    x = np.zeros_like(g)
    urn = np.flatnonzero((second > 0) & (second <= URN_LIMIT))
    x[urn] = _urn(key, at[0][urn], at[1][urn], first[urn], total[urn], second[urn])
    big = np.flatnonzero(second > URN_LIMIT)
    x[big] = _ratio_table(key, at[0][big], at[1][big], first[big], total[big] - first[big], second[big])
    x = np.where(g > b, few - x, x)
    return np.where(m > few, g - x, x).reshape(shape)


def binomial(
    key: Key, block: ArrayLike, node: ArrayLike, n: ArrayLike, p: ArrayLike, *, compiled: bool = False
) -> Ints:
    """Number of successes in `n` independent trials with success probability `p`.

    Parameters
    ----------
    key, block, node
        The address of each draw, as in `hypergeometric`.
    n : array_like of int
        In [0, 2**53].
    p : array_like of float
        In [0, 1].
    compiled : bool
        Use Numba.

    Returns
    -------
    ndarray of int64, the broadcast shape

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> binomial(1, 0, 0, 10, [0.0, 1.0]).tolist()
    [0, 10]
    """
    numbers = np.asarray(n, dtype=np.int64), np.asarray(p, dtype=np.float64)
    shape, at, (trials, chance) = _flatten(block, node, *numbers)
    if not (_within(trials, MAX_TOTAL) and _within(chance, 1.0)):
        raise ValueError("binomial needs 0 <= n <= 2**53 and 0 <= p <= 1")
    if compiled:
        out = np.empty(trials.size, dtype=np.int64)
        _kernels.binomial(np.uint64(key), *at, trials, chance, out)
        return out.reshape(shape)
    rare = np.where(chance > 0.5, 1.0 - chance, chance)
    size = trials.astype(np.float64)
    x = np.zeros_like(trials)
    small = np.flatnonzero((size * rare > 0.0) & (size * rare < WAITING_LIMIT))
    x[small] = _waiting(key, at[0][small], at[1][small], size[small], rare[small])
    big = np.flatnonzero(size * rare >= WAITING_LIMIT)
    x[big] = _ratio_trials(key, at[0][big], at[1][big], size[big], rare[big])
    return np.where(chance > 0.5, trials - x, x).reshape(shape)


def _flatten(
    block: ArrayLike, node: ArrayLike, *numbers: NDArray[Any]
) -> tuple[tuple[int, ...], tuple[Words, Words], list[NDArray[Any]]]:
    """The broadcast shape, the addresses and the other arguments as flat contiguous arrays."""
    where = np.asarray(block, dtype=np.uint64), np.asarray(node, dtype=np.uint64)
    if not _within(where[0], 0xFFFFFFFF):
        raise ValueError(f"a block has 32 bits, got {where[0].max()}")
    full = np.broadcast_arrays(*where, *numbers)
    # copies: NumPy warns if code checks whether a broadcast array, even a contiguous one, is writeable
    blocks, nodes, *rest = (a.flatten() for a in full)
    return full[0].shape, (blocks, nodes), rest


def _within(numbers: NDArray[Any], high: ArrayLike) -> bool:
    """All in [0, high], and none NaN."""
    return bool(((numbers >= 0) & (numbers <= high)).all())


def _urn(key: Key, block: Words, node: Words, good: Ints, total: Ints, sample: Ints) -> Ints:
    """Draw row after row, each lane from its own stream."""
    left = good.astype(np.uint64)
    place = np.zeros(good.size, dtype=np.uint64)
    one = np.uint64(1)
    for step in range(int(sample.max(initial=0))):
        waiting = np.flatnonzero(sample > step)
        while waiting.size:
            first, second = word_pairs(key, place[waiting] >> one, block[waiting], node[waiting])
            word = np.where(place[waiting] & one == one, second, first)
            place[waiting] += one
            number, accepted = bounded64(word, (total[waiting] - step).astype(np.uint64))
            left[waiting] -= (accepted & (number < left[waiting])).astype(np.uint64)
            waiting = waiting[~accepted]
    return good - left.astype(np.int64)


def hat_width(variance: Floats) -> Floats:
    """Width of the rectangle around the region of the ratio of uniforms (Stadlober)."""
    return HAT_SLOPE * np.sqrt(variance + 0.5) + HAT_OFFSET


def _ratio_table(key: Key, block: Words, node: Words, good: Ints, bad: Ints, sample: Ints) -> Ints:
    """Needs ``URN_LIMIT < sample <= good <= bad``."""
    g, b, m = good.astype(np.float64), bad.astype(np.float64), sample.astype(np.float64)
    total = g + b
    mean = m * (g / total)
    variance = mean * (b / total) * ((total - m) / (total - 1.0))
    mode = np.floor((m + 1.0) * ((g + 1.0) / (total + 2.0)))

    def minus_log(x: Floats, lanes: Ints) -> Floats:
        return table_misfit(x, g[lanes], b[lanes], m[lanes])

    return _ratio(key, block, node, mode, mean, hat_width(variance), m, minus_log)


def _ratio_trials(key: Key, block: Words, node: Words, n: Floats, p: Floats) -> Ints:
    """Needs ``n * p >= WAITING_LIMIT`` and p <= 1/2."""
    mean = n * p

    def minus_log(x: Floats, lanes: Ints) -> Floats:
        return trials_misfit(x, n[lanes], p[lanes])

    mode = np.floor((n + 1.0) * p)
    return _ratio(key, block, node, mode, mean, hat_width(mean * (1.0 - p)), n, minus_log)


def _ratio(
    key: Key,
    block: Words,
    node: Words,
    mode: Floats,
    mean: Floats,
    width: Floats,
    top: Floats,
    minus_log: Callable[[Floats, Ints], Floats],
) -> Ints:
    """Ratio of uniforms on 0 ... top; attempt i takes words 2i and 2i + 1 of each stream.

    All distances are from the mode: at 10**12 a float has only four decimals, and rounding the candidates
    themselves would give integers unequal shares of the rectangle.
    """
    waiting = np.arange(mode.size)
    base = minus_log(mode, waiting)
    centre = mean - mode + 0.5
    out = np.zeros(mode.size, dtype=np.int64)
    attempt = 0
    while waiting.size:
        first, second = word_pairs(key, np.array([attempt], dtype=np.uint64), block[waiting], node[waiting])
        u = open_closed(first)
        step = np.floor(centre[waiting] + width[waiting] * (closed_open(second) - 0.5) / u)
        x = mode[waiting] + step
        inside = (x >= 0.0) & (x <= top[waiting])
        x = np.where(inside, x, mode[waiting])
        accepted = inside & (base[waiting] - minus_log(x, waiting) >= 2.0 * log(u))
        out[waiting[accepted]] = x[accepted].astype(np.int64)
        waiting = waiting[~accepted]
        attempt += 1
    return out


def _waiting(key: Key, block: Words, node: Words, n: Floats, p: Floats) -> Ints:
    """Successes until the waiting times (geometric, by inversion) exceed n; step i takes word i."""
    rate = log_complement(np.maximum(p, TINY))
    position = np.zeros(n.size)
    out = np.zeros(n.size, dtype=np.int64)
    waiting = np.arange(n.size)
    step = 0
    while waiting.size:
        index = np.array([step // 2], dtype=np.uint64)
        word = word_pairs(key, index, block[waiting], node[waiting])[step % 2]
        position[waiting] += np.floor(log(open_closed(word)) / rate[waiting]) + 1.0
        waiting = waiting[position[waiting] <= n[waiting]]
        out[waiting] += 1
        step += 1
    return out
