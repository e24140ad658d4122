"""``distmom mean``."""

from __future__ import annotations

from typing import Any

import click

from distmom.cli import options as o
from distmom.cli.answer import answer

JOINT = o.Option(
    "--joint",
    "One mean vector over all columns, or over a list column, by this median.",
    ("geometric", "coordinatewise"),
)

PASSES = o.Option(
    "--passes",
    "Where rows stand apart: 1 estimates from a sample of the others, 2 (the default) reads all again.",
    click.Choice(["1", "2"]),
    "Promise",
    callback=lambda context, option, value: None if value is None else int(value),
)


@o.command(
    "mean",
    "Robust means of columns, with intervals.",
    *(JOINT, *o.DATA, o.WEIGHTS, *o.BLOCKS),
    *(o.CONTAMINATION, o.interval(), o.CONFIDENCE, PASSES, o.SEED, o.STATE, o.ON_CHANGE),
    *(*o.PLACE, *o.OUTPUT),
)
def mean_command(data: tuple[str, ...], **flags: Any) -> int:
    """Robust means of columns, with intervals, next to the sample means.

    DATA is a Parquet file, a folder, a pattern such as 'lake/2024-*/*.parquet', or @list.txt with one of
    these a line; several are read together. Folders, files and patterns may lie in an object store:
    s3://bucket/folder, gs://…, abfs://….

    The table goes to standard output; progress and remarks (missing values, files that stand out or were
    skipped, why there is no interval) go to standard error.
    """
    from distmom.estimators.mean.mean import mean

    return answer(mean, data, flags)
