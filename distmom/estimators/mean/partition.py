"""The rule on the blocks of a partition: the same for single columns and for vectors of columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from distmom.estimators.mean.plan import MeanPlan
from distmom.inference.adaptive import BlockSource, answer_rule
from distmom.inference.answers import RuleAnswer
from distmom.inference.repeated import answer_repeated
from distmom.inference.status import Status
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.blocks.block_state import BlockState
from distmom.reductions.layouts import FileLayout, UnitLayout
from distmom.reductions.roots import cell_of

Suspects = dict[int, list[str]]
"""Paths of the files in each cell."""


def row_and_cell_blocks(
    plan: MeanPlan, moments: BlockState
) -> tuple[BlockState, BlockState | None, BlockSource]:
    """Row blocks (of the first partition), cells of whole files if there are some, what the former hold."""
    layout = plan.blocks.layout
    if isinstance(layout, (FileLayout, UnitLayout)):
        return moments, None, "units"
    n = layout.n_blocks
    heard = plan.blocks.n_cells and plan.blocks.hears_files
    cells = moments.at((..., slice(n, None))) if heard else None
    rows = moments.at((..., slice(n // layout.repeats)))
    together = plan.options.design.stored or plan.options.design.chunk_rows > 1
    return rows, cells, "stored" if together else "rows"


def answer_partition(
    plan: MeanPlan,
    moments: BlockState,
    sampled: tuple[Floats, Ints, float],
    n_units: Ints | None,
    flat: Callable[[BlockState], BlockState] = lambda blocks: blocks,
    **more: Any,
) -> RuleAnswer:
    """What the rule says of the blocks of all groups.

    Parameters
    ----------
    plan : MeanPlan
    moments : BlockState
        Fine blocks, cells of files behind them; the last axis is that of the blocks.
    sampled : (ndarray, ndarray, float)
        Sampled values, how many there are of each group, and the confidence level.
    n_units : ndarray of int64, optional
    flat : callable
        Makes blocks those of groups, shape (n_groups, n), where they have more axes.
    **more
        For the rule.
    """
    rows, cells, source = row_and_cell_blocks(plan, moments)
    shared: dict[str, Any] = {
        "files": None if cells is None else flat(cells),
        "n_blocks": "auto" if plan.blocks.n_blocks is None else plan.blocks.n_blocks,
        "outlying": plan.blocks.outlying,
        **more,
    }
    layout = plan.blocks.layout
    if layout.repeats > 1:
        every = flat(moments.at((..., slice(layout.n_blocks))))
        every = every.each(lambda a: a.reshape(a.shape[0], layout.repeats, -1))
        return answer_repeated(every, *sampled, **shared)
    return answer_rule(flat(rows), *sampled, block_source=source, n_units=n_units, **shared)


def block_fields(
    plan: MeanPlan, answer: RuleAnswer, g: int, status: int, suspects: Suspects
) -> dict[str, Any]:
    """The fields of a result that tell of its blocks and of bad files."""
    accused: tuple[str, ...] = ()
    if status & Status.FILES_DISAGREE:
        cells = np.flatnonzero(answer.suspect_cells[g])
        accused = tuple(sorted(path for cell in cells for path in suspects.get(int(cell), ())))
    return {
        "n_blocks": int(answer.n_blocks[g]),
        "block_size": (int(answer.block_size[g, 0]), int(answer.block_size[g, 1])),
        "n_ruined_blocks": int(answer.n_ruined[g]),
        "n_set_aside": int(answer.n_set_aside[g]),
        "accused_files": accused,
        "repeats": plan.blocks.layout.repeats,
    }


def files_of_cells(plan: MeanPlan, answer: RuleAnswer) -> Suspects:
    """Paths of the files (with their folders where these are several) in each cell that a group suspects."""
    wanted = (
        set(np.flatnonzero(answer.suspect_cells.any(axis=0)).tolist()) if answer.suspect_cells.size else set()
    )
    found: Suspects = {}
    if wanted:
        roots = plan.roots or (None,) * len(plan.files)
        for file, root in zip(plan.files, roots, strict=True):
            cell = cell_of(plan.reduction.seed, file.path, plan.blocks.n_cells, root)
            if cell in wanted:
                name = file.path if root is None else f"{root.rstrip('/')}/{file.path}"
                found.setdefault(cell, []).append(name)
    return found
