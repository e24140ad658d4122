"""``distmom difference``: variants of an experiment compared."""

from __future__ import annotations

from typing import Any

from distmom.cli import options as o
from distmom.cli.answer import answer
from distmom.cli.layout import Option

OWN_OPTIONS = [
    Option("-c --column --metric metric", "Column to compare.", "NAME", required=True),
    Option("--by", "Column of variants, two or more.", "NAME", required=True),
    Option("--unit", "Randomisation unit, such as user_id; repeatable.", ["NAME|file"], usual="rows"),
    Option(
        "--crossover",
        "Units in several variants: keep them, or leave them out.",
        ("keep", "omit"),
        default="keep",
    ),
    Option("--denominator", "For ratios: divide by the sum of this column.", "NAME"),
    Option("--control", "Variant to compare the others with.", "VALUE", usual="the first"),
]
CONFIDENCE = Option(
    o.LEVEL, "Confidence level of the intervals.", float, "Uncertainty", default=0.95, metavar="LEVEL"
)
EXAMPLES = (
    ("variants by user", "distmom difference orders/ -c amount --by variant --unit user_id"),
    (
        "a ratio against a named control",
        "distmom difference orders/ -c amount --by variant --unit user_id --denominator items --control A",
    ),
    ("check the plan first", "distmom difference orders/ -c amount --by variant --dry-run"),
)


@o.command(
    "difference",
    "Compare variants of an experiment: difference and lift.",
    *(*OWN_OPTIONS, *o.DATA, o.WHERE, o.NAN),
    *(o.interval("auto", "order", "cantelli", "none"), CONFIDENCE, o.SEED, *o.PLACE, *o.OUTPUT),
    examples=EXAMPLES,
)
def difference_command(data: tuple[str, ...], **flags: Any) -> int:
    """Difference and lift of a heavy-tailed metric between variants, with intervals and without capping."""
    from distmom.estimators.difference.difference import difference

    return answer(difference, data, flags)
