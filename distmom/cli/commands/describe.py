"""``distmom describe``: every column of a lake, and which files break it."""

from __future__ import annotations

from typing import Any

from distmom.cli import options as o
from distmom.cli.answer import answer
from distmom.cli.layout import Option

COLUMNS = Option(
    "-c --column columns", "Column to describe; repeatable.", ["NAME"], "Rows", usual="all columns"
)
UNITS = Option(
    "--by", "Also rank and name the values of this column; repeatable.", ["NAME"], "Rows", usual="files"
)
DATA = (*o.DATA, COLUMNS, UNITS, o.WHERE)
BLOCKS = o.named(o.BLOCKS, "fine")
EXAMPLES = (
    ("every column, and which files break it", "distmom describe orders/"),
    (
        "two columns of some days, as a page",
        "distmom describe 'orders/day=3*' -c amount -c tip --output orders.html",
    ),
    ("which users stand out", "distmom describe orders/ -c amount --by user_id"),
)


@o.command(
    "describe",
    "Profile every column, and name the files that break it.",
    *(*DATA, *BLOCKS, o.CONFIDENCE, o.SEED, *o.PLACE, *o.OUTPUT),
    examples=EXAMPLES,
)
def describe_command(data: tuple[str, ...], **flags: Any) -> int:
    """Robust profile of every column beside the ordinary one, and the files that break it.

    The tables show the columns, the files that account for a difference between sample mean and robust mean,
    and files whose values differ from those of the others.
    """
    from distmom.estimators.describe.describe import describe

    return answer(describe, data, flags)
