"""The question behind ``fit`` on a lake, and its plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from distmom.errors import ConfigError
from distmom.estimators.facts import data_facts
from distmom.estimators.learn.checkpoint import KIND, DescentKeeper
from distmom.estimators.learn.data import (
    IN_MEMORY,
    Asked,
    DataOptions,
    LakeFacts,
    open_columns,
    rows_in_memory,
    rows_of_files,
    with_labels,
)
from distmom.estimators.learn.rows import LakeRows, TrainingRows
from distmom.passes.opening import refuse_times
from distmom.passes.scan import Scan
from distmom.state import open_checkpoint

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress
    from distmom.estimators.learn.learner import Learner
    from distmom.estimators.learn.run import Learned
    from distmom.lake import BatchReader


@dataclass
class LearnQuestion:
    """What a learner makes of the rows of a scan."""

    machine: Learner
    scan: Scan
    target: Any
    options: DataOptions
    memory_limit: int | str | None = None
    keeper: DescentKeeper | None = field(init=False, default=None)
    seed: int = field(init=False)
    shown_seed: int | str = field(init=False)

    def __post_init__(self) -> None:
        if self.target is not None and not isinstance(self.target, str):
            raise ConfigError(f"y: with a lake, name its column of targets, not {type(self.target).__name__}")
        options = self.options
        checkpoint = open_checkpoint(options.state, KIND, self.memory_limit, every=options.checkpoint_seconds)
        self.keeper = None if checkpoint is None else DescentKeeper(checkpoint)
        known = self.keeper is not None and self.machine.random_state is None
        self.seed, self.shown_seed = self.keeper.seed(None) if known else self.machine._seed()  # type: ignore[union-attr]

    @cached_property
    def opened(self) -> Asked:
        """The source, what to read of it, and the column of targets."""
        return open_columns(self.scan, self.target, self.machine._wanted(), self.options.columns)

    @property
    def in_memory(self) -> bool:
        """Whether the data is in this process."""
        return self.opened.source.in_memory

    def load(self) -> Callable[[], None] | None:
        """Nothing: steps are NumPy's."""
        return None

    def plan(self, executor: Executor, progress: Progress | None) -> PlannedLearning:
        """Columns, rows by footers, whether they are held in memory; no row is read."""
        asked, options = self.opened, self.options
        reader = asked.source.reader(asked.read)
        refuse_times(reader.options, "name columns of numbers")
        names = reader.options.value_names
        if asked.target is not None and not asked.read.by:
            names = names[:-1]
        if asked.source.in_memory:
            if self.keeper is not None:
                raise ConfigError("state: data in memory has no files to be known by; drop state")
            return PlannedLearning(self, names, reader)
        rows, facts = rows_of_files(asked, names, self.scan, options.mode, executor, progress)
        if self.keeper is not None:
            marks = self.machine._fingerprint(facts, self.scan, self.seed, self.shown_seed)
            self.keeper.begin(self.scan.data, asked.source, marks)
        return PlannedLearning(self, names, reader, rows, facts)


@dataclass
class PlannedLearning:
    """The plan of a descent on a lake; `rows` and `facts` where it is of files."""

    question: LearnQuestion
    names: tuple[str, ...]
    reader: BatchReader
    rows: LakeRows | None = None
    facts: LakeFacts | None = None

    def describe(self, executor: Executor) -> dict[str, Any]:
        """Files, bytes, rows, columns, mode and why, blocks and their rows, steps."""
        machine = self.question.machine
        source, _, target = self.question.opened
        facts = self.facts
        if facts is None:
            data = data_facts(source.files, (), source)
            n_rows = None if source.one_pass else int(source.row_counts().sum())
            facts = LakeFacts(self.names, target, "resident", IN_MEMORY, n_rows or 0, data=data)
        else:
            n_rows = facts.n_rows
        options, shape = machine._options(), None
        if n_rows is not None:
            shape = options.shape(n_rows, machine._least_size(len(self.names)))
        return {
            "learner": type(machine).__name__,
            "n_files": facts.data["n_files"],
            "n_bytes": facts.data["n_bytes"],
            "n_rows": n_rows,
            "columns": list(facts.names),
            "target": facts.target,
            "mode": facts.mode,
            "mode_reason": facts.reason,
            "n_blocks": None if shape is None else shape.n_blocks,
            "block_size": None if shape is None else shape.block_size,
            "n_held_out_blocks": None if shape is None else shape.n_held_out,
            "max_iter": options.max_iter,
            "skipped": [s._asdict() for s in facts.skipped],
        }

    def run(self, executor: Executor, progress: Progress | None, run: dict[str, Any]) -> Learned:
        """Read the rows, or find the labels of those that are gathered later; take the steps."""
        question = self.question
        rows, facts = self._rows()
        return question.machine._learn_from(rows, facts, question, executor, progress)

    def _rows(self) -> tuple[TrainingRows, LakeFacts]:
        question, wanted = self.question, self.question.machine._wanted()
        if self.rows is None or self.facts is None:
            return rows_in_memory(question.opened, self.reader, self.names, wanted, question.scan.nan)
        rows, facts = self.rows, self.facts
        if question.opened.read.by and wanted.most_labels is not None:
            rows, labels = with_labels(question.opened, rows, wanted.most_labels)
            facts = replace(facts, labels=labels)
        return (rows.resident() if facts.mode == "resident" else rows), facts
