"""Intervals for the answers of the rule: order statistics, and the exact bound with plug-in scale."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distmom.inference.answers import Intervals
from distmom.inference.block_set import Answer, Finest, Ladder, at_kept, factors, inflation, kept_se
from distmom.inference.ladder import Merger, average_efficiency, scaled_mad, typical_efficiency
from distmom.inference.status import NoInterval
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.median import lower_median
from distmom.theory.bounds import binomial_p, cantelli_allowed, median_rank, width_factor
from distmom.theory.intervals import order_level, order_rank
from distmom.theory.partition import NEARLY_EQUAL, partition_halfwidth

MILDLY_UNEQUAL = 2.0
"""Up to this ratio of the largest to the smallest block, a bound in closed form is nearly the exact one."""


MOST_SOLVED = 2_000
"""Up to so many blocks of unequal sizes their tail is solved."""


def order_interval(out: Intervals, groups: Bools, answer: Answer, delta: float, outlying: Ints) -> None:
    """Fill in the order statistics of the answer's blocks, for some groups.

    Parameters
    ----------
    out : Intervals
        Changed in place.
    groups : ndarray of bool, shape (n_groups,)
        Groups to fill in.
    answer : Answer
        Blocks of all groups.
    delta : float
        1 - confidence level.
    outlying : ndarray of int64, shape (n_groups,)
        Blocks of arbitrary value, with the ruined ones. A NaN among them is taken at the far end of either
        side, where it can hide neither a small nor a large block.
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
    why = np.where(rank == 0, NoInterval.TOO_FEW_BLOCKS, np.where(reached, 0, NoInterval.RUINED_ENDS))
    given = why == 0
    out.order_reason[chosen] = why
    out.order_rank[chosen] = np.where(given, rank, 0)
    out.order_level[chosen] = np.where(given, level, np.nan)
    out.order_low[chosen] = np.where(given, values[:, 0], np.nan)
    out.order_high[chosen] = np.where(given, values[:, 1], np.nan)


