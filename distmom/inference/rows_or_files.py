"""The answers of rows and of files side by side: whether they agree, and which is shown first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from distmom.inference.answers import Intervals, RuleAnswer, block_sizes, compact, padded
from distmom.inference.ball import file_ball
from distmom.inference.block_set import Answer, over_columns
from distmom.inference.file_blocks import FileSet, common_level, halfwidth_at, largest_level, resembling
from distmom.inference.intervals import exact_interval, order_interval
from distmom.inference.row_blocks import RowSet
from distmom.inference.status import Finding, NoInterval
from distmom.numerics.arrays import Ints

INFLATED = 4.0
"""Rows of one law give both sets the same standard error, up to sampling. Where that of the row blocks is so
much larger, bad files lie in most of them: its own width then hides any difference, and the files' scale
serves both."""


def hear_files(
    result: RuleAnswer, own: RowSet, found: FileSet, delta: float, wanted: frozenset[str], n_columns: int = 1
) -> RuleAnswer:
    """Compare the answers of rows and files; where they differ, the one of smaller spread comes first."""
    groups = found.groups
    if own.given is None:
        level = row_level = common_level(own.ladder, found)
    else:
        level = largest_level(found)
        row_level = np.full_like(level, own.given)
    row_width = halfwidth_at(own.ladder, row_level, groups)
    file_width = halfwidth_at(found.ladder, level, np.arange(groups.size))
    finite = own.finite[groups]
    row_se = np.where(finite, own.finest.se[groups], np.inf)
    # without a scale for the rows there is nothing to compare with; ruined rows differ from any finite answer
    comparable = (row_se > 0.0) & (np.isfinite(row_se) | ~finite)
    active = found.active & (level > 0) & ~own.lowered[groups] & comparable
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(result.row_estimate[groups] - found.answer.estimate)
        inflated = row_se > INFLATED * found.finest.se
        tamed = np.where(inflated, row_width * (found.finest.se / row_se), row_width)
        same = (apart <= tamed + file_width) & finite
    sharper = found.finest.se < row_se
    disagree = over_columns(active & ~same & sharper, n_columns)
    result.file_estimate[groups] = np.where(active, found.answer.estimate, np.nan)
    result.row_halfwidth[groups] = np.where(active & finite, row_width, np.nan)
    result.file_halfwidth[groups] = np.where(active, file_width, np.nan)
    alike = found.active & resembling(found.effect, found.finest.blocks.n_filled)
    result.file_effect[groups] = np.where(alike, found.effect, np.nan)
    accused = over_columns(active & found.contradicted & (same | sharper), n_columns)
    result.suspect_cells[groups] = found.wild_cells & accused[:, None]
    result.status[groups] |= np.where(disagree, int(Finding.FILES_DISAGREE), 0)
    if own.given is not None or not disagree.any():
        return result
    return _files_first(result, found, np.flatnonzero(disagree), delta, wanted)


def _files_first(
    result: RuleAnswer, found: FileSet, first: Ints, delta: float, wanted: frozenset[str]
) -> RuleAnswer:
    """Show the answer of the files first, with its blocks, findings and intervals."""
    groups = found.groups[first]
    wrong, beyond = found.contradicted[first], found.beyond[first]
    status = int(Finding.FILES_DISAGREE) + np.where(wrong, int(Finding.CONTAMINATED), 0)
    given = found.answer.subset(first)
    count, mean = compact(given.count, given.mean)
    width = max(count.shape[1], result.block_rows.shape[1])
    ball = file_ball(found, first, given, delta) if "ball" in wanted else None
    wide = 0 if ball is None else max(ball.ball_rows.shape[1], result.ball_rows.shape[1])
    result = replace(
        result,
        block_rows=padded(result.block_rows, width),
        block_estimates=padded(result.block_estimates, width),
        ball_rows=padded(result.ball_rows, wide),
        ball_means=padded(result.ball_means, wide),
    )
    if ball is not None:
        result.ball_rows[groups] = padded(ball.ball_rows, wide)
        result.ball_means[groups] = padded(ball.ball_means, wide)
        result.ball_spread[groups], result.ball_reason[groups] = ball.ball_spread, ball.ball_reason
    result.block_rows[groups] = padded(count, width)
    result.block_estimates[groups] = padded(mean, width)
    result.status[groups] = status + np.where(beyond, int(Finding.BEYOND_CAPACITY), 0)
    result.estimate[groups] = given.estimate
    result.files_first[groups] = True
    result.n_blocks[groups] = np.count_nonzero(count, axis=1)
    result.block_size[groups] = block_sizes(count)
    result.n_ruined[groups] = np.where(wrong, found.finest.n_ruined[first], given.n_ruined)
    result.n_set_aside[groups] = np.where(wrong, found.seen.n_far[first], 0)
    result.intervals.put(groups, _file_intervals(found, first, given, delta, wanted))
    return result


def _file_intervals(
    found: FileSet, first: Ints, given: Answer, delta: float, wanted: frozenset[str]
) -> Intervals:
    """Intervals of the files' answer for some of their groups."""
    out = Intervals.missing(first.size, NoInterval.NOT_WANTED)
    everyone = np.ones(first.size, np.bool_)
    if "order" in wanted:
        order_interval(out, everyone, given, delta, np.zeros(first.size, np.int64))
    if "exact" in wanted:
        finest, ladder = found.finest.subset(first), found.ladder.subset(first)
        aside = found.contradicted[first]
        exact_interval(out, everyone, finest.blocks, given, aside, finest, ladder, delta, False)
    return out
