"""Rows of blocks from disk: every unit of the lake is read once, its rows sorted by ranges of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from distmom.cluster import Unit
from distmom.cluster.work import Way, sample_unit
from distmom.passes.counted import Counted, Question
from distmom.passes.from_lake import keep_rows, read_rows
from distmom.passes.ranges import kept_blocks
from distmom.passes.regrouping import Regrouping, block_buckets
from distmom.passes.spilled import FromBucket, ReadSorted, SortedUnit, Sorting, sort_rows
from distmom.reductions.layouts import StoredLayout
from distmom.reductions.rows.questions import AnswerEach

if TYPE_CHECKING:
    from pathlib import Path

    from distmom.cluster import Executor, Progress


def sorted_on_disk(
    questions: Sequence[Question],
    plan: Regrouping,
    folder: Path,
    executor: Executor,
    progress: Progress | None,
) -> SortedUnit:
    """All rows of all samples on disk, sorted by ranges of blocks."""
    samples = []
    for s in range(len(questions[0].samples)):
        mine = [question.samples[s] for question in questions]
        everything = [kept_blocks(one.cells, 0, one.cells.sizes.size) for one in mine]
        buckets = tuple(block_buckets(plan.ranges, q, blocks) for q, blocks in enumerate(everything))
        samples.append(Sorting(read_rows(mine), _good_units(mine[0]), buckets))
    n_columns = len(questions[0].samples[0].names)
    return sort_rows(samples, n_columns, plan.n_buckets, plan.room, folder, executor, progress)


def _good_units(sample: Counted) -> tuple[Unit, ...]:
    """The units of the first pass without the files that it left out; their windows are those of layouts."""
    bad = {record.file for record in sample.skipped}
    units = []
    for unit in sample.plan.units:
        good = [i for i, file in enumerate(unit.files) if file.path not in bad]
        first_rows = unit.window[good] if isinstance(sample.plan.reduction.layout, StoredLayout) else None
        if good:
            units.append(replace(unit, files=tuple(unit.files[i] for i in good), window=first_rows))
    return tuple(units)


def disk_way(
    questions: Sequence[Question], numbers: tuple[int, ...], plan: Regrouping, sorted_: SortedUnit
) -> Way:
    """As `lake_way`, for rows that have been sorted."""
    mine = [questions[number] for number in numbers]
    reads = [
        ReadSorted(tuple(keep_rows(question.samples[s]) for question in mine), files, plan.n_buckets)
        for s, files in enumerate(sorted_.files)
    ]
    return Way(tuple(reads), AnswerEach(numbers, tuple(question.kernel for question in mine)))


def disk_units(questions: Sequence[Question], plan: Regrouping, ways: Sequence[int]) -> list[Unit]:
    """As `lake_units`, for rows that have been sorted."""
    samples = range(len(questions[0].samples))
    units, bucket = [], 0
    for i, (cuts, way) in enumerate(zip(plan.ranges, ways, strict=True)):
        parts = []
        for s in samples:
            window = tuple(
                FromBucket(bucket + c, questions[q].samples[s].cells.sizes[first:stop], first)
                for c, (q, first, stop) in enumerate(cuts)
            )
            parts.append(Unit(0, 0, 0, (), n_bytes=plan.disk // len(plan.ranges), window=window))
        bucket += len(cuts)
        units.append(sample_unit(i, tuple(parts), way))
    return units
