"""The bound on medians of blocks that share rows, of which `distmom.theory.resampled` has the inverse."""

from __future__ import annotations

import math

from distmom.theory.bounds import median_rank
from distmom.theory.resampled import log_integral


def resampled_failure(n_blocks: int, inverse_inclusion: float, p: float) -> float:
    """min{1, (K/m) p, E exp(-a kl+(T | p))}: the median misses, if a block does with probability p."""
    if p in (0.0, 1.0):
        return p
    rank = median_rank(n_blocks)
    markov = n_blocks / rank * p
    return min(1.0, markov, math.exp(log_integral(n_blocks, inverse_inclusion, p, rank)))
