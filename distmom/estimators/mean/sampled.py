"""Means from blocks that are independent samples of the rows, without or with replacement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.estimators.mean.notes import value_notes
from distmom.estimators.mean.partition import method_of, promise_of
from distmom.inference.samples import Samples, Width, paper_sample_halfwidth, resampled_width
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.median import lower_median
from distmom.reductions.state import MeanState
from distmom.theory.variances import mean_variance, row_inverse_inclusion

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan


def sampled_fields(
    plan: MeanPlan, state: MeanState, columns: slice, shared: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Fields of the results of all groups: medians of the sample means of a column, or of vectors."""
    return (_of_group(plan, state.moments.at((columns, g)), fields) for g, fields in enumerate(shared))


def _of_group(plan: MeanPlan, every: BlockState, fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of the result of one group.

    The intervals take the lower median of the blocks' variances as the variance of a row, in each coordinate.
    Where filters, nulls or groups make the blocks differ in size, the smallest one gives the variance of a
    block mean, and the largest one the chance that a block uses a given row; the population is that of all
    used rows.
    """
    n_blocks, n_used = plan.blocks.layout.n_blocks, fields["n_used"]
    method = method_of(plan)
    blocks = every.at((slice(None), slice(n_blocks)))
    blocks = blocks.at((slice(None), blocks.count[0] > 0))
    sizes, (whole, spread) = blocks.count[0], (every.mean[:, n_blocks], every.m2[:, n_blocks])
    same = np.isfinite(whole) & (spread == 0.0) & (n_used > 1)
    some = (blocks.count >= 2) & np.isfinite(blocks.m2)
    row = lower_median(np.where(some, blocks.m2 / np.maximum(blocks.count - 1, 1), np.nan), axis=1)

    def width(kind: str, delta: float) -> Width:
        k, size = int(sizes.size), int(sizes.min())
        if kind == "paper":
            drawn = (plan.blocks.block_size or 0) * n_used // (plan.n_rows or n_used)
            options, variance = plan.options, mean_variance(float(row[0]), size)
            return paper_sample_halfwidth(
                options.confidence_level, options.design.tau, variance, k, (drawn,), (n_used,)
            )
        replacement = plan.options.design.replace
        inverse = row_inverse_inclusion(n_used, int(sizes.max()), replacement=replacement)
        variances = [mean_variance(float(s), size, n_used if replacement else None) for s in row]
        return resampled_width(variances, k, inverse, delta, method), None

    values = np.ascontiguousarray(blocks.mean[0] if method is None else blocks.mean.T)
    found = Samples(values, sizes, row, bool(same.all())).estimate(promise_of(plan), method, width)
    plain = whole.copy() if n_used else np.full(whole.shape, np.nan)
    notes = list(value_notes(fields.get("columns"), same))
    if 0 < sizes.size < n_blocks:
        notes.append(
            f"{n_blocks - sizes.size} of {n_blocks} samples hold no used row of this group and are left out"
        )
    own = {} if method is None else {"trace": float(row.sum())}
    return {
        **found.fields(),
        **own,
        "plain_estimate": float(plain[0]) if method is None else plain,
        "notes": tuple(notes),
    }
