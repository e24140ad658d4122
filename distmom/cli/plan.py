"""``distmom plan``: ways to take a mean of so many rows, without data."""

from __future__ import annotations

from typing import Any

import click

from distmom.cli import types
from distmom.cli.failures import write_stdout
from distmom.cli.options import LEVEL, Option
from distmom.cli.show import show_json


@click.command(
    "plan",
    short_help="Blocks, widths and costs for so many rows; reads nothing.",
    params=[
        click.Argument(["n_rows"], type=types.WHOLE_NUMBER, metavar="ROWS"),
        Option(LEVEL, None, float, default=0.99),
        Option("--contamination", "Rows that may be arbitrary: number or share.", types.COUNT_OR_SHARE),
        Option("--blocks --n-blocks n_blocks", "Show that many blocks, too.", int),
        Option("--tau", "Sampling parameter of sampled blocks.", float, default=0.45),
        Option(
            "--width",
            "Margin of error wanted, in standard deviations of a row, or of the kernel: shows the rows "
            "needed.",
            float,
        ),
        Option("--kernel", "Plan for a kernel of pairs of rows, such as distance.", "NAME"),
        Option("--parameter", "Of the kernel, such as bandwidth=1.5; repeatable.", ["NAME=VALUE"]),
        Option("--pair-budget", "Most pairs to evaluate one by one.", float, metavar="PAIRS"),
        Option("--json as_json", "Print a JSON document instead of the table.", bool),
    ],
)
def plan_command(
    as_json: bool,
    kernel: str | None,
    parameter: tuple[str, ...],
    pair_budget: float | None,
    **options: Any,
) -> int:
    """Ways to take a robust mean of ROWS rows, side by side, and which one to take.

    ROWS is a number such as 1000000 or 1e9. Nothing is read; 'distmom mean --dry-run' plans for a lake.
    """
    from distmom.estimators.planning.plan import plan

    if pair_budget is not None:
        options["pair_budget"] = pair_budget
    if kernel is not None:
        from distmom.cli.kernels import parameters_of
        from distmom.numerics.kernels.named import named

        options["kernel"] = named(kernel, **parameters_of(parameter))
    found = plan(**options)
    if as_json:
        show_json(found.document())
    else:
        write_stdout(f"{found}\n")
    return 0
