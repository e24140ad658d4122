"""Rows of blocks from the lake: every range of blocks reads the columns that it needs, and keeps its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from distmom.cluster import Executor, Unit
from distmom.cluster.work import ReadAndReduce
from distmom.lake import FileRef
from distmom.numerics.arrays import Ints
from distmom.passes.census import count_rows
from distmom.passes.counted import BlockQuestion, Counted
from distmom.passes.regrouping import Cut
from distmom.reductions.rows.keep_rows import KeepEach, KeepRows


class LakeBlockRows:
    """Where the blocks of some questions take their rows from: here from the lake, once for each range."""

    def __init__(self, questions: Sequence[BlockQuestion], executor: Executor) -> None:
        self._questions = questions
        self._files = [_files(sample, executor) for sample in questions[0].samples]

    def read(self, s: int, numbers: Sequence[int]) -> ReadAndReduce:
        """How a unit of these questions reads sample `s`."""
        return read_rows([self._questions[number].samples[s] for number in numbers])

    def part(self, s: int, cuts: Sequence[Cut], bucket: int) -> Unit:
        """What a unit that keeps these blocks reads of sample `s`."""
        refs, first_rows = self._files[s]
        window = tuple(
            replace(self._questions[q].samples[s].cells.kept(*cut), first_rows=first_rows) for q, *cut in cuts
        )
        n_bytes = self._questions[0].samples[s].plan.n_bytes
        return Unit(0, 0, 0, refs, n_bytes=n_bytes, window=window)


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
        reduction.weights is not None,
    )


def _files(sample: Counted, executor: Executor) -> tuple[tuple[FileRef, ...], Ints | None]:
    """The files whose rows were counted, and for stored blocks the number of the first row of each."""
    plan = sample.plan
    bad = {record.file for record in sample.skipped}
    good = np.array([file.path not in bad for file in plan.files], np.bool_)
    files = tuple(file for file in plan.files if file.path not in bad)
    if plan.reduction.layout.window != "rows":
        return files, None
    source: Any = replace(sample.source, files=plan.files)  # type: ignore[type-var]
    rows = count_rows(source, executor, "error").rows
    return files, (np.cumsum(rows) - rows)[good]
