"""``distmom compare``: whether columns of two samples have one distribution."""

from __future__ import annotations

from typing import Any

import click

from distmom.cli import options as o
from distmom.cli.answer import answer

OWN_OPTIONS = [
    o.Option(
        ["-c", "--column"],
        metavar="NAME",
        multiple=True,
        help="Column to compare; repeat it for several. May be left out if the data has only one.",
    ),
    o.Option(["--by"], metavar="NAME", help="Column of which two values make the samples."),
    o.Option(["--sample", "samples"], metavar="VALUE", multiple=True, help="These values: give it twice."),
    o.Option(
        ["--where"],
        metavar="TEXT",
        multiple=True,
        help="Condition of all rows; given twice, that of each sample.",
    ),
    o.Option(
        ["--statistic", "statistics"],
        type=click.Choice(["mean", "auc", "energy", "mmd", "mmd-laplace"]),
        multiple=True,
        default=("mean", "auc", "energy"),
        show_default=True,
        help="What to compare by; repeatable.",
    ),
    o.Option(["--bandwidth"], type=float, help="Of mmd.  [default: the median distance of rows]"),
    o.Option(
        ["--permutations", "--n-permutations", "n_permutations"],
        type=int,
        default=9_999,
        show_default=True,
        help="Permutations of the test.",
    ),
    o.Option(
        ["--test-rows"],
        type=int,
        default=10_000,
        show_default=True,
        metavar="ROWS",
        help="Most rows of each sample in the test.",
    ),
]
DATA = o.without(o.DATA, "column", "by", "where")
BLOCKS = o.named(o.BLOCKS, ("n_blocks", "block_by"))


@click.command(
    "compare",
    cls=o.Command,
    short_help="Two samples compared: did a column drift?",
    params=[
        o.ARGUMENT,
        *(*OWN_OPTIONS, *DATA, *BLOCKS),
        *(o.interval("auto", "order", "exact", "none"), o.CONFIDENCE, o.SEED),
        *(*o.PLACE, o.SCRATCH, *o.OUTPUT),
    ],
)
def compare_command(
    data: tuple[str, ...],
    n_permutations: int,
    test_rows: int,
    statistics: tuple[str, ...],
    bandwidth: float | None,
    **flags: Any,
) -> int:
    """Columns of two samples compared: differences that bad rows cannot move, and a permutation test.

    DATA is two Parquet files, folders, patterns or @list.txt, one for each sample; or one, with --by, or with
    --where given twice.
    """
    from distmom.designs.permutations import Permutations
    from distmom.estimators.compare.compare import compare

    flags["test"] = Permutations(n_permutations, test_rows)
    flags["statistics"] = statistics if bandwidth is None else _with_bandwidth(statistics, bandwidth)
    return answer(compare, data, flags, n_samples=2 if flags["by"] is None else 1)


def _with_bandwidth(statistics: tuple[str, ...], bandwidth: float) -> tuple[Any, ...]:
    """The statistics, of which discrepancies have this bandwidth."""
    from distmom.errors import ConfigError
    from distmom.numerics.kernels.catalogue import mmd

    kinds: dict[str, Any] = {"mmd": "rbf", "mmd-laplace": "laplace"}
    if not kinds.keys() & set(statistics):
        raise ConfigError("--bandwidth: is of --statistic mmd; drop it, or add that statistic")
    return tuple(mmd(bandwidth, kinds[name]) if name in kinds else name for name in statistics)
