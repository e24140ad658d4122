"""The rule's request and answer: arrays with one entry per group, and how parts are joined."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.rung import Rung

Number = TypeVar("Number", np.int64, np.float64)

BlockSource = Literal["rows", "units", "stored", "statistics"]


@dataclass(frozen=True)
class Request:
    """The request to the rule for all groups; see `adaptive.answer_rule`."""

    delta: float
    n_blocks: int | Literal["auto"]
    block_source: BlockSource
    wanted: frozenset[str]
    outlying: int
    n_columns: int
    pays_for_files: bool = False
    few_only: bool = False

    @property
    def between(self) -> bool:
        """Whether intervals use the variance between blocks if that is larger, and the blocks' sizes."""
        return self.block_source in ("units", "stored")


@dataclass(frozen=True)
class OfGroups:
    """Base of records whose fields have one line per group, except for fields common to all groups."""

    of_all: ClassVar[tuple[str, ...]] = ()

    def subset(self, groups: Ints) -> Self:
        """The same for some of the groups, or for all in another order."""
        mine = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{n: _some(v, groups) for n, v in mine.items() if n not in self.of_all})


def _some(value: Any, groups: Ints) -> Any:
    return value.subset(groups) if hasattr(value, "subset") else value[groups]


R = TypeVar("R", bound=OfGroups)


@dataclass(frozen=True)
class Intervals(OfGroups):
    """The two intervals of each group; all arrays have shape (n_groups,), NaN if there is no interval.

    Attributes
    ----------
    order_low, order_high : ndarray of float64
        Order statistics of the blocks of the answer; under ``"auto"`` moved with the estimate from the
        median to the location, and at least Student's interval.
    order_level : ndarray of float64
        Actual confidence level (at least the requested one): the probability of covering the median of
        the distribution of one block mean, whose distance to the mean is of smaller order.
    order_rank : ndarray of int64
        The rank l: the l-th smallest and the l-th largest block mean; 0 if there is no interval.
    order_reason : ndarray of int64
        `NoInterval` codes.
    cantelli_low, cantelli_high, cantelli_centre : ndarray of float64
        Interval with plug-in scale, and the estimate at its centre, which under ``"auto"`` is not
        `RuleAnswer.estimate`.
    cantelli_blocks : ndarray of int64
        Number of blocks K_e of the centre; 0 if there is no interval.
    cantelli_reason : ndarray of int64
        `NoInterval` codes.
    """

    order_low: Floats
    order_high: Floats
    order_level: Floats
    order_rank: Ints
    order_reason: Ints
    cantelli_low: Floats
    cantelli_high: Floats
    cantelli_centre: Floats
    cantelli_blocks: Ints
    cantelli_reason: Ints

    @classmethod
    def missing(cls, n_groups: int, reason: int) -> Intervals:
        """No interval for any group, for one reason."""
        nothing = (*[np.nan] * 3, 0, int(reason)) * 2
        return cls(*(np.full(n_groups, value) for value in nothing))

    def put(self, groups: Ints, other: Intervals) -> None:
        """Overwrite the entries of some groups."""
        for field in fields(self):
            getattr(self, field.name)[groups] = getattr(other, field.name)


