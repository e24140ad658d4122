"""Tests of blocks of random rows, with a number of blocks that the rule chooses or the user gave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distmom.inference.answers import Request
from distmom.inference.block_set import BlockSet, Finest
from distmom.inference.ladder import Merger, enough_units, row_bound, rows_at, scaled_mad, typical_efficiency
from distmom.inference.status import NoInterval
from distmom.inference.steps import answer, answer_level, climb, over_columns, screen, tested
from distmom.numerics.arrays import Bools, Ints
from distmom.numerics.median import lower_median
from distmom.theory.intervals import least_order_blocks
from distmom.theory.ladder import ladder_levels

LEAST_FLAGGED = 5
"""With fewer than five blocks nothing can be tested."""


@dataclass(frozen=True)
class RowSet(BlockSet):
    """Findings about the row blocks, before the files are compared.

    `plain` marks groups with too few rows for blocks, `lowered` those with fewer rows than blocks.
    """

    plain: Bools
    lowered: Bools

    @property
    def finite(self) -> Bools:
        """Groups with a finite answer from their row blocks."""
        fine = np.ones_like(self.plain) if self.given is not None else self.finest.answerable | self.plain
        return np.asarray(self.answer.finite & fine)

    @property
    def reason(self) -> Ints:
        """`NoInterval` codes of groups that cannot have any interval; 0 if none is known yet."""
        se = self.finest.se
        met = {
            NoInterval.NO_ANSWER: ~self.finite,
            NoInterval.SAMPLE_MEAN: self.plain,
            NoInterval.FEWER_ROWS_THAN_BLOCKS: self.lowered,
            NoInterval.CONSTANT_BLOCKS: (se == 0.0) & ~self.fine.constant,
            NoInterval.OVERFLOW: ~np.isfinite(se),
        }
        return np.select([*met.values()], [*met.keys()], NoInterval.GIVEN)


def finest_rows(fine: Merger, n_blocks: Ints) -> Finest:
    """Merge to the finest usable level and measure the scale of its block means.

    Parameters
    ----------
    fine : Merger
        All row blocks, before merging.
    n_blocks : ndarray of int64, shape (n_groups,)
        Number of blocks of the finest usable level; 0 for groups without one.

    Notes
    -----
    The standard deviation of a block mean is the larger of two robust numbers, each from the middle of the
    blocks: sqrt of the lower median of S^2/B within blocks (with weights, of sum w^2 (x - m)^2 / (sum w)^2),
    and the scaled median distance of the means. The second detects dependence and differing blocks, which
    the first cannot detect.
    """
    blocks = Merger(fine.moments_at(n_blocks), n_blocks)
    rows = np.maximum(blocks.effective, 1.0)
    with np.errstate(invalid="ignore", over="ignore"):
        within = lower_median(blocks.blocks.row_variance / rows)
        spread = np.maximum(np.sqrt(np.where(np.isnan(within), 0.0, within)), scaled_mad(blocks.mean))
    share = 1.0 / np.maximum(blocks.n_filled, 1)
    return Finest(
        blocks=blocks,
        centre=lower_median(blocks.mean),
        se=spread * np.sqrt(share),
        spread=spread[:, None],
        share=share[:, None],
        efficiency=typical_efficiency(blocks.effective, blocks.count),
    )


def automatic_rows(
    fine: Merger, levels: Ints, usable: Bools, least: int, n_columns: int = 1, n_units: Ints | None = None
) -> RowSet:
    """Steps of the rule for row blocks whose number the rule chooses."""
    f = np.max(np.where(usable, levels[None, :], 0), axis=1, initial=0)
    plain = (f == 0) & (fine.n > 0)
    finest = finest_rows(fine, f)
    n = np.floor(finest.efficiency * fine.n).astype(np.int64)
    n = n if n_units is None else np.minimum(n, n_units)
    wanted = np.where(plain, 1, answer_level(levels, usable, n, least))
    found = tested(fine, finest, levels, usable, wanted, n_columns)
    return RowSet(**vars(found), plain=plain, lowered=np.zeros_like(plain))


def given_rows(fine: Merger, levels: Ints, enough: Bools, n_columns: int = 1) -> RowSet:
    """Steps for a given number of blocks, the first of the levels: tested, nothing screened out."""
    k = int(levels[0])
    at = np.minimum(k, fine.n)
    testable_levels = enough & (levels[None, :] >= LEAST_FLAGGED)
    usable = testable_levels.copy()
    usable[:, 0] = fine.n >= k
    f = np.maximum(np.max(np.where(usable, levels[None, :], 0), axis=1), at)
    finest = finest_rows(fine, f)
    ladder = climb(fine, levels, usable, finest, n_columns)
    seen = screen(finest, ladder)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(ladder.median[:, :1] - ladder.median[:, 1:])
        meets = apart <= ladder.margin[:, :1] + ladder.margin[:, 1:]
        wrong = (~meets & usable[:, 1:]).any(axis=1) | ~(seen.shift <= ladder.margin[:, 0])
        wrong &= finest.testable & testable_levels.any(axis=1) & usable[:, 0]
        full = 4 * seen.n_far > finest.blocks.n_filled
        beyond = over_columns(wrong & (full | ~(seen.near_shift <= ladder.margin[:, 0])), n_columns)
    nobody = np.zeros(at.size, np.bool_)
    found = answer(fine, finest, seen, nobody, levels, at)
    wrong, lowered = over_columns(wrong, n_columns), (fine.n < k) & (fine.n > 0)
    return RowSet(fine, k, finest, ladder, seen, wrong, beyond, found, nobody, lowered)


def tested_rows(
    ask: Request, fine: Merger, n_sample: Ints, n_most: Ints, n_units: Ints | None = None
) -> RowSet:
    """The steps of the rule for row blocks; `n_most` are those of `most_of_vectors`."""
    given = () if ask.n_blocks == "auto" else (ask.n_blocks,)
    levels = np.asarray(ladder_levels(fine.count.shape[1], *given), dtype=np.int64)
    usable = row_bound(levels, rows_at(fine, levels), n_sample, n_most)
    if ask.block_source != "rows":  # fewer fine blocks than blocks: a level only repeats the next coarser one
        usable &= levels[None, :] <= fine.n_filled[:, None]
    if n_units is not None:
        usable &= enough_units(levels, n_units)
    if given:
        return given_rows(fine, levels, usable, ask.n_columns)
    least = least_order_blocks(ask.delta) if "order" in ask.wanted else 1
    return automatic_rows(fine, levels, usable, least, ask.n_columns, n_units)


def most_of_vectors(fine: Merger, n_sample: Ints, frequent: Ints, n_columns: int) -> Ints:
    """Sampled rows of the most frequent value, which shows whether blocks may have missed rare ones.

    If all rows are equal no value is rare. The column with the highest such count limits the levels
    of all columns of a vector, unless that column never varies.
    """
    n_most = np.where(fine.constant, 0, frequent)
    if n_columns == 1:
        return n_most
    varies = frequent < n_sample
    seen = np.where(varies | ~over_columns(varies, n_columns), n_most, 0)
    return np.repeat(seen.reshape(-1, n_columns).max(axis=1), n_columns)
