"""Loops over users' compiled functions: compiled anew in each process, as Numba cannot keep them on disk."""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-incomplete-defs

from __future__ import annotations

import numpy as np

from distmom.numerics._jit import anew


@anew
def values_of_two(function, a, b, out):
    """The function of row i of each array, into `out`."""
    for i in range(out.size):
        out[i] = function(a[i], b[i])


@anew
def values_of_three(function, a, b, c, out):
    """The same with three rows."""
    for i in range(out.size):
        out[i] = function(a[i], b[i], c[i])


@anew
def triple_sums(function, x, rows):
    """Twin of `triples._numpy_triple_sums`: sums at each row into `rows`; returns the sum of squares."""
    n, total = x.shape[0], 0.0
    for i in range(n - 2):
        of_i = 0.0
        for j in range(i + 1, n - 1):
            of_pair, square_sum = 0.0, 0.0
            for k in range(j + 1, n):
                value = function(x[i], x[j], x[k])
                of_pair += value
                square_sum += value * value
                rows[k] += value
            rows[j] += of_pair
            of_i += of_pair
            total += square_sum
        rows[i] += of_i
    return total


def compile_function(function, degrees: tuple[int, ...], symmetrize: bool):
    """A user's function as Numba's dispatcher, averaged over all orders of its arguments if asked for.

    Those of several samples stay with their sample.
    """
    known = function if hasattr(function, "py_func") else anew(function)
    if not symmetrize or max(degrees) == 1:
        return known
    if degrees == (2, 1):
        return anew(lambda a, b, c: 0.5 * (known(a, b, c) + known(b, a, c)))
    if degrees == (1, 2):
        return anew(lambda a, b, c: 0.5 * (known(a, b, c) + known(a, c, b)))
    if degrees == (2,):
        return anew(lambda a, b: 0.5 * (known(a, b) + known(b, a)))
    return anew(
        lambda a, b, c: (
            (
                ((known(a, b, c) + known(a, c, b)) + (known(b, a, c) + known(b, c, a)))
                + (known(c, a, b) + known(c, b, a))
            )
            / 6.0
        )
    )


def values(function, rows, shape):
    """The function at rows of broadcast arrays, as an array of this shape; each array has shape (n, ...)."""
    out = np.empty(int(np.prod(shape)))
    (values_of_two if len(rows) == 2 else values_of_three)(function, *rows, out)
    return out.reshape(shape)
