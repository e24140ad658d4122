"""``distmom describe``: every column of a lake, and which files break it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distmom.cli.answer import answer, given, options_named
from distmom.cli.mean import BLOCK_OPTIONS, DATA_OPTIONS, OUTPUT_OPTIONS, RUN_OPTIONS

COLUMNS = click.Option(
    ["-c", "--column", "columns"],
    metavar="NAME",
    multiple=True,
    help="Column to describe; repeat it for several.  [default: all]",
)
UNITS = click.Option(
    ["--by"],
    metavar="NAME",
    multiple=True,
    help="Column whose values make units, which are ranked and named as files are; repeatable.",
)
SHARED = ("where", "missing", "on_bad_file", "fine", "confidence_level", "rng")


@click.command(
    "describe",
    short_help="Every column of a lake, and which files break it.",
    params=[
        click.Argument(["data"], nargs=-1, required=True),
        COLUMNS,
        UNITS,
        *options_named((*DATA_OPTIONS, *BLOCK_OPTIONS), SHARED),
        *RUN_OPTIONS,
        *OUTPUT_OPTIONS,
    ],
)
def describe_command(
    data: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    output: Path | None,
    quiet: bool,
    **options: Any,
) -> int:
    """Robust profile of every column beside the plain one, and which files break it.

    DATA is a Parquet file, a folder, a pattern such as 'lake/2024-*/*.parquet', or @list.txt with one of
    these a line; several are read together.

    The tables go to standard output: the columns; where a plain mean leaves its robust interval, the files
    that carry the difference; and files whose values are not those of the others. Contamination alone is no
    failure: the exit code is 0, 4 if files were skipped, 5 where the damage may be beyond capacity.
    """
    from distmom.estimators.describe.describe import describe, explain_describe

    flags: Any = {"dry_run": dry_run, "as_json": as_json, "output": output, "quiet": quiet}
    return answer(data, given(options, "columns", "by"), explain_describe, describe, **flags)
