"""Cost as work grows: seconds of processor time at each size, and the exponents fitted to them, as Markdown.

    python -m tests.benchmarks.curves [FOLDER] [--repeat 3] [--only rows columns …] [--largest 1.0]

makes its lakes below FOLDER (default: a temporary one, about 1 GB). The exponent is the slope of log seconds
against log size over the upper half of the sizes, where what every call pays counts little: 1 is linear, 0
does not grow. Processor time, since other work on the machine moves it least; of two threads together.
``--largest 0.1`` leaves out sizes above a tenth of the largest.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import distmom as dm
from tests.benchmarks.lakes import write_lake, write_tiny

Run = Callable[[], object]

FILE_ROWS = 1_000_000
FILES = 64


@dataclass(frozen=True)
class Curve:
    """One kind of work at several sizes.

    Attributes
    ----------
    what : str
        The work, and what grows.
    sizes : tuple of int
        Growing.
    made : callable
        Makes the run of a size.
    """

    what: str
    sizes: tuple[int, ...]
    made: Callable[[int], Run]


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """The slope of log seconds against log size, over the upper half of at least three sizes."""
    half = max(3, math.ceil(len(sizes) / 2))
    x, y = np.log(sizes[-half:]), np.log(seconds[-half:])
    return float(np.polyfit(x, y, 1)[0]) if len(sizes) > 1 else math.nan


def least(run: Run, repeat: int) -> float:
    """Seconds of processor time, the least of some runs after one that does not count."""
    run()
    found = []
    for _ in range(repeat):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


class Lakes:
    """The lakes of all curves, each made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def rows(self, n_rows: int) -> list[str]:
        """Files of a million rows each."""
        lake = self.folder / "rows"
        if not lake.exists():
            write_lake(lake, FILE_ROWS * FILES, FILES, FILE_ROWS, more=4)
        return [str(lake / f"part-{i:03}.parquet") for i in range(n_rows // FILE_ROWS)]

    def groups(self, n_groups: int) -> str:
        """Four million rows with so many values of a key."""
        lake = self.folder / f"groups-{n_groups}"
        if not lake.exists():
            lake.mkdir(parents=True)
            for number in range(4):
                rng = np.random.default_rng([1, number])
                keys = rng.integers(0, n_groups, FILE_ROWS).astype("i4")
                table = pa.table({"x": rng.standard_t(3, FILE_ROWS), "k": keys})
                pq.write_table(table, lake / f"{number}.parquet")
        return str(lake)

    def tiny(self, n_files: int) -> str:
        """Files of two rows."""
        lake = self.folder / f"tiny-{n_files}"
        if not lake.exists():
            write_tiny(lake, n_files)
        return str(lake)

    def row_groups(self, n_groups: int) -> str:
        """One file of row groups of ten rows."""
        path = self.folder / f"groups-of-ten-{n_groups}.parquet"
        if not path.exists():
            values = np.random.default_rng(2).standard_t(3, 10 * n_groups)
            pq.write_table(pa.table({"x": values}), path, row_group_size=10)
        return str(path)


def predictions(n_candidates: int) -> Run:
    """A tournament of candidates whose risks differ little, on 100,000 rows in memory."""
    rng = np.random.default_rng(3)
    target = rng.standard_t(3, 100_000)
    data = {f"m{i}": rng.normal(0.01 * i, 1.0, target.size) for i in range(n_candidates)}
    names = list(data)
    return lambda: dm.tournament(data | {"y": target}, names, target="y", rng=0)


def features(n_features: int) -> Run:
    """A regression on 50,000 rows."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50_000, n_features))
    y = X @ rng.normal(size=n_features) + rng.standard_t(3, len(X))
    return lambda: dm.RobustLinearRegression(random_state=0).fit(X, y)


def doubling(first: int, last: int, factor: int = 2) -> tuple[int, ...]:
    """From first to last."""
    return tuple(first * factor**i for i in range(round(math.log(last / first, factor)) + 1))


def curves(lakes: Lakes) -> dict[str, Curve]:
    """All curves by name."""
    millions, z = doubling(FILE_ROWS, FILE_ROWS * FILES), ["x", "y", "amount", "k", "z1", "z2", "z3", "z4"]

    def ustat(size: int, columns: int, kernel: str, **more: Any) -> Run:
        files, names = lakes.rows(size), z[:columns]
        return lambda: dm.ustatistic(files, names, kernel=kernel, rng=0, **more)

    def mean(source: Any, columns: Any = "x", **more: Any) -> Run:
        return lambda: dm.mean(source, columns, rng=0, **more)

    eight, tens = 8 * FILE_ROWS, doubling(10, 100_000, 10)
    return {
        "rows": Curve("mean of a column, rows", millions, lambda n: mean(lakes.rows(n))),
        "columns": Curve("mean of 8 M rows, columns", (1, 2, 4, 8), lambda n: mean(lakes.rows(eight), z[:n])),
        "blocks": Curve(
            "mean of 8 M rows, blocks", doubling(32, 8192, 4), lambda n: mean(lakes.rows(eight), blocks=n)
        ),
        "groups": Curve("mean of 4 M rows, groups", tens, lambda n: mean(lakes.groups(n), by="k")),
        "files": Curve(
            "mean of files of 2 rows, files", doubling(125, 16_000), lambda n: mean(lakes.tiny(n))
        ),
        "row groups": Curve(
            "mean of row groups of 10 rows, row groups",
            doubling(1_000, 64_000),
            lambda n: mean(lakes.row_groups(n)),
        ),
        "describe": Curve(
            "describe 8 columns, rows", millions[:5], lambda n: lambda: dm.describe(lakes.rows(n), rng=0)
        ),
        "covariance": Curve(
            "covariance of 8 M rows, columns", (2, 4, 8), lambda n: ustat(eight, n, "covariance")
        ),
        "gini": Curve("Gini, rows", millions[:5], lambda n: ustat(n, 1, "gini", blocks=32)),
        "kendall": Curve("Kendall, rows", millions[:4], lambda n: ustat(n, 2, "kendall", blocks=32)),
        "candidates": Curve("tournament of 100,000 rows, candidates", (10, 30, 100, 300, 1000), predictions),
        "features": Curve("regression of 50,000 rows, features", doubling(4, 256), features),
    }


def told(curve: Curve, sizes: list[int], seconds: list[float]) -> str:
    """A line of the table."""
    pairs = ", ".join(f"{n:,}: {s:.3g}" for n, s in zip(sizes, seconds, strict=True))
    return f"| {curve.what} | {pairs} | {exponent(sizes, seconds):.2f} |"


def lines(every: dict[str, Curve], names: list[str], repeat: int, largest: float) -> Iterator[str]:
    """The table, line by line."""
    yield "| work, what grows | size: seconds of processor time | exponent |\n|---|---|---|"
    for name in names or every:
        curve = every[name]
        sizes = [n for n in curve.sizes if n <= max(largest * curve.sizes[-1], curve.sizes[0])]
        yield told(curve, sizes, [least(curve.made(n), repeat) for n in sizes])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=[], choices=list(curves(Lakes(Path()))))
    parser.add_argument("--largest", type=float, default=1.0, help="share of the largest size")
    args = parser.parse_args()
    dm.options(executor=dm.Threads(2), progress=False, warn=False)
    with tempfile.TemporaryDirectory() as made:
        for line in lines(curves(Lakes(args.folder or Path(made))), args.only, args.repeat, args.largest):
            print(line, flush=True)


if __name__ == "__main__":
    main()
