"""The interval of the paper for samples without replacement, where its proposition holds."""

from __future__ import annotations

from distmom.errors import ConfigError
from distmom.estimators.options import MeanOptions
from distmom.theory import morm_blocks, paper_halfwidth_morm

TAU = 0.45
"""Unless it is given."""


def paper_sample_halfwidth(
    options: MeanOptions, variance: float, n_blocks: int, block_size: int, n_used: int, degree: int = 1
) -> tuple[float, str | None]:
    """Half-width of the interval of the proposition, or why it does not hold.

    Parameters
    ----------
    options : MeanOptions
    variance : float
        Of the statistic of one sample.
    n_blocks : int
        Samples.
    block_size : int
        Rows drawn for each, without the share of those that do not count. Larger samples than the
        proposition's share more rows, and the median of them errs as their whole does.
    n_used : int
        Rows that count.
    degree : int
        Rows of a tuple: 1 for means.
    """
    tau = TAU if options.tau is None else options.tau
    try:  # one small group must not end the run
        least, largest = morm_blocks(options.confidence_level, tau, n_used, degree)
    except ConfigError:
        return float("nan"), f"the proposition does not reach this confidence level with {n_used} rows"
    if n_blocks < least or block_size > largest:
        return float("nan"), (
            f"the proposition holds for {least:,} or more blocks of at most {largest:,} rows at tau={tau:g}, "
            f"not {n_blocks:,} of {block_size:,}"
        )
    return paper_halfwidth_morm(variance, tau), None
