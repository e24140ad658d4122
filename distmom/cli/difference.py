"""``distmom difference``: variants of an experiment compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distmom.cli.answer import answer, given, options_named
from distmom.cli.mean import BLOCK_OPTIONS, DATA_OPTIONS, OUTPUT_OPTIONS, RUN_OPTIONS

SHARED = ("where", "nan", "missing", "on_bad_file", "confidence_level", "rng")
"""Options that mean the same as for ``distmom mean``."""

OWN_OPTIONS = [
    click.Option(
        ["-c", "--column", "--metric", "metric"], metavar="NAME", required=True, help="Column to compare."
    ),
    click.Option(
        ["--by"], metavar="NAME", required=True, help="Column whose values are the variants, two or more."
    ),
    click.Option(
        ["--unit"],
        metavar="NAME|file",
        multiple=True,
        help="Column of the independent units, such as users or days; repeatable.  [default: rows]",
    ),
    click.Option(
        ["--denominator"], metavar="NAME", help="For ratios: sum of the metric over sum of this column."
    ),
    click.Option(
        ["--control"], metavar="NAME", help="Variant to compare the others with.  [default: the first]"
    ),
    click.Option(
        ["--interval"],
        type=click.Choice(["auto", "order", "exact", "none"]),
        default="auto",
        show_default=True,
        help="Kind of interval.",
    ),
]


@click.command(
    "difference",
    short_help="Variants of an experiment compared: difference and lift.",
    params=[
        click.Argument(["data"], nargs=-1, required=True),
        *OWN_OPTIONS,
        *options_named((*DATA_OPTIONS, *BLOCK_OPTIONS), SHARED),
        *RUN_OPTIONS,
        *OUTPUT_OPTIONS,
    ],
)
def difference_command(
    data: tuple[str, ...], dry_run: bool, as_json: bool, output: Path | None, quiet: bool, **options: Any
) -> int:
    """Difference and lift of a heavy-tailed metric between variants, with intervals, without capping it.

    DATA is a Parquet file, a folder, a pattern such as 'lake/2024-*/*.parquet', or @list.txt with one of
    these a line; several are read together.
    """
    from distmom.estimators.difference.difference import difference, explain_difference

    arguments = given(options, "unit")
    flags: Any = {"dry_run": dry_run, "as_json": as_json, "output": output, "quiet": quiet}
    return answer(data, arguments, explain_difference, difference, **flags)
