"""Deviation bounds as published, in the form their proofs support.

Laforgue, Clemencon & Bertail (2019) state closed forms in n. Two of them drop the floor in the block size B,
one has a wrong denominator, and the constants 108 and 486 belong to degree 2. The proofs are sound at the
integer B that is used: eps^2 = 6 V_B for medians of U-statistics and (3/tau) V_B for randomized blocks, V_B
the variance of one block's statistic.
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


def _check_tau(tau: float) -> None:
    if not 0.0 < tau < 0.5:
        raise ValueError(f"tau must lie strictly between 0 and 1/2, got {tau!r}")
