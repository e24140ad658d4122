"""The second pass: regroups the rows of whole blocks, from the lake or from disk, and evaluates them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from distmom.cluster import Executor, Progress, Unit, UnitMerger, check_memory, run_units
from distmom.cluster.memory import program
from distmom.cluster.work import ReadSamples, Way, sample_unit
from distmom.errors import ConfigError
from distmom.lake.files.leftovers import remove_folder
from distmom.memory import Held, Memory
from distmom.passes.block_rows import DiskBlockRows, LakeBlockRows
from distmom.passes.counted import BlockQuestion
from distmom.passes.regrouping import FEWER_ROWS, Cut, planned_ranges, planned_regrouping
from distmom.passes.tile_runs import by_tiles
from distmom.reductions.rows.block_kernel import BlockKernel
from distmom.reductions.rows.questions import AnswerEach, Answers, HandedOver, JoinAnswers, hand_over

logger = logging.getLogger("distmom")

LARGEST = "the largest range of blocks"


def run_blocks(
    questions: Sequence[BlockQuestion], executor: Executor, progress: Progress | None
) -> tuple[Any, ...]:
    """The statistic of every block: each question's kernel applied to its rows; one state per question.

    The questions concern the same samples, but differ in columns, blocks or kernels. Their blocks, one
    question after the other, are cut into ranges; a unit of work reads the columns that the blocks of its
    range need, once. If this would read too much data too often, rows are read once and sorted on disk, and
    each unit takes the rows of its range from there. ConfigError if the data can be read only once;
    ResourceError if the rows of one block do not fit into a process.
    """
    samples = questions[0].samples
    if any(sample.source.one_pass for sample in samples):
        raise ConfigError(
            f"kernel {questions[0].kernel.kernel.name!r} reads its rows several times, and a stream can be "
            "read only once; give a table, or write the stream to Parquet files"
        )
    cut = [question.is_cut(executor) for question in questions]
    whole = [question for question, apart in zip(questions, cut, strict=True) if not apart]
    of_whole = iter(_evaluated(whole, executor, progress) if whole else ())
    return tuple(
        _tile_by_tile(question, executor, progress) if apart else next(of_whole)
        for question, apart in zip(questions, cut, strict=True)
    )


def _evaluated(
    questions: Sequence[BlockQuestion], executor: Executor, progress: Progress | None
) -> tuple[Any, ...]:
    """States of questions whose blocks are evaluated where their rows are regrouped."""
    on_disk = not any(sample.source.in_memory for sample in questions[0].samples)
    plan = planned_regrouping([question.piece for question in questions], executor, on_disk=on_disk)
    check_memory(plan.memory(executor), executor, LARGEST)
    if plan.note is not None:
        logger.info("rows sorted on disk: %s", plan.note)
    sorted_ = DiskBlockRows(questions, plan, executor, progress) if plan.disk else None
    work, units = _work(questions, plan.ranges, sorted_ or LakeBlockRows(questions, executor))
    merge: Callable[[Answers, Answers], Answers] = JoinAnswers(tuple(q.kernel.merge for q in questions))
    merger = UnitMerger(len(units), merge)
    found: Answers = run_units(work, units, merge, executor, progress=progress, merger=merger).state
    if sorted_ is not None:
        remove_folder(sorted_.folder)  # there may be more to regroup; a failure removes the run's folder
    return tuple(state for _, state in found.parts)


def _work(
    questions: Sequence[BlockQuestion], ranges: list[list[Cut]], rows: LakeBlockRows | DiskBlockRows
) -> tuple[ReadSamples, list[Unit]]:
    """One unit of work per range, and how the units of the same questions read every sample."""
    samples = range(len(questions[0].samples))
    asked = [tuple(cut.piece for cut in cuts) for cuts in ranges]
    ways = list(dict.fromkeys(asked))
    units, bucket = [], 0
    for i, cuts in enumerate(ranges):
        parts = tuple(rows.part(s, cuts, bucket) for s in samples)
        units.append(sample_unit(i, parts, ways.index(asked[i])))
        bucket += len(cuts)
    work = [
        Way(
            tuple(rows.read(s, numbers) for s in samples),
            AnswerEach(numbers, tuple(questions[number].kernel for number in numbers)),
        )
        for numbers in ways
    ]
    return ReadSamples(tuple(work)), units


def _tile_by_tile(question: BlockQuestion, executor: Executor, progress: Progress | None) -> Any:
    """The state of a question with few, large blocks: rows are gathered here, and tiles are sent out."""
    assert isinstance(question.kernel, BlockKernel)
    kernel = by_tiles(question.kernel, executor, progress)
    ranges, needed = planned_ranges([question.piece], executor, enough=1)
    once = Memory((Held("rows of blocks", needed, each=False, remedy=FEWER_ROWS),))
    check_memory(program(executor) + once, executor, LARGEST)
    work, units = _work([question], ranges, LakeBlockRows([question], executor))
    work = ReadSamples((work.ways[0]._replace(finish=hand_over),))
    state: Any = None
    for unit in units:
        unit = replace(unit, number=0, index=0)
        merger: UnitMerger[HandedOver] = UnitMerger(1, _never)
        rows = run_units(work, [unit], _never, executor, progress=progress, merger=merger).state
        found = kernel(*rows.kept)
        state = found if state is None else kernel.merge(state, found)
    return state


def _never(left: Any, right: Any) -> Any:
    raise NotImplementedError("rows that are handed over come from one unit")
