"""``distmom difference``: variants of an experiment compared."""

from __future__ import annotations

from typing import Any

from distmom.cli import options as o
from distmom.cli.answer import answer

OWN_OPTIONS = [
    o.Option("-c --column --metric metric", "Column to compare.", "NAME", required=True),
    o.Option("--by", "Column whose values are the variants, two or more.", "NAME", required=True),
    o.Option(
        "--unit",
        "Column of the independent units, such as users or days; repeatable.  [default: rows]",
        ["NAME|file"],
    ),
    o.Option(
        "--crossover",
        "Units in several variants: keep them, or leave them out.",
        ("keep", "omit"),
        default="keep",
    ),
    o.Option("--denominator", "For ratios: sum of the metric over sum of this column.", "NAME"),
    o.Option("--control", "Variant to compare the others with.  [default: the first]", "NAME"),
]
DATA = o.without(o.DATA, "column", "by")
CONFIDENCE = o.Option(o.LEVEL, "Confidence level of the intervals.", float, "Promise", default=0.95)


@o.command(
    "difference",
    "Variants of an experiment compared: difference and lift.",
    *(*OWN_OPTIONS, *DATA),
    *(o.interval("auto", "order", "cantelli", "none"), CONFIDENCE, o.SEED, *o.PLACE, *o.OUTPUT),
)
def difference_command(data: tuple[str, ...], **flags: Any) -> int:
    """Difference and lift of a heavy-tailed metric between variants, with intervals, without capping it.

    DATA is a Parquet file, a folder, a pattern such as 'lake/2024-*/*.parquet', or @list.txt with one of
    these a line; several are read together.
    """
    from distmom.estimators.difference.difference import difference

    return answer(difference, data, flags)
