"""Rows of blocks from the lake: every range of blocks reads the columns that it needs, and keeps its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.cluster import Unit
from distmom.cluster.work import ReadAndReduce, Way, sample_unit
from distmom.numerics.arrays import Ints
from distmom.passes.cell_map import CellMap
from distmom.passes.census import count_rows
from distmom.passes.counted import Counted, Question
from distmom.passes.ranges import Cut, kept_blocks
from distmom.reductions.layouts import StoredLayout
from distmom.reductions.rows.keep_rows import BlockRange, KeepEach, KeepRows
from distmom.reductions.rows.questions import AnswerEach

if TYPE_CHECKING:
    from distmom.cluster import Executor
    from distmom.lake import FileRef


def lake_units(
    questions: Sequence[Question], ranges: list[list[Cut]], ways: Sequence[int], executor: Executor
) -> list[Unit]:
    """A unit of work for each range."""
    samples = questions[0].samples
    files = [_files(sample, executor) for sample in samples]
    units = []
    for i, (cuts, way) in enumerate(zip(ranges, ways, strict=True)):
        parts = []
        for s, (refs, rows) in enumerate(files):
            window = tuple(_range(questions[q].samples[s].cells, rows, *cut) for q, *cut in cuts)
            parts.append(Unit(0, 0, 0, refs, n_bytes=samples[s].plan.n_bytes, window=window))
        units.append(sample_unit(i, tuple(parts), way))
    return units


def lake_way(questions: Sequence[Question], numbers: tuple[int, ...]) -> Way:
    """How units of these questions read every sample, and what they make of the rows."""
    mine = [questions[number] for number in numbers]
    reads = [read_rows([question.samples[s] for question in mine]) for s in range(len(mine[0].samples))]
    return Way(tuple(reads), AnswerEach(numbers, tuple(question.kernel for question in mine)))


def read_rows(asked: Sequence[Counted]) -> ReadAndReduce:
    """The work that keeps rows of one sample for several questions."""
    first = asked[0]
    plan, reader = first.plan, first.plan.reader
    wanted = tuple(dict.fromkeys(name for one in asked for name in one.names))
    if wanted != reader.options.value_names:  # then values are columns: rows that are vectors enter whole
        reader = first.source.reader(replace(reader.options, columns=wanted))
    parts = tuple(keep_rows(one) for one in asked)
    places = tuple(tuple(wanted.index(name) for name in one.names) for one in asked)
    return ReadAndReduce(
        reader,
        KeepEach(parts, places),
        len(reader.options.by),
        unit_seed=plan.reduction.seed if reader.options.units else None,
        compiled=plan.reduction.compiled,
        known=first.state.keys if reader.options.by else (),
    )


def keep_rows(sample: Counted) -> KeepRows:
    """The reduction that keeps rows of blocks of this sample."""
    reduction = sample.plan.reduction
    return KeepRows(
        sample.names,
        reduction.layout,
        reduction.n_cells,
        reduction.seed,
        reduction.nan,
        reduction.compiled,
        reduction.weights is not None,
    )


def _files(sample: Counted, executor: Executor) -> tuple[tuple[FileRef, ...], Ints | None]:
    """The files whose rows were counted, and for stored blocks the number of the first row of each."""
    plan = sample.plan
    bad = {record.file for record in sample.skipped}
    good = np.array([file.path not in bad for file in plan.files], np.bool_)
    files = tuple(file for file in plan.files if file.path not in bad)
    if not isinstance(plan.reduction.layout, StoredLayout):
        return files, None
    source: Any = replace(sample.source, files=plan.files)  # type: ignore[type-var]
    rows = count_rows(source, executor, "error").rows
    return files, (np.cumsum(rows) - rows)[good]


def _range(cells: CellMap, first_rows: Ints | None, first: int, stop: int) -> BlockRange:
    """The blocks first … stop - 1."""
    return replace(kept_blocks(cells, first, stop), first_rows=first_rows)
