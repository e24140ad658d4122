"""Intervals of the rule's answers: order statistics, the exact bound with plug-in scale, blocks of a ball."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from distmom.inference.answers import Intervals, Request, compact
from distmom.inference.block_set import Answer, BlockSet
from distmom.inference.hall import SKEW, skewed
from distmom.inference.ladder import average_efficiency, scaled_mad, typical_efficiency
from distmom.inference.location import Location
from distmom.inference.status import NoInterval
from distmom.inference.steps import at_kept, factors, inflation, kept_se
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.median import lower_median
from distmom.theory.bounds import binomial_p, cantelli_allowed, median_rank, width_factor
from distmom.theory.intervals import order_level, order_rank
from distmom.theory.partition import NEARLY_EQUAL, unequal_factor
from distmom.theory.vectors import repeated_vector_factor, vector_factor

MILDLY_UNEQUAL = 2.0
"""Up to this ratio of the largest to the smallest block a closed-form bound is nearly exact."""

MOST_SOLVED = 2_000
"""Up to this number of blocks of unequal sizes their tail is solved."""


def intervals_of(own: BlockSet, reason: Ints, ask: Request, between: bool) -> Intervals:
    """Intervals of the answers of a set of blocks, or the reasons for having none.

    Parameters
    ----------
    own : BlockSet
    reason : ndarray of int64, shape (n_groups,)
        `NoInterval` codes of the groups that cannot have an interval; 0 for the others.
    ask : Request
    between : bool
        Use the variance between the block means if it is larger: rows may be dependent within blocks. Block
        sizes may differ, too.
    """
    out = Intervals.missing(reason.size, NoInterval.NOT_WANTED)
    non_finite = own.answer.n_non_finite
    arbitrary = np.zeros_like(non_finite) if own.given is None else np.maximum(non_finite, ask.outlying)
    if "order" in ask.wanted:
        out.order_reason[:] = reason
        _order(out, reason == 0, own.answer, ask.delta, arbitrary)
    if "cantelli" in ask.wanted:
        out.cantelli_reason[:] = reason
        _exact(out, reason == 0, own, ask.delta, between, arbitrary)
    return out


def ball_fields(own: BlockSet, reason: Ints, ask: Request, between: bool, repeats: int = 1) -> dict[str, Any]:
    """The fields of `RuleAnswer` from which the radius of a vector is computed; see `intervals_of`.

    The blocks are those of the level with the smallest radius, not those of the answer; those of several
    partitions, which are consecutive groups of `own`, are side by side. A column with more than half of its
    blocks constant has its blocks all the same: the vector may have a radius by its
    other columns.
    """
    n_groups = reason.size
    if "ball" not in ask.wanted:
        rows, mean = np.zeros((n_groups, 0)), np.empty((n_groups, 0))
        spread, why = np.full(n_groups, np.nan), np.full(n_groups, int(NoInterval.NOT_WANTED))
    else:
        factor = vector_factor if repeats == 1 else repeated_vector_factor
        best = best_blocks(own, np.asarray([factor(int(k), ask.delta) for k in own.ladder.levels]), repeats)
        rows, mean = compact(best.effective.reshape(n_groups, -1), best.means.reshape(n_groups, -1))
        spread = lower_median(best.spread(own, between, sized=True).reshape(n_groups, -1))
        open_ = (reason == 0) | (reason == NoInterval.CONSTANT_BLOCKS)
        why = np.where(open_ & ~best.some, NoInterval.TOO_FEW_BLOCKS, reason)
    return {"ball_rows": rows, "ball_means": mean, "ball_spread": spread, "ball_reason": why}


def _order(out: Intervals, groups: Bools, answer: Answer, delta: float, outlying: Ints) -> None:
    """Fill in the order statistics of the answer's blocks, for some groups.

    `outlying` is the number of blocks of arbitrary value, with the non-finite ones. A NaN among them is taken
    to be at the far end of either side, where it can hide neither a small nor a large block.
    """
    n_blocks = np.count_nonzero(answer.count, axis=1)
    ordered = np.sort(answer.mean, axis=1)
    n_numbers = np.count_nonzero(~np.isnan(ordered), axis=1)
    place, kinds = kinds_of(n_blocks[groups], outlying[groups])
    ranks = [order_rank(k, delta, o) if k > o else None for k, o in kinds]
    achieved = [
        np.nan if rank is None else order_level(k, rank, o) for rank, (k, o) in zip(ranks, kinds, strict=True)
    ]
    rank = np.asarray([rank or 0 for rank in ranks], np.int64)[place]
    level = np.asarray(achieved, np.float64)[place]
    chosen = np.flatnonzero(groups)
    ends = np.stack([rank - 1, n_numbers[chosen] - rank], axis=1)
    values = np.take_along_axis(ordered[chosen], np.clip(ends, 0, ordered.shape[1] - 1), 1)
    reached = (ends[:, 0] < n_numbers[chosen]) & (ends[:, 1] >= 0) & np.isfinite(values).all(axis=1)
    why = np.where(rank == 0, NoInterval.TOO_FEW_BLOCKS, np.where(reached, 0, NoInterval.NON_FINITE_ENDS))
    given = why == 0
    values = _around(values, answer.place.subset(chosen), delta)
    out.order_reason[chosen] = why
    out.order_rank[chosen] = np.where(given, rank, 0)
    out.order_level[chosen] = np.where(given, level, np.nan)
    out.order_low[chosen] = np.where(given, values[:, 0], np.nan)
    out.order_high[chosen] = np.where(given, values[:, 1], np.nan)


def _around(ends: Floats, place: Location, delta: float) -> Floats:
    """Order statistics around the median, shape (n_groups, 2), as an interval around the location.

    They move with it, and the ends are at least those of Student's interval with `SKEW` of Hall's correction:
    the median of blocks of a skewed distribution varies less than their mean.
    """
    from scipy.special import stdtrit

    moved = ends + (place.estimate - place.centre)[:, None]
    with np.errstate(invalid="ignore", over="ignore"):
        t = stdtrit(np.maximum(place.freedom, 1.0), 1.0 - delta / 2.0)
        below, above = skewed(t, SKEW * place.skewness)
        low, high = place.estimate - place.se * below, place.estimate + place.se * above
    return np.stack([np.fmin(moved[:, 0], low), np.fmax(moved[:, 1], high)], axis=1)


def _exact(
    out: Intervals, groups: Bools, own: BlockSet, delta: float, between: bool, arbitrary: Ints
) -> None:
    """Fill in the exact bound for some groups: at its own best level K_e, or at a given number of blocks."""
    best = best_blocks(own, np.asarray([width_factor(int(k), delta) for k in own.ladder.levels]))
    n_blocks = np.count_nonzero(best.rows, axis=1)
    sized = between or own.given is not None
    spread = best.spread(own, between, sized=sized)
    some = groups & best.some & np.isfinite(spread)
    if sized:
        margin = _sized_margins(some, best.effective, spread, n_blocks, arbitrary, delta)
    else:  # random rows make blocks of nearly equal sizes
        with np.errstate(invalid="ignore", over="ignore"):
            margin = spread * factors(np.where(some, n_blocks, 0), np.ones_like(n_blocks), delta)
    why = np.where(best.some, np.where(some, 0, NoInterval.OVERFLOW), NoInterval.TOO_FEW_BLOCKS)
    fill_cantelli(out, np.flatnonzero(groups), why, lower_median(best.means), margin, n_blocks)


class Best(NamedTuple):
    """The blocks behind an interval.

    Rows, means and effective rows (n_groups, width), how many of the blocks are the group's own, the standard
    error of the mean of all of them, and whether there is such a level, which is common to all partitions of
    a group.
    """

    rows: Ints
    means: Floats
    effective: Floats
    width: Ints
    se: Floats
    some: Bools

    def spread(self, own: BlockSet, between: bool, *, sized: bool) -> Floats:
        """Standard deviation of the mean of a typical block, or if `sized` of one of average effective size.

        `between` as for `intervals_of`; non-finite blocks do not count.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            spread = self.se * np.sqrt(np.count_nonzero(self.rows, axis=1))
            if sized:
                efficiency = average_efficiency(self.effective, self.rows, self.width)
            else:
                efficiency = typical_efficiency(self.effective, self.rows)
            spread *= inflation(own.finest, efficiency)
            if between:
                whole = np.where(np.isfinite(self.means), self.means, np.nan)
                spread = np.maximum(spread, scaled_mad(whole))
        return np.asarray(spread)


