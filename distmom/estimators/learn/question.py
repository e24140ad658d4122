"""The question behind ``fit`` on a lake, and its plan."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from distmom.cluster.memory import program, told_memory
from distmom.errors import ConfigError, NoAnswerError
from distmom.estimators.facts import data_facts
from distmom.estimators.learn.data import DataOptions, open_columns, rows_of_lake, with_labels
from distmom.estimators.learn.parameters import BLOCK_SIZE, Shape
from distmom.estimators.learn.rows import LakeRows
from distmom.estimators.learn.run import ALL_ROWS, KIND, DescentKeeper
from distmom.estimators.learn.start.look import WANTED, WANTED_OF_PAIRS
from distmom.estimators.learn.start.sample import SAMPLE, expect, sample_of
from distmom.estimators.learn.survey import survey_of
from distmom.estimators.mean.plan import worth_compiling
from distmom.estimators.survey import PASS, Surveyor
from distmom.estimators.surveyed import Survey
from distmom.memory import Held, Memory
from distmom.numerics.arrays import Floats
from distmom.passes.census import column_share
from distmom.passes.opening import refuse_times
from distmom.passes.scan import Scan
from distmom.reductions.block_means import load_kernels
from distmom.report.values import plain
from distmom.state import Fingerprint, open_checkpoint, shown_filter

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.estimators.learn.learner import Learner
    from distmom.lake import ReadOptions, Source


LIBRARIES = 65_000_000
"""Bytes of scikit-learn and what it loads."""


@dataclass
class LearnQuestion:
    """What a learner learns from the rows of a scan; `finish` makes the result of the plan that ran."""

    asks: ClassVar[str] = "train"

    machine: Learner
    scan: Scan
    target: Any
    options: DataOptions
    memory_limit: int | str | None = None
    finish: Callable[[LearnPlan, dict[str, Any]], Any] = lambda plan, run: None
    seed: int = field(init=False)
    shown_seed: int | str = field(init=False)

    def __post_init__(self) -> None:
        if self.target is not None and not isinstance(self.target, str):
            raise ConfigError(f"y: with a lake, name its column of targets, not {type(self.target).__name__}")
        self.checkpoint = open_checkpoint(self.options.state, KIND, self.memory_limit)
        if self.checkpoint is not None and self.machine.random_state is None:
            self.seed, self.shown_seed = self.checkpoint.seed(None)
        else:
            self.seed, self.shown_seed = self.machine._seed()

    @cached_property
    def opened(self) -> tuple[Source, ReadOptions, str | None]:
        """The source, what to read of it, and the column of targets."""
        return open_columns(self.scan, self.target, self.options.columns, self.machine)

    @property
    def in_memory(self) -> bool:
        """Whether the data is in this process."""
        return self.opened[0].in_memory

    def load(self) -> Callable[[], None] | None:
        """The kernels, where the survey will use them: steps are NumPy's."""
        source, read, _ = self.opened
        return load_kernels if worth_compiling(source.files, column_share(source, read)) else None

    def about(self, scan: Scan) -> LearnQuestion:
        """The same question about other rows, without a state of its own."""
        new = copy.copy(self)
        vars(new).pop("opened", None)
        new.scan, new.checkpoint = scan, None
        return new

    def plan(self, executor: Executor, progress: Progress | None) -> LearnPlan:
        """Columns, rows by footers, whether they are held in memory; reads no row."""
        source, read, target = self.opened
        told = source.reader(read).options
        refuse_times(told, "name columns of numbers")
        plan = LearnPlan(self, told.value_names if target is None or read.by else told.value_names[:-1])
        if source.in_memory and self.checkpoint is not None:
            raise ConfigError("state: data in memory has no files to be known by; drop state")
        if source.one_pass:
            return plan
        rows = plan.rows = rows_of_lake(source, read, target, self.scan, executor, progress)
        plan.mode, plan.reason = rows.mode(self.options.mode)
        rows.source.check_memory(rows.n_rows if plan.mode == "resident" else min(rows.n_rows, SAMPLE))
        if self.checkpoint is not None:
            self.checkpoint.check_source(self.scan.data, source)
            self.checkpoint.begin(self._fingerprint(plan.names), source.files, ALL_ROWS)
            plan.keeper = DescentKeeper(self.checkpoint, tuple(source.files))
        return plan

    def hold(self) -> None:
        """Have the rows of a stream in memory."""
        source, read, _ = self.opened
        names = {*read.columns, *read.by, *(read.where.columns if read.where is not None else ())}
        self.scan = replace(self.scan, data=source.table(sorted(names)))  # type: ignore[attr-defined]
        del self.opened

    def _fingerprint(self, names: tuple[str, ...]) -> Fingerprint:
        """What a checkpoint must match."""
        (_, read, target), scan = self.opened, self.scan
        question = {
            "learner": type(self.machine).__name__,
            "columns": names,
            "y": target,
            "missing": scan.missing,
            "nan": scan.nan,
            "where": shown_filter(read.where),
        }
        design = {
            name: plain(value.__qualname__ if callable(value) else value)
            for name, value in self.machine.get_params(deep=False).items()
            if name not in ("max_iter", "random_state")
        }
        return Fingerprint.of(question, design, self.seed, self.shown_seed)


