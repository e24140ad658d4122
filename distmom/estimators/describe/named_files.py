"""Which of the files that share cells with bad files are bad: each file is examined alone.

Cells of whole files accuse all files that they contain. If rows can be read again, a profile of the same
columns shows which of these stand out by themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from distmom.designs.blocks import RandomBlocks
from distmom.errors import DistmomError
from distmom.estimators.describe.question import DescribeQuestion
from distmom.estimators.facts import run_facts
from distmom.estimators.options import MeanOptions
from distmom.passes.scan import Scan
from distmom.report.of_many import accusing
from distmom.report.on_demand import OnDemand
from distmom.report.results import Results, members

if TYPE_CHECKING:
    from distmom.cluster import Executor, Progress

HARMLESS = ("missing", "no values")
"""Findings about missing rows, which do not contribute to an answer."""


def files_alone(
    scan: Scan, columns: Sequence[str], seed: int, executor: Executor, progress: Progress | None
) -> dict[str, set[str]]:
    """For each column, the files that stand out by themselves; none if this cannot be determined."""
    options = MeanOptions.of(replace(scan, nan="omit"), RandomBlocks())
    found: dict[str, set[str]] = defaultdict(set)
    try:
        plan = DescribeQuestion(scan, list(columns), None, options, rng=seed).plan(executor, progress)
        named = plan.run(executor, progress, run_facts(0.0, seed, 1)).named
    except DistmomError:  # the command itself reports it
        return found
    for unit in named:
        for reason in unit.reasons if unit.kind == "file" else ():
            if reason.what not in HARMLESS:
                found[reason.column].add(unit.name)
    return found


def name_files(
    scan: Scan, results: Results, seed: int, executor: Executor, progress: Progress | None
) -> Sequence[Any]:
    """The results, with accused files reduced to those that stand out by themselves, if there are any."""
    every, accuse = members(results), accusing(results)
    of = {i: getattr(r, "columns", None) or (r.column,) for i, r in accuse.items()}
    columns = list(dict.fromkeys(name for names in of.values() for name in names))
    alone = files_alone(scan, columns, seed, executor, progress) if columns else {}
    named = {}
    for i, r in accuse.items():
        bad = {name for column in of[i] for name in alone.get(column, ())}
        files = tuple(name for name in r.accused_files if name in bad)
        if files:
            named[i] = replace(r, accused_files=files, files_named=True)
    if isinstance(every, OnDemand):
        return every.changed(named)
    return [named.get(i, r) for i, r in enumerate(every)]
