"""Deviation bounds as published, in the form their proofs support.

Laforgue, Clemencon & Bertail (2019) state closed forms in n. Two of them drop the floor in the block size B,
one has a wrong denominator, and the constants 108 and 486 belong to degree 2. The proofs are sound at the
integer B that is used: eps^2 = 6 V_B for medians of U-statistics and (3/tau) V_B for randomized blocks, V_B
the variance of one block's statistic. These are the bounds to use; the printed forms are kept beside them
to compare with the paper.
"""

from __future__ import annotations

import math

from distmom.theory._checks import check_count, check_delta, check_variance


def paper_halfwidth_mom(sigma2: float, n_rows: int, delta: float) -> float:
    """Median of means with K = ceil(log(1/delta)): 2 sqrt(2) e sigma sqrt((1 + log(1/delta))/n).

    Parameters
    ----------
    sigma2 : float
        Variance of one row, in squared units of the data.
    n_rows : int
        Number of rows n.
    delta : float
        Failure probability, in [exp(1 - n/2), 1).

    Returns
    -------
    float
        Half-width in units of the data.

    Examples
    --------
    >>> round(paper_halfwidth_mom(1.0, 10_000, 0.001) * 100, 1)
    21.6
    """
    check_variance("sigma2", sigma2)
    check_count("n_rows", n_rows)
    check_delta(delta)
    return 2.0 * math.sqrt(2.0) * math.e * math.sqrt(sigma2 * (1.0 - math.log(delta)) / n_rows)


def paper_halfwidth_mou(variance: float) -> float:
    """Median of (generalized) U-statistics with K >= (9/2) log(1/delta): sqrt(6 V_B).

    Parameters
    ----------
    variance : float
        Variance V_B of the statistic of one block of the integer size used (`ustatistic_variance`,
        `two_sample_variance` or `safe_ustatistic_variance`).

    Returns
    -------
    float
        Half-width in units of the kernel.
    """
    check_variance("variance", variance)
    return math.sqrt(6.0 * variance)


def paper_halfwidth_morm(variance: float, tau: float) -> float:
    """Median of randomized means or U-statistics with `morm_blocks`: sqrt((3/tau) V_B).

    Parameters
    ----------
    variance : float
        Variance V_B of the statistic of one block of the integer size used.
    tau : float
        In (0, 1/2).

    Returns
    -------
    float
        Half-width in units of the statistic.

    Notes
    -----
    The tail of W_n is that at tau - q, where the published proof has 1/2 - q. With B rows out of n the
    exponent n/B needs no floor (Finner 1992).
    """
    check_variance("variance", variance)
    _check_tau(tau)
    return math.sqrt(3.0 / tau * variance)


def printed_halfwidth_morm(sigma2: float, n_rows: int, tau: float, delta: float) -> float:
    """Printed MoRM form: (3 sqrt(3)/2) sigma tau^(-3/2) sqrt(log(2/delta)/n); allows for the floor in B.

    Examples
    --------
    >>> round(printed_halfwidth_morm(1.0, 10_000, 0.45, 0.001) * 100, 1)
    23.7
    """
    check_variance("sigma2", sigma2)
    check_delta(delta)
    _check_tau(tau)
    return 1.5 * math.sqrt(3.0 * sigma2 * math.log(2.0 / delta) / n_rows / tau**3)


def printed_halfwidth_mou(sigma1_sq: float, sigma2_sq: float, n_rows: int, delta: float) -> float:
    """Printed MoU form, C_1 = 108 sigma_1^2 and C_2 = 486 sigma_2^2: valid only where K divides n.

    Returns inf where 2 n <= 9 log(1/delta). With the floor in B, C_1 can be short by a factor of 1.5 and
    C_2 by 3; use `paper_halfwidth_mou`.
    """
    return _printed_ustatistic(108.0 * sigma1_sq, 486.0 * sigma2_sq, n_rows, math.log(1.0 / delta), 2.0)


def printed_halfwidth_moru(
    sigma1_sq: float, sigma2_sq: float, n_rows: int, tau: float, delta: float
) -> float:
    """Printed MoRU form, with 8 tau^2 n - 9 log(2/delta) in the second denominator (printed without tau^2).

    Without the floor in B, like `printed_halfwidth_mou`, whose constants it has as tau tends to 1/2; use
    `paper_halfwidth_morm`.
    """
    _check_tau(tau)
    first = 27.0 * sigma1_sq / (2.0 * tau**3)
    second = 243.0 * sigma2_sq / (4.0 * tau**3)
    return _printed_ustatistic(first, second, n_rows, math.log(2.0 / delta), 8.0 * tau * tau)


def _printed_ustatistic(first: float, second: float, n_rows: int, log_term: float, slope: float) -> float:
    denominator = slope * n_rows - 9.0 * log_term
    if denominator <= 0.0:
        return math.inf
    return math.sqrt(first * log_term / n_rows + second * log_term**2 / (n_rows * denominator))


def _check_tau(tau: float) -> None:
    if not 0.0 < tau < 0.5:
        raise ValueError(f"tau must lie strictly between 0 and 1/2, got {tau!r}")
