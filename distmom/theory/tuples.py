"""Tuples of rows from one or several samples: how many to draw, and the variance of their mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

from distmom.theory._checks import check_count, check_variance

TUPLE_BUDGET = 10_000_000
"""Default total of rows drawn over all samples, unless the number of pairs is given."""

TUPLES_PER_ROW = 10

_EXACT_TERMS = 100_000

Numbers = int | Sequence[int]
"""The number for one sample, or for each of several."""


def each(numbers: Numbers) -> tuple[int, ...]:
    """The number of every sample."""
    return tuple(numbers) if isinstance(numbers, Sequence) else (numbers,)


def count_tuples(n_rows: Numbers, degree: Numbers) -> int:
    """C(n_1, d_1) C(n_2, d_2) ...; ValueError if a sample has fewer rows than a tuple takes from it."""
    pairs = list(zip(each(n_rows), each(degree), strict=True))
    for n, d in pairs:
        check_count("n_rows", n, least=d)
    return math.prod(math.comb(n, d) for n, d in pairs)


def default_tuples(
    n_rows: Numbers, n_blocks: int, degree: Numbers = 2, *, replacement: bool, budget: int = TUPLE_BUDGET
) -> int:
    """Pairs M (tuples of `degree` rows) of each sample: 10 n, as many as the budget allows, at least one.

    With M = 10 n, Var(U_n) + Var(h)/M exceeds the variance of the complete statistic by at most a tenth of
    Var(h)/n. The published M = floor(8 tau^2 N/(9 log(2/delta))), N = n (n - 1)/2, is 10^16 for n = 10^9.

    Parameters
    ----------
    n_rows : int or sequence of int
        n; for several samples, the rows of each, with sum n.
    n_blocks : int
        Samples K of tuples.
    degree : int or sequence of int
        Rows of a tuple, or rows of each sample in it, with sum d.
    replacement : bool
        Whether tuples may repeat; otherwise there are at most C(n, d).
    budget : int
        Most rows to draw, K M d in total.

    Examples
    --------
    >>> default_tuples(1_000, 35, replacement=False)
    10000
    >>> default_tuples(10**9, 35, replacement=False)
    142857
    """
    there_are = count_tuples(n_rows, degree)
    check_count("n_blocks", n_blocks)
    wanted = min(TUPLES_PER_ROW * sum(each(n_rows)), max(1, budget // (sum(each(degree)) * n_blocks)))
    return wanted if replacement else min(wanted, there_are)


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

    With replacement (1 - 1/M) Var(U_n) + Var(h)/M; without Var(U_n) + (N - M)/(N - 1) (Var(h) - Var(U_n))/M.
    The published formula has a plus sign in the last bracket, which overstates the variance.

    Parameters
    ----------
    complete_variance : float
        Var(U_n), the variance over all pairs.
    kernel_variance : float
        Var h(X_1, X_2).
    n_rows : int or sequence of int
        n; for several samples, the rows of each.
    n_pairs : int
        M.
    replacement : bool
        Whether pairs are drawn with replacement.
    degree : int or sequence of int
        Rows of a tuple, if not pairs: N = C(n, d); for several samples, the rows of each:
        N = C(n_1, d_1) C(n_2, d_2) ...

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


def pair_inverse_inclusion(n_rows: Numbers, n_pairs: int, *, replacement: bool, degree: Numbers = 2) -> float:
    """1/pi for blocks of M pairs drawn from all N = n (n - 1)/2 pairs of rows, or of tuples of d rows.

    With replacement 1/(1 - (1 - d/n)^M); without, pi = 1 - C(N - r, M)/C(N, M), r = N d/n being the tuples of
    one row. Above 10^5 factors the last is replaced by an upper bound on pi, which keeps every bound valid
    and differs by a relative 2/n at most in log(1 - pi).

    Parameters
    ----------
    n_rows, degree : int or sequence of int
        n and d; for several samples, those of each: pi is then for a row of the sample whose rows are used
        most often, and N is the product of the numbers of tuples.
    n_pairs : int
        M.
    replacement : bool
        Whether tuples may repeat.

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
        return inverse_of_ever(used / n, n_pairs)
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


def inverse_of_ever(probability: float, draws: int) -> float:
    """1/(1 - (1 - probability)^draws)."""
    return 1.0 if probability >= 1.0 else -1.0 / math.expm1(draws * math.log1p(-probability))
