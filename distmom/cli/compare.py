"""``distmom compare``: whether columns of two samples have one law."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distmom.cli.answer import answer, given, options_named
from distmom.cli.mean import BLOCK_OPTIONS, DATA_OPTIONS, OUTPUT_OPTIONS, RUN_OPTIONS, SCRATCH_OPTION

SHARED = ("nan", "missing", "on_bad_file", "n_blocks", "block_by", "confidence_level", "rng")
"""Options that mean the same as for ``distmom mean``."""

OWN_OPTIONS = [
    click.Option(
        ["-c", "--column"],
        metavar="NAME",
        multiple=True,
        help="Column to compare; repeat it for several. May be left out if the data has only one.",
    ),
    click.Option(["--by"], metavar="NAME", help="Column of which two values make the samples."),
    click.Option(
        ["--sample", "samples"], metavar="VALUE", multiple=True, help="These values: give it twice."
    ),
    click.Option(
        ["--where"],
        metavar="TEXT",
        multiple=True,
        help="Condition of all rows; given twice, that of each sample.",
    ),
    click.Option(
        ["--statistic", "statistics"],
        type=click.Choice(["mean", "auc", "energy", "mmd", "mmd-laplace"]),
        multiple=True,
        default=("mean", "auc", "energy"),
        show_default=True,
        help="What to compare by; repeatable.",
    ),
    click.Option(["--bandwidth"], type=float, help="Of mmd.  [default: the median distance of rows]"),
    click.Option(
        ["--permutations", "--n-permutations", "n_permutations"],
        type=int,
        default=9_999,
        show_default=True,
        help="Permutations of the test.",
    ),
    click.Option(
        ["--test-rows"],
        type=int,
        default=10_000,
        show_default=True,
        metavar="ROWS",
        help="Most rows of each sample in the test.",
    ),
    click.Option(["--pair-budget"], type=float, metavar="PAIRS", help="Most pairs to evaluate one by one."),
    click.Option(
        ["--interval"],
        type=click.Choice(["auto", "order", "exact", "none"]),
        default="auto",
        show_default=True,
        help="Kind of interval.",
    ),
]


@click.command(
    "compare",
    short_help="Two samples compared: did a column drift?",
    params=[
        click.Argument(["data"], nargs=-1, required=True),
        *OWN_OPTIONS,
        *options_named((*DATA_OPTIONS, *BLOCK_OPTIONS), SHARED),
        *RUN_OPTIONS,
        SCRATCH_OPTION,
        *OUTPUT_OPTIONS,
    ],
)
def compare_command(
    data: tuple[str, ...], dry_run: bool, as_json: bool, output: Path | None, quiet: bool, **options: Any
) -> int:
    """Columns of two samples compared: differences that bad rows cannot move, and a permutation test.

    DATA is two Parquet files, folders, patterns or @list.txt, one for each sample; or one, with --by, or with
    --where given twice.
    """
    from distmom.estimators.compare.compare import compare, explain_compare

    arguments = given(options, "column", "block_by", "samples", "where", "statistics")
    if arguments["where"] is not None and len(arguments["where"]) == 1:
        (arguments["where"],) = arguments["where"]
    flags: Any = {"dry_run": dry_run, "as_json": as_json, "output": output, "quiet": quiet}
    return answer(data, arguments, explain_compare, compare, **flags)
