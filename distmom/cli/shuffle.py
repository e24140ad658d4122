"""``distmom shuffle``: a lake in random order."""

from __future__ import annotations

import sys
from typing import Any

import click

from distmom.cli.answer import given
from distmom.cli.failures import write_stdout
from distmom.cli.mean import RUN_OPTIONS, Seed
from distmom.cli.show import messages_on_stderr, show_json, show_plan


@click.command(
    "shuffle",
    short_help="Write a lake in an exactly uniform random order.",
    params=[
        click.Argument(["data"], nargs=-1, required=True, metavar="LAKE..."),
        click.Argument(["output"], type=click.Path(), metavar="OUT"),
        click.Option(
            ["--seed", "--rng", "rng"],
            type=Seed(),
            default=0,
            show_default=True,
            help="Decides the order; 'random' takes a new one each time.",
        ),
        click.Option(
            ["--scratch"],
            type=click.Path(),
            metavar="FOLDER",
            help="Folder for temporary files.  [default: that of OUT]",
        ),
        *(option for option in RUN_OPTIONS if option.name != "batch_rows"),
        click.Option(["--dry-run"], is_flag=True, help="Show files, bytes, buckets, disk and memory."),
        click.Option(["--json", "as_json"], is_flag=True, help="Print a JSON document instead of a line."),
        click.Option(["--quiet"], is_flag=True, help="No progress."),
    ],
)
def shuffle_command(
    data: tuple[str, ...], output: str, dry_run: bool, as_json: bool, quiet: bool, **options: Any
) -> int:
    """Write all rows of LAKE to the new folder OUT, so that every order of them is equally likely.

    LAKE is a Parquet file, a folder, a pattern or @list.txt; several are read together. OUT appears once its
    rows have been counted and compared with those read, or not at all.
    """
    from distmom.estimators.shuffle.shuffle import explain_shuffle, shuffle

    quiet = quiet or sys.stderr is None  # closed by the shell: 2>&-
    arguments = given(options)
    what = data[0] if len(data) == 1 else list(data)
    with messages_on_stderr(quiet):
        if dry_run:
            show_plan(explain_shuffle(what, output, **arguments), as_json=as_json)
            return 0
        from distmom.cluster import make_progress

        found = shuffle(what, output, **arguments, progress=make_progress("shuffling", quiet=quiet))
    if as_json:
        show_json(found.to_dict())
    else:
        write_stdout(f"{found}\n")
    return 0
