"""Variances of one block's statistic under the sampling schemes, and how often a block uses a row."""

from __future__ import annotations

import math
from collections.abc import Sequence

from distmom.theory._checks import check_count, check_variance
from distmom.theory._tuples import Numbers, count_tuples


def mean_variance(sigma2: float, block_size: int, n_rows: int | None = None) -> float:
    """Variance of a block mean.

    Parameters
    ----------
    sigma2 : float
        Variance of one row.
    block_size : int
        Rows (draws) B in the block.
    n_rows : int, optional
        Given for blocks drawn *with replacement* from n rows.

    Returns
    -------
    float
        sigma^2/B for a partition or sampling without replacement (such a block of an i.i.d. sample is
        itself an i.i.d. sample); sigma^2 (1/n + (1 - 1/n)/B) with replacement.

    Examples
    --------
    >>> mean_variance(4.0, 8), mean_variance(4.0, 8, n_rows=16)
    (0.5, 0.71875)
    """
    check_variance("sigma2", sigma2)
    check_count("block_size", block_size)
    if n_rows is None:
        return sigma2 / block_size
    check_count("n_rows", n_rows)
    return sigma2 * (1.0 / n_rows + (1.0 - 1.0 / n_rows) / block_size)


def ustatistic_variance(block_size: int, components: Sequence[float]) -> float:
    """Variance of the complete U-statistic of one block.

    Parameters
    ----------
    block_size : int
        Rows B in the block, at least d.
    components : sequence of float
        zeta_1, ..., zeta_d with zeta_c = Var E[h | X_1, ..., X_c]; d is the degree of the kernel.

    Returns
    -------
    float
        Hoeffding's sum over c of C(d, c) C(B - d, d - c) zeta_c / C(B, d). For d = 2, with sigma_1^2 =
        zeta_1 and sigma_2^2 = zeta_2 - 2 zeta_1, that is 4 sigma_1^2/B + 2 sigma_2^2/(B (B - 1)).

    Examples
    --------
    >>> round(ustatistic_variance(8, (0.5, 2.0)), 6)       # sample variance of 8 normal values
    0.285714
    """
    degree = len(components)
    check_count("block_size", block_size, least=max(1, degree))
    total = 0.0
    for c, component in enumerate(components, start=1):
        check_variance("a component", component)
        ways = math.comb(degree, c) * math.comb(block_size - degree, degree - c)
        total += ways / math.comb(block_size, degree) * component
    return total


def two_sample_variance(block_sizes: tuple[int, int], zeta10: float, zeta01: float, zeta11: float) -> float:
    """Variance of the two-sample U-statistic of degrees (1, 1) on blocks of sizes B_1, B_2.

    Parameters
    ----------
    block_sizes : (int, int)
        B_1 and B_2.
    zeta10, zeta01, zeta11 : float
        Var E[h | X], Var E[h | Y] and Var h(X, Y).

    Returns
    -------
    float
        [(B_2 - 1) zeta10 + (B_1 - 1) zeta01 + zeta11] / (B_1 B_2).

    Examples
    --------
    >>> two_sample_variance((10, 20), 1.0, 1.0, 2.0)
    0.15
    """
    first, second = block_sizes
    check_count("block_sizes[0]", first)
    check_count("block_sizes[1]", second)
    return ((second - 1) * zeta10 + (first - 1) * zeta01 + zeta11) / (first * second)


def safe_ustatistic_variance(
    kernel_variance: float, block_sizes: Sequence[int], degrees: Sequence[int]
) -> float:
    """Bound on a block's generalized U-statistic valid for every kernel: Var(H) / min_t floor(B_t/d_t).

    Examples
    --------
    >>> safe_ustatistic_variance(2.0, (9,), (2,))
    0.5
    """
    check_variance("kernel_variance", kernel_variance)
    tuples = min(size // degree for size, degree in zip(block_sizes, degrees, strict=True))
    check_count("the number of disjoint tuples in a block", tuples)
    return kernel_variance / tuples


def incomplete_variance(
    complete_variance: float,
    kernel_variance: float,
    n_rows: Numbers,
    n_pairs: int,
    *,
    replacement: bool,
    degree: Numbers = 2,
) -> float:
    """Variance of the mean of h over M pairs drawn from all N = n (n - 1)/2.

    Parameters
    ----------
    complete_variance : float
        Var(U_n), the variance over all pairs.
    kernel_variance : float
        Var h(X_1, X_2).
    n_rows : int or sequence of int
        n; of several samples those of each.
    n_pairs : int
        M.
    replacement : bool
        Whether pairs are drawn with replacement.
    degree : int or sequence of int
        Rows of a tuple, where they are no pairs: N = C(n, d); of several samples the rows of each:
        N = C(n_1, d_1) C(n_2, d_2) ...

    Returns
    -------
    float
        With replacement (1 - 1/M) Var(U_n) + Var(h)/M; without
        Var(U_n) + (N - M)/(N - 1) (Var(h) - Var(U_n))/M. The published formula has a plus sign in the
        last bracket, which overstates the variance.

    Examples
    --------
    >>> round(incomplete_variance(2 / 7, 2.0, 8, 10, replacement=False), 4)
    0.4
    """
    check_variance("complete_variance", complete_variance)
    check_variance("kernel_variance", kernel_variance)
    all_pairs = count_tuples(n_rows, degree)
    check_count("n_pairs", n_pairs)
    if replacement:
        return (1.0 - 1.0 / n_pairs) * complete_variance + kernel_variance / n_pairs
    if n_pairs > all_pairs:
        raise ValueError(f"n_pairs={n_pairs} exceeds the {all_pairs} pairs of {n_rows} rows")
    if all_pairs == 1:
        return complete_variance
    share = (all_pairs - n_pairs) / (all_pairs - 1)
    return complete_variance + share * (kernel_variance - complete_variance) / n_pairs
