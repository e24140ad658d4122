"""``distmom merge``: bring saved states together, or show one without its data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distmom.cli import options as o
from distmom.cli.answer import print_results
from distmom.cli.layout import MEMORY, Argument, Option, command

EXAMPLES = (
    ("the result in a state, without its data", "distmom merge week1.state"),
    ("two parts of a lake", "distmom merge week1.state week2.state --state both.state"),
    ("another level, as JSON", "distmom merge week1.state week2.state --confidence 0.95 --json"),
)


@command(
    "merge",
    "Merge saved states, or show what is in one.",
    Argument(
        "states", "Files that 'distmom mean --state' saved.", nargs=-1, required=True, type=click.Path()
    ),
    Option(
        "-o --state state",
        "Save the merged state here.",
        click.Path(),
        MEMORY,
        metavar="FILE",
    ),
    Option("--interval", "Kind of interval.", o.INTERVALS, "Uncertainty", usual="as saved"),
    Option(
        o.LEVEL,
        "Confidence level.",
        float,
        "Uncertainty",
        usual="as saved",
        metavar="LEVEL",
    ),
    *o.without(o.OUTPUT, "dry_run"),
    examples=EXAMPLES,
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
    explain: bool,
) -> int:
    """Merge states of disjoint lakes, and print the result of all.

    States must have the same columns, options and seed; a file that two of them hold is an error.
    """
    from distmom.estimators.mean.merge_states import merge_states

    def found() -> Any:
        return merge_states(*states, output=state, interval=interval, confidence_level=confidence_level)

    return print_results(found, output, as_json=as_json, quiet=quiet, fail_on=fail_on, explained=explain)
