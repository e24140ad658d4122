"""The second pass: rows of whole blocks regrouped, from the lake or from disk, and their statistics."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distmom.cluster import Unit, UnitMerger, check_memory, run_units
from distmom.cluster.samples import ReadSamples, Way, sample_unit
from distmom.cluster.scratch import make_folder, remove_folder
from distmom.cluster.work import ReadAndReduce, SkippedFile
from distmom.errors import ConfigError
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.rows import count_rows
from distmom.estimators.ustat.blocks import CellMap
from distmom.estimators.ustat.ranges import Cut, Piece, kept_blocks, planned_ranges
from distmom.estimators.ustat.regrouping import Regrouping, block_buckets, planned_regrouping
from distmom.estimators.ustat.spilled import FromBucket, ReadSorted, SortedUnit, Sorting, sort_rows
from distmom.estimators.ustat.tile_runs import by_tiles, cuts_blocks
from distmom.reductions.block_kernel import BlockKernel
from distmom.reductions.disjoint_kernel import DisjointKernel
from distmom.reductions.keep_each import KeepEach
from distmom.reductions.keep_rows import BlockRange, KeepRows
from distmom.reductions.layouts import StoredBlocks
from distmom.reductions.pair_losses import PairLosses
from distmom.reductions.questions import AnswerEach, Answers, HandedOver, HandOver, JoinAnswers
from distmom.reductions.state import MeanState

if TYPE_CHECKING:
    from pathlib import Path

    from distmom.cluster import Executor, Progress
    from distmom.lake import FileRef, Source

logger = logging.getLogger("distmom")

BlockWork = BlockKernel | DisjointKernel | PairLosses


class Counted(NamedTuple):
    """One sample after its first pass, as one kernel sees it.

    Attributes
    ----------
    source : Source
    plan, state, skipped
        The first pass, what it found, and the files that it left out.
    cells : CellMap
        Which fine blocks make the blocks.
    names : tuple of str
        The values that are kept of a row, among those that the plan's reader reads.
    """

    source: Source
    plan: MeanPlan
    state: MeanState
    skipped: Sequence[SkippedFile]
    cells: CellMap
    names: tuple[str, ...]


class Question(NamedTuple):
    """What is to be made of the blocks of one or several samples.

    Attributes
    ----------
    samples : tuple of Counted
        With equally many blocks, which are paired by their numbers.
    kernel : BlockKernel, DisjointKernel or PairLosses
    """

    samples: tuple[Counted, ...]
    kernel: BlockWork

    @property
    def piece(self) -> Piece:
        """The size of its blocks."""
        sizes = np.sum([sample.cells.sizes for sample in self.samples], axis=0)
        return Piece(sizes, self.samples[0].names, self.samples[0].plan.reader.options.batch_rows)

    def is_cut(self, executor: Executor) -> bool:
        """Whether its blocks are evaluated tile by tile."""
        largest = max(int(sample.cells.sizes.max()) for sample in self.samples)
        n_blocks = self.samples[0].cells.sizes.size
        return cuts_blocks(self.kernel, len(self.samples[0].names), largest, n_blocks, executor)


def run_blocks(
    questions: Sequence[Question], executor: Executor, progress: Progress | None
) -> tuple[Any, ...]:
    """The statistic of every block: what the kernel of each question makes of their rows.

    Parameters
    ----------
    questions : sequence of Question
        About the same samples: other columns, blocks or kernels.
    executor, progress

    Returns
    -------
    tuple
        A state for each question.

    Raises
    ------
    ConfigError
        If the data can be read only once.
    ResourceError
        If the rows of one block do not fit into a process.

    Notes
    -----
    Blocks of all questions, one question after the other, are cut into ranges; a unit of work reads what the
    blocks of its range need, once, and no other columns.
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
    questions: Sequence[Question], executor: Executor, progress: Progress | None
) -> tuple[Any, ...]:
    """States of questions whose blocks are evaluated where their rows are regrouped."""
    on_disk = not any(sample.source.in_memory for sample in questions[0].samples)
    plan = planned_regrouping([question.piece for question in questions], executor, on_disk=on_disk)
    _check_fits(plan.needed, executor.threads_per_process, executor)
    if plan.note is not None:
        logger.info("rows sorted on disk: %s", plan.note)
    asked = [tuple(cut.piece for cut in cuts) for cuts in plan.ranges]
    ways = list(dict.fromkeys(asked))
    numbers = [ways.index(mine) for mine in asked]
    folder = None
    if plan.disk:
        folder = make_folder(executor.scratch.folder(), "sorted-")
        sorted_ = _sorted(questions, plan, folder, executor, progress)
        work = ReadSamples(tuple(_way_from_disk(questions, mine, plan, sorted_) for mine in ways))
        units = _units_from_disk(questions, plan, numbers)
    else:
        work = ReadSamples(tuple(_way(questions, mine) for mine in ways))
        units = _units(questions, plan.ranges, numbers, executor)
    merge: Callable[[Answers, Answers], Answers] = JoinAnswers(tuple(q.kernel.merge for q in questions))
    merger = UnitMerger(len(units), merge)
    found: Answers = run_units(work, units, merge, executor, progress=progress, merger=merger).state
    if folder is not None:
        remove_folder(folder)  # there may be more to regroup; after a failure it goes with that of the run
    return tuple(state for _, state in found.parts)


