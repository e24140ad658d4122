"""``distmom ustat``."""

from __future__ import annotations

from typing import Any

from distmom.cli import options as o
from distmom.cli.answer import answer
from distmom.cli.commands.kernels import kernel_of
from distmom.cli.layout import Option
from distmom.errors import ConfigError

KERNEL_OPTIONS = [
    Option(
        "--kernel",
        "Kernel, such as gini, kendall or auc; or a function of your own.",
        "NAME|MODULE:NAME",
        required=True,
    ),
    Option("--degree", "Rows that your own function takes, per sample.", "D[,D]", usual="2"),
    Option("--parameter", "Kernel parameter, such as bandwidth=1.5; repeatable.", ["NAME=VALUE"]),
    Option(
        "--statistic", "Pair rows with others only (u), or also with themselves (v).", ("u", "v"), default="u"
    ),
]

SAMPLE_OPTIONS = [
    Option("--by", "Group by this column; with a two-sample kernel it makes the samples.", ["NAME"], "Rows"),
    Option("--sample samples", "Value of --by that makes a sample; give two.", ["VALUE"], "Rows"),
    Option("--where", "Keep rows that match; given twice, one condition per sample.", ["TEXT"], "Rows"),
]

MATRIX_OPTIONS = [
    Option(
        "--joint",
        "Median of a covariance matrix.",
        ("coordinatewise", "geometric"),
        default="coordinatewise",
    ),
    Option(
        "--project",
        "Project onto valid covariance matrices, or give correlations.",
        ("psd", "correlation"),
    ),
]
EXAMPLES = (
    ("Gini's mean difference", "distmom ustat orders/ -c amount --kernel gini"),
    ("rank correlation of two columns", "distmom ustat orders/ -c amount -c tip --kernel kendall-b"),
    (
        "how well a score separates two labels",
        "distmom ustat orders/ -c score --kernel auc --by label --sample 0 --sample 1",
    ),
)


@o.command(
    "ustat",
    "Robust U-statistics: means over pairs of rows.",
    *(*KERNEL_OPTIONS, *MATRIX_OPTIONS, *o.DATA, o.COLUMN, *SAMPLE_OPTIONS, o.NAN, o.WEIGHTS),
    *(*o.BLOCKS, *o.PAIRS, o.CONTAMINATION, o.interval(), o.CONFIDENCE, o.SEED),
    *(*o.PLACE, o.SCRATCH, *o.OUTPUT),
    examples=EXAMPLES,
)
def ustat_command(
    data: tuple[str, ...], parameter: tuple[str, ...], kernel: str, degree: str | None, **flags: Any
) -> int:
    """Robust U-statistics, with intervals: the mean of a kernel over pairs of rows.

    A kernel of one column gives a result for each --column; another one takes all of them, in order. A kernel
    of two samples takes two lakes, or one with --by.
    """
    from distmom.estimators.ustat.ustatistic import ustatistic

    flags["kernel"] = made = kernel_of(kernel, degree, parameter, len(flags["column"]))
    samples = flags.pop("samples")
    if samples and len(flags["by"]) != 1:
        raise ConfigError("--sample: is a value of one column; name that in --by, once")
    if samples:
        flags["by"] = {flags["by"][0]: list(samples)}
    return answer(ustatistic, data, flags, n_samples=1 if samples else len(made.degrees))
