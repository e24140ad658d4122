"""``distmom difference``: variants of an experiment compared."""

from __future__ import annotations

from typing import Any

import click

from distmom.cli import options as o
from distmom.cli.answer import answer

OWN_OPTIONS = [
    o.Option(
        ["-c", "--column", "--metric", "metric"], metavar="NAME", required=True, help="Column to compare."
    ),
    o.Option(
        ["--by"], metavar="NAME", required=True, help="Column whose values are the variants, two or more."
    ),
    o.Option(
        ["--unit"],
        metavar="NAME|file",
        multiple=True,
        help="Column of the independent units, such as users or days; repeatable.  [default: rows]",
    ),
    o.Option(
        ["--denominator"], metavar="NAME", help="For ratios: sum of the metric over sum of this column."
    ),
    o.Option(["--control"], metavar="NAME", help="Variant to compare the others with.  [default: the first]"),
]
DATA = o.without(o.DATA, "column", "by")
CONFIDENCE = o.Option(
    ["--confidence", "--confidence-level", "confidence_level"],
    "Promise",
    type=float,
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals.",
)


@click.command(
    "difference",
    cls=o.Command,
    short_help="Variants of an experiment compared: difference and lift.",
    params=[
        o.ARGUMENT,
        *(*OWN_OPTIONS, *DATA),
        *(o.interval("auto", "order", "exact", "none"), CONFIDENCE, o.SEED, *o.PLACE, *o.OUTPUT),
    ],
)
def difference_command(data: tuple[str, ...], **flags: Any) -> int:
    """Difference and lift of a heavy-tailed metric between variants, with intervals, without capping it.

    DATA is a Parquet file, a folder, a pattern such as 'lake/2024-*/*.parquet', or @list.txt with one of
    these a line; several are read together.
    """
    from distmom.estimators.difference.difference import difference

    return answer(difference, data, flags)
