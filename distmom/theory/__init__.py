"""Numbers of blocks, deviation bounds and interval ranks: scalars only, never data.

Importing this package imports neither SciPy nor NumPy; functions that need them import them when called,
and the expensive ones cache their results.
"""

from __future__ import annotations

from distmom.theory.blocks import (
    mogu_blocks,
    mom_blocks,
    mom_least_delta,
    morgu_blocks,
    morm_blocks,
    morm_least_delta,
    mou_blocks,
    mou_least_delta,
)
from distmom.theory.bounds import (
    binomial_p,
    cantelli_allowed,
    exact_level,
    median_rank,
    width_factor,
    width_factors,
)
from distmom.theory.inclusion import pair_inverse_inclusion, row_inverse_inclusion
from distmom.theory.intervals import least_order_blocks, order_level, order_rank
from distmom.theory.ladder import fine_blocks, ladder_levels
from distmom.theory.paper import (
    paper_halfwidth_mom,
    paper_halfwidth_morm,
    paper_halfwidth_mou,
)
from distmom.theory.partition import partition_halfwidth, poisson_binomial_tail
from distmom.theory.parts import joined_blocks, part_blocks, part_outlying
from distmom.theory.planning import best_blocks
from distmom.theory.repeated import repeated_factors, repeated_halfwidth, repeated_p
from distmom.theory.swor_bound import resampled_failure, resampled_halfwidth, resampled_p, sampled_halfwidth
from distmom.theory.tuple_designs import default_tuples
from distmom.theory.variances import (
    incomplete_variance,
    mean_variance,
    safe_ustatistic_variance,
    two_sample_variance,
    ustatistic_variance,
)
from distmom.theory.vectors import repeated_vector_factor, resampled_vector_factor, vector_factor

__all__ = [
    "best_blocks",
    "binomial_p",
    "cantelli_allowed",
    "default_tuples",
    "exact_level",
    "fine_blocks",
    "incomplete_variance",
    "joined_blocks",
    "ladder_levels",
    "least_order_blocks",
    "mean_variance",
    "median_rank",
    "mogu_blocks",
    "mom_blocks",
    "mom_least_delta",
    "morgu_blocks",
    "morm_blocks",
    "morm_least_delta",
    "mou_blocks",
    "mou_least_delta",
    "order_level",
    "order_rank",
    "pair_inverse_inclusion",
    "paper_halfwidth_mom",
    "paper_halfwidth_morm",
    "paper_halfwidth_mou",
    "part_blocks",
    "part_outlying",
    "partition_halfwidth",
    "poisson_binomial_tail",
    "repeated_factors",
    "repeated_halfwidth",
    "repeated_p",
    "repeated_vector_factor",
    "resampled_failure",
    "resampled_halfwidth",
    "resampled_p",
    "resampled_vector_factor",
    "row_inverse_inclusion",
    "safe_ustatistic_variance",
    "sampled_halfwidth",
    "two_sample_variance",
    "ustatistic_variance",
    "vector_factor",
    "width_factor",
    "width_factors",
]
