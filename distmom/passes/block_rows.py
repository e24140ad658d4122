"""Rows of blocks: the columns that a range of blocks needs, read from the lake or sorted on disk first.

To sort on disk, every unit of the lake is read once and its rows are sorted by ranges of blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from distmom.cluster import Executor, Progress, Unit, UnitMerger, UnitOutcome, check_stopped, run_units
from distmom.cluster.work import ReadAndReduce
from distmom.lake import FileRef
from distmom.lake.files.footers import release_memory
from distmom.lake.files.leftovers import make_folder
from distmom.lake.saved.spill import Spill, SpillWriter, bucket_batches
from distmom.numerics.arrays import Floats, Ints
from distmom.numerics.pairs.regroup import CellRows
from distmom.passes.census import count_rows
from distmom.passes.counted import BlockQuestion, Counted, good_files
from distmom.passes.regrouping import Cut, Regrouping, block_buckets
from distmom.reductions.rows.keep_rows import KeepEach, KeepRows, rows_changed
from distmom.reductions.rows.sort_rows import BlockBuckets, Buckets, Labels, SortEach

Spills = tuple[tuple[int, Spill], ...]
"""Files of sorted rows, one per unit in lake order, each preceded by the number of its sample."""


class DiskBlockRows:
    """Supplies the rows of blocks from disk, where all rows are sorted first."""

    def __init__(
        self,
        questions: Sequence[BlockQuestion],
        plan: Regrouping,
        executor: Executor,
        progress: Progress | None,
    ) -> None:
        self._questions, self._plan = questions, plan
        self.folder = make_folder(executor.scratch.folder(), "sorted-")
        samples, units = [], []
        for s in range(len(questions[0].samples)):
            mine = [question.samples[s] for question in questions]
            buckets = tuple(block_buckets(plan.ranges, q, one.cells.kept()) for q, one in enumerate(mine))
            samples.append((read_rows(mine), buckets))
            units += [(s, unit) for unit in _good_units(mine[0])]
        label = pa.from_numpy_dtype(samples[0][1][0].label.dtype)
        values = [pa.field(str(c), pa.float64()) for c in range(len(questions[0].samples[0].names))]
        schema = pa.schema([pa.field("block", label), *values])
        work = SortUnits(tuple(samples), schema, plan.n_buckets, str(self.folder), plan.room)
        self._files = sort_rows(work, units, executor, progress)

    def read(self, s: int, numbers: Sequence[int]) -> ReadSorted:
        """How a unit of work for these questions reads sample `s`."""
        parts = tuple(keep_rows(self._questions[number].samples[s]) for number in numbers)
        return ReadSorted(parts, tuple(spill for t, spill in self._files if t == s), self._plan.n_buckets)

    def part(self, s: int, cuts: Sequence[Cut], bucket: int) -> Unit:
        """What a unit that keeps these blocks reads of sample `s`; the first block is in this bucket."""
        window = tuple(
            (bucket + c, self._questions[q].samples[s].cells.sizes[first:stop], first)
            for c, (q, first, stop) in enumerate(cuts)
        )
        return Unit(0, 0, 0, (), n_bytes=self._plan.disk // len(self._plan.ranges), window=window)


def _good_units(sample: Counted) -> tuple[Unit, ...]:
    """The units of the first pass without the files it skipped; their windows are those of layouts."""
    bad = {record.file for record in sample.skipped}
    units = []
    for unit in sample.plan.units:
        good = [i for i, file in enumerate(unit.files) if file.path not in bad]
        first_rows = unit.window[good] if sample.plan.reduction.layout.window == "rows" else None
        if good:
            units.append(replace(unit, files=tuple(unit.files[i] for i in good), window=first_rows))
    return tuple(units)


@dataclass(frozen=True)
class SortUnits:
    """Callable on a `Unit` whose window has the number of a sample and a unit of that sample; picklable."""

    samples: tuple[tuple[ReadAndReduce, tuple[BlockBuckets, ...]], ...]
    schema: pa.Schema
    n_buckets: int
    folder: str  # where the files go
    room: int  # bytes of rows that are sorted together
    step: ClassVar[str] = "sort"

    def __call__(self, unit: Unit) -> UnitOutcome:
        """Read the unit, and write its rows to one file."""
        number, mine = unit.window
        read, buckets = self.samples[number]
        assert isinstance(read.reduction, KeepEach)
        with SpillWriter(self.folder, unit.number, self.schema, self.n_buckets, self.room) as writer:

            def put(columns: Sequence[Floats], labels: Labels, targets: Buckets) -> None:
                arrays = [pa.array(labels), *(pa.array(x) for x in columns)]
                writer.add(pa.RecordBatch.from_arrays(arrays, schema=self.schema), targets)

            sort = replace(read, reduction=SortEach(read.reduction, buckets, put))
            outcome: UnitOutcome = sort(mine)
        return replace(outcome, state=((number, writer.spill()),))


def sort_rows(
    work: SortUnits, mine: Sequence[tuple[int, Unit]], executor: Executor, progress: Progress | None
) -> Spills:
    """Read these units, each from the sample with its number, and write their rows to disk."""
    units = [
        Unit(i, 0, i, unit.files[:1], n_bytes=unit.n_bytes, window=(s, unit))
        for i, (s, unit) in enumerate(mine)
    ]
    merger: UnitMerger[Spills] = UnitMerger(len(units), add)
    found: Spills = run_units(work, units, add, executor, progress=progress, merger=merger).state
    return found


@dataclass(frozen=True)
class ReadSorted:
    """Callable on a `Unit` whose window has a bucket and its blocks for each of some questions; picklable.

    For each question it has the number of the bucket, the rows of each block and the number of the first
    block.
    """

    parts: tuple[KeepRows, ...]  # of these questions
    files: tuple[Spill, ...]  # all rows of a sample, in the order of the lake
    n_buckets: int

    def __call__(self, unit: Unit) -> UnitOutcome:
        """The rows of the blocks, in the order of files and rows."""
        kept = tuple(self._rows(part, *wanted) for part, wanted in zip(self.parts, unit.window, strict=True))
        n_rows = sum(int(rows.starts[-1]) for rows in kept)
        release_memory()
        return UnitOutcome(kept, n_rows, unit.n_bytes)

    def _rows(self, part: KeepRows, bucket: int, sizes: Ints, first: int) -> CellRows:
        cells = part.cells(sizes, first)
        for file in self.files:
            check_stopped()
            for batch in bucket_batches(file, bucket, self.n_buckets):
                labels, *columns = (column.to_numpy() for column in batch.columns)
                try:
                    cells.add(columns, None, labels.astype(np.int64))
                except ValueError as error:
                    raise rows_changed("the data") from error
        if not cells.whole:
            raise rows_changed("the data")
        return cells


class LakeBlockRows:
    """Supplies the rows of blocks from the lake, which is read once for each range."""

    def __init__(self, questions: Sequence[BlockQuestion], executor: Executor) -> None:
        self._questions = questions
        self._files = [_files(sample, executor) for sample in questions[0].samples]

    def read(self, s: int, numbers: Sequence[int]) -> ReadAndReduce:
        """How a unit of work for these questions reads sample `s`."""
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
    if wanted != reader.options.value_names:  # values are columns here: vector rows enter whole
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
    """The files whose rows were counted and, for stored blocks, the number of the first row of each."""
    plan, files = sample.plan, good_files(sample.plan, sample.skipped)
    if plan.reduction.layout.window != "rows":
        return files, None
    source: Any = replace(sample.source, files=plan.files)  # type: ignore[type-var]
    rows = count_rows(source, executor, "error").rows
    good = {file.path for file in files}
    return files, (np.cumsum(rows) - rows)[[file.path in good for file in plan.files]]
