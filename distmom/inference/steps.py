"""Tests of one set of blocks: ladder, intersection, screen, and the answer on the kept blocks.

The steps are the same for blocks of random rows and for cells of whole files; only the standard deviation
of a block mean and the weight of a block differ, and `Finest` provides these.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from distmom.inference.block_set import Answer, BlockSet, Finest, Ladder, Screen
from distmom.inference.ladder import Merger
from distmom.inference.location import Location, location
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.median import lower_median
from distmom.numerics.own_sums import own_sums
from distmom.theory.bounds import width_factor

DELTA_FLAG = 0.001
"""Probability of a false alarm of the intersection test, over the whole ladder."""

CERTAIN = 8.0
"""A block this many standard deviations away is outlying for any distribution (more with many blocks)."""

LEVELS_AT_ONCE = 1 << 15
"""Levels are merged together up to about this many fine blocks in all: fewer, longer steps."""


def factors(n_blocks: Ints, n_tests: Ints, delta: float) -> Floats:
    """`width_factor` of each number of blocks at delta/n_tests; infinite if there are no blocks."""
    most = int(n_tests.max(initial=1)) + 1
    codes = n_blocks * most + n_tests
    kinds = np.unique(codes)
    table = [
        width_factor(code // most, delta / max(code % most, 1)) if code >= most else np.inf
        for code in kinds.tolist()
    ]
    return np.asarray(np.asarray(table, dtype=np.float64)[np.searchsorted(kinds, codes)])


def inflation(finest: Finest, efficiency: Floats) -> Floats:
    """Factor of the standard deviation of a block mean at a level, relative to se sqrt(K); 1 without weights.

    The blocks of a level share the effective rows of the group, and these depend on the level: in small
    blocks of unequal weights the typical one lacks the rare large weights, so its effective rows are a larger
    share than those of a large block. `efficiency` is that share at the level, for some groups of `finest` or
    all; the variance of a row of typical effect is the same at all levels.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt(finest.efficiency.reshape(-1, *[1] * (efficiency.ndim - 1)) / efficiency)


def over_columns(flags: Bools, n_columns: int) -> Bools:
    """Whether any column of a vector is flagged, for each of them: ``n_columns`` groups after one another."""
    if n_columns == 1:
        return flags
    vectors = flags.reshape(-1, n_columns, *flags.shape[1:])
    return np.repeat(vectors.any(axis=1), n_columns, axis=0)