def best_blocks(own: BlockSet, factors: Floats, repeats: int = 1) -> Best:
    """The blocks of the answer if their number is given, else those of the level with the narrowest interval.

    Parameters
    ----------
    own : BlockSet
    factors : ndarray, shape (n_levels,)
        Width at each level in standard deviations of a block mean.
    repeats : int
        This number of consecutive groups of `own` are partitions of the same rows, which share a level.
    """
    levels, answer = own.ladder.levels, own.answer
    if own.given is not None:
        some = np.ones(answer.estimate.size // repeats, np.bool_)
        return Best(answer.count, answer.mean, answer.effective, answer.width, own.finest.se, some)
    usable = own.ladder.usable & (levels[None, :] <= answer.kept.n_filled[:, None])
    width = np.where(usable, levels * np.square(factors) * np.square(own.ladder.inflation), np.inf)
    width = width.reshape(-1, repeats, levels.size).max(axis=1)
    some = np.isfinite(width).any(axis=1)
    best = np.repeat(np.where(some, levels[np.argmin(width, axis=1)], 1), repeats)
    blocks = at_kept(own.fine, answer.kept, own.aside, best)
    return Best(*blocks, best, kept_se(own.finest, answer), some)


def kinds_of(n_blocks: Ints, outlying: Ints) -> tuple[Ints, list[tuple[int, int]]]:
    """Distinct pairs (blocks, arbitrary ones), and the index of each group's pair among them."""
    most = int(n_blocks.max(initial=0)) + 1
    codes = n_blocks * most + np.minimum(outlying, n_blocks)
    kinds = np.unique(codes)
    return np.searchsorted(kinds, codes), [divmod(code, most) for code in kinds.tolist()]


def _sized_margins(
    groups: Bools, rows: Floats, spread: Floats, n_blocks: Ints, outlying: Ints, delta: float
) -> Floats:
    """`_sized_margin` of some groups with any numbers of blocks and arbitrary ones; infinite elsewhere."""
    margin = np.full(n_blocks.shape, np.inf)
    chosen = np.flatnonzero(groups)
    place, kinds = kinds_of(n_blocks[chosen], outlying[chosen])
    for number, (k, non_finite) in enumerate(kinds):
        same = chosen[place == number]
        margin[same] = _sized_margin(rows[same], spread[same], k, non_finite, delta)
    return margin


def _sized_margin(rows: Floats, spread: Floats, n_blocks: int, non_finite: int, delta: float) -> Floats:
    """Margins of error of groups with equal numbers of blocks and of arbitrary ones; sizes may differ.

    Nearly equal sizes: all are taken to be as small as the smallest. Up to a ratio of 2, blocks are replaced
    by equal ones of average variance. That only raises the tail if m - o >= (K - o) p* + 1 (Hoeffding 1956,
    theorem 4; p/(1+p) is concave) and costs at most 6% of the width; the non-finite ones are taken to be the
    largest. Otherwise the Poisson-binomial tail is solved, group by group. Thousands of blocks are replaced
    whatever their ratio, or else taken to be as small as the smallest, because solving takes K^2 steps.
    """
    factor = width_factor(n_blocks, delta, non_finite)
    if not np.isfinite(factor):
        return np.full(spread.shape, np.inf)
    size = np.sort(np.where(rows > 0.0, rows, np.inf), axis=1)[:, :n_blocks]
    average = size.mean(axis=1)
    equal = size[:, -1] <= NEARLY_EQUAL * size[:, 0]
    typical = (average[:, None] / size[:, : n_blocks - non_finite]).mean(axis=1)
    with np.errstate(over="ignore"):
        out = np.asarray(spread * np.sqrt(np.where(equal, average / size[:, 0], typical)) * factor)
    good = n_blocks - non_finite
    needed = median_rank(n_blocks) - non_finite
    exchange = cantelli_allowed(n_blocks, delta, non_finite) and (
        needed >= good * binomial_p(n_blocks, delta, non_finite) + 1
    )
    if n_blocks > MOST_SOLVED:
        return out if exchange else spread * np.sqrt(average / size[:, 0]) * factor
    solve = ~equal & ((size[:, -1] > MILDLY_UNEQUAL * size[:, 0]) | (not exchange))
    for group in np.flatnonzero(solve):
        out[group] = spread[group] * unequal_factor(size[group], delta, non_finite)
    return out


def fill_cantelli(
    out: Intervals, chosen: Ints, why: Ints, centre: Floats, margin: Floats, n_blocks: Ints
) -> None:
    """Write the interval centre +- margin of the chosen groups unless there is a reason against it."""
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = centre - margin, centre + margin
    why = np.where((why == 0) & ~np.isfinite(margin), NoInterval.VACUOUS, why)
    why = np.where((why == 0) & ~(np.isfinite(low) & np.isfinite(high)), NoInterval.OVERFLOW, why)
    given = why == 0
    for array, values in ((out.cantelli_low, low), (out.cantelli_high, high), (out.cantelli_centre, centre)):
        array[chosen] = np.where(given, values, np.nan)[chosen]
    out.cantelli_blocks[chosen] = np.where(given, n_blocks, 0)[chosen]
    out.cantelli_reason[chosen] = why[chosen]
