"""Blocks for the radius of a vector: those of the level where it is least, not those of the answer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distmom.inference.answers import compact
from distmom.inference.block_set import Answer
from distmom.inference.file_blocks import FileSet
from distmom.inference.intervals import Best, best_blocks, given_spread
from distmom.inference.row_blocks import RowSet
from distmom.inference.status import NoInterval
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.theory.vectors import vector_factor


class Ball(NamedTuple):
    """The fields of `RuleAnswer` of the same names."""

    ball_rows: Floats
    ball_means: Floats
    ball_spread: Floats
    ball_reason: Ints


def no_ball(n_groups: int) -> Ball:
    """Fields of groups for which no radius is wanted."""
    why = np.full(n_groups, int(NoInterval.NOT_WANTED))
    return Ball(np.zeros((n_groups, 0)), np.empty((n_groups, 0)), np.full(n_groups, np.nan), why)


def row_ball(own: RowSet, set_aside: Bools, reason: Ints, delta: float, between: bool) -> Ball:
    """Blocks for the radius of the row blocks' answer; `reason` says where an answer has no interval at all.

    A column of which more than half of the blocks are constant has its blocks all the same: the vector may
    have a radius by its other columns.
    """
    if own.given is not None:
        rows, mean = compact(own.answer.effective, own.answer.mean)
        return Ball(rows, mean, given_spread(own.answer, own.finest, between), reason.copy())
    best = best_blocks(
        np.ones_like(own.plain),
        own.fine,
        own.answer,
        set_aside,
        own.finest,
        own.ladder,
        _scores(own.ladder.levels, delta),
        between,
        sized=True,
    )
    return _of(best, reason)


def file_ball(found: FileSet, first: Ints, given: Answer, delta: float) -> Ball:
    """Blocks for the radius of the files' answer, for some of their groups."""
    best = best_blocks(
        np.ones(first.size, np.bool_),
        found.finest.blocks.subset(first),
        given,
        found.contradicted[first],
        found.finest.subset(first),
        found.ladder.subset(first),
        _scores(found.ladder.levels, delta),
        False,
        sized=True,
    )
    constant = (found.finest.se[first] == 0.0) & ~found.finest.blocks.constant[first]
    return _of(best, np.where(constant, int(NoInterval.CONSTANT_BLOCKS), 0))


def _of(best: Best, reason: Ints) -> Ball:
    rows, mean = compact(best.effective, best.means)
    open_ = (reason == 0) | (reason == NoInterval.CONSTANT_BLOCKS)
    return Ball(rows, mean, best.spread, np.where(open_ & ~best.some, NoInterval.TOO_FEW_BLOCKS, reason))


def _scores(levels: Ints, delta: float) -> Floats:
    return np.asarray([int(k) * vector_factor(int(k), delta) ** 2 for k in levels])
