"""Several random partitions: the rule's blocks of each of them, and one median over all.

Partitions differ by chance alone, so what the rule has to say (contaminated, files disagree, carried by few
rows, the path of medians) is said of the first one, which is the partition without repeats. Every partition
is merged, tested and, under ``"auto"``, screened by itself with the same steps.

The number of blocks under ``"auto"`` stays that of the rule. Fewer blocks (11 at 99 %) have the shortest
interval, but in simulations (5 partitions; n = 1,050 and 10,000) the risk differs by less than the noise for
symmetric laws and by at most 15 % for skew ones, and only blocks by the rule keep its capacity for wild rows.
So the answer takes the rule's number, and the interval the level of the ladder where it is shortest.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Literal

import numpy as np

from distmom.inference.adaptive import (
    CELLS_AT_ONCE,
    BlockSource,
    answer_rule,
    most_of_vectors,
    no_interval,
)
from distmom.inference.answers import RuleAnswer, block_sizes, compact, join, padded
from distmom.inference.block_set import at_kept, kept_se, median_ranks
from distmom.inference.intervals import fill_exact, kinds_of
from distmom.inference.ladder import Merger, most_frequent, row_bound
from distmom.inference.row_blocks import RowSet, automatic_rows, given_rows
from distmom.inference.status import Finding, NoInterval
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.median import lower_median
from distmom.theory import ladder_levels, repeated_factors, repeated_halfwidth, repeated_vector_factor


def answer_repeated(
    rows: BlockState,
    sample: Floats,
    n_sample: Ints,
    confidence_level: float,
    *,
    files: BlockState | None = None,
    n_blocks: int | Literal["auto"] = "auto",
    outlying: int = 0,
    intervals: Collection[str] = ("exact",),
    n_columns: int = 1,
    block_source: BlockSource = "rows",
) -> RuleAnswer:
    """As `answer_rule`, for the median over several random partitions of the same rows.

    Parameters
    ----------
    rows : Moments
        Fine blocks, shape (n_groups, repeats, n_fine).
    sample, n_sample, confidence_level, files, n_blocks, outlying, n_columns
        As for `answer_rule`.
    block_source : {"rows", "statistics"}
        As there.
    intervals : collection of {"exact", "ball"}

    Returns
    -------
    RuleAnswer
        `estimate` is the lower median of the blocks of all partitions, which are `block_estimates`, one
        partition after the other; `n_blocks` and `n_ruined` are those of one partition (the fewest, the
        most). Where the files come first, or there are too few rows for blocks, the answer is that of
        `answer_rule`. There are no order intervals.

    Notes
    -----
    The exact interval is centred at the median over all partitions into K_e blocks: -+ sqrt(V/p), p from
    `theory.repeated_p`, V the average variance of a block mean, by the lower median over the partitions of
    the rule's scale. The ball of a vector, too, is around the blocks of all partitions, at the level where
    `theory.repeated_vector_factor` makes it least.
    """
    repeats, n_fine = rows.count.shape[1:]
    first = answer_rule(
        rows.at((slice(None), 0)),
        sample,
        n_sample,
        confidence_level,
        files=files,
        n_blocks=n_blocks,
        intervals=intervals,
        outlying=outlying,
        n_columns=n_columns,
        block_source=block_source,
    )
    portion = n_columns * max(1, CELLS_AT_ONCE // (n_columns * repeats * n_fine))
    parts = []
    for start in range(0, max(first.n_groups, 1), portion):
        some = np.arange(start, min(start + portion, first.n_groups))
        drawn = sample[some], n_sample[some]
        own = _partitions(rows.at(some), *drawn, n_blocks, n_columns, filled=block_source != "rows")
        pooled = _pooled(first.subset(some), own, repeats, 1.0 - confidence_level, outlying, intervals)
        parts.append(pooled)
    return join(parts)


def _partitions(
    rows: BlockState,
    sample: Floats,
    n_sample: Ints,
    n_blocks: int | Literal["auto"],
    n_columns: int,
    *,
    filled: bool,
) -> RowSet:
    """The steps of the rule for every partition, as if each were a group of its own (of as many columns)."""
    repeats, n_fine = rows.count.shape[1:]
    # (vectors, columns, partitions): the columns of a partition stand together for the steps of the rule
    order = np.arange(rows.count.shape[0] * repeats).reshape(-1, n_columns, repeats).swapaxes(1, 2)
    fine = Merger(rows.each(lambda a: a.reshape(-1, n_fine)).at(order.reshape(-1)))
    given = () if n_blocks == "auto" else (n_blocks,)
    levels = np.asarray(ladder_levels(n_fine, *given), dtype=np.int64)
    drawn, most = (a[order.reshape(-1) // repeats] for a in (n_sample, most_frequent(sample, n_sample)))
    most = most_of_vectors(np.where(fine.constant, 0, most), drawn, n_columns)
    usable = row_bound(levels, fine.n, drawn, most)
    if filled:
        usable &= levels[None, :] <= fine.n_filled[:, None]
    steps = given_rows if given else automatic_rows
    return steps(fine, levels, usable, n_columns).subset(np.argsort(order.reshape(-1)))


def _pooled(
    first: RuleAnswer, own: RowSet, repeats: int, delta: float, outlying: int, intervals: Collection[str]
) -> RuleAnswer:
    """The first partition's answer with the median, the blocks and the intervals of all of them."""
    shape = (first.n_groups, repeats)
    count, mean = own.answer.count.reshape(first.n_groups, -1), own.answer.mean.reshape(first.n_groups, -1)
    filled = (own.answer.count > 0).sum(axis=1).reshape(shape)
    ruined = own.answer.n_ruined.reshape(shape)
    finite = ruined.sum(axis=1) < median_ranks(filled.sum(axis=1))
    if own.given is None:
        finite &= own.finest.answerable.reshape(shape).all(axis=1)
    median = np.where(finite, lower_median(mean), np.nan)
    one_block = own.plain.reshape(shape)[:, 0] | (first.n_used == 0)
    first = replace(first, row_estimate=np.where(one_block, first.row_estimate, median))
    mine = np.flatnonzero(~one_block & ~first.files_first)
    count, mean = compact(count, mean)
    width = max(count.shape[1], first.block_rows.shape[1])
    rows, estimates = padded(first.block_rows, width), padded(first.block_estimates, width)
    rows[mine], estimates[mine] = padded(count, width)[mine], padded(mean, width)[mine]
    first.estimate[mine] = median[mine]
    no_answer = int(Finding.NO_FINITE_ANSWER)
    first.status[mine] = (first.status & ~no_answer | np.where(finite, 0, no_answer))[mine]
    first.n_blocks[mine] = filled.min(axis=1)[mine]
    if own.given is None:  # ruined blocks were set aside
        ruined = np.where(own.contradicted, own.finest.n_ruined, own.answer.n_ruined).reshape(shape)
    first.n_ruined[mine] = ruined.max(axis=1)[mine]
    first.block_size[mine] = block_sizes(count)[mine]
    if "exact" in intervals:
        _exact_intervals(first, mine, own, finite, delta, outlying)
    if "ball" in intervals:
        first = _with_balls(first, mine, own, finite, delta)
    return replace(first, block_rows=rows, block_estimates=estimates)