@dataclass(frozen=True)
class RuleAnswer(OfGroups):
    """Answers of the rule, one entry (or row) per group.

    Attributes
    ----------
    estimate : ndarray of float64, shape (n_groups,)
        The answer shown first; NaN if the status says that there is none.
    status : ndarray of int64, shape (n_groups,)
        `Finding` flags; `flags_of` gives the words, the deciding one first.
    n_used : ndarray of int64, shape (n_groups,)
        Rows behind the answer, including those of blocks screened out.
    n_blocks : ndarray of int64, shape (n_groups,)
        Blocks of the answer (with non-finite ones): the answer is their median, or near it; 0 without rows.
    lowered : ndarray of bool, shape (n_groups,)
        The given number of blocks exceeds the number of rows, and was lowered to it.
    block_estimates : ndarray of float64, shape (n_groups, width)
        Means of those blocks in the order of their numbers; ragged rows end in NaN.
    block_rows : ndarray of int64, shape (n_groups, width)
        Their rows; 0 where `block_estimates` is padding (and not a non-finite block).
    block_size : ndarray of int64, shape (n_groups, 2)
        Fewest and most rows in one of those blocks.
    n_non_finite : ndarray of int64, shape (n_groups,)
        Blocks whose mean is not finite: among the blocks of the answer, or among those screened out for it.
    n_screened_out : ndarray of int64, shape (n_groups,)
        Outlying blocks (of the finest level) that the answer leaves out; 0 unless contaminated.
    plain_estimate : ndarray of float64, shape (n_groups,)
        Mean of all used rows, infinite or NaN if they contain such values.
    constant : ndarray of bool, shape (n_groups,)
        All used rows have the same finite value.
    levels : ndarray of int64, shape (n_levels,)
        The ladder of the row blocks.
    path_estimate, path_margin : ndarray of float64, shape (n_groups, n_levels)
        Median and margin of error of the contradiction test at every level; NaN at levels that a group
        lacks.
    k_hat : ndarray of int64, shape (n_groups,)
        Coarsest level whose interval meets those of all finer levels; 0 without a ladder.
    contradicted : ndarray of bool, shape (n_groups,)
        The row blocks contradict each other.
    row_estimate : ndarray of float64, shape (n_groups,)
        Answer of the row blocks, which is `estimate` unless the files come first.
    row_margin, file_margin : ndarray of float64, shape (n_groups,)
        Margins of error for the comparison of the two answers; NaN if they are not compared.
    file_estimate : ndarray of float64, shape (n_groups,)
        Answer of the cells of files; NaN if there are too few.
    disagree : ndarray of bool, shape (n_groups,)
        Cells of files contradict the row blocks.
    files_first : ndarray of bool, shape (n_groups,)
        `estimate`, its blocks and intervals are those of the cells of files.
    file_effect : ndarray of float64, shape (n_groups,)
        Design effect if rows of a file are correlated, so that intervals for independent rows are too
        narrow; else NaN.
    files_low, files_high : ndarray of float64, shape (n_groups,)
        Interval of whole files if it replaces that of rows; otherwise, and if there are too few files,
        NaN.
    suspect_cells : ndarray of bool, shape (n_groups, n_cells)
        Input cells whose files contain outlying values.
    too_equal : ndarray of bool, shape (n_groups,)
        Row blocks vary less than by chance, as with sorted rows: the order interval is widened.
    intervals : Intervals
    ball_rows, ball_means : ndarray, shape (n_groups, width)
        If requested, effective rows and means of the blocks at the level with the smallest radius of a
        vector; for a given number of blocks, those of the answer.
    ball_spread : ndarray of float64, shape (n_groups,)
        Standard deviation of the mean of a block of average size.
    ball_reason : ndarray of int64, shape (n_groups,)
        `NoInterval` codes.
    """

    of_all = ("levels",)

    estimate: Floats
    status: Ints
    n_used: Ints
    n_blocks: Ints
    lowered: Bools
    block_estimates: Floats
    block_rows: Ints
    block_size: Ints
    n_non_finite: Ints
    n_screened_out: Ints
    plain_estimate: Floats
    constant: Bools
    levels: Ints
    path_estimate: Floats
    path_margin: Floats
    k_hat: Ints
    contradicted: Bools
    row_estimate: Floats
    row_margin: Floats
    file_margin: Floats
    file_estimate: Floats
    disagree: Bools
    files_first: Bools
    file_effect: Floats
    files_low: Floats
    files_high: Floats
    suspect_cells: Bools
    too_equal: Bools
    intervals: Intervals
    ball_rows: Floats
    ball_means: Floats
    ball_spread: Floats
    ball_reason: Ints

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.estimate.size)

    def path(self, g: int) -> tuple[Rung, ...]:
        """Number of blocks, estimate and margin of error at every level of a group that has an answer."""
        columns = (self.levels, self.path_estimate[g], self.path_margin[g])
        rungs = zip(*(column.tolist() for column in columns), strict=True)
        return tuple([Rung(*rung) for rung in rungs if math.isfinite(rung[1])])

    def overwritten(self, groups: Ints, new: dict[str, Any]) -> RuleAnswer:
        """The answer with new values of some fields for some groups; do not use this one afterwards."""
        wide: dict[str, Any] = {}
        for name, values in new.items():
            old = getattr(self, name)
            if name in RAGGED:
                width = max(old.shape[1], values.shape[1])
                old, values = padded(old, width), padded(values, width)
                wide[name] = old
            if isinstance(values, Intervals):
                old.put(groups, values)
            else:
                old[groups] = values
        return replace(self, **wide)


RAGGED = ("block_estimates", "block_rows", "ball_rows", "ball_means")
"""Fields of `RuleAnswer` whose rows may have any length."""


def padded(array: NDArray[Number], width: int) -> NDArray[Number]:
    """Widen a ragged block array with NaN or 0."""
    nothing = np.nan if array.dtype.kind == "f" else 0
    out = np.full((array.shape[0], width), nothing, array.dtype)
    out[:, : array.shape[1]] = array
    return out


def block_sizes(count: Ints) -> Ints:
    """Least and largest number of rows in the blocks of each group, shape (n_groups, 2); 0 without blocks."""
    least = np.min(np.where(count > 0, count, np.iinfo(np.int64).max), axis=1, initial=np.iinfo(np.int64).max)
    most = np.max(count, axis=1, initial=0)
    return np.stack([np.where(most > 0, least, 0), most], axis=1)


def compact(count: NDArray[Number], mean: Floats) -> tuple[NDArray[Number], Floats]:
    """Drop empty blocks: the others move to the left, in their order; cut to the longest row."""
    filled = count > 0
    width = int(np.count_nonzero(filled, axis=1).max(initial=0))
    if not filled[:, :width].all() or filled[:, width:].any():
        order = np.argsort(~filled, axis=1, kind="stable")
        count = np.take_along_axis(count, order, 1)
        mean = np.take_along_axis(mean, order, 1)
    return count[:, :width], np.where(count > 0, mean, np.nan)[:, :width]


def join(parts: list[R]) -> R:
    """Join records of consecutive groups, such as `RuleAnswer`."""
    first = parts[0]
    values: dict[str, Any] = {}
    for field in fields(first):
        pieces = [getattr(part, field.name) for part in parts]
        if field.name in RAGGED:
            width = max(piece.shape[1] for piece in pieces)
            pieces = [padded(piece, width) for piece in pieces]
        if field.name not in first.of_all:
            together = join if isinstance(pieces[0], OfGroups) else np.concatenate
            values[field.name] = together(pieces)
    return replace(first, **values)
