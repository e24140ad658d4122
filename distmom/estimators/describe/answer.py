"""From the state of a profile to profiles of columns, with the results of `distmom.mean`."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distmom.estimators.describe.named import look_again, name_units
from distmom.estimators.describe.unit_tables import UnitTable, discrepancy_sources, unit_tables
from distmom.estimators.mean.counts import groups_of, shared_fields
from distmom.estimators.mean.far_rows import Found
from distmom.estimators.mean.partition import partition_fields
from distmom.estimators.mean.rule.answers import answer_columns, row_and_cell_blocks
from distmom.estimators.whose import whose
from distmom.inference.answers import RuleAnswer
from distmom.inference.ladder import Merger
from distmom.inference.share.look import Look
from distmom.inference.share.ranks import quantile_interval
from distmom.inference.share.scale import block_scale
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.median import lower_median
from distmom.numerics.samples.pool import RowPool
from distmom.reductions.profile import ProfileState
from distmom.report import ColumnProfile, DescribeResult, MeanResult
from distmom.report.kinds.profile import Quantile
from distmom.report.times import as_times
from distmom.status import Status

if TYPE_CHECKING:
    from distmom.estimators.describe.question import DescribePlan


DIRTY = (Status.CONTAMINATED, Status.FILES_DISAGREE, Status.BREAKDOWN_POINT_EXCEEDED)

SAME = (
    *("n_rows", "n_null", "n_nan", "n_inf", "interval", "interval_reason", "confidence_level"),
    *("n_blocks", "other_estimate", "notes", "far_rows", "without_extremes", "histogram"),
)
"""Fields that a profile copies from the result of the mean."""

FEW_BLOCKS, MANY_BLOCKS = 63, 1_023
"""Blocks of the sample for Gini's mean difference: for clean columns, and for contaminated ones."""

QUANTILES = (0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999)
"""Shares of the rows at or below the quantiles of a profile."""

LEAST_ROWS = 8
"""Fewest rows of such a block."""


def describe_result(
    plan: DescribePlan, state: ProfileState, data: dict[str, Any], run: dict[str, Any]
) -> DescribeResult:
    """Profiles and named units from the state of a run.

    NoAnswerError if there are no rows.
    """
    tables = unit_tables(plan, state)
    if state.blocks is not None:
        groups_of(plan.mean, state.blocks, ())  # there are rows
    columns = plan.columns
    looks = {column: _look(plan, state, c) for c, column in enumerate(columns.measured)}
    samples = {column: look.pool.values for column, look in looks.items()}
    nulls = {column: int(state.facts.absent[p].sum()) for p, column in enumerate(columns.counted)}
    profiles = {column: _counted(plan, state, column, nulls.get(column)) for column in columns.types}
    for c, column in enumerate(columns.measured):
        profiles[column] = _measured(plan, state, c, column, looks[column], tables)
    named, why_not = name_units(plan, tables, samples)
    if not plan.naming.folders:
        files = {file.path: file for file in plan.mean.files}
        centres = {c: float(profiles[c].numbers.estimate) for c in samples if profiles[c].n_used}
        named = look_again(plan.source, plan.mean.reader.options, files, named, centres)
    n_rows = int(state.facts.n_rows.sum())
    facts = {**data, "n_rows": n_rows, "folders": plan.naming.folders, "not_named": why_not}
    if unread := getattr(plan.source, "unread", ""):  # columns that were not named
        facts["unread"] = unread
    return DescribeResult([one.told(facts, run) for one in profiles.values()], named, facts, run)


def _counted(plan: DescribePlan, state: ProfileState, column: str, n_null: int | None) -> ColumnProfile:
    n_rows = int(state.facts.n_rows.sum())
    return ColumnProfile(
        column=column,
        type=plan.columns.types[column],
        status=Status.COUNTED_ONLY,
        n_rows=n_rows,
        n_used=None if n_null is None else n_rows - n_null,
        n_null=n_null,
        confidence_level=plan.mean.options.confidence_level,
    )


def _look(plan: DescribePlan, state: ProfileState, c: int) -> Look:
    """The sampled rows of a column, in random order, and the rows among them that stand apart."""
    keys, values = (line[0] for line in state.samples[c])
    n = int(np.count_nonzero(np.isfinite(keys)))
    complete = int(state.facts.moments.count[c].sum()) <= keys.size
    below = np.float64(np.inf if complete else keys[n - 1])
    look = Look(RowPool(keys[:n], values[:n], None, below))
    if plan.naming.folders:
        return look
    read, column = plan.mean.reader.options, plan.columns.measured[c]
    return replace(look, whose=partial(whose, plan.source, read, plan.mean.files, column))