def exact_interval(
    out: Intervals,
    groups: Bools,
    fine: Merger,
    answer: Answer,
    set_aside: Bools,
    finest: Finest,
    ladder: Ladder,
    delta: float,
    between: bool,
) -> None:
    """Fill in the exact bound at its own best level K_e, for some groups of the automatic rule.

    Parameters
    ----------
    out : Intervals
        Changed in place.
    groups : ndarray of bool, shape (n_groups,)
        Groups to fill in.
    fine, answer, set_aside
        All blocks, those kept, and the groups in which some were set aside.
    finest, ladder
        The scale, and the levels that each group has.
    delta : float
        1 - confidence level.
    between : bool
        Take the spread between the K_e block means where it is larger: blocks may be dependent inside. Their
        sizes may differ, too.
    """
    levels = ladder.levels
    score = np.asarray([int(k) * width_factor(int(k), delta) ** 2 for k in levels])
    best = best_blocks(groups, fine, answer, set_aside, finest, ladder, score, between, sized=between)
    n_blocks = np.count_nonzero(best.rows, axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        if between:
            none = np.zeros_like(n_blocks)
            halfwidth = _sized_halfwidths(best.some, best.effective, best.spread, n_blocks, none, delta)
        else:  # random rows make blocks of nearly equal sizes
            halfwidth = best.spread * factors(np.where(best.some, n_blocks, 0), np.ones_like(n_blocks), delta)
    why = np.where(best.some, 0, NoInterval.TOO_FEW_BLOCKS)
    fill_exact(out, np.flatnonzero(groups), why, lower_median(best.means), halfwidth, n_blocks)


class Best(NamedTuple):
    """Blocks at each group's level of least width: rows, means, effective rows, deviation of a mean, if any.

    The deviation is that of a typical block, or if `sized` of a block of average effective size.
    """

    rows: Ints
    means: Floats
    effective: Floats
    spread: Floats
    some: Bools


def best_blocks(
    groups: Bools,
    fine: Merger,
    answer: Answer,
    set_aside: Bools,
    finest: Finest,
    ladder: Ladder,
    score: Floats,
    between: bool,
    *,
    sized: bool,
) -> Best:
    """The blocks at the possible level of least score (squared width of equally many rows)."""
    levels = ladder.levels
    possible = ladder.usable & (levels[None, :] <= answer.n_kept[:, None])
    masked = np.where(possible, score[None, :] * np.square(ladder.inflation), np.inf)
    best = levels[np.argmin(masked, axis=1)]
    some = groups & np.isfinite(masked).any(axis=1)
    count, mean, effective = at_kept(fine, answer.kept, set_aside, np.where(some, best, 1))
    share = average_efficiency if sized else typical_efficiency
    with np.errstate(invalid="ignore", over="ignore"):
        spread = kept_se(finest, answer) * np.sqrt(np.count_nonzero(count, axis=1))
        spread *= inflation(finest, share(effective, count))
        if between:
            spread = np.maximum(spread, scaled_mad(mean))
    return Best(count, mean, effective, spread, some)


def given_spread(answer: Answer, finest: Finest, between: bool) -> Floats:
    """Standard deviation of an average block's mean at a given number of them; ruined ones do not tell."""
    with np.errstate(invalid="ignore", over="ignore"):
        spread = finest.se * np.sqrt(np.count_nonzero(answer.count, axis=1))
        spread *= inflation(finest, average_efficiency(answer.effective, answer.count))
        if between:
            spread = np.maximum(spread, scaled_mad(np.where(np.isfinite(answer.mean), answer.mean, np.nan)))
    return np.asarray(spread)


def exact_interval_given(
    out: Intervals,
    groups: Bools,
    answer: Answer,
    finest: Finest,
    delta: float,
    between: bool,
    outlying: Ints,
) -> None:
    """As `exact_interval` at a given number of blocks, some of them arbitrary; sizes may differ."""
    n_blocks = np.count_nonzero(answer.count, axis=1)
    spread = given_spread(answer, finest, between)
    usable = groups & np.isfinite(spread)
    halfwidth = _sized_halfwidths(usable, answer.effective, spread, n_blocks, outlying, delta)
    why = np.where(np.isfinite(spread), NoInterval.GIVEN, NoInterval.OVERFLOW)
    fill_exact(out, np.flatnonzero(groups), why, answer.estimate, halfwidth, n_blocks)


def kinds_of(n_blocks: Ints, outlying: Ints) -> tuple[Ints, list[tuple[int, int]]]:
    """Distinct pairs (blocks, arbitrary ones), and the place of each group's pair among them."""
    most = int(n_blocks.max(initial=0)) + 1
    codes = n_blocks * most + np.minimum(outlying, n_blocks)
    kinds = np.unique(codes)
    return np.searchsorted(kinds, codes), [divmod(code, most) for code in kinds.tolist()]


def _sized_halfwidths(
    groups: Bools, rows: Floats, spread: Floats, n_blocks: Ints, outlying: Ints, delta: float
) -> Floats:
    """`_sized_halfwidth` of some groups with any numbers of blocks and arbitrary ones; infinite elsewhere."""
    halfwidth = np.full(n_blocks.shape, np.inf)
    chosen = np.flatnonzero(groups)
    place, kinds = kinds_of(n_blocks[chosen], outlying[chosen])
    for number, (k, ruined) in enumerate(kinds):
        same = chosen[place == number]
        halfwidth[same] = _sized_halfwidth(rows[same], spread[same], k, ruined, delta)
    return halfwidth


def _sized_halfwidth(rows: Floats, spread: Floats, n_blocks: int, ruined: int, delta: float) -> Floats:
    """Half-widths of groups with equally many blocks and arbitrary blocks, whose sizes may differ.

    Nearly equal sizes: all as small as the smallest. Up to a ratio of 2, blocks are exchanged for equal ones
    of average variance, which only raises the tail if m - o >= (K - o) p* + 1 (Hoeffding 1956, theorem 4;
    p/(1+p) is concave) and costs at most 6 % of the width; the ruined ones are taken to be the largest. Else
    the Poisson-binomial tail is solved, group by group; but thousands of blocks are exchanged whatever their
    ratio, or else taken to be as small as the smallest, because solving takes K^2 steps.
    """
    factor = width_factor(n_blocks, delta, ruined)
    if not np.isfinite(factor):
        return np.full(spread.shape, np.inf)
    size = np.sort(np.where(rows > 0.0, rows, np.inf), axis=1)[:, :n_blocks]
    average = size.mean(axis=1)
    equal = size[:, -1] <= NEARLY_EQUAL * size[:, 0]
    typical = (average[:, None] / size[:, : n_blocks - ruined]).mean(axis=1)
    with np.errstate(over="ignore"):
        out = np.asarray(spread * np.sqrt(np.where(equal, average / size[:, 0], typical)) * factor)
    good = n_blocks - ruined
    needed = median_rank(n_blocks) - ruined
    exchange = cantelli_allowed(n_blocks, delta, ruined) and (
        needed >= good * binomial_p(n_blocks, delta, ruined) + 1
    )
    if n_blocks > MOST_SOLVED:
        return out if exchange else spread * np.sqrt(average / size[:, 0]) * factor
    solve = ~equal & ((size[:, -1] > MILDLY_UNEQUAL * size[:, 0]) | (not exchange))
    for group in np.flatnonzero(solve):
        out[group] = spread[group] * partition_halfwidth(1.0, n_blocks, delta, ruined, size[group])
    return out


def fill_exact(
    out: Intervals,
    chosen: Ints,
    why: Ints,
    centre: Floats,
    halfwidth: Floats,
    n_blocks: Ints,
) -> None:
    """Write the interval centre +- halfwidth of the chosen groups where nothing speaks against it."""
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = centre - halfwidth, centre + halfwidth
    why = np.where((why == 0) & ~np.isfinite(halfwidth), NoInterval.VACUOUS, why)
    why = np.where((why == 0) & ~(np.isfinite(low) & np.isfinite(high)), NoInterval.OVERFLOW, why)
    given = why == 0
    for array, values in ((out.exact_low, low), (out.exact_high, high), (out.exact_centre, centre)):
        array[chosen] = np.where(given, values, np.nan)[chosen]
    out.exact_blocks[chosen] = np.where(given, n_blocks, 0)[chosen]
    out.exact_reason[chosen] = why[chosen]
