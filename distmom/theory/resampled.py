"""Deviation of the median of blocks that are resampled from the same rows.

Blocks sampled without replacement, with replacement, or as sets of pairs share rows, so their values are
independent only given the data. Let W be the conditional probability of a bad block. Its mean is at most
p = Var(block value)/eps^2; if a block uses a given row with probability pi = 1/a, Finner's (1992)
generalised Hoelder inequality bounds E exp(lambda W) by that of a binomial proportion of a trials, so that
P(W >= t) <= exp(-a kl(t | p)). Given W the number of bad blocks is binomial, a Beta distribution in W, hence

    P(|median - mean| > eps) <= E exp(-a kl+(T | p)),  T ~ Beta(m, K - m + 1),  m = ceil(K/2),

with kl+ = 0 for T <= p. Markov's inequality also gives (K/m) p; the smaller of the two is used. The
expectation is P(T <= p) plus an integral over (p, 1). In x = logit(T) its integrand is unimodal and analytic
in a strip, so Gauss-Legendre nodes on both sides of the mode converge fast.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from distmom.theory._checks import check_count, check_delta, check_variance
from distmom.theory._roots import last_nonpositive
from distmom.theory.bounds import median_rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

NODES = 64
# the integrand is neglected where it is below exp(-DROP) of its maximum
DROP = 36.0


def resampled_margin(variance: float, n_blocks: int, inverse_inclusion: float, delta: float) -> float:
    """Margin of error for the median of K blocks that share rows: sqrt(variance / p).

    Parameters
    ----------
    inverse_inclusion : float
        a = 1/pi >= 1, from `row_inverse_inclusion` or `pair_inverse_inclusion`.

    References
    ----------
    Finner (1992); it replaces Hoeffding (1963) in Laforgue, Clemencon & Bertail (2019), whose bound is 23.7
    sigma/sqrt(n), compared with 13.5 here (delta = 0.001, tau = 0.45). They prove none for sampling with
    replacement, which this bound covers.

    Examples
    --------
    >>> round(resampled_margin(1 / 236, 1521, 10_000 / 236, 0.001) * 100, 1)
    13.5
    """
    check_variance("variance", variance)
    return math.sqrt(variance / resampled_p(n_blocks, inverse_inclusion, delta))


@lru_cache(maxsize=4096)
def resampled_p(n_blocks: int, inverse_inclusion: float, delta: float, rank: int | None = None) -> float:
    """Largest probability p of a bad block for which the bound above stays within ``delta``.

    Always at least delta m/K (Markov), at most `binomial_p` (which it reaches as a grows). With another
    ``rank`` j in place of m = ceil(K/2): the probability of at least j bad blocks stays within ``delta``.

    Examples
    --------
    >>> round((42.219 / resampled_p(1521, 42.219, 0.001)) ** 0.5, 1)
    13.5
    """
    from scipy.special import betaincinv

    check_count("n_blocks", n_blocks)
    if not inverse_inclusion >= 1.0:
        raise ValueError(f"inverse_inclusion is 1 over a probability, got {inverse_inclusion!r}")
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


def log_integral(n_blocks: int, a: float, p: float, rank: int) -> float:
    """Logarithm of E exp(-a kl+(T | p)), T ~ Beta(m, c) with c = K - m + 1 for rank m, for 0 < p < 1."""
    import numpy as np
    from scipy.special import betainc, betaln

    m, c = rank, n_blocks - rank + 1
    start = math.log(p) - math.log1p(-p)
    mode = _mode(m, c, a, start)
    peak = float(_log_integrand(np.float64(mode), m, c, a, p))
    nodes, weights = _gauss_legendre()
    total = 0.0
    for reach in (start - mode, 64.0):
        if reach != 0.0:
            end = _cut(mode, reach, m, c, a, p)
            values = _log_integrand(mode + (end - mode) * nodes, m, c, a, p) - peak
            total += abs(end - mode) * float(weights @ np.exp(values))
    below = float(betainc(m, c, p))
    above = math.log(total) + peak - float(betaln(m, c)) if total > 0.0 else -math.inf
    return float(np.logaddexp(math.log(below), above)) if below > 0.0 else above


def _log_integrand(x: Any, m: int, c: int, a: float, p: float) -> Any:
    """Return m log t + c log(1 - t) - a kl(t | p) at t = 1/(1 + exp(-x)); constants are left out.

    The first two terms are the Beta density times dt/dx.

    kl is summed from (1 + u) log(1 + u) - u at the relative differences u of t and 1 - t, because the
    textbook form suffers from cancellation if a is large and t is near p: here errors of u and v enter
    squared.
    """
    import numpy as np

    log_t = -np.logaddexp(0.0, -x)
    log_rest = log_t - x
    log_u = log_t - math.log(p)
    log_v = log_rest - math.log1p(-p)
    u = np.expm1(log_u)
    v = np.expm1(log_v)
    kl = p * ((1.0 + u) * log_u - u) + (1.0 - p) * ((1.0 + v) * log_v - v)
    return m * log_t + c * log_rest - a * kl


def _mode(m: int, c: int, a: float, start: float) -> float:
    """Maximum point of the integrand on x >= start = logit(p).

    Its derivative is t (1 - t) times m/t - c/(1 - t) - a (x - start), which decreases in x: one bisection
    between ``start`` and the mode at a = 0.
    """
    low, high = start, math.log(m / c)
    if high <= low:
        return start
    for _ in range(40):
        x = 0.5 * (low + high)
        slope = m * (1.0 + math.exp(-x)) - c * (1.0 + math.exp(x)) - a * (x - start)
        low, high = (x, high) if slope > 0.0 else (low, x)
    return 0.5 * (low + high)


def _cut(mode: float, reach: float, m: int, c: int, a: float, p: float) -> float:
    """End of the interval of integration from ``mode`` towards ``mode + reach``.

    The first of a geometric grid of ends beyond which the integrand is negligible: its width may be any
    power of ten below the reach, and a quarter too much costs no accuracy.
    """
    ends = mode + reach * _fractions()
    heights = _log_integrand(ends, m, c, a, p)
    kept = heights >= heights[0] - DROP
    return float(ends[1:][kept[:-1]][-1]) if not kept[-1] else float(ends[-1])


@lru_cache(maxsize=1)
def _fractions() -> NDArray[Any]:
    """0, then a geometric grid from 1e-19 to 1."""
    import numpy as np

    return np.concatenate(([0.0], np.geomspace(1e-19, 1.0, 197)))


@lru_cache(maxsize=1)
def _gauss_legendre() -> tuple[NDArray[Any], NDArray[Any]]:
    import numpy as np

    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return 0.5 * (nodes + 1.0), 0.5 * weights
