"""``distmom compare``: whether columns of two samples have one distribution."""

from __future__ import annotations

from typing import Any

from distmom.cli import options as o
from distmom.cli.answer import answer
from distmom.cli.layout import Option

OWN_OPTIONS = [
    Option("-c --column", "Column to compare; repeatable.", ["NAME"], usual="the only one"),
    Option("--by", "Column with two values, one per sample.", "NAME"),
    Option("--sample samples", "Value of --by that makes a sample; give two.", ["VALUE"]),
    Option("--where", "Keep rows that match; given twice, one condition per sample.", ["TEXT"]),
    Option(
        "--statistic statistics",
        "Statistics; repeatable.",
        ("mean", "auc", "energy", "mmd", "mmd-laplace"),
        multiple=True,
        usual="the first 3",
    ),
    Option("--bandwidth", "Bandwidth of mmd.", float, usual="the median distance of rows", metavar="H"),
    Option(
        "--permutations --n-permutations n_permutations",
        "Permutations of the test.",
        int,
        default=9_999,
        metavar="N",
    ),
    Option("--test-rows", "Rows of each sample in the test, at most.", int, metavar="ROWS", default=10_000),
]
BLOCKS = o.named(o.BLOCKS, "n_blocks", "block_by")
EXAMPLES = (
    ("two lakes", "distmom compare orders/day=01 orders/day=02 -c amount"),
    ("two values of a column", "distmom compare orders/ -c amount --by variant --sample A --sample B"),
    (
        "two conditions, as a page",
        "distmom compare orders/ -c amount --where 'items < 3' --where 'items >= 3' --output drift.html",
    ),
)


@o.command(
    "compare",
    "Compare two samples: did a column drift?",
    *(*OWN_OPTIONS, *o.DATA, o.NAN, *BLOCKS),
    *(o.interval("auto", "order", "cantelli", "none"), o.CONFIDENCE, o.SEED),
    *(*o.PLACE, o.SCRATCH, *o.OUTPUT),
    examples=EXAMPLES,
    data="Two lakes, one per sample; or one, with --by or with --where twice.",
)
def compare_command(data: tuple[str, ...], **flags: Any) -> int:
    """Compare columns of two samples: robust differences with intervals, and a permutation test."""
    from distmom.estimators.compare.compare import compare

    return answer(compare, data, flags, n_samples=2 if flags["by"] is None else 1)
