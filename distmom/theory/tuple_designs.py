"""How many pairs to draw for an incomplete U-statistic."""

from __future__ import annotations

from distmom.theory._checks import check_count
from distmom.theory._tuples import Numbers, count_tuples, each

TUPLE_BUDGET = 10_000_000
"""Rows drawn in all, over all samples, unless the number of pairs is given."""

TUPLES_PER_ROW = 10


def default_tuples(
    n_rows: Numbers, n_blocks: int, degree: Numbers = 2, *, replacement: bool, budget: int = TUPLE_BUDGET
) -> int:
    """Pairs (tuples of `degree` rows) of each sample: 10 n, as many as the budget allows, at least one.

    Parameters
    ----------
    n_rows : int or sequence of int
        n; of several samples the rows of each, of which n is the sum.
    n_blocks : int
        Samples K of tuples.
    degree : int or sequence of int
        Rows of a tuple, or those of each sample, of which d is the sum.
    replacement : bool
        Whether tuples may repeat; else there are no more than C(n, d).
    budget : int
        Rows to draw at most, K M d in all.

    Returns
    -------
    int
        M.

    Notes
    -----
    With M = 10 n, Var(U_n) + Var(h)/M exceeds the variance of the complete statistic by at most a tenth of
    Var(h)/n. The published M = floor(8 tau^2 N/(9 log(2/delta))), N = n (n - 1)/2, is 10^16 for n = 10^9.

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