@dataclass
class LearnPlan:
    """The plan of a descent on a lake; without `rows` on a stream, whose length is unknown."""

    question: LearnQuestion
    names: tuple[str, ...]
    rows: LakeRows | None = None
    mode: str = "resident"
    reason: str = "a stream is read once"
    keeper: DescentKeeper | None = None
    seen: Survey | None = None

    @property
    def surveyed(self) -> tuple[str, ...]:
        """Numeric columns that are surveyed: no labels, and no list elements, which cannot be filtered."""
        read = self.question.opened[1]
        return tuple(name for name in read.columns if name in read.value_names)

    @property
    def data(self) -> dict[str, Any]:
        """Files as results report them, and their rows, including those that do not count."""
        source, rows = self.question.opened[0], self.rows
        skipped, n_rows = ((), None) if rows is None else (rows.skipped, rows.n_rows)
        return {**data_facts(source.files, skipped, source), "n_rows": n_rows}

    def describe(self, executor: Executor) -> dict[str, Any]:
        """Files, bytes, rows, columns, mode and why, blocks and their rows, steps."""
        machine, data = self.question.machine, self.data
        options = machine._options()
        sizes: tuple[int | None, ...] = (None, None, None)
        memory = program(executor) + Memory((Held("libraries of learners", LIBRARIES, each=False),))
        if self.rows is not None:
            shape = planned_shape(machine, self.rows.n_rows)
            shape.warn()
            sizes = shape[:3]
            survey = Surveyor(self.question.seed, executor, None).check(self.question.scan, self.surveyed)
            memory = (memory + self.rows.memory(self.mode)).or_larger(survey, executor.threads_per_process)
        return {
            "learner": type(machine).__name__,
            **{name: data[name] for name in ("n_files", "n_bytes", "n_rows")},
            "columns": list(self.names),
            "target": self.question.opened[2],
            "mode": self.mode,
            "mode_reason": self.reason,
            **dict(zip(("n_blocks", "block_size", "n_held_out_blocks"), sizes, strict=True)),
            "max_iter": options.max_iter,
            "survey": PASS if self.surveyed else None,
            **told_memory(memory, executor),
            "skipped": data["skipped"],
        }

    def run(self, executor: Executor, progress: Progress | None, run: dict[str, Any]) -> Any:
        """Survey the columns, find the labels, read the rows if they are to be held, take the steps."""
        question = self.question
        if self.rows is None:
            question.hold()
            return question.plan(executor, progress).run(executor, progress, run)
        plan, seen = self, self._survey(executor, progress)
        if seen.scan is not question.scan:
            plan = question.about(seen.scan).plan(executor, progress)
        plan.keeper, plan.seen = self.keeper, seen
        return plan._learn(executor, progress, run)

    def _learn(self, executor: Executor, progress: Progress | None, run: dict[str, Any]) -> Any:
        """The same of the rows that are left."""
        question, machine = self.question, self.question.machine
        machine._name_features(self.names)
        rows, labels = self._with_labels()
        if labels is not None:
            machine._know(labels)
        held = rows.resident() if self.mode == "resident" else rows
        assert self.seen is not None
        seeds = question.seed, question.shown_seed
        if self.mode == "streaming" and (self.keeper is None or self.keeper.checkpoint.saved is None):
            with suppress(NoAnswerError):  # there may be more rows than was thought
                expect(held, question.seed, planned_shape(machine, held.n_rows))
        machine._run(held, *seeds, self.seen, self, executor, progress)
        return question.finish(self, run)

    def _survey(self, executor: Executor, progress: Progress | None) -> Survey:
        """What is bad in the columns."""
        question = self.question
        machine, scan, columns = question.machine, question.scan, self.surveyed
        if not columns:
            return Survey(scan)

        def sample() -> tuple[Floats, Floats]:
            features, labels, *_ = sample_of(self._with_labels()[0], question.seed)
            places = [self.names.index(name) for name in columns]
            return features[:, places], labels

        real = machine._real(columns, sample, question.seed)
        return survey_of(scan, columns, question.seed, executor, progress, real)

    def _with_labels(self) -> tuple[LakeRows, NDArray[Any] | None]:
        """The rows, those of labels with their numbers, and these."""
        assert self.rows is not None
        source, read, _ = self.question.opened
        most = self.question.machine._most_labels
        if not read.by or most is None:
            return self.rows, None
        return with_labels(source, read, self.rows, most)


def planned_shape(machine: Learner, n_rows: int) -> Shape:
    """Blocks for this many rows, none of which has been read: as if nothing were rare or bad."""
    options, of_linear = machine._options(), WANTED_OF_PAIRS if machine._of_pairs else WANTED
    wanted = of_linear if machine._linear else BLOCK_SIZE
    linear = {"accused": machine._linear, "passed_over": options.scaling == "whitened"}
    return options.shape(n_rows, machine._least_size, wanted=wanted, bounded=machine._bounded, **linear)
