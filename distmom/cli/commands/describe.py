"""``distmom describe``: every column of a lake, and which files break it."""

from __future__ import annotations

from typing import Any

from distmom.cli import options as o
from distmom.cli.answer import answer

COLUMNS = o.Option(
    "-c --column columns", "Column to describe; repeat it for several.  [default: all]", ["NAME"]
)
UNITS = o.Option(
    "--by", "Column whose values make units, which are ranked and named as files are; repeatable.", ["NAME"]
)
DATA = o.without(o.DATA, "column", "by", "nan")
BLOCKS = o.named(o.BLOCKS, "fine")


@o.command(
    "describe",
    "Every column of a lake, and which files break it.",
    *(COLUMNS, UNITS, *DATA, *BLOCKS, o.CONFIDENCE, o.SEED, *o.PLACE, *o.OUTPUT),
)
def describe_command(data: tuple[str, ...], **flags: Any) -> int:
    """Robust profile of every column beside the plain one, and which files break it.

    DATA is a Parquet file, a folder, a pattern such as 'lake/2024-*/*.parquet', or @list.txt with one of
    these a line; several are read together.

    The tables go to standard output: the columns; where a sample mean leaves its robust interval, the files
    that carry the difference; and files whose values are not those of the others. Contamination alone is no
    failure: the exit code is 0, 4 if files were skipped, 5 where the damage may be beyond the breakdown
    point.
    """
    from distmom.estimators.describe.describe import describe

    return answer(describe, data, flags)
