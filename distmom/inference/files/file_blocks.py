"""The second opinion: the same rows in cells of whole files.

Rows are assigned to blocks at random, so one bad file affects every block a little, and no number of row
blocks can reveal it. Cells keyed by the file's path keep a bad file together: there it is a few outlying
cells among many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distmom.inference.block_set import BlockSet, Finest, Ladder
from distmom.inference.ladder import Merger, average_efficiency, row_bound, rows_at, scaled_mad
from distmom.inference.steps import answer_level, tested
from distmom.numerics.arrays import Bools, Floats, Ints
from distmom.numerics.blocks.block_state import BlockState
from distmom.numerics.median import lower_median
from distmom.numerics.own_sums import own_sums
from distmom.theory.ladder import ladder_levels

LEAST_CELLS = 10
"""Fewer cells than this cannot outvote a bad file."""


@dataclass(frozen=True)
class FileSet(BlockSet):
    """The rule's steps on the cells of whole files, for the groups that have enough of them.

    ``groups`` are the numbers of those groups; all other arrays have one row for each of them. ``active``
    marks those whose cells gave a scale and a finite answer. ``outlying_cells`` are the input cells that are
    in an outlying cell after small ones were merged. ``effect`` is the variance between cells over that
    within them, both robust and per row: 1 for independent rows of a distribution that is not
    skewed.
    """

    groups: Ints
    active: Bools
    outlying_cells: Bools
    effect: Floats


def file_set(
    files: BlockState,
    wanted: Bools,
    n_sample: Ints,
    n_most: Ints,
    n_columns: int = 1,
    *,
    located: bool = True,
) -> FileSet | None:
    """Test the cells of files; None if no group has enough of them.

    Parameters
    ----------
    files : Moments or WeightedMoments
        Cells by hash of the path, shape (n_groups, n_cells).
    wanted : ndarray of bool, shape (n_groups,)
        Groups to test.
    n_sample, n_most : ndarray of int64, shape (n_groups,)
        Sampled rows, and how many of them have the most frequent value.
    n_columns : int
        This number of consecutive groups are the columns of a vector: same rows, same cells screened out.
    located : bool
        As for `tested`.
    """
    groups = np.flatnonzero(wanted & (np.count_nonzero(files.count, axis=1) >= LEAST_CELLS))
    cells = Merger(files).subset(groups)
    n_sample, n_most = n_sample[groups], n_most[groups]
    merged, cell_of = _merge_small_cells(cells, n_sample, n_most)
    enough = np.flatnonzero(merged.n_filled >= LEAST_CELLS)
    if not enough.size:
        return None
    if enough.size < groups.size:
        groups, cells, merged = groups[enough], cells.subset(enough), merged.subset(enough)
        cell_of, n_sample, n_most = cell_of[enough], n_sample[enough], n_most[enough]
    finest, effect = _finest_cells(merged)
    levels = np.asarray(ladder_levels(files.count.shape[1]), dtype=np.int64)
    usable = row_bound(levels, rows_at(merged, levels), n_sample, n_most)
    usable &= 2 * levels[None, :] <= merged.n_filled[:, None]
    at = answer_level(levels, usable, merged.n_effective)
    found = tested(merged, finest, levels, usable, at, n_columns, located=located)
    return FileSet(
        **vars(found),
        groups=groups,
        active=finest.testable & usable.any(axis=1) & found.answer.finite,
        outlying_cells=np.take_along_axis(found.seen.far, cell_of, 1) & cells.filled,
        effect=effect,
    )


def _merge_small_cells(cells: Merger, n_sample: Ints, n_most: Ints) -> tuple[Merger, Ints]:
    """Merge neighbours, by counts of rows, until the average cell has enough rows; return the map, too."""
    seen = np.maximum(n_sample, 1)
    others = np.where(n_sample > 0, n_sample - n_most, 1)
    n = cells.n_effective
    target = np.minimum(n // 8, n * others // (5 * seen))
    width = cells.count.shape[1]
    small = np.flatnonzero(target < cells.n_filled)
    cell_of = np.broadcast_to(np.arange(width), cells.count.shape).copy()
    if not small.size:
        return cells, cell_of
    some = cells.subset(small)
    moments = cells.blocks.each(np.copy)
    for whole, piece in zip(moments, some.moments_at(target[small]), strict=True):
        whole[small] = 0
        whole[small, : piece.shape[1]] = piece
    cell_of[small] = some.index(target[small])
    return Merger(moments), cell_of


def _finest_cells(cells: Merger) -> tuple[Finest, Floats]:
    """Scale of cells of very different sizes: deviations are compared after multiplication by sqrt(rows).

    The rows are the effective ones if there are weights. Also returns the `FileSet.effect`.
    """
    centre = lower_median(cells.mean)
    root = np.sqrt(np.maximum(cells.effective, 1.0))
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        within = lower_median(np.where(np.isfinite(cells.mean), cells.blocks.row_variance, np.nan))
        z = (cells.mean - centre[:, None]) * root
        between = scaled_mad(z)
        deviation = np.maximum(np.sqrt(np.where(np.isnan(within), 0.0, within)), between)
        effect = np.where(between > 0.0, between * between / np.maximum(within, 0.0), np.nan)
    n = np.maximum(own_sums(cells.effective, cells.width), 1.0)
    finest = Finest(
        blocks=cells,
        centre=centre,
        se=deviation / np.sqrt(n),
        spread=deviation[:, None] / root,
        share=cells.effective / n[:, None],
        efficiency=average_efficiency(cells.effective, cells.count, cells.width),
    )
    return finest, np.asarray(effect)


def common_levels(rows: BlockSet, files: FileSet) -> tuple[Ints, Ints]:
    """Levels at which rows and files are compared: 27 (9 with few cells), or the largest smaller common one.

    If the number of row blocks was given, only the files' ladder counts. 0 if there is no level.
    """
    aim = np.where(files.finest.blocks.n_filled < 54, 9, 27)[:, None]
    levels = files.ladder.levels
    good = files.ladder.usable & (levels[None, :] <= aim)
    if rows.given is None:
        _, in_rows, in_files = np.intersect1d(rows.ladder.levels, levels, return_indices=True)
        mine = np.zeros_like(good)
        mine[:, in_files] = rows.ladder.usable[files.groups][:, in_rows]
        good &= mine
    found = np.asarray(np.where(good, levels[None, :], 0).max(axis=1, initial=0))
    return (found if rows.given is None else np.full_like(found, rows.given)), found


def margin_at(ladder: Ladder, level: Ints, groups: Ints) -> Floats:
    """Margin of error of some groups, each at its level; NaN if that level is 0."""
    column = np.minimum(np.searchsorted(ladder.levels, level), ladder.levels.size - 1)
    return np.where(level > 0, ladder.margin[groups, column], np.nan)
