"""The files of a first pass as a source of rows to be gathered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from distmom.estimators.mean.plan import MeanPlan, column_share
from distmom.estimators.rows import count_rows
from distmom.estimators.ustat.gather import RowSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distmom.cluster import Executor
    from distmom.cluster.work import SkippedFile
    from distmom.lake import ReadOptions, Source


def row_source(
    source: Source, read: ReadOptions, plan: MeanPlan, skipped: Sequence[SkippedFile], executor: Executor
) -> RowSource:
    """The good files, their rows counted."""
    bad = {record.file for record in skipped}
    files = tuple(file for file in plan.files if file.path not in bad)
    counted: Any = replace(source, files=files)  # type: ignore[type-var]
    return RowSource(
        plan.reader,
        files,
        count_rows(counted, executor, "error").rows,
        executor,
        plan.options.nan,
        column_share=column_share(source, read),
    )
