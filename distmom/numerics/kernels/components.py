"""Variances from one block: those of the kernel's projections, and that of the block's statistic.

References
----------
Hoeffding (1948), A class of statistics with asymptotically normal distribution.
Arvesen (1969), Jackknifing U-statistics (several samples: one jackknife for each, added up).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distmom.numerics.arrays import Floats
from distmom.numerics.kernels.kernel import Kernel, Part, Weights
from distmom.numerics.kernels.sums import PairSums, Value, add_up, mass_at_rows, symmetric_sums


class OneSample(NamedTuple):
    """Variances of the Hoeffding decomposition of a kernel of degree 2: Var h = 2 sigma1 + sigma2.

    ``Var U_n = 4 sigma1 / n + 2 sigma2 / (n (n - 1))``.
    """

    sigma1: float
    sigma2: float


class TwoSamples(NamedTuple):
    """zeta_10, zeta_01 and zeta_11 = Var h of a kernel of degrees (1, 1).

    ``Var U = ((n2 - 1) zeta10 + (n1 - 1) zeta01 + zeta11) / (n1 n2)``.
    """

    zeta10: float
    zeta01: float
    zeta11: float


def one_sample_variances(sums: PairSums) -> OneSample:
    """Unbiased estimates of sigma_1^2 and sigma_2^2 from the U-form of a kernel of degree 2.

    The kernel's values are scalars, the rows not weighted. Estimates may be below 0 (degenerate kernels).
    NaN with fewer than four rows, or without `second`.

    Notes
    -----
    With r_i the row means: ``E sum (r_i - U)^2 / (n - 1) = ((n - 2)^2 sigma1 + (n - 2) sigma2) / (n - 1)^2``
    and ``E (second - U^2) = 2 sigma1 + sigma2 - Var U_n``: two linear equations.
    """
    if sums.row_means is None:
        raise ValueError("variances need row means")
    n = sums.row_means[0].size
    if n < 4 or sums.second is None:
        return OneSample(np.nan, np.nan)
    spread = _variance(sums.row_means[0])
    with np.errstate(invalid="ignore", over="ignore"):
        total = sums.second - sums.mean * sums.mean
    equations = np.array(
        [[((n - 2) / (n - 1)) ** 2, (n - 2) / (n - 1) ** 2], [2.0 - 4.0 / n, 1.0 - 2.0 / (n * (n - 1.0))]]
    )
    return OneSample(*_solve(equations, [spread, total]))


def two_sample_variances(sums: PairSums) -> TwoSamples:
    """Unbiased estimates of zeta_10, zeta_01, zeta_11 of a kernel of degrees (1, 1).

    The kernel's values are scalars, the rows not weighted. NaN with fewer than two rows in a sample, or
    without `second`.
    """
    if sums.row_means is None:
        raise ValueError("variances need row means")
    n1, n2 = (rows.size for rows in sums.row_means)
    if min(n1, n2) < 2 or sums.second is None:
        return TwoSamples(np.nan, np.nan, np.nan)
    first, other = (_variance(rows) for rows in sums.row_means)
    with np.errstate(invalid="ignore", over="ignore"):
        total = sums.second - sums.mean * sums.mean
    equations = np.array(
        [[1.0, 0.0, 1.0 / n2], [0.0, 1.0, 1.0 / n1], [1.0 - 1.0 / n1, 1.0 - 1.0 / n2, 1.0 - 1.0 / (n1 * n2)]]
    )
    a, b, rest = _solve(equations, [first, other, total])
    return TwoSamples(a, b, a + b + rest)


def jackknife_variance(kernel: Kernel, sums: tuple[PairSums, ...], weights: Weights = None) -> Value:
    """Variance of a block's statistic by leaving out one row after the other, sample by sample.

    Parameters
    ----------
    kernel : Kernel
        A single kernel, or one of several parts.
    sums : tuple of PairSums
        U-forms of its parts, with row means.
    weights : tuple of ndarray, optional
        Positive weights of the rows of each sample: a row is left out with its weight.

    Returns
    -------
    float or ndarray
        NaN if a sample has no more rows than its degree.

    Notes
    -----
    Leaving out row i of n from a U-statistic of degree d gives ``(n U - d r_i) / (n - d)``: no kernel is
    evaluated again. With weights it gives ``(W U - W_i r_i) / (W - W_i)``, W and W_i being the weights of all
    tuples and of those that contain the row. The sum over samples of ``(n - 1) / n * sum (S_(i) - mean)^2``.
    """
    variance: Value = 0.0
    for of_sample in jackknife_by_sample(kernel, sums, weights):
        variance = variance + of_sample
    return variance


def jackknife_by_sample(
    kernel: Kernel, sums: tuple[PairSums, ...], weights: Weights = None
) -> tuple[Value, ...]:
    """Contribution of the rows of each sample to `jackknife_variance`."""
    found = []
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        for sample in range(len(kernel.degrees)):
            left_out = kernel.combine(
                *(
                    _leave_one_out(part, one, sample, weights) if sample in part.samples else one.mean
                    for part, one in zip(kernel.parts, sums, strict=True)
                )
            )
            n = left_out.shape[0]
            away = left_out - add_up(left_out) / n
            found.append((n - 1) / n * add_up(away * away))
    return tuple(found)


def jackknife_of_parts(kernel: Kernel, sums: tuple[PairSums, ...], weights: Weights = None) -> Floats:
    """Jackknife covariance matrix of the parts of a kernel of one sample; shape (parts, parts)."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        left_out = np.stack(
            [_leave_one_out(part, one, 0, weights) for part, one in zip(kernel.parts, sums, strict=True)]
        )
        n = left_out.shape[1]
        away = left_out - (np.array([add_up(line) for line in left_out]) / n)[:, None]
        return np.array([[(n - 1) / n * add_up(a * b) for b in away] for a in away])


def _leave_one_out(part: Part, sums: PairSums, sample: int, weights: Weights) -> Floats:
    if sums.row_means is None:
        raise ValueError("the jackknife needs row means")
    place = part.samples.index(sample)
    rows, degree = sums.row_means[place], part.kernel.degrees[place]
    n = rows.shape[0]
    if n <= degree:
        return np.full(rows.shape, np.nan)
    if weights is None:
        return np.asarray((n * np.asarray(sums.mean) - degree * rows) / (n - degree))
    # weights of other samples are factors of both and cancel
    mine = weights[sample]
    whole, own = symmetric_sums(mine, degree)[degree], mass_at_rows(mine, degree)
    own = own.reshape(-1, *(1,) * (rows.ndim - 1))
    return np.asarray((whole * np.asarray(sums.mean) - own * rows) / (whole - own))


def _variance(values: Floats) -> float:
    with np.errstate(invalid="ignore", over="ignore"):
        away = values - add_up(values) / values.size
        return float(add_up(away * away) / (values.size - 1))


def _solve(equations: Floats, right: list[float]) -> list[float]:
    """Cramer's rule for two or three equations: the same bits everywhere, NaN and infinities pass through."""
    whole = _determinant(equations)
    found = []
    with np.errstate(invalid="ignore", over="ignore"):
        for column in range(len(right)):
            changed = equations.copy()
            changed[:, column] = right
            found.append(float(_determinant(changed) / whole))
    return found


def _determinant(m: Floats) -> float:
    if m.shape[0] == 2:
        return float(m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0])
    minors = [np.delete(m[1:], column, axis=1) for column in range(3)]
    return float(
        m[0, 0] * _determinant(minors[0])
        - m[0, 1] * _determinant(minors[1])
        + m[0, 2] * _determinant(minors[2])
    )
