"""``distmom compare``: whether columns of two samples have one distribution."""

from __future__ import annotations

from typing import Any

from distmom.cli import options as o
from distmom.cli.answer import answer

OWN_OPTIONS = [
    o.Option(
        "-c --column",
        "Column to compare; repeat it for several. May be left out if the data has only one.",
        ["NAME"],
    ),
    o.Option("--by", "Column of which two values make the samples.", "NAME"),
    o.Option("--sample samples", "These values: give it twice.", ["VALUE"]),
    o.Option("--where", "Condition of all rows; given twice, that of each sample.", ["TEXT"]),
    o.Option(
        "--statistic statistics",
        "What to compare by; repeatable.",
        ("mean", "auc", "energy", "mmd", "mmd-laplace"),
        multiple=True,
        default=("mean", "auc", "energy"),
    ),
    o.Option("--bandwidth", "Of mmd.  [default: the median distance of rows]", float),
    o.Option(
        "--permutations --n-permutations n_permutations", "Permutations of the test.", int, default=9_999
    ),
    o.Option("--test-rows", "Most rows of each sample in the test.", int, metavar="ROWS", default=10_000),
]
DATA = o.without(o.DATA, "column", "by", "where")
BLOCKS = o.named(o.BLOCKS, "n_blocks", "block_by")


@o.command(
    "compare",
    "Two samples compared: did a column drift?",
    *(*OWN_OPTIONS, *DATA, *BLOCKS),
    *(o.interval("auto", "order", "cantelli", "none"), o.CONFIDENCE, o.SEED),
    *(*o.PLACE, o.SCRATCH, *o.OUTPUT),
)
def compare_command(data: tuple[str, ...], **flags: Any) -> int:
    """Columns of two samples compared: differences that bad rows cannot move, and a permutation test.

    DATA is two Parquet files, folders, patterns or @list.txt, one for each sample; or one, with --by, or with
    --where given twice.
    """
    from distmom.estimators.compare.compare import compare

    return answer(compare, data, flags, n_samples=2 if flags["by"] is None else 1)