def _exact_intervals(
    first: RuleAnswer, mine: Ints, own: RowSet, finite: Bools, delta: float, outlying: int
) -> None:
    """Write the exact intervals of some groups."""
    n_groups = first.n_groups
    shape = (n_groups, -1)
    count, mean, se, some = _interval_blocks(own, n_groups, repeated_factors(own.ladder.levels, delta))
    ruined = ((count > 0) & ~np.isfinite(mean)).sum(axis=1).reshape(shape).max(axis=1)
    n_blocks = (count > 0).sum(axis=1).reshape(shape).min(axis=1)
    n = count.sum(axis=1)
    inverse = np.where(count > 0, n[:, None] / np.maximum(count, 1), 0.0)
    blocks = np.maximum((count > 0).sum(axis=1), 1)
    # n times the average of 1/size over the blocks of a partition: their number, if sizes are equal
    times = (inverse.sum(axis=1) / blocks).reshape(shape).max(axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        spread = lower_median(se.reshape(shape)) * np.sqrt(times)
    halfwidth = np.full(n_groups, np.inf)
    place, kinds = kinds_of(n_blocks, np.maximum(ruined, outlying))
    for number, (k, o) in enumerate(kinds):
        same = place == number
        halfwidth[same] = spread[same] * repeated_halfwidth(1.0, max(k, 1), delta, o)
    why = no_interval(own).reshape(shape).max(axis=1)
    why = np.where(finite, why, NoInterval.NO_ANSWER)
    why = np.where((why == 0) & ~some, NoInterval.TOO_FEW_BLOCKS, why)
    fill_exact(first.intervals, mine, why, lower_median(mean.reshape(shape)), halfwidth, n_blocks)


def _with_balls(first: RuleAnswer, mine: Ints, own: RowSet, finite: Bools, delta: float) -> RuleAnswer:
    """The answer with the blocks of all partitions that the balls of some groups' vectors come from."""
    n_groups = first.n_groups
    factors = np.asarray([repeated_vector_factor(int(k), delta) for k in own.ladder.levels])
    count, mean, se, some = _interval_blocks(own, n_groups, factors)
    with np.errstate(invalid="ignore", over="ignore"):
        spread = (se * np.sqrt((count > 0).sum(axis=1))).reshape(n_groups, -1)
    why = no_interval(own).reshape(n_groups, -1).max(axis=1)
    why = np.where(finite, why, NoInterval.NO_ANSWER)
    open_ = (why == 0) | (why == NoInterval.CONSTANT_BLOCKS)
    rows, points = compact(count.astype(np.float64).reshape(n_groups, -1), mean.reshape(n_groups, -1))
    width = max(rows.shape[1], first.ball_rows.shape[1])
    ball_rows, ball_means = padded(first.ball_rows, width), padded(first.ball_means, width)
    ball_rows[mine], ball_means[mine] = (
        padded(rows.astype(np.float64), width)[mine],
        padded(points, width)[mine],
    )
    first.ball_spread[mine] = lower_median(spread)[mine]
    first.ball_reason[mine] = np.where(open_ & ~some, NoInterval.TOO_FEW_BLOCKS, why)[mine]
    return replace(first, ball_rows=ball_rows, ball_means=ball_means)


def _interval_blocks(own: RowSet, n_groups: int, factors: Floats) -> tuple[Ints, Floats, Floats, Bools]:
    """Rows and means of every partition's blocks, the standard errors, and the groups that have such blocks.

    At a given number of blocks those of the answer; else those of the level with the shortest interval, whose
    width in standard deviations of a block mean is one of the `factors`.
    """
    if own.given is not None:
        return own.answer.count, own.answer.mean, own.finest.se, np.ones(n_groups, np.bool_)
    levels = own.ladder.levels
    n_levels = levels.size
    usable = own.ladder.usable & (levels[None, :] <= own.answer.n_kept[:, None])
    possible = usable.reshape(n_groups, -1, n_levels).all(axis=1)
    score = np.where(possible, (levels * factors**2)[None, :], np.inf)
    some = np.asarray(np.isfinite(score).any(axis=1))
    best = np.where(some, levels[np.argmin(score, axis=1)], 1)
    repeats = own.plain.size // max(n_groups, 1)
    count, mean, _ = at_kept(own.fine, own.answer.kept, own.contradicted, np.repeat(best, repeats))
    return count, mean, kept_se(own.finest, own.answer), some
