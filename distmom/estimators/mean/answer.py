"""From the state of a run to results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distmom.errors import ConfigError, NoAnswerError
from distmom.estimators.mean.contamination import counted_as
from distmom.estimators.mean.partition import (
    Suspects,
    answer_partition,
    block_fields,
    files_of_cells,
    row_and_cell_blocks,
)
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.mean.sampled_answer import sampled_results
from distmom.estimators.mean.unit_counts import unit_counts, units_of_groups
from distmom.estimators.mean.weight_notes import weight_counts, weight_notes
from distmom.inference.answers import Intervals, RuleAnswer
from distmom.inference.ladder import Merger
from distmom.inference.status import ALL_EQUAL, REASON_WORDS, NoInterval, Status, status_list
from distmom.lake.keys.keyvalues import decode_key
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.median import lower_median
from distmom.reductions.state import INFS, NANS, NULLS, MeanState
from distmom.report import MeanResult, VectorResult
from distmom.report.times import as_times
from distmom.report.words import BY_FILES
from distmom.theory import least_order_blocks, mom_blocks, paper_halfwidth_mom

FEW_UNITS = 10
"""Whole files or units as blocks want at least this many of them a block."""

_CONTRADICTED = "whole files contradict random blocks of rows, so some files are bad"
FILES_HEARD = f"{_CONTRADICTED}: {BY_FILES}"
ROWS_HEARD = (
    f"{_CONTRADICTED}, but the answer is by rows, because the number of blocks was given; use "
    "blocks='auto' or blocks=FileBlocks()"
)
ROWS_ALONE = f"{_CONTRADICTED}, but the answer is by rows; use blocks=FileBlocks()"
"""Where the answer is that of rows whatever files say."""

ALIKE = (
    "rows of a file resemble each other, so the interval, which takes rows as independent, is too short for "
    "anything beyond these files; for that run 'distmom mean' with --block-by file (blocks=FileBlocks())"
)


def mean_results(plan: MeanPlan, state: MeanState, by: tuple[str, ...]) -> list[MeanResult]:
    """One result for each column and group, in that order.

    Raises
    ------
    NoAnswerError
        If there are no rows, or not one of the results has a finite answer.
    """
    groups = groups_of(plan, state, by)
    units = unit_counts(state)
    results: list[MeanResult] = []
    for c, column in enumerate(plan.reduction.columns):
        shared = [shared_fields(plan, state, c, column, g, group) for g, group in enumerate(groups)]
        for fields, count in zip(shared, units or (), strict=False):
            fields.update(count._asdict())
        if plan.options.design.sampled:
            results += sampled_results(plan, state, c, shared)
        else:
            results += _partition_results(plan, state, c, shared)
    if not any(np.isfinite(r.estimate) for r in results):
        raise NoAnswerError(why_no_answer(results[0], plan))
    scales = plan.reader.options.scales
    return [as_times(r, scales[r.column]) if r.column in scales else r for r in results]


def groups_of(plan: MeanPlan, state: MeanState, by: tuple[str, ...]) -> list[dict[str, Any] | None]:
    """Values of the `by` columns of each group; None where there are no groups.

    Raises
    ------
    NoAnswerError
        If there are no rows.
    """
    if int(state.n_rows.sum()) == 0:
        filtered = plan.reader.options.where is not None
        what = "no rows left after the filter; check where" if filtered else "the data has no rows"
        raise NoAnswerError(what)
    return [dict(zip(by, decode_key(key), strict=True)) if by else None for key in state.keys]


def shared_fields(
    plan: MeanPlan, state: MeanState, c: int, column: str, g: int, group: dict[str, Any] | None
) -> dict[str, Any]:
    """The fields of a result that do not depend on the scheme."""
    nulls, nans, infs = (int(state.counts[c, g, kind]) for kind in (NULLS, NANS, INFS))
    n_rows = int(state.n_rows[g])
    weightless = weight_counts(plan, state, c, g)
    return {
        "column": column,
        "group": group,
        "confidence_level": plan.options.confidence_level,
        "n_rows": n_rows,
        "n_used": n_rows
        - nulls
        - (nans if plan.options.nan == "omit" else 0)
        - weightless.get("n_unweighted", 0)
        - weightless.get("n_zero_weight", 0),
        "n_null": nulls,
        "n_nan": nans,
        "n_inf": infs,
        "scheme": plan.options.design.scheme,
        **weightless,
    }


def why_no_answer(result: MeanResult | VectorResult, plan: MeanPlan) -> str:
    """Why the first result has no finite answer, and what to do."""
    name = f"column {result.column!r}" + (f", group {result.group}" if result.group else "")
    if result.n_used == 0:
        what, missing = "a value", f"{result.n_null} null, {result.n_nan} NaN"
        if result.weights is not None:
            what = "a value and a positive weight"
            missing += f", {result.n_unweighted} without weight, {result.n_zero_weight} of weight zero"
        return f"{name}: none of the {result.n_rows} rows has {what} ({missing})"
    remedy = "filter the infinite values out, or use more blocks"
    if result.n_nan and plan.options.nan == "keep":
        remedy = "use nan='omit', or more blocks"
    return (
        f"{name}: no finite answer: {result.n_ruined_blocks} of {result.n_blocks} blocks are ruined "
        f"({result.n_inf} infinite and {result.n_nan} NaN values in {result.n_rows} rows); {remedy}"
    )


def _partition_results(
    plan: MeanPlan, state: MeanState, c: int, shared: list[dict[str, Any]]
) -> list[MeanResult]:
    """Answers of the rule for one column."""
    rows, _, _ = row_and_cell_blocks(plan, state.moments.at(c))
    return partition_results(plan, rows, partition_answer(plan, state, c), shared)


def partition_answer(plan: MeanPlan, state: MeanState, c: int) -> RuleAnswer:
    """What the rule says of one column, all groups."""
    n_values = np.isfinite(state.samples[c].keys).sum(axis=1)
    sampled = state.samples[c].values, n_values, plan.options.confidence_level
    return answer_partition(plan, state.moments.at(c), sampled, units_of_groups(state))


def partition_results(
    plan: MeanPlan, rows: BlockState, answer: RuleAnswer, shared: list[dict[str, Any]]
) -> list[MeanResult]:
    """The answers as results; `rows` are the row blocks of the column."""
    suspects = files_of_cells(plan, answer)
    sigma2 = _row_variance(rows, answer) if plan.options.interval == "paper" else None
    plain = plain_means(rows, answer.plain_estimate)
    widths = np.count_nonzero(answer.block_rows, axis=1).tolist()
    return [
        _result(
            plan,
            answer,
            g,
            fields,
            suspects,
            None if sigma2 is None else float(sigma2[g]),
            weight_notes(plan, rows, g, fields),
            plain_estimate=plain[g],
            block_estimates=answer.block_estimates[g][: widths[g]].copy(),
        )
        for g, fields in enumerate(shared)
    ]


def plain_means(blocks: BlockState, rounded: NDArray[np.float64]) -> list[float]:
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


def _row_variance(rows: BlockState, answer: RuleAnswer) -> NDArray[np.float64]:
    """Lower median of the blocks' variances, at each group's number of blocks."""
    return lower_median(Merger(rows).moments_at(np.maximum(answer.n_blocks, 1)).row_variance)


def _result(
    plan: MeanPlan,
    answer: RuleAnswer,
    g: int,
    shared: dict[str, Any],
    suspects: Suspects,
    sigma2: float | None,
    more_notes: tuple[str, ...],
    **own: Any,
) -> MeanResult:
    n_blocks = int(answer.n_blocks[g])
    status = int(answer.status[g])
    same = [ALL_EQUAL] if answer.constant[g] and answer.n_used[g] > 1 else []
    notes = (*same, *notes_of(plan, answer, g, shared), *more_notes)
    estimate = float(answer.estimate[g])
    other = None
    if status & Status.FILES_DISAGREE:
        other = float(answer.row_estimate[g] if answer.files_first[g] else answer.file_estimate[g])
    kind = interval_kind(plan, n_blocks, plan.options.delta)
    if kind == "paper":
        level = None
        interval, reason = _paper_interval(
            plan, sigma2, estimate, n_blocks, shared["n_used"], bool(answer.constant[g])
        )
    else:
        interval, reason, level = shown_interval(answer.intervals, g, kind)
    return MeanResult(
        estimate=estimate,
        interval=interval,
        interval_kind=kind,
        interval_reason=reason,
        achieved_level=level,
        status=tuple(status_list(status)),
        path=answer.path(g),
        other_estimate=other,
        notes=notes,
        **block_fields(plan, answer, g, status, suspects),
        **own,
        **shared,
    )


def interval_kind(plan: MeanPlan, n_blocks: int, delta: float) -> str:
    """The interval to show: order statistics unless a given number of blocks is too small for them.

    Not of overlapping blocks; and not where blocks are so many, for the sake of outlying rows, that the
    median of a block mean may be far from the mean.
    """
    wanted = plan.options.interval
    if wanted != "auto":
        return wanted
    if plan.options.design.repeats > 1 or plan.options.contamination is not None:
        return "exact"
    fixed = plan.blocks.n_blocks is not None
    return "exact" if fixed and n_blocks < least_order_blocks(delta) else "order"


def shown_interval(
    found: Intervals, g: int, kind: str
) -> tuple[tuple[float, float] | None, str | None, float | None]:
    """Interval, the reason where there is none, and the level that order statistics achieve."""
    if kind == "none":
        return None, REASON_WORDS[NoInterval.NOT_WANTED], None
    low, high, code = (
        (found.order_low, found.order_high, found.order_reason)
        if kind == "order"
        else (found.exact_low, found.exact_high, found.exact_reason)
    )
    if code[g]:
        return None, REASON_WORDS[NoInterval(int(code[g]))], None
    level = float(found.order_level[g]) if kind == "order" else None
    return (float(low[g]), float(high[g])), None, level


def _paper_interval(
    plan: MeanPlan, sigma2: float | None, estimate: float, n_blocks: int, n_used: int, constant: bool
) -> tuple[tuple[float, float] | None, str | None]:
    """The closed form of the proposition, at the number of blocks it prescribes."""
    if sigma2 is None or not np.isfinite(sigma2) or not np.isfinite(estimate):
        return None, REASON_WORDS[NoInterval.NO_ANSWER]
    if sigma2 == 0.0 and not constant:
        return None, REASON_WORDS[NoInterval.CONSTANT_BLOCKS]
    try:
        prescribed = mom_blocks(plan.options.confidence_level, n_used)[0]
    except ConfigError:  # one small group must not end the run
        return None, f"the proposition does not reach this confidence level with {n_used} rows"
    if n_blocks != prescribed:
        return None, f"the proposition holds for {prescribed} blocks, not {n_blocks}; use blocks='paper'"
    half = paper_halfwidth_mom(sigma2, n_used, plan.options.delta)
    return (estimate - half, estimate + half), None


def notes_of(plan: MeanPlan, answer: RuleAnswer, g: int, shared: dict[str, Any]) -> tuple[str, ...]:
    """Notices about a group's number of blocks or units."""
    notes = []
    wanted = plan.blocks.n_blocks
    if plan.options.contamination is not None:
        notes.append(f"allows for {plan.blocks.outlying:,} arbitrary {counted_as(plan.options)}")
    if answer.lowered[g] and wanted is not None:
        notes.append(f"blocks lowered from {wanted} to {int(answer.n_blocks[g])}, the number of rows")
    elif wanted is not None and 0 < answer.n_blocks[g] < wanted:
        notes.append(
            f"only {int(answer.n_blocks[g])} of {wanted} blocks hold rows; the empty ones are left out"
        )
    design = plan.options.design
    by_rows = not design.stored and design.chunk_rows == 1 and not answer.files_first[g]
    if by_rows and math.isfinite(answer.file_effect[g]):
        notes.append(ALIKE)
    if int(answer.status[g]) & Status.FILES_DISAGREE:
        notes.append(FILES_HEARD if answer.files_first[g] else ROWS_HEARD)
    if "n_units" in shared:
        notes += _few_units(plan, int(answer.n_blocks[g]), shared)
    return tuple(notes)


def _few_units(plan: MeanPlan, n_blocks: int, shared: dict[str, Any]) -> list[str]:
    """The remark on units that are few for their blocks."""
    n_units = shared["n_units"]
    if n_units >= FEW_UNITS * n_blocks:
        return []
    what = "files" if plan.options.design.by_file else "units"
    about = "" if shared["n_units_exact"] else "about "
    if n_blocks < 2:
        return [f"{about}{n_units} {what} are too few for blocks"]
    return [
        f"{about}{n_units} {what} make {n_blocks} blocks; fewer than {FEW_UNITS} {what} a block make the "
        "interval rough"
    ]