def _measured(
    plan: DescribePlan, state: ProfileState, c: int, column: str, look: Look, tables: list[UnitTable]
) -> ColumnProfile:
    """Profile of a column of numbers or times."""
    mean, blocks, facts = plan.mean, state.blocks, state.facts
    assert blocks is not None
    found = answer_columns(mean, blocks, slice(c, c + 1))
    rows, cells, _ = row_and_cell_blocks(mean, blocks.moments.at(c))
    shared = shared_fields(mean, blocks, c, column, 0, None)
    [own] = partition_fields(mean, blocks, slice(c, c + 1), [shared], found)
    first = MeanResult(**own, **shared)
    moved = Found(mean, (look,), slice(c, c + 1), shared, own, None).fields()
    answer, result = found.answer, MeanResult(**{**shared, **own, **moved})
    sample = look.pool.values
    if "estimate" in moved:  # it is that of the remaining sampled rows, and so is the rest
        sample = sample[look.kept]
    all_rows = facts.moments.at(c).total()
    n = int(all_rows.count)
    std = robust_std(rows, cells, answer, first) if "estimate" not in moved else block_scale(sample)
    files_first = bool(answer.files_first[0]) and "estimate" not in moved
    gap = None if files_first else skewness_shift(result)
    low, high = result.interval or (None, None)
    outside = low is not None and high is not None and not low <= result.plain_estimate <= high
    profile = ColumnProfile(
        column=column,
        type=plan.columns.types[column],
        status=result.status if n else Status.NO_VALUES,
        flags=result.flags if n else (),
        **{name: getattr(result, name) for name in SAME},
        n_used=first.n_used,
        estimate=result.estimate if n else None,
        plain_estimate=result.plain_estimate if n else None,
        leaves_interval=outside,
        robust_std=std if n else None,
        plain_std=math.sqrt(float(all_rows.m2) / (n - 1)) if n > 1 else None,
        gini=gini(sample, contaminated=any(flag in DIRTY for flag in result.flags)) if n else None,
        skewness_shift=gap,
        skewness_noise=None if gap is None else std / math.sqrt(result.n_used),
        quantiles=quantiles(look.pool.values, mean.options.confidence_level),
        minimum=float(facts.low[c].min()) if n else None,
        maximum=float(facts.high[c].max()) if n else None,
        discrepancy=result.plain_estimate - result.estimate if outside else None,
        sources=discrepancy_sources(tables, c, result.estimate) if outside else (),
    )
    scale = mean.reader.options.scales.get(column)
    return profile if scale is None else as_times(profile, scale)


def quantiles(sample: NDArray[np.float64], level: float) -> tuple[Quantile, ...]:
    """The median and other quantiles from a uniform sample, with exact intervals; none without rows."""
    ordered = np.sort(sample)
    return tuple(Quantile(q, *quantile_interval(ordered, q, level)) for q in QUANTILES if sample.size)


def robust_std(rows: BlockState, cells: BlockState | None, answer: RuleAnswer, result: MeanResult) -> float:
    """Square root of the lower median of the block variances, which are the blocks' U-statistics of variance.

    The blocks, of rows or of cells of files for one group, are those of its answer. If the row blocks
    contradict each other, it is the finest level, which tolerates the most outlying rows; if files take
    precedence, it is the cells of files without the suspects.
    """
    n_blocks = result.n_blocks
    blocks = rows
    if bool(answer.files_first[0]) and cells is not None:
        blocks = cells.without(answer.suspect_cells)
    elif bool(answer.contradicted[0]) and result.path:
        n_blocks = result.numbers.path[-1].n_blocks
    if n_blocks < 1:
        return math.nan
    variance = Merger(blocks).moments_at(n_blocks).row_variance
    with np.errstate(invalid="ignore"):
        return float(np.sqrt(lower_median(variance)[0]))


def gini(sample: NDArray[np.float64], *, contaminated: bool) -> float:
    """Gini's mean difference E|X - X'| from a uniform sample in random order; NaN below two rows.

    Lower median, over 63 blocks of the sample, of the mean of abs(x - x') over all pairs of a block. A
    contaminated column has 1,023 blocks: smaller blocks tolerate more outlying rows, with a bias for skewed
    distributions.
    """
    if sample.size < 2:
        return math.nan
    most = MANY_BLOCKS if contaminated else FEW_BLOCKS
    n_blocks = max(1, min(most, sample.size // LEAST_ROWS))
    n_blocks -= n_blocks % 2 == 0
    size = sample.size // n_blocks
    ordered = np.sort(sample[: n_blocks * size].reshape(n_blocks, size), axis=1)
    below = np.arange(1.0, size)
    with np.errstate(invalid="ignore", over="ignore"):
        gaps = np.diff(ordered, axis=1) * (below * (size - below))
        sums = np.cumsum(gaps, axis=1)[:, -1]  # in order, whatever the processor
    return float(lower_median(sums / (0.5 * size * (size - 1))))


def skewness_shift(result: MeanResult) -> float | None:
    """Approximate difference between the median of block means and the mean caused by a skewed distribution.

    The bias of the median of K block means is proportional to K, so it follows from the medians of K and of L
    >= 2 K blocks: theta_2K - theta_K = (theta_L - theta_K) K/(L - K). Its noise is about that of the mean.
    None if the ladder has no such level.
    """
    medians = {k: value for k, value, _ in result.numbers.path}
    k = result.n_blocks
    finer = [level for level in medians if level >= 2 * k]
    if k not in medians or not finer:
        return None
    level = min(finer)
    return float((medians[level] - medians[k]) * k / (level - k))
