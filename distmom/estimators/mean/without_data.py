"""Answers from existing sums, without the data they came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distmom.cluster import ThreadExecutor
from distmom.errors import NoAnswerError
from distmom.estimators.facts import run_facts
from distmom.estimators.mean.answer import answer_of
from distmom.estimators.mean.fingerprint import STREAMS, LakeCounts, Made
from distmom.estimators.mean.manifest import Ledger
from distmom.estimators.mean.plan import MeanPlan, plan_mean
from distmom.lake.messages import plain_address
from distmom.lake.source import BatchReader, FileRef, ReadOptions, Source
from distmom.remedies import Sums
from distmom.report import MeanResult, Results, VectorResult


@dataclass(frozen=True)
class NoData(Source, BatchReader):
    """A source without files, and its reader, which knows what was read."""

    options: ReadOptions
    files: tuple[FileRef, ...] = ()
    in_memory = True

    def reader(self, options: ReadOptions) -> NoData:
        """The same, for these options."""
        return NoData(options)


def plan_without_data(
    made: Made, files: Sequence[tuple[int, FileRef]], counted: LakeCounts | None = None
) -> MeanPlan:
    """The plan of a mean with existing sums; `files` are the files in them, with the number of their root."""
    ledger = Ledger(base_files=list(files), counted=counted)
    plan = plan_mean(
        NoData(made.read),
        made.read,
        made.options,
        made.seed,
        ThreadExecutor(1),
        None,
        1.0,
        ledger,
        pooled=True,
    )
    several = len(made.roots) > 1
    return replace(plan, roots=tuple(made.roots[number] for number, _ in files)) if several else plan


@np.errstate(over="ignore")
def answer(
    plan: MeanPlan,
    made: Made,
    state: Any,
    seconds: float,
    skipped: Sequence[dict[str, str]] = (),
    *,
    sums: Sums,
) -> MeanResult | VectorResult | Results:
    """The results of a state.

    Raises
    ------
    NoAnswerError
        If there are no rows, or no finite answer.
    """
    if state is None:
        raise NoAnswerError("no rows yet, or none left after the filter; add data with rows")
    data = {
        "n_files": len(plan.files),
        "n_bytes": sum(file.size for file in plan.files),
        "skipped": list(skipped),
        "source": [plain_address(root) for root in made.roots if root != STREAMS] or None,
        "where": made.where,
    }
    run = {**run_facts(seconds, made.shown_seed, workers=1), "sums": sums}
    return answer_of(plan, state, data, run)
