"""The interval of the paper for samples without replacement, where its proposition holds."""

from __future__ import annotations

from collections.abc import Sequence

from distmom.errors import ConfigError
from distmom.estimators.options import MeanOptions
from distmom.theory import morgu_blocks, paper_halfwidth_morm

TAU = 0.45
"""Unless it is given."""


def paper_sample_halfwidth(
    options: MeanOptions,
    variance: float,
    n_blocks: int,
    block_sizes: Sequence[int],
    n_used: Sequence[int],
    degrees: Sequence[int] = (1,),
) -> tuple[float, str | None]:
    """Half-width of the interval of the proposition, or why it does not hold.

    Parameters
    ----------
    options : MeanOptions
    variance : float
        Of the statistic of one sample.
    n_blocks : int
        Samples.
    block_sizes : sequence of int
        Rows of each lake that are drawn for each, without the share of those that do not count. Larger
        samples than the proposition's share more rows, and the median of them errs as their whole does.
    n_used : sequence of int
        Rows of each lake that count.
    degrees : sequence of int
        Rows of a tuple: 1 for means.
    """
    tau = TAU if options.design.tau is None else options.design.tau
    try:  # one small group must not end the run
        least, largest = morgu_blocks(options.confidence_level, tau, n_used, degrees)
    except ConfigError:
        n = " and ".join(map(str, n_used))
        return float("nan"), f"the proposition does not reach this confidence level with {n} rows"
    if n_blocks < least or any(size > most for size, most in zip(block_sizes, largest, strict=True)):
        allowed, drawn = (" and ".join(f"{n:,}" for n in sizes) for sizes in (largest, block_sizes))
        return float("nan"), (
            f"the proposition holds for {least:,} or more blocks of at most {allowed} rows at tau={tau:g}, "
            f"not {n_blocks:,} of {drawn}"
        )
    return paper_halfwidth_morm(variance, tau), None
