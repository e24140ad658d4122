"""``distmom merge``: bring saved states together, or show one without its data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distmom.cli import options as o
from distmom.cli.answer import print_results


@click.command(
    "merge",
    short_help="Merge saved states, or show what is in one.",
    params=[
        click.Argument(["states"], nargs=-1, required=True, type=click.Path()),
        o.Option(
            "-o --state state",
            "Save the merged state there; it may be one of those merged.",
            click.Path(),
            metavar="FILE",
        ),
        o.Option("--interval", "Kind of interval.  [default: that of the states]", o.INTERVALS),
        o.Option(o.LEVEL, "Confidence level of the interval.  [default: that of the states]", float),
        *o.without(o.OUTPUT, "dry_run"),
    ],
)
def merge_command(
    states: tuple[str, ...],
    state: str | None,
    interval: str | None,
    confidence_level: float | None,
    as_json: bool,
    output: Path | None,
    quiet: bool,
    fail_on: tuple[str, ...],
) -> int:
    """Merge states that 'distmom mean --state' saved of disjoint lakes, and print the result of all.

    With one state its result is shown without the data. States must have been made with the same columns,
    options and seed; a file that two of them hold is an error.
    """
    from distmom.estimators.mean.merge_states import merge_states

    def found() -> Any:
        return merge_states(*states, output=state, interval=interval, confidence_level=confidence_level)

    return print_results(found, output, as_json=as_json, quiet=quiet, fail_on=fail_on)
