"""Mean vectors from blocks that are independent samples of the rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.estimators.mean.vector_radius import vector_median
from distmom.inference.status import ALL_EQUAL, REASON_WORDS, NoInterval
from distmom.numerics.arrays import Bools, Floats
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.median import lower_median
from distmom.reductions.state import MeanState
from distmom.report import VectorResult
from distmom.report.words import listed
from distmom.theory import (
    mean_variance,
    resampled_halfwidth,
    resampled_vector_factor,
    row_inverse_inclusion,
)

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan


def sampled_vectors(plan: MeanPlan, state: MeanState, shared: list[dict[str, Any]]) -> list[VectorResult]:
    """The median of the mean vectors of the samples, for each group.

    The errors take the lower median of the blocks' variances as the variance of a row, in each coordinate;
    the bounds are those of `sampled_answer` for one column.
    """
    n_blocks = plan.blocks.layout.n_blocks
    results = []
    for g, fields in enumerate(shared):
        blocks = state.moments.at((slice(None), g, slice(n_blocks)))
        filled = blocks.count[0] > 0
        blocks = blocks.at((slice(None), filled))
        points = np.ascontiguousarray(blocks.mean.T)
        count, k = blocks.count[0], int(filled.sum())
        ruined = int((~np.isfinite(points).all(axis=1)).sum())
        finite = k > 0 and ruined <= (k + 1) // 2 - 1
        estimate, gap = vector_median(points, plan.options.joint == "geometric", finite)
        whole = state.moments.mean[:, g, n_blocks]
        constant = np.isfinite(whole) & (state.moments.m2[:, g, n_blocks] == 0.0) & (fields["n_used"] > 1)
        missing = n_blocks - k
        results.append(
            VectorResult(
                estimate=estimate,
                gap=gap,
                status=("ok",) if finite else ("no rows" if k == 0 else "no finite answer",),
                n_blocks=k,
                block_size=(int(count.min()), int(count.max())) if k else (0, 0),
                n_ruined_blocks=ruined,
                plain_estimate=whole.copy() if fields["n_used"] else np.full(whole.shape, math.nan),
                block_estimates=points,
                notes=tuple(_notes(missing, n_blocks, constant, fields["columns"])),
                **_errors(plan, blocks, ruined, estimate, fields["n_used"], constant),
                **fields,
            )
        )
    return results


def _notes(missing: int, n_blocks: int, constant: Bools, columns: tuple[str, ...]) -> Iterator[str]:
    if constant.any():
        names = listed(name for name, same in zip(columns, constant, strict=True) if same)
        yield f"{names}: {ALL_EQUAL}"
    if 0 < missing < n_blocks:
        yield f"{missing} of {n_blocks} samples hold no used row of this group and are left out"


def _errors(
    plan: MeanPlan,
    blocks: BlockState,
    ruined: int,
    estimate: Floats,
    n_used: int,
    constant: Bools,
) -> dict[str, Any]:
    """Radius or intervals, the reason where there are none, and the trace."""
    sigma2 = _row_variances(blocks)
    kind = "none" if plan.options.interval == "none" else "exact"
    fields = {"trace": float(sigma2.sum()), "interval_kind": kind, "radius": None, "intervals": None}
    reason = _why_not(plan, sigma2, ruined, estimate, bool(constant.all()))
    if reason is not None:
        return {**fields, "interval_reason": reason}
    count = blocks.count[0]
    k, size = int(count.size), int(count.min())
    replacement = plan.options.design.replace
    inverse = row_inverse_inclusion(n_used, int(count.max()), replacement=replacement)
    variances = [mean_variance(float(s), size, n_used if replacement else None) for s in sigma2]
    delta = plan.options.delta
    if plan.options.joint == "geometric":
        radius = resampled_vector_factor(k, inverse, delta) * math.sqrt(sum(variances))
        return {**fields, "radius": radius} if math.isfinite(radius) else _vacuous(fields)
    half = np.array([resampled_halfwidth(v, k, inverse, delta / estimate.size) for v in variances])
    if not np.isfinite(half).all():
        return _vacuous(fields)
    return {**fields, "intervals": np.column_stack([estimate - half, estimate + half])}


def _vacuous(fields: dict[str, Any]) -> dict[str, Any]:
    reason = "the bound is vacuous for this confidence level; use more or smaller blocks"
    return {**fields, "interval_reason": reason}


def _why_not(plan: MeanPlan, sigma2: Floats, ruined: int, estimate: Floats, constant: bool) -> str | None:
    if plan.options.interval == "none":
        return REASON_WORDS[NoInterval.NOT_WANTED]
    if not np.isfinite(estimate).all():
        return REASON_WORDS[NoInterval.NO_ANSWER]
    if ruined:
        return "the bound for samples does not allow for ruined blocks"
    if np.isnan(sigma2).any():
        return "samples of one row show no spread"
    return None if sigma2.any() or constant else REASON_WORDS[NoInterval.CONSTANT_BLOCKS]


def _row_variances(blocks: BlockState) -> Floats:
    """Lower median of the blocks' variances of a row, in each coordinate; NaN where none has two rows."""
    some = (blocks.count >= 2) & np.isfinite(blocks.m2)
    return lower_median(np.where(some, blocks.m2 / np.maximum(blocks.count - 1, 1), math.nan), axis=1)
