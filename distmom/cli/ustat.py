"""``distmom ustat``: the options of ``distmom mean`` that apply, and those of the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distmom.cli.answer import answer, given
from distmom.cli.kernels import kernel_of
from distmom.cli.mean import BLOCK_OPTIONS, DATA_OPTIONS, OUTPUT_OPTIONS, RUN_OPTIONS, SCRATCH_OPTION

KERNEL_OPTIONS = [
    click.Option(
        ["--kernel"],
        metavar="NAME",
        required=True,
        help="Function of pairs of rows, such as gini, kendall (tau-a), kendall-b, variance, distance; or "
        "MODULE:NAME, a function or kernel of your own.",
    ),
    click.Option(
        ["--degree"],
        metavar="D[,D…]",
        help="Rows that a function of your own takes: 2 by default; 2,1 are two of a first sample, one of a "
        "second.",
    ),
    click.Option(
        ["--parameter"],
        metavar="NAME=VALUE",
        multiple=True,
        help="Of the kernel, such as bandwidth=1.5, or of a function symmetrize=true; repeatable.",
    ),
    click.Option(
        ["--statistic"],
        type=click.Choice(["u", "v"]),
        default="u",
        show_default=True,
        help="Whether a row may be paired with itself (v).",
    ),
    click.Option(
        ["--pairs"],
        type=click.Choice(["complete", "incomplete", "disjoint"]),
        default="complete",
        show_default=True,
        help="All pairs of a block, or some.",
    ),
    click.Option(
        ["--pair-count", "--n-pairs", "n_pairs"], type=int, metavar="M", help="Pairs that are drawn."
    ),
    click.Option(["--pair-budget"], type=float, metavar="PAIRS", help="Most pairs to evaluate one by one."),
]

MATRIX_OPTIONS = [
    click.Option(
        ["--joint"],
        type=click.Choice(["coordinatewise", "geometric"]),
        default="coordinatewise",
        show_default=True,
        help="Of a covariance matrix: the median of each entry, or of all together.",
    ),
    click.Option(
        ["--project"],
        type=click.Choice(["psd", "correlation"]),
        help="Give the nearest positive semi-definite matrix, or the correlations.",
    ),
]

APPLY = [option for option in BLOCK_OPTIONS if option.name != "joint"]


@click.command(
    "ustat",
    short_help="Robust U-statistics: means over pairs of rows.",
    params=[
        click.Argument(["data"], nargs=-1, required=True),
        *KERNEL_OPTIONS,
        *DATA_OPTIONS,
        *APPLY,
        *MATRIX_OPTIONS,
        *RUN_OPTIONS,
        SCRATCH_OPTION,
        *OUTPUT_OPTIONS,
    ],
)
def ustat_command(
    data: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    output: Path | None,
    quiet: bool,
    parameter: tuple[str, ...],
    kernel: str,
    degree: str | None,
    **options: Any,
) -> int:
    """Robust U-statistics, with intervals: the mean of a kernel over pairs of rows.

    DATA is a Parquet file, a folder, a pattern such as 'lake/2024-*/*.parquet', or @list.txt with one of
    these a line; several are read together, or are the samples of a kernel that takes as many. A kernel of
    one column gives a result for each --column, another one takes all of them, in its order.
    """
    from distmom.estimators.ustat.explain import explain_ustatistic
    from distmom.estimators.ustat.ustatistic import ustatistic

    arguments = given(options, "column", "by", "block_by")
    arguments["kernel"] = kernel_of(kernel, degree, parameter, len(options["column"]))
    flags: Any = {"dry_run": dry_run, "as_json": as_json, "output": output, "quiet": quiet}
    return answer(data, arguments, explain_ustatistic, ustatistic, **flags)
