"""Complete U-statistics of any degrees and any number of samples: all tuples are evaluated, for small blocks.

Pairs go tile by tile (``tiles.py``). Triples of one sample have their own loop: for each pair i < j the
values at k = j + 1, ... are added one by one, then the pairs of i, then the rows, also in the compiled twin.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, islice, product
from typing import Any, TypeAlias

import numpy as np

from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.kernels.kernel import Kernel, Weights
from distmom.numerics.kernels.sums import PairSums, add_up, count_tuples
from distmom.numerics.twins import compiled_twin

Places: TypeAlias = Ints
_AT_ONCE, _TRIPLES_AT_ONCE = 1 << 16, 1 << 18  # approximate number of values computed at once

_kernels = compiled_twin("distmom.numerics.pairs.functions")


def tuple_sums(kernel: Kernel, *samples: Floats, weights: Weights = None) -> PairSums:
    """The complete U-statistic of a block.

    Parameters
    ----------
    kernel : Kernel
        With scalar values.
    *samples : ndarray of float64
        One for each of its degrees, each with at least as many rows.
    weights : tuple of ndarray, optional
        Non-negative weights of the rows of each sample; a tuple's weight is the product of its rows'.

    Returns
    -------
    PairSums
        With `second` and row means. Time is proportional to the tuples, memory to the rows.
    """
    degrees = kernel.degrees
    masses = [np.ones(s.shape[0]) for s in samples] if weights is None else list(weights)
    above, below = ([np.zeros(s.shape[0]) for s in samples] for _ in range(2))
    sums: list[Floats] = []
    size = max(1, round(_AT_ONCE ** (1.0 / len(samples))))
    pools = [_portions(s.shape[0], d, size) for s, d in zip(samples, degrees, strict=True)]
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        for chosen in _products(pools):
            values = np.asarray(kernel.value(*_rows(samples, chosen)), np.float64)
            own = [mass[places].prod(axis=1) for mass, places in zip(masses, chosen, strict=True)]
            whole = _outer(own)
            sums.append(np.array([_total(a) for a in (whole, whole * values, whole * (values * values))]))
            for t, places in enumerate(chosen):
                others = [np.ones(o.size) if u == t else o for u, o in enumerate(own)]
                of_others = _outer(others)
                margins = _along(of_others * values, t), _along(of_others, t)
                for p in range(degrees[t]):
                    rest = masses[t][np.delete(places, p, axis=1)].prod(axis=1)
                    for out, margin in zip((above[t], below[t]), margins, strict=True):
                        out += np.bincount(places[:, p], rest * margin, out.size)
        mass, total, squares = add_up(np.array(sums))
        row_means = tuple(a / b for a, b in zip(above, below, strict=True))
        n_tuples = count_tuples(degrees, tuple(int(np.count_nonzero(mass)) for mass in masses))
        return PairSums(n_tuples, total / mass, squares / mass, row_means)


def _products(pools: list[Iterator[Places]]) -> Iterator[tuple[Places, ...]]:
    """Every portion of the first pool with every one of the others, which are stored."""
    kept = [list(pool) for pool in pools[1:]]
    for first in pools[0]:
        for rest in product(*kept):
            yield (first, *rest)


def _portions(n: int, degree: int, size: int) -> Iterator[Places]:
    """Row numbers of all tuples of a sample, `size` at a time."""
    tuples = combinations(range(n), degree)
    while True:
        flat = np.fromiter(chain.from_iterable(islice(tuples, size)), np.int64)
        if not flat.size:
            return
        yield flat.reshape(-1, degree)


def _rows(samples: tuple[Floats, ...], chosen: tuple[Places, ...]) -> Iterator[Floats]:
    """The rows of each argument of the kernel; tuples of different samples have axes of their own."""
    for t, (sample, places) in enumerate(zip(samples, chosen, strict=True)):
        for p in range(places.shape[1]):
            rows = sample[places[:, p]]
            axes = (*(1,) * t, rows.shape[0], *(1,) * (len(samples) - 1 - t))
            yield rows.reshape(*axes, *rows.shape[1:])


def _outer(factors: list[Floats]) -> Any:
    """Products of one factor of each sample, with one axis for each."""
    found: Any = 1.0
    for t, factor in enumerate(factors):
        found = found * factor.reshape(*(1,) * t, -1, *(1,) * (len(factors) - 1 - t))
    return found


def _along(values: Floats, axis: int) -> Floats:
    """Sums over all axes but one."""
    lines = np.moveaxis(values, axis, -1)
    return np.asarray(add_up(lines.reshape(-1, lines.shape[-1])))


def _total(values: Floats) -> float:
    return float(add_up(values.reshape(-1)))


def triple_sums(kernel: Kernel, x: Floats) -> PairSums:
    """The complete U-statistic of degree 3 of a block.

    Parameters
    ----------
    kernel : Kernel
        Of degrees (3,), with scalar values. Users' compiled functions run compiled.
    x : ndarray of float64
        At least three rows.

    Returns
    -------
    PairSums
        With `second` and row means. O(n) memory, O(n^3) time.
    """
    n = x.shape[0]
    rows = np.zeros(n)
    prepared = kernel.prepare(x)
    if kernel.compiled is not None:
        squares = float(_kernels.triple_sums(kernel.compiled, prepared, rows))
    else:
        squares = _numpy_triple_sums(kernel, prepared, rows)
    n_triples = count_tuples((3,), (n,))
    with np.errstate(invalid="ignore", over="ignore"):
        row_means = rows / count_tuples((2,), (n - 1,))
        return PairSums(n_triples, add_up(rows) / (3.0 * n_triples), squares / n_triples, (row_means,))


def _numpy_triple_sums(kernel: Kernel, x: Floats, rows: Floats) -> float:
    n, total = x.shape[0], 0.0
    step = max(1, _TRIPLES_AT_ONCE // n)
    with np.errstate(invalid="ignore", over="ignore"):
        for i in range(n - 2):
            of_i = 0.0
            for start in range(i + 1, n - 1, step):
                stop = min(start + step, n - 1)
                last = np.arange(start + 1, n)
                value = kernel.prepared_value(x[i, None, None], x[start:stop, None], x[None, start + 1 :])
                value = np.where(last > np.arange(start, stop)[:, None], value, 0.0)
                of_pairs = np.add.accumulate(value, axis=1)[:, -1]
                square_sums = np.add.accumulate(value * value, axis=1)[:, -1]
                rows[start + 1 :] = np.add.accumulate(np.concatenate([rows[None, start + 1 :], value]))[-1]
                rows[start:stop] += of_pairs
                of_i = float(np.add.accumulate(np.concatenate([[of_i], of_pairs]))[-1])
                total = float(np.add.accumulate(np.concatenate([[total], square_sums]))[-1])
            rows[i] += of_i
    return total