def climb(merger: Merger, levels: Ints, usable: Bools, finest: Finest, n_columns: int = 1) -> Ladder:
    """Median and margin of error at every level: with one standard error for the whole ladder.

    h_K = se * sqrt(K) * factor(K, 0.001/(|L| n_columns)), times the `inflation` if rows have weights:
    together the intervals of all |L| levels, of all columns of a vector, hold with probability 0.999 if the
    blocks are clean.
    """
    n_blocks = np.zeros(usable.shape, np.int64)
    median = np.full(usable.shape, np.nan)
    columns = np.flatnonzero(usable.any(axis=0))
    step = max(1, LEVELS_AT_ONCE // max(merger.count.size, 1))
    for start in range(0, columns.size, step):
        some = columns[start : start + step]
        count, mean = merger.at_levels(levels[some])
        n_blocks[:, some] = np.count_nonzero(count, axis=2)
        median[:, some] = lower_median(mean)
    n_blocks = np.where(usable, n_blocks, 0)
    n_tests = n_columns * np.count_nonzero(usable, axis=1)[:, None]
    with np.errstate(invalid="ignore", over="ignore"):
        margin = finest.se[:, None] * np.sqrt(n_blocks) * factors(n_blocks, n_tests, DELTA_FLAG)
        more = inflation(finest, merger.efficiency_at(levels))
        margin = np.where(usable, margin * more, np.nan)
    return Ladder(levels, usable, np.where(usable, median, np.nan), margin, more)


def first_meeting(ladder: Ladder) -> Ints:
    """Column of the coarsest level whose interval, with those of all finer levels, has a point in common."""
    with np.errstate(invalid="ignore"):
        low = np.where(ladder.usable, ladder.median - ladder.margin, -np.inf)
        high = np.where(ladder.usable, ladder.median + ladder.margin, np.inf)
        low = np.maximum.accumulate(low[:, ::-1], axis=1)[:, ::-1]
        high = np.minimum.accumulate(high[:, ::-1], axis=1)[:, ::-1]
        meets = (low <= high) & ladder.usable  # a non-finite median is NaN and overlaps nothing
    return np.asarray(np.argmax(meets, axis=1))


def screen(finest: Finest, ladder: Ladder) -> Screen:
    """Find outlying blocks, the shift they cause, and the coarsest level that agrees with all finer ones.

    A finest block is outlying (`far`) if it is more than t = max(8, sqrt(F)/2) of its standard deviations
    from the median of all F. For a distribution of finite variance that moves the mean by at most sd/t.
    `shift` is what the outlying blocks add to the mean, `near_shift` what those add that are beyond 8 but not
    outlying. Without a scale nothing is outlying.
    """
    n_blocks = finest.blocks.n_filled
    t = np.maximum(CERTAIN, 0.5 * np.sqrt(n_blocks))[:, None]
    able = finest.testable[:, None] & finest.blocks.filled
    with np.errstate(invalid="ignore", over="ignore"):
        away = finest.blocks.mean - finest.centre[:, None]
        # non-finite means are outlying also where t * spread overflows
        far = able & ~(np.isfinite(finest.blocks.mean) & (np.abs(away) <= t * finest.spread))
        near = able & ~far & (np.abs(away) > CERTAIN * finest.spread)
        pull = away * finest.share
        shift, near_shift = (
            np.abs(own_sums(np.where(those, pull, 0.0), finest.blocks.width)) for those in (far, near)
        )
    k_hat = np.where(ladder.usable.any(axis=1), ladder.levels[first_meeting(ladder)], 0)
    return Screen(k_hat, far, np.count_nonzero(far, axis=1), shift, near_shift)


def contradicted(finest: Finest, ladder: Ladder, seen: Screen) -> Bools:
    """Whether the coarsest level disagrees with finer ones, or outlying blocks shift the mean too far."""
    widest = ladder.margin[:, 0]
    non_finite = finest.n_non_finite > 0  # infinitely far: also when the margin of error overflowed
    wrong = (seen.k_hat > ladder.levels[0]) | ~(seen.shift <= widest) | non_finite
    return np.asarray(finest.testable & ladder.usable.any(axis=1) & wrong)


def outlying_in(seen: Screen, wrong: Bools, n_columns: int) -> Screen:
    """The screen with the outlying blocks of a contradicted column, for all columns of its vector."""
    far = over_columns(seen.far & wrong[:, None], n_columns)
    return replace(seen, far=far, n_far=np.count_nonzero(far, axis=1))


def breakdown_point_exceeded(finest: Finest, ladder: Ladder, seen: Screen) -> Bools:
    """Whether nearly as many blocks are outlying as the finest level tolerates (for contradicted sets)."""
    n_blocks = finest.blocks.n_filled
    return np.asarray(
        (4 * seen.k_hat > n_blocks) | (4 * seen.n_far > n_blocks) | ~(seen.near_shift <= ladder.margin[:, 0])
    )


def tested(
    fine: Merger,
    finest: Finest,
    levels: Ints,
    usable: Bools,
    wanted: Ints,
    n_columns: int,
    *,
    located: bool = True,
) -> BlockSet:
    """The steps of the rule for a number of blocks that it chooses; `wanted` are those of the answer.

    See `answer` for the other arguments; `usable` are the levels of each group. The answer is the `location`
    of the kept blocks, or if not `located` the median of those of the answer.
    """
    ladder = climb(fine, levels, usable, finest, n_columns)
    seen = screen(finest, ladder)
    mine = contradicted(finest, ladder, seen)
    seen, wrong = outlying_in(seen, mine, n_columns), over_columns(mine, n_columns)
    found = answer(fine, finest, seen, wrong, levels, wanted)
    if located:
        n_blocks = np.count_nonzero(found.count, axis=1)
        found = replace(found, place=location(found.kept, found.place.centre, n_blocks, finest.se))
    beyond = over_columns(mine & breakdown_point_exceeded(finest, ladder, seen), n_columns)
    return BlockSet(fine, None, finest, ladder, seen, wrong, beyond, found)


def answer_level(levels: Ints, usable: Bools, n: Ints, least: int = 9) -> Ints:
    """K of the answer: the least level of at least min(63, max(9, sqrt(n)/4)), else the finest one.

    If there are levels of at least `least` blocks, which an order interval needs, it is one of them.
    """
    k = levels[None, :]
    enough = usable & (k >= 9) & ((k >= 63) | (16 * k * k >= n[:, None]))
    more = enough & (k >= least)
    enough = np.where(np.any(more, axis=1, keepdims=True), more, enough)
    finest = np.max(np.where(usable, k, 0), axis=1, initial=0)
    return np.asarray(np.where(np.any(enough, axis=1), levels[np.argmax(enough, axis=1)], finest))


def fewer_blocks(levels: Ints, wanted: Ints, n_kept: Ints) -> Ints:
    """Lower the wanted K to what the kept blocks allow: the largest level, or odd number, that fits."""
    fits = np.where(levels[None, :] <= n_kept[:, None], levels[None, :], 0).max(axis=1, initial=0)
    odd = n_kept - 1 + n_kept % 2
    return np.where(n_kept >= wanted, wanted, np.where(fits > 0, fits, odd))


def answer(
    fine: Merger, finest: Finest, seen: Screen, screened_out: Bools, levels: Ints, wanted: Ints
) -> Answer:
    """Answer at `wanted` blocks; where `screened_out`, outliers are left out and the others merged anew.

    Parameters
    ----------
    fine : Merger
        All blocks, before merging.
    finest, seen
        The finest usable blocks and what was found among them.
    screened_out : ndarray of bool, shape (n_groups,)
        Groups whose outlying blocks are left out.
    levels : ndarray of int64
        The ladder, for groups left with fewer blocks than wanted.
    wanted : ndarray of int64, shape (n_groups,)
        Number of blocks of the answer.
    """
    kept = finest.blocks.without(seen.far & screened_out[:, None])
    wanted = np.where(screened_out, fewer_blocks(levels, wanted, kept.n_filled), wanted)
    count, mean, effective = at_kept(fine, kept, screened_out, wanted)
    return Answer(kept, wanted, count, effective, mean, Location.median(lower_median(mean)))


def at_kept(fine: Merger, kept: Merger, screened_out: Bools, n_blocks: Ints) -> tuple[Ints, Floats, Floats]:
    """Blocks of a level: of all fine blocks, or of the kept finest ones if some were screened out.

    Rows, means and effective rows, each of shape (n_groups, width).
    """
    count, mean = fine.at(n_blocks)
    effective = fine.effective_at(n_blocks)
    some = np.flatnonzero(screened_out)
    if some.size:
        part = kept.subset(some)
        part_count, part_mean = part.at(n_blocks[some])
        pieces = (part_count, part_mean, part.effective_at(n_blocks[some]))
        for whole, piece, nothing in zip((count, mean, effective), pieces, (0, np.nan, 0.0), strict=True):
            whole[some] = nothing
            whole[some, : piece.shape[1]] = piece
    return count, mean, effective


def kept_se(finest: Finest, given: Answer) -> Floats:
    """Standard error of the mean of the blocks that were kept: sqrt(V_f/F') for F' row blocks."""
    kept = own_sums(np.where(given.kept.filled, finest.share, 0.0), given.kept.width)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        return np.where(kept > 0.0, finest.se / np.sqrt(kept), np.inf)
