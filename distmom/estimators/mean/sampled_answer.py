"""Answers from blocks that are independent samples of the rows, without or with replacement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.estimators.mean.paper_samples import paper_sample_halfwidth
from distmom.inference.status import ALL_EQUAL
from distmom.numerics.median import lower_median
from distmom.reductions.state import MeanState
from distmom.report import MeanResult
from distmom.theory import mean_variance, sampled_halfwidth

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan


def sampled_results(
    plan: MeanPlan, state: MeanState, c: int, shared: list[dict[str, Any]]
) -> list[MeanResult]:
    """The lower median of the sample means of one column, for each group.

    The intervals take the lower median of the blocks' variances as the variance of a row. Where filters,
    nulls or groups make the blocks differ in size, the smallest one gives the variance of a block mean, and
    the largest one the chance that a block uses a given row; the population is that of all used rows.
    """
    n_blocks = plan.blocks.layout.n_blocks
    results = []
    for g, fields in enumerate(shared):
        blocks = state.moments.at((c, g, slice(n_blocks)))
        filled = blocks.count > 0
        count, mean, m2 = blocks.at(filled)
        ruined = int((~np.isfinite(mean)).sum())
        k = int(mean.size)
        finite = k > 0 and ruined <= (k + 1) // 2 - 1
        estimate = float(lower_median(mean)) if finite else float("nan")
        kind = "exact" if plan.options.interval == "auto" else plan.options.interval
        whole, spread = float(state.moments.mean[c, g, n_blocks]), float(state.moments.m2[c, g, n_blocks])
        constant = bool(np.isfinite(whole)) and spread == 0.0 and fields["n_used"] > 1
        interval, reason = _interval(plan, kind, estimate, count, m2, ruined, fields["n_used"], constant)
        results.append(
            MeanResult(
                estimate=estimate,
                interval=interval,
                interval_kind=kind,
                interval_reason=reason,
                status=("ok",) if finite else ("no rows" if k == 0 else "no finite answer",),
                n_blocks=k,
                block_size=(int(count.min()), int(count.max())) if k else (0, 0),
                n_ruined_blocks=ruined,
                plain_estimate=whole if fields["n_used"] else float("nan"),
                block_estimates=mean.copy(),
                notes=(*([ALL_EQUAL] if constant else []), *_notes(n_blocks, k)),
                **fields,
            )
        )
    return results


def _notes(asked: int, filled: int) -> tuple[str, ...]:
    if filled in (asked, 0):
        return ()
    return (f"{asked - filled} of {asked} samples hold no used row of this group and are left out",)


def _interval(
    plan: MeanPlan,
    kind: str,
    estimate: float,
    count: Any,
    m2: Any,
    ruined: int,
    n_used: int,
    constant: bool,
) -> tuple[tuple[float, float] | None, str | None]:
    if kind == "none":
        return None, "not asked for"
    if not np.isfinite(estimate):
        return None, "there is no finite answer"
    if ruined:
        return None, "the bound for samples does not allow for ruined blocks"
    some = (count >= 2) & np.isfinite(m2)
    if not some.any():
        return None, "samples of one row show no spread"
    sigma2 = float(lower_median(m2[some] / (count[some] - 1)))
    if sigma2 == 0.0 and not constant:
        return None, "more than half of the blocks are constant"
    k, size, delta = int(count.size), int(count.min()), plan.options.delta
    if kind == "paper":
        drawn = (plan.blocks.block_size or 0) * n_used // (plan.n_rows or n_used)
        half, reason = paper_sample_halfwidth(
            plan.options, mean_variance(sigma2, size), k, (drawn,), (n_used,)
        )
        if reason is not None:
            return None, reason
    else:
        half = sampled_halfwidth(
            sigma2,
            n_used,
            k,
            size,
            delta,
            largest_block=int(count.max()),
            replacement=plan.options.design.replace,
        )
    if not np.isfinite(half):
        return None, "the bound is vacuous for this confidence level; use more or smaller blocks"
    return (estimate - half, estimate + half), None