def _check_fits(needed: int, threads: int, executor: Executor) -> None:
    """ResourceError if the largest block does not fit into memory."""
    remedy = "use more blocks (n_blocks), which are smaller, or fewer columns"
    check_memory(needed, threads, executor.memory, "the largest range of blocks", remedy=remedy)


def _sorted(
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
        samples.append(Sorting(_read(mine), _good_units(mine[0]), buckets))
    n_columns = len(questions[0].samples[0].names)
    return sort_rows(samples, n_columns, plan.n_buckets, plan.room, folder, executor, progress)


def _good_units(sample: Counted) -> tuple[Unit, ...]:
    """The units of the first pass without the files that it left out; their windows are those of layouts."""
    bad = {record.file for record in sample.skipped}
    units = []
    for unit in sample.plan.units:
        good = [i for i, file in enumerate(unit.files) if file.path not in bad]
        first_rows = unit.window[good] if isinstance(sample.plan.reduction.layout, StoredBlocks) else None
        if good:
            units.append(replace(unit, files=tuple(unit.files[i] for i in good), window=first_rows))
    return tuple(units)


def _way_from_disk(
    questions: Sequence[Question], numbers: tuple[int, ...], plan: Regrouping, sorted_: SortedUnit
) -> Way:
    """As `_way`, for rows that have been sorted."""
    mine = [questions[number] for number in numbers]
    reads = [
        ReadSorted(tuple(_keep(question.samples[s]) for question in mine), files, plan.n_buckets)
        for s, files in enumerate(sorted_.files)
    ]
    return Way(tuple(reads), AnswerEach(numbers, tuple(question.kernel for question in mine)))


def _units_from_disk(questions: Sequence[Question], plan: Regrouping, ways: Sequence[int]) -> list[Unit]:
    """As `_units`, for rows that have been sorted."""
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


def _tile_by_tile(question: Question, executor: Executor, progress: Progress | None) -> Any:
    """The state of a question with few and large blocks: their rows come here, their tiles go out."""
    assert isinstance(question.kernel, BlockKernel)
    kernel = by_tiles(question.kernel, executor, progress)
    ranges, needed = planned_ranges([question.piece], executor, enough=1)
    _check_fits(needed, 1, executor)
    work = ReadSamples((_way([question], (0,))._replace(finish=HandOver()),))
    state: Any = None
    for unit in _units([question], ranges, [0] * len(ranges), executor):
        unit = replace(unit, number=0, index=0)
        merger: UnitMerger[HandedOver] = UnitMerger(1, _never)
        rows = run_units(work, [unit], _never, executor, progress=progress, merger=merger).state
        found = kernel(*rows.kept)
        state = found if state is None else kernel.merge(state, found)
    return state


def _never(left: Any, right: Any) -> Any:
    raise NotImplementedError("rows that are handed over come from one unit")


def _units(
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


def kept_names(plan: MeanPlan) -> tuple[str, ...]:
    """The values that are kept of a row: those of its columns, and its weight."""
    weights = plan.reduction.weights
    return plan.reduction.columns if weights is None else (*plan.reduction.columns, weights)


def _way(questions: Sequence[Question], numbers: tuple[int, ...]) -> Way:
    """How units of these questions read every sample, and what they make of the rows."""
    mine = [questions[number] for number in numbers]
    reads = [_read([question.samples[s] for question in mine]) for s in range(len(mine[0].samples))]
    return Way(tuple(reads), AnswerEach(numbers, tuple(question.kernel for question in mine)))


def _read(asked: Sequence[Counted]) -> ReadAndReduce:
    """The work that keeps rows of one sample for several questions."""
    first = asked[0]
    plan, reader = first.plan, first.plan.reader
    wanted = tuple(dict.fromkeys(name for one in asked for name in one.names))
    if wanted != reader.options.value_names:  # then values are columns: rows that are vectors enter whole
        reader = first.source.reader(replace(reader.options, columns=wanted))
    parts = tuple(_keep(one) for one in asked)
    places = tuple(tuple(wanted.index(name) for name in one.names) for one in asked)
    return ReadAndReduce(
        reader,
        KeepEach(parts, places),
        len(reader.options.by),
        unit_seed=plan.reduction.seed if reader.options.units else None,
        compiled=plan.reduction.compiled,
        known=first.state.keys if reader.options.by else (),
    )


def _keep(sample: Counted) -> KeepRows:
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


def _files(sample: Counted, executor: Executor) -> tuple[tuple[FileRef, ...], NDArray[np.int64] | None]:
    """The files whose rows were counted, and for stored blocks the number of the first row of each."""
    plan = sample.plan
    bad = {record.file for record in sample.skipped}
    good = np.array([file.path not in bad for file in plan.files], np.bool_)
    files = tuple(file for file in plan.files if file.path not in bad)
    if not isinstance(plan.reduction.layout, StoredBlocks):
        return files, None
    source: Any = replace(sample.source, files=plan.files)  # type: ignore[type-var]
    rows = count_rows(source, executor, "error").rows
    return files, (np.cumsum(rows) - rows)[good]


def _range(cells: CellMap, first_rows: NDArray[np.int64] | None, first: int, stop: int) -> BlockRange:
    """The blocks first … stop - 1."""
    return replace(kept_blocks(cells, first, stop), first_rows=first_rows)
