"""Several random partitions: the rule's blocks of each, and one median over all of them.

Partitions differ by chance alone, so the findings (contaminated, files disagree, dominated by few rows, the
path of medians) are those of the first one, which is the partition without repeats. Every partition is
merged, tested and, under ``"auto"``, screened by itself with the same steps.

The number of blocks under ``"auto"`` stays that of the rule. Fewer blocks (11 at 99%) have the shortest
interval, but in simulations (5 partitions; n = 1,050 and 10,000) the risk differs by less than the noise for
symmetric distributions and by at most 15% for skewed ones, and only the rule's number of blocks keeps its
breakdown count for outlying rows. So the answer uses the rule's number, and the interval uses the level of
the ladder with the shortest interval.

The Cantelli interval is centred at the median over all partitions into K_e blocks: -+ sqrt(V/p), p from
`theory.repeated_p`, V the average variance of a block mean, from the lower median over the partitions of the
rule's scale. The ball of a vector also uses the blocks of all partitions, at the level for which
`theory.repeated_vector_factor` makes it smallest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from distmom.inference.answers import Request, RuleAnswer, block_sizes, compact
from distmom.inference.intervals import ball_fields, best_blocks, fill_cantelli, kinds_of
from distmom.inference.ladder import Merger, most_frequent
from distmom.inference.row_blocks import RowSet, most_of_vectors, tested_rows
from distmom.inference.status import Finding, NoInterval
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.median import lower_median
from distmom.numerics.own_sums import own_sums
from distmom.theory.bounds import median_rank
from distmom.theory.repeated import repeated_factors, repeated_margin


def pooled(ask: Request, first: RuleAnswer, rows: BlockState, sample: Floats, n_sample: Ints) -> RuleAnswer:
    """The first partition's answer with the median, the blocks and the intervals of all of them.

    `estimate` is the lower median of the blocks of all partitions, which are `block_estimates`, one partition
    after the other; `n_blocks` and `n_non_finite` are those of one partition (the fewest, the most). If the
    files come first, or there are too few rows for blocks, the answer stays that of the first partition.

    Parameters
    ----------
    ask : Request
    first : RuleAnswer
        It must not be used afterwards.
    rows : Moments
        Fine blocks, shape (n_groups, repeats, n_fine).
    sample, n_sample
        As for `adaptive.answer_rule`.
    """
    own, repeats = _partitions(ask, rows, sample, n_sample), rows.count.shape[1]
    shape = (first.n_groups, repeats)
    count, mean = own.answer.count.reshape(first.n_groups, -1), own.answer.mean.reshape(first.n_groups, -1)
    filled = (own.answer.count > 0).sum(axis=1).reshape(shape)
    finite = own.answer.n_non_finite.reshape(shape).sum(axis=1) < median_rank(filled.sum(axis=1))
    if own.given is None:
        finite &= own.finest.answerable.reshape(shape).all(axis=1)
    found = mean if own.given is not None else own.answer.estimate.reshape(shape)
    median = np.where(finite, lower_median(found), np.nan)
    one_block = own.plain.reshape(shape)[:, 0] | (first.n_used == 0)
    first = replace(first, row_estimate=np.where(one_block, first.row_estimate, median))
    count, mean = compact(count, mean)
    no_answer = int(Finding.NO_FINITE_ANSWER)
    why = np.where(finite, own.reason.reshape(shape).max(axis=1), NoInterval.NO_ANSWER)
    new: dict[str, Any] = {
        "estimate": median,
        "block_rows": count,
        "block_estimates": mean,
        "status": first.status & ~no_answer | np.where(finite, 0, no_answer),
        "n_blocks": filled.min(axis=1),
        "n_non_finite": own.n_non_finite.reshape(shape).max(axis=1),
        "block_size": block_sizes(count),
        **ball_fields(own, why, ask, between=False, repeats=repeats),
    }
    mine = np.flatnonzero(~one_block & ~first.files_first)
    if "cantelli" in ask.wanted:
        _cantelli_intervals(first, mine, own, why, ask, repeats)
    return first.overwritten(mine, {name: values[mine] for name, values in new.items()})


def _partitions(ask: Request, rows: BlockState, sample: Floats, n_sample: Ints) -> RowSet:
    """The steps of the rule for every partition, each as a group of its own (with the same columns)."""
    n_groups, repeats, n_fine = rows.count.shape
    # (vectors, columns, partitions): the columns of a partition are adjacent for the steps of the rule
    order = np.arange(n_groups * repeats).reshape(-1, ask.n_columns, repeats).swapaxes(1, 2).reshape(-1)
    fine = Merger(rows.each(lambda a: a.reshape(-1, n_fine)).at(order))
    drawn, frequent = (a[order // repeats] for a in (n_sample, most_frequent(sample, n_sample)))
    most = most_of_vectors(fine, drawn, frequent, ask.n_columns)
    return tested_rows(ask, fine, drawn, most).subset(np.argsort(order))


def _cantelli_intervals(
    first: RuleAnswer, mine: Ints, own: RowSet, why: Ints, ask: Request, repeats: int
) -> None:
    """Write the Cantelli intervals of some groups."""
    best = best_blocks(own, repeated_factors(own.ladder.levels, ask.delta), repeats)
    count, shape = best.rows, (-1, repeats)
    blocks = np.count_nonzero(count, axis=1)
    n_blocks = blocks.reshape(shape).min(axis=1)
    non_finite = ((count > 0) & ~np.isfinite(best.means)).sum(axis=1).reshape(shape).max(axis=1)
    inverse = np.where(count > 0, count.sum(axis=1)[:, None] / np.maximum(count, 1), 0.0)
    # n times the average of 1/size over the blocks of a partition: their number, if sizes are equal
    times = (own_sums(inverse, best.width) / np.maximum(blocks, 1)).reshape(shape).max(axis=1)
    place, kinds = kinds_of(n_blocks, np.maximum(non_finite, ask.outlying))
    widths = np.array([repeated_margin(1.0, max(k, 1), ask.delta, o) for k, o in kinds])
    with np.errstate(invalid="ignore", over="ignore"):
        half = lower_median(best.se.reshape(shape)) * np.sqrt(times) * widths[place]
    why = np.where((why == 0) & ~best.some, NoInterval.TOO_FEW_BLOCKS, why)
    median = lower_median(best.means.reshape(first.n_groups, -1))
    fill_cantelli(first.intervals, mine, why, median, half, n_blocks)
