"""Blocks of rows: variances of their statistics under the sampling schemes, and inclusion probabilities."""

from __future__ import annotations

from distmom.theory._checks import check_count, check_variance
from distmom.theory.tuples import inverse_of_ever


def mean_variance(sigma2: float, block_size: int, n_rows: int | None = None) -> float:
    """Variance of a block mean.

    It is sigma^2/B for a partition or sampling without replacement (such a block of an i.i.d. sample is
    itself an i.i.d. sample); sigma^2 (1/n + (1 - 1/n)/B) with replacement.

    Parameters
    ----------
    n_rows : int, optional
        Given for blocks drawn *with replacement* from n rows.

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


def row_inverse_inclusion(n_rows: int, block_size: int, *, replacement: bool) -> float:
    """1/pi for blocks of B rows drawn from n.

    It is n/B without replacement, 1/(1 - (1 - 1/n)^B) (at least n/B) with replacement.

    Examples
    --------
    >>> row_inverse_inclusion(100, 4, replacement=False)
    25.0
    >>> round(row_inverse_inclusion(100, 4, replacement=True), 4)
    25.3781
    """
    check_count("n_rows", n_rows)
    check_count("block_size", block_size)
    if replacement:
        return inverse_of_ever(1.0 / n_rows, block_size)
    if block_size > n_rows:
        raise ValueError(f"block_size={block_size} exceeds n_rows={n_rows}")
    return n_rows / block_size


def two_sample_variance(block_sizes: tuple[int, int], zeta10: float, zeta01: float, zeta11: float) -> float:
    """Variance of the two-sample U-statistic of degrees (1, 1) on blocks of sizes B_1, B_2.

    It is [(B_2 - 1) zeta10 + (B_1 - 1) zeta01 + zeta11] / (B_1 B_2).

    Parameters
    ----------
    block_sizes : (int, int)
        B_1 and B_2.
    zeta10, zeta01, zeta11 : float
        Var E[h | X], Var E[h | Y] and Var h(X, Y).

    Examples
    --------
    >>> two_sample_variance((10, 20), 1.0, 1.0, 2.0)
    0.15
    """
    first, second = block_sizes
    check_count("block_sizes[0]", first)
    check_count("block_sizes[1]", second)
    return ((second - 1) * zeta10 + (first - 1) * zeta01 + zeta11) / (first * second)
