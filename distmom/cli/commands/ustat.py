"""``distmom ustat``."""

from __future__ import annotations

from typing import Any

from distmom.cli import options as o
from distmom.cli.answer import answer
from distmom.cli.commands.kernels import kernel_of
from distmom.errors import ConfigError

KERNEL_OPTIONS = [
    o.Option(
        "--kernel",
        "Function of pairs of rows, such as gini, kendall (tau-a), kendall-b, variance, distance; or "
        "MODULE:NAME, a function or kernel of your own.",
        "NAME",
        required=True,
    ),
    o.Option(
        "--degree",
        "Rows that a function of your own takes: 2 by default; 2,1 are two of a first sample, one of a "
        "second.",
        "D[,D…]",
    ),
    o.Option(
        "--parameter",
        "Of the kernel, such as bandwidth=1.5, or of a function symmetrize=true; repeatable.",
        ["NAME=VALUE"],
    ),
    o.Option("--statistic", "Whether a row may be paired with itself (v).", ("u", "v"), default="u"),
]

SAMPLE_OPTIONS = [
    o.Option(
        "--by",
        "Column whose values form groups; repeatable. Of one lake and a kernel of two samples, that of which "
        "two values make these, such as the label of a score.",
        ["NAME"],
        "Data",
    ),
    o.Option("--sample samples", "These values: give it twice.", ["VALUE"], "Data"),
    o.Option(
        "--where",
        "Condition, such as \"status == 'paid' and amount > 0\"; given twice, that of each sample.",
        ["TEXT"],
        "Data",
    ),
]
DATA = o.without(o.DATA, "by", "where")

MATRIX_OPTIONS = [
    o.Option(
        "--joint",
        "Of a covariance matrix: the median of each entry, or of all together.",
        ("coordinatewise", "geometric"),
        default="coordinatewise",
    ),
    o.Option(
        "--project",
        "Give the nearest positive semi-definite matrix, or the correlations.",
        ("psd", "correlation"),
    ),
]


@o.command(
    "ustat",
    "Robust U-statistics: means over pairs of rows.",
    *(*KERNEL_OPTIONS, *MATRIX_OPTIONS, *SAMPLE_OPTIONS, *DATA, o.WEIGHTS, *o.BLOCKS, *o.PAIRS),
    *(o.CONTAMINATION, o.interval(), o.CONFIDENCE, o.SEED),
    *(*o.PLACE, o.SCRATCH, *o.OUTPUT),
)
def ustat_command(
    data: tuple[str, ...], parameter: tuple[str, ...], kernel: str, degree: str | None, **flags: Any
) -> int:
    """Robust U-statistics, with intervals: the mean of a kernel over pairs of rows.

    DATA is a Parquet file, a folder, a pattern such as 'lake/2024-*/*.parquet', or @list.txt with one of
    these a line; several are read together, or are the samples of a kernel that takes as many, unless --by
    and --sample make these. A kernel of one column gives a result for each --column, another one takes all of
    them, in its order.
    """
    from distmom.estimators.ustat.ustatistic import ustatistic

    flags["kernel"] = made = kernel_of(kernel, degree, parameter, len(flags["column"]))
    samples = flags.pop("samples")
    if samples and len(flags["by"]) != 1:
        raise ConfigError("--sample: is a value of one column; name that in --by, once")
    if samples:
        flags["by"] = {flags["by"][0]: list(samples)}
    return answer(ustatistic, data, flags, n_samples=1 if samples else len(made.degrees))
