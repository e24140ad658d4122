"""The answers of rows and of files side by side: whether they agree, and which is shown first."""

from __future__ import annotations

from typing import Any

import numpy as np

from distmom.inference.answers import Request, RuleAnswer
from distmom.inference.files.file_blocks import FileSet, common_levels, margin_at
from distmom.inference.files.file_effects import Clusters
from distmom.inference.intervals import ball_fields, intervals_of
from distmom.inference.row_blocks import RowSet
from distmom.inference.status import Finding, NoInterval
from distmom.inference.steps import over_columns
from distmom.numerics.arrays import Bools, Ints

INFLATED = 4.0
"""Rows of one distribution give both sets the same standard error, up to sampling. If that of the row blocks
is larger by this factor, most of them contain rows of bad files: their own width then hides any difference,
and the files' scale is used for both."""


def hear_files(result: RuleAnswer, own: RowSet, found: FileSet, ask: Request) -> RuleAnswer:
    """Compare the answers of rows and files; if they differ, the one with the smaller scale comes first."""
    groups = found.groups
    row_level, level = common_levels(own, found)
    row_width = margin_at(own.ladder, row_level, groups)
    file_width = margin_at(found.ladder, level, np.arange(groups.size))
    finite = own.finite[groups]
    row_se = np.where(finite, own.finest.se[groups], np.inf)
    # without a scale for the rows there is nothing to compare; non-finite rows differ from any finite
    # answer
    comparable = (row_se > 0.0) & (np.isfinite(row_se) | ~finite)
    active = found.active & (level > 0) & ~own.lowered[groups] & comparable
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(result.row_estimate[groups] - found.answer.estimate)
        inflated = row_se > INFLATED * found.finest.se
        tamed = np.where(inflated, row_width * (found.finest.se / row_se), row_width)
        same = (apart <= tamed + file_width) & finite
    sharper = found.finest.se < row_se
    disagree = over_columns(active & ~same & sharper, ask.n_columns)
    result.file_estimate[groups] = np.where(active, found.answer.estimate, np.nan)
    result.row_margin[groups] = np.where(active & finite, row_width, np.nan)
    result.file_margin[groups] = np.where(active, file_width, np.nan)
    clusters = Clusters.of(found.answer.kept)
    alike = found.active & clusters.correlated(found.effect)
    result.file_effect[groups] = np.where(alike, clusters.effect, np.nan)
    accused = over_columns(active & found.contradicted & (same | sharper), ask.n_columns)
    result.suspect_cells[groups] = found.outlying_cells & accused[:, None]
    # a given number of blocks is kept, and random blocks contain the bad files
    word = Finding.FILES_DISAGREE if own.given is None else Finding.BREAKDOWN_POINT_EXCEEDED
    result.status[groups] |= np.where(disagree, int(word), 0)
    result.disagree[groups] = disagree
    if ask.pays_for_files:
        _pay(result, groups, clusters, alike & finite & ~disagree, ask.delta)
    if own.given is not None or not disagree.any():
        return result
    return _files_first(result, found, np.flatnonzero(disagree), ask)


def _pay(result: RuleAnswer, groups: Ints, clusters: Clusters, alike: Bools, delta: float) -> None:
    """Give the interval of whole files if it is wider than that of rows, or there is none."""
    groups, clusters = groups[alike], clusters.subset(np.flatnonzero(alike))
    low, high = clusters.interval(result.estimate[groups], delta)
    rows = result.intervals.order_high[groups] - result.intervals.order_low[groups]
    wider = ~(high - low <= rows)
    result.status[groups] |= np.where(wider, int(Finding.ROWS_CORRELATED), 0)
    result.files_low[groups], result.files_high[groups] = np.where(wider, (low, high), np.nan)


def _files_first(result: RuleAnswer, found: FileSet, first: Ints, ask: Request) -> RuleAnswer:
    """Show the answer of the files first, with its blocks, findings and intervals."""
    some = found.subset(first)
    status = int(Finding.FILES_DISAGREE) + np.where(some.contradicted, int(Finding.CONTAMINATED), 0)
    constant = (some.finest.se == 0.0) & ~some.finest.blocks.constant
    why = np.where(constant, int(NoInterval.CONSTANT_BLOCKS), 0)
    new: dict[str, Any] = {
        **some.fields(),
        **ball_fields(some, why, ask, between=False),
        "status": status + np.where(some.beyond, int(Finding.BREAKDOWN_POINT_EXCEEDED), 0),
        "estimate": some.answer.estimate,
        "files_first": True,
        "intervals": intervals_of(some, np.zeros(first.size, np.int64), ask, between=False),
    }
    return result.overwritten(some.groups, new)
