"""The plan of a robust U-statistic: passes, blocks and cost are known, and refused, before a row is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from distmom.cluster import Executor, Progress
from distmom.cluster.memory import in_words as bytes_in_words
from distmom.estimators.facts import data_facts, told
from distmom.estimators.mean.plan import MeanPlan
from distmom.estimators.ustat.cells import expected_cells
from distmom.estimators.ustat.comoments import from_comoments
from distmom.estimators.ustat.cost import affordable, in_words, seconds_for, tuples_to_take
from distmom.estimators.ustat.draws import Draws, planned_draws
from distmom.estimators.ustat.options import UStatOptions
from distmom.estimators.ustat.partition import check_sizes, run_partition
from distmom.estimators.ustat.sampled import run_sampled
from distmom.estimators.ustat.samples import (
    Samples,
    check_samples,
    numbers_of_all,
    plan_passes,
    run_passes,
)
from distmom.numerics.kernels.evaluate import one_by_one
from distmom.passes.cell_map import CellMap
from distmom.passes.census import Census, count_rows
from distmom.passes.regrouping import Piece, planned_regrouping

ADDED = ("n_files", "n_bytes", "n_units")
"""What the plans of the passes over all samples say of each."""


class PartitionPlan(NamedTuple):
    """Blocks that partition the rows, if these are complete and in one group; see `Draws` for the others.

    Attributes
    ----------
    plan : MeanPlan
        Of the first pass over the first sample.
    cells : list of CellMap
        Of each sample.
    in_memory : bool
        Whether some of the data is.
    """

    plan: MeanPlan
    cells: list[CellMap]
    in_memory: bool

    def check(self, options: UStatOptions, threads: int) -> None:
        """ConfigError if there are too many tuples, or the proposition does not reach the level."""
        n_columns = len(self.plan.reduction.columns) if options.joint_rows else 1
        check_sizes(1, [(one,) for one in self.cells], n_columns, options, threads)

    def describe(
        self, options: UStatOptions, n_columns: int, lines: int, executor: Executor
    ) -> dict[str, Any]:
        """Tuples, further passes and memory."""
        kernel, plan = options.kernel, self.plan
        blocks = list(zip(*(one.sizes.tolist() for one in self.cells), strict=True))
        lines *= options.rows.design.repeats
        n_tuples = lines * (
            tuples_to_take(kernel, n_columns, blocks, weighted=options.weighted)
            if options.complete
            else sum(min(n // d for n, d in zip(sizes, kernel.degrees, strict=True)) for sizes in blocks)
        )
        n_passes, needed, spilled = 1, plan.unit_memory, None
        if not from_comoments(options, n_columns):
            sizes = np.sum([one.sizes for one in self.cells], axis=0)
            names, width = plan.reader.options.value_names, len(plan.reduction.columns)
            each = [names] if options.joint_rows else [(name, *names[width:]) for name in names[:width]]
            pieces = [Piece(sizes, mine, plan.reader.options.batch_rows) for mine in each]
            regrouping = planned_regrouping(
                pieces * options.rows.design.repeats, executor, on_disk=not self.in_memory
            )
            n_passes, needed, spilled = 1 + regrouping.passes, regrouping.needed, regrouping.note
        return {
            "n_rows": int(sum(one.sizes.sum() for one in self.cells)),
            "tuples_one_by_one": n_tuples,
            "affordable": affordable(options, n_tuples, len(blocks)),
            "passes": n_passes,
            "sorted_on_disk": spilled,
            "memory": needed * executor.threads_per_process,
        }


@dataclass(frozen=True)
class UStatPlan:
    """What a robust U-statistic of one or several samples will do: told by `describe`, done by `run`.

    Attributes
    ----------
    samples : sequence of (Source, ReadOptions)
    options : UStatOptions
    seed : int
        128 bits.

    Raises
    ------
    ConfigError, DataError
        If the data is not what the kernel or the options go with; see `check_samples`.
    """

    samples: Samples
    options: UStatOptions
    seed: int

    def __post_init__(self) -> None:
        check_samples(self.samples, self.options)

    def describe(self, executor: Executor) -> dict[str, Any]:
        """Blocks, tuples, passes, memory, time: as if all rows were complete, in one group."""
        samples = [(source, replace(read, where=None)) for source, read in self.samples]
        options = numbers_of_all(samples, self.options, executor, None)
        plans = plan_passes(samples, options, self.seed, executor, None)
        first = [plan.describe(executor) for plan in plans]
        width = len(plans[0].reduction.columns)
        n_columns, lines = (width, 1) if options.joint_rows else (1, width)
        ahead = self._ahead(plans, self._census(executor), options)
        if isinstance(ahead, Draws):
            later = ahead.describe(options, n_columns, lines, plans[0].unit_memory, executor)
        else:
            later = ahead.describe(options, n_columns, lines, executor)
        needed, n_tuples = later.pop("memory"), later["tuples_one_by_one"]
        seconds = in_words(seconds_for(options.kernel, n_tuples, executor.threads)) if n_tuples else None
        return {
            **first[0],
            **{name: sum(one[name] for one in first) for name in ADDED},
            **later,
            "kernel": options.kernel.name,
            "statistic": options.statistic,
            "pairs": options.pairs.name,
            "seconds_one_by_one": seconds,
            "pair_budget": options.pair_budget,
            "projected_memory_per_process": bytes_in_words(needed),
            "skipped": [record._asdict() for plan in plans for record in plan.skipped],
        }

    def run(self, executor: Executor, progress: Progress | None, run: dict[str, Any]) -> Any:
        """Count rows, form blocks, evaluate: one result for each column (or set of columns) and group."""
        samples, by = self.samples, self.samples[0][1].by
        options = numbers_of_all(samples, self.options, executor, progress)
        plans = plan_passes(samples, options, self.seed, executor, progress)
        census = self._refuse(plans, options, executor)
        passes = run_passes(plans, by, options, executor, progress)
        if options.sampled:
            results = run_sampled(samples, passes, census, options, self.seed, executor, progress)
        else:
            results = run_partition(samples, passes, options, executor, progress)
        skipped = {record.file: record for one in passes for record in one.skipped}
        files = [file for plan in plans for file in plan.files]
        data = data_facts(files, skipped.values(), *(source for source, _ in samples))
        return told(results, data, run, several=bool(by))

    def _refuse(
        self, plans: Sequence[MeanPlan], options: UStatOptions, executor: Executor
    ) -> list[Census] | None:
        """Refuse before a row is read what footers tell to be too much; the rows, if they have been counted.

        Footers say nothing of filters and groups.
        """
        n_columns = len(plans[0].reduction.columns) if options.joint_rows else 1
        slow = options.complete and one_by_one(options.kernel, n_columns, weighted=options.weighted)
        plain = all(read.where is None and not read.by for _, read in self.samples)
        if not plain or not (slow or options.sampled or options.by_paper):
            return None
        census = self._census(executor)
        if all((one.rows > 0).any() for one in census):  # else a pass says why there is no row
            self._ahead(plans, census, options).check(options, executor.threads)
        return census

    def _census(self, executor: Executor) -> list[Census]:
        """The rows of the files of each sample."""
        return [count_rows(source, executor, self.options.rows.on_bad_file) for source, _ in self.samples]

    def _ahead(
        self, plans: Sequence[MeanPlan], census: Sequence[Census], options: UStatOptions
    ) -> PartitionPlan | Draws:
        """What follows the first passes if all rows are complete and in one group."""
        plan, file_rows = plans[0], [np.maximum(one.rows, 0) for one in census]
        n_rows = [int(rows.sum()) for rows in file_rows]
        if options.sampled:
            n_columns = len(plan.reduction.columns) if options.joint_rows else 1
            compiled = plan.reduction.compiled
            return planned_draws(options, file_rows, n_rows, n_columns, self.seed, compiled=compiled)
        cells = expected_cells(plans, n_rows, options.kernel.degrees)
        return PartitionPlan(plan, cells, any(source.in_memory for source, _ in self.samples))
