"""Deviation of the median of blocks that are drawn anew from the same rows.

Blocks sampled without replacement, with replacement, or as sets of pairs share rows, so their values are
independent only given the data. Let W be the conditional probability of a bad block. Its mean is at most
p = Var(block value)/eps^2; if a block uses a given row with probability pi = 1/a, Finner's (1992)
generalised Hoelder inequality bounds E exp(lambda W) by that of a binomial proportion of a trials, so that
P(W >= t) <= exp(-a kl(t | p)). Given W the number of bad blocks is binomial, a Beta law in W, hence

    P(|median - mean| > eps) <= E exp(-a kl+(T | p)),  T ~ Beta(m, K - m + 1),  m = ceil(K/2),

with kl+ = 0 for T <= p. Markov's inequality gives (K/m) p besides; the smaller of both counts.
"""

from __future__ import annotations

import math
from functools import lru_cache

from distmom.theory._beta_integral import log_integral
from distmom.theory._checks import check_count, check_delta, check_variance
from distmom.theory._roots import last_nonpositive
from distmom.theory.bounds import median_rank
from distmom.theory.inclusion import row_inverse_inclusion
from distmom.theory.variances import mean_variance


def sampled_halfwidth(
    sigma2: float,
    n_rows: int,
    n_blocks: int,
    block_size: int,
    delta: float,
    *,
    largest_block: int | None = None,
    replacement: bool = False,
) -> float:
    """Half-width for the median of means of blocks drawn without, or with, replacement.

    Parameters
    ----------
    sigma2 : float
        Variance of one row, in squared units of the data.
    n_rows, n_blocks, block_size : int
        Numbers n of rows, K of blocks, B of rows (draws) in each block; in the smallest where they differ.
    delta : float
        Allowed failure probability, in (0, 1).
    largest_block : int, optional
        Rows in the largest block, where they differ: it decides how often a block uses a given row.
    replacement : bool
        Whether rows are drawn with replacement.

    Returns
    -------
    float
        eps with P(|median - mean| > eps) <= delta, in units of the data; inf for infinite ``sigma2``.

    Notes
    -----
    `resampled_halfwidth` with V = sigma^2/B and a = n/B; with replacement
    V = sigma^2 (1/n + (1 - 1/n)/B) and a = 1/(1 - (1 - 1/n)^B). For pairs take the variance from
    `incomplete_variance` and a from `pair_inverse_inclusion`, and call `resampled_halfwidth`.

    References
    ----------
    Finner (1992); it replaces Hoeffding (1963) in Laforgue, Clemencon & Bertail (2019), whose bound is
    23.7 sigma/sqrt(n) where this one is 13.5 (delta = 0.001, tau = 0.45). They prove none for sampling with
    replacement; this one covers it.

    Examples
    --------
    >>> round(sampled_halfwidth(1.0, 10_000, 1521, 236, 0.001) * 100, 1)
    13.5
    >>> round(sampled_halfwidth(1.0, 10_000, 1521, 236, 0.001, replacement=True) * 100, 1)
    13.6
    """
    largest = block_size if largest_block is None else largest_block
    variance = mean_variance(sigma2, block_size, n_rows if replacement else None)
    a = row_inverse_inclusion(n_rows, largest, replacement=replacement)
    return resampled_halfwidth(variance, n_blocks, a, delta)


def resampled_halfwidth(variance: float, n_blocks: int, inverse_inclusion: float, delta: float) -> float:
    """Half-width for the median of K blocks that share rows: sqrt(variance / p).

    Parameters
    ----------
    variance : float
        Unconditional variance of one block value.
    n_blocks : int
        Number of blocks K.
    inverse_inclusion : float
        a = 1/pi >= 1, from `row_inverse_inclusion` or `pair_inverse_inclusion`.
    delta : float
        Allowed failure probability, in (0, 1).

    Returns
    -------
    float
        Half-width in units of the data.
    """
    check_variance("variance", variance)
    return math.sqrt(variance / resampled_p(n_blocks, inverse_inclusion, delta))


@lru_cache(maxsize=4096)
def resampled_p(n_blocks: int, inverse_inclusion: float, delta: float, rank: int | None = None) -> float:
    """Largest probability of a bad block for which `resampled_failure` stays within ``delta``.

    Always at least delta m/K (Markov), at most `binomial_p` (which it reaches as a grows). With another
    ``rank`` j in place of m = ceil(K/2): the probability of at least j bad blocks stays within ``delta``.

    Examples
    --------
    >>> round((42.219 / resampled_p(1521, 42.219, 0.001)) ** 0.5, 1)
    13.5
    """
    from scipy.special import betaincinv

    _check(n_blocks, inverse_inclusion)
    check_delta(delta)
    rank = median_rank(n_blocks) if rank is None else rank
    markov = delta * rank / n_blocks
    log_delta = math.log(delta)

    def excess(log_p: float) -> float:
        return log_integral(n_blocks, inverse_inclusion, math.exp(log_p), rank) - log_delta

    low, high = math.log(markov), math.log(betaincinv(rank, n_blocks - rank + 1, delta))
    if low >= high or excess(low) > 0.0:
        return markov
    return math.exp(last_nonpositive(excess, low, high))


def resampled_failure(n_blocks: int, inverse_inclusion: float, p: float) -> float:
    """Bound on the probability that the median of K blocks that share rows misses.

    Parameters
    ----------
    n_blocks : int
        Number of blocks K.
    inverse_inclusion : float
        a = 1/pi >= 1: n/B for sampling without replacement.
    p : float
        Bound on the probability that one block misses, V/eps^2; in [0, 1].

    Returns
    -------
    float
        min{1, (K/m) p, E exp(-a kl+(T | p))}, to about ten digits.

    Notes
    -----
    The expectation is a one-dimensional integral, evaluated by Gauss-Legendre quadrature.

    Examples
    --------
    >>> round(resampled_failure(24, 36.0, 0.05), 6)
    3.7e-05
    """
    _check(n_blocks, inverse_inclusion)
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"p must be a probability, got {p!r}")
    if p in (0.0, 1.0):
        return p
    rank = median_rank(n_blocks)
    markov = n_blocks / rank * p
    return min(1.0, markov, math.exp(log_integral(n_blocks, inverse_inclusion, p, rank)))


def _check(n_blocks: int, inverse_inclusion: float) -> None:
    check_count("n_blocks", n_blocks)
    if not inverse_inclusion >= 1.0:
        raise ValueError(f"inverse_inclusion is 1 over a probability, got {inverse_inclusion!r}")
