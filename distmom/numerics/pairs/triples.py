"""Complete U-statistics of any kernel of triples: n (n - 1) (n - 2) / 6 values, for small blocks.

For each pair i < j the values at k = j + 1, ... are added one by one, then the pairs of i, then the rows. The
compiled twin adds in the same order.
"""

from __future__ import annotations

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.kernel import Kernel
from distmom.numerics.kernels.sums import PairSums, add_up, count_tuples
from distmom.numerics.twins import compiled_twin

_kernels = compiled_twin("distmom.numerics.pairs.functions")

_AT_ONCE = 1 << 18  # values that NumPy computes at once


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
    step = max(1, _AT_ONCE // n)
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
