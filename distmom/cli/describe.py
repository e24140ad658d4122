"""``distmom describe``: every column of a lake, and which files break it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from distmom.cli.mean import (
    BLOCK_OPTIONS,
    DATA_OPTIONS,
    OUTPUT_OPTIONS,
    RUN_OPTIONS,
    seed_or_fresh,
)
from distmom.cli.show import messages_on_stderr, show_plan, show_results

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


def _shared(options: list[click.Option]) -> list[click.Option]:
    return [option for option in options if option.name in SHARED]


@click.command(
    "describe",
    short_help="Every column of a lake, and which files break it.",
    params=[
        click.Argument(["data"], nargs=-1, required=True),
        COLUMNS,
        UNITS,
        *_shared(DATA_OPTIONS),
        *_shared(BLOCK_OPTIONS),
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
    from distmom.report import check_output, write_results

    if output is not None:
        check_output(output)
    quiet = quiet or sys.stderr is None
    arguments = {name: value for name, value in options.items() if value is not None}
    for name in ("columns", "by"):
        arguments[name] = list(arguments[name]) or None
    arguments["rng"] = seed_or_fresh(arguments["rng"])
    what = data[0] if len(data) == 1 else list(data)
    with messages_on_stderr(quiet):
        if dry_run:
            from distmom.estimators.describe import explain_describe

            show_plan(explain_describe(what, **arguments), as_json=as_json)
            return 0
        from distmom.cluster import make_progress
        from distmom.estimators.describe import describe

        found = describe(what, **arguments, progress=make_progress(quiet=quiet))
    if output is not None:
        write_results(found, output)
    if as_json or not (quiet and output is not None):
        show_results(found, as_json=as_json, quiet=quiet)
    return found.exit_code
