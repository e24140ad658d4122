"""From the state of a run to results: of each column, or of vectors of all columns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.errors import ConfigError, NoAnswerError
from distmom.estimators.facts import told
from distmom.estimators.mean.counts import fields_of_groups, named_in, why_ruined
from distmom.estimators.mean.notes import block_notes, value_notes, weight_notes
from distmom.estimators.mean.partition import accused_files, answer_columns, row_and_cell_blocks
from distmom.estimators.mean.sampled import sampled_fields
from distmom.inference.estimate import Estimates, Shown
from distmom.inference.ladder import Merger
from distmom.inference.status import Finding, NoInterval
from distmom.numerics.arrays import Floats
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.median import lower_median
from distmom.reductions.state import MeanState
from distmom.report import MeanResult, Results, VectorResult
from distmom.report.times import as_times
from distmom.theory.paper import mom_blocks, paper_halfwidth_mom

if TYPE_CHECKING:
    from distmom.estimators.mean.plan import MeanPlan


def answer_of(
    plan: MeanPlan, state: MeanState, data: dict[str, Any], run: dict[str, Any], *, listed: bool = False
) -> MeanResult | VectorResult | Results:
    """One result for each column and group, in that order; of vectors for each group.

    A single one where only one was asked for. Columns that were `listed` are several, however many there are.

    Raises
    ------
    NoAnswerError
        If there are no rows, or not one of the results has a finite answer.
    """
    names, joint = plan.reduction.columns, plan.options.joint
    read = plan.reader.options
    whole = ", ".join(read.columns if plan.options.weights is None else read.columns[:-1])
    results: list[Any] = []
    for c, column in enumerate([whole] if joint else names):
        columns = slice(0, len(names)) if joint else slice(c, c + 1)
        shared = fields_of_groups(plan, state, c, column)
        if joint:
            shared = [fields | {"columns": names, "method": joint} for fields in shared]
        if plan.options.design.sampled:
            every = sampled_fields(plan, state, columns, shared)
        else:
            every = partition_fields(plan, state, columns, shared, answer_columns(plan, state, columns))
        kind = VectorResult if joint else MeanResult
        results += [kind(**own, **fields) for own, fields in zip(every, shared, strict=True)]
    if not any(np.isfinite(r.estimate).all() for r in results):
        raise NoAnswerError(_why_none(results[0], plan))
    if scales := read.scales:
        results = [as_times(r, scales[r.column]) if r.column in scales else r for r in results]
    several = bool(read.by) or not (joint or (len(names) == 1 and not listed))
    return told(results, data, run, several=several)  # type: ignore[no-any-return]


def _why_none(result: MeanResult | VectorResult, plan: MeanPlan) -> str:
    """Why the first result has no finite answer, and what to do."""
    name = named_in(f"column {result.column!r}", result)
    if result.n_used == 0:
        what, missing = "a value", f"{result.n_null} null, {result.n_nan} NaN"
        if result.weights is not None:
            what = "a value and a positive weight"
            missing += f", {result.n_unweighted} without weight, {result.n_zero_weight} of weight zero"
        return f"{name}: none of the {result.n_rows} rows has {what} ({missing})"
    remedy = "filter the infinite values out, or use more blocks"
    if result.n_nan and plan.options.nan == "keep":
        remedy = "use nan='omit', or more blocks"
    return why_ruined(name, result, remedy)


def partition_fields(
    plan: MeanPlan, state: MeanState, columns: slice, shared: list[dict[str, Any]], found: Estimates
) -> Iterator[dict[str, Any]]:
    """Fields of the results of all groups from what the rule says of a column, or of vectors."""
    answer = found.answer
    rows, _, _ = row_and_cell_blocks(plan, state.moments.at(columns))
    each = [rows.at(c) for c in range(found.n_lines)]
    rounded = [answer.plain_estimate] if found.method is None else [Merger(c).plain_mean() for c in each]
    plain = [plain_means(*column) for column in zip(each, rounded, strict=True)]
    sigma2 = None
    if plan.options.interval == "paper":  # lower median of the blocks' variances
        chosen = Merger(rows.at(0)).moments_at(np.maximum(answer.n_blocks, 1))
        sigma2 = lower_median(chosen.row_variance)
    same = answer.constant & (answer.n_used > 1)
    few = (answer.status & int(Finding.CARRIED_BY_FEW_ROWS)) > 0
    for g, (fields, files) in enumerate(zip(shared, accused_files(plan, found), strict=True)):
        mine, one = found.lines(g), found.estimate(g)
        own = one.fields()
        if sigma2 is not None:
            constant = bool(answer.constant[g])
            shown = _paper_interval(plan, sigma2[g], one.value, own["n_blocks"], fields["n_used"], constant)
            own |= {"interval": shown.interval, "interval_reason": shown.reason}
        if found.method is not None:
            own["trace"] = found.ball(g).trace
        means = [column[g] for column in plain]
        own["plain_estimate"] = means[0] if found.method is None else np.array(means)
        own["other_estimate"], own["accused_files"] = found.other(g), files
        own["notes"] = (
            *value_notes(fields.get("columns"), same[mine], few[mine]),
            *block_notes(plan, answer, mine.start, fields),
            *weight_notes(plan, rows.count[0, g], fields),
        )
        yield own


def plain_means(blocks: BlockState, rounded: Floats) -> list[float]:
    """Mean of all rows of each group, from the blocks' means with one rounding at the end.

    Whole numbers then have the mean that exact arithmetic gives, however the rows are cut into blocks: the
    roundings of the block means average out far below the last bit. Where that overflows, or is not finite,
    it is the `rounded` one.
    """
    filled = blocks.count > 0
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.where(filled, blocks.mass * blocks.mean, 0.0).tolist()
    if blocks.mass is blocks.count:
        masses = blocks.count.sum(axis=1).tolist()
    else:
        masses = [math.fsum(group) for group in np.where(filled, blocks.mass, 0.0).tolist()]
    return [_plain_mean(*group) for group in zip(sums, masses, rounded.tolist(), strict=True)]


def _plain_mean(sums: list[float], mass: float, rounded: float) -> float:
    if mass == 0 or not math.isfinite(rounded):
        return rounded
    try:
        exact = math.fsum(sums) / mass
    except OverflowError:
        return rounded
    return exact if math.isfinite(exact) else rounded


def _paper_interval(
    plan: MeanPlan, sigma2: float, estimate: float, n_blocks: int, n_used: int, constant: bool
) -> Shown:
    """The closed form of the proposition, at the number of blocks it prescribes."""
    if not np.isfinite(sigma2) or not np.isfinite(estimate):
        return Shown("paper", None, NoInterval.NO_ANSWER.words)
    if sigma2 == 0.0 and not constant:
        return Shown("paper", None, NoInterval.CONSTANT_BLOCKS.words)
    try:
        prescribed = mom_blocks(plan.options.confidence_level, n_used)[0]
    except ConfigError:  # one small group must not end the run
        why = f"the proposition does not reach this confidence level with {n_used} rows"
        return Shown("paper", None, why)
    if n_blocks != prescribed:
        why = f"the proposition holds for {prescribed} blocks, not {n_blocks}; use blocks='paper'"
        return Shown("paper", None, why)
    half = paper_halfwidth_mom(float(sigma2), n_used, plan.options.delta)
    return Shown("paper", (estimate - half, estimate + half))
