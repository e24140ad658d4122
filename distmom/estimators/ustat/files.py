"""Whole bad files, which no random block can tell: the first pass hears them by the means of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from distmom.estimators.mean.partition import row_and_cell_blocks
from distmom.estimators.mean.plan import MeanPlan
from distmom.inference.adaptive import answer_rule
from distmom.inference.status import Finding
from distmom.reductions.state import MeanState


def disagreeing_columns(plan: MeanPlan, state: MeanState) -> list[tuple[str, ...]]:
    """For each group, the columns whose mean by blocks of files differs from that by blocks of rows.

    None where there are no cells of files beside blocks of rows.
    """
    found: list[list[str]] = [[] for _ in state.keys]
    for c, column in enumerate(plan.reduction.columns):
        rows, cells, source = row_and_cell_blocks(plan, state.moments.at(c))
        if cells is None:
            break
        sample, wanted = state.samples[c], plan.blocks.n_blocks
        divides = wanted is not None and rows.count.shape[-1] % wanted == 0
        answer = answer_rule(
            rows,
            sample.values,
            np.isfinite(sample.keys).sum(axis=1),
            plan.options.confidence_level,
            files=cells,
            n_blocks=wanted if wanted is not None and divides else "auto",
            block_source=source,
            intervals=(),
        )
        for g in np.flatnonzero(answer.status & int(Finding.FILES_DISAGREE)):
            found[g].append(column)
    return [tuple(columns) for columns in found]


def files_disagree(plan: MeanPlan, states: Sequence[MeanState]) -> list[tuple[str, ...]]:
    """As `disagreeing_columns`, in any of several samples."""
    each = [disagreeing_columns(plan, state) for state in states]
    return [tuple(dict.fromkeys(chain.from_iterable(some))) for some in zip(*each, strict=True)]


def disagreement_note(columns: tuple[str, ...]) -> str:
    """What to do about it."""
    return (
        f"blocks of files tell another story about the mean of {', '.join(columns)}: bad files spoil all "
        "random blocks; use blocks=FileBlocks()"
    )
