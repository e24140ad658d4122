"""How often a block uses a given row: a = 1/pi, the effective number of independent blocks in the data."""

from __future__ import annotations

import math

from distmom.theory._checks import check_count
from distmom.theory._tuples import Numbers, count_tuples, each

_EXACT_TERMS = 100_000


def row_inverse_inclusion(n_rows: int, block_size: int, *, replacement: bool) -> float:
    """1/pi for blocks of B rows drawn from n.

    Returns
    -------
    float
        n/B without replacement, 1/(1 - (1 - 1/n)^B) (at least n/B) with replacement.

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
        return _inverse_of_ever(1.0 / n_rows, block_size)
    if block_size > n_rows:
        raise ValueError(f"block_size={block_size} exceeds n_rows={n_rows}")
    return n_rows / block_size


def pair_inverse_inclusion(n_rows: Numbers, n_pairs: int, *, replacement: bool, degree: Numbers = 2) -> float:
    """1/pi for blocks of M pairs drawn from all N = n (n - 1)/2 pairs of rows, or of tuples of d rows.

    Parameters
    ----------
    n_rows, degree : int or sequence of int
        n and d; of several samples those of each: then pi is that of a row of the sample whose rows are used
        most often, and N the product of their numbers of tuples.
    n_pairs : int
        M.
    replacement : bool
        Whether tuples may repeat.

    Returns
    -------
    float
        With replacement 1/(1 - (1 - d/n)^M); without, pi = 1 - C(N - r, M)/C(N, M), r = N d/n
        being the tuples of one row. Above 10^5 factors the last is replaced by an upper bound on pi, which
        keeps every bound valid and differs by a relative 2/n at most in log(1 - pi).

    Examples
    --------
    >>> round(pair_inverse_inclusion(10, 5, replacement=True), 4)
    1.4874
    >>> round(pair_inverse_inclusion(10, 5, replacement=False), 4)
    1.4463
    """
    all_pairs = count_tuples(n_rows, degree)
    check_count("n_pairs", n_pairs)
    used, n = max(zip(each(degree), each(n_rows), strict=True), key=lambda both: both[0] / both[1])
    if replacement:
        return _inverse_of_ever(used / n, n_pairs)
    of_row = all_pairs * used // n
    if n_pairs > all_pairs:
        raise ValueError(f"n_pairs={n_pairs} exceeds the {all_pairs} pairs of {n_rows} rows")
    # C(N - r, M)/C(N, M) is symmetric in r (pairs of the row) and M: multiply the fewer factors
    fewer, more = sorted((of_row, n_pairs))
    if n_pairs > all_pairs - of_row:
        return 1.0
    if fewer <= _EXACT_TERMS:
        log_never = math.fsum(math.log1p(-more / (all_pairs - i)) for i in range(fewer))
    else:
        log_never = fewer * math.log1p(-more / (all_pairs - fewer + 1))
    return -1.0 / math.expm1(log_never)


def _inverse_of_ever(probability: float, draws: int) -> float:
    """1/(1 - (1 - probability)^draws)."""
    return 1.0 if probability >= 1.0 else -1.0 / math.expm1(draws * math.log1p(-probability))
