"""Shapes whose memory is projected and measured: few and many rows, columns, files, groups, texts, lists."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from distmom.cluster.memory import in_words, parse_bytes

ANY = "1TB"


class LakeShape(NamedTuple):
    """A lake of equal files: float columns `x0`, `x1`, …, a key `g`, texts `s`, lists `v`, weights `w`,
    labels `y`."""

    files: int
    rows: int  # of a file
    columns: int = 1
    groups: int = 0
    text: int = 0  # letters of a text
    repeated: bool = False  # of a thousand texts
    width: int = 0  # of a list
    nulls: float = 0.0
    integers: bool = False
    row_group: int = 1_000_000

    @property
    def name(self) -> str:
        """Of its folder."""
        return "-".join(str(part).replace(".", "_") for part in self)

    def write(self, folder: Path) -> Path:
        """The lake, which is written unless it is there."""
        target = folder / self.name
        if not target.exists():
            target.mkdir(parents=True)
            for number in range(self.files):
                pq.write_table(
                    self._table(number), target / f"{number:05}.parquet", row_group_size=self.row_group
                )
        return target

    def _table(self, number: int) -> pa.Table:
        rng = np.random.default_rng([7, number])
        table: dict[str, pa.Array] = {}
        for i in range(self.columns):
            x = rng.integers(0, 1 << 40, self.rows) if self.integers else rng.standard_normal(self.rows)
            table[f"x{i}"] = pa.array(x, mask=rng.random(self.rows) < self.nulls if self.nulls else None)
        if self.groups:
            table["g"] = pa.array(rng.integers(0, self.groups, self.rows))
        if self.text:
            few = 1_000 if self.repeated else self.rows
            texts = pa.array([f"{rng.integers(1 << 60):0{self.text}d}"[-self.text :] for _ in range(few)])
            table["s"] = texts.take(pa.array(rng.integers(0, few, self.rows)))
        if self.width:
            flat = pa.array(rng.standard_normal(self.rows * self.width))
            table["v"] = pa.FixedSizeListArray.from_arrays(flat, self.width)
        table["w"] = pa.array(rng.random(self.rows).astype(np.float32))
        table["y"] = pa.array((table["x0"].to_numpy(zero_copy_only=False) > 0.0).astype("i1"))
        return pa.table(table)


class Shape(NamedTuple):
    """A call, by its words in Python: of `lake` (or `lakes`), with two threads unless it says otherwise."""

    name: str
    lake: LakeShape
    call: str
    threads: int = 2


ONE, WIDE, LONG = LakeShape(4, 1_000_000), LakeShape(4, 150_000, 100), LakeShape(1, 8_000_000)
FOUR = LakeShape(4, 1_000_000, 4)
SIXTEEN = LakeShape(16, 250_000, 16)
KEYS, MANY_KEYS = LakeShape(4, 1_000_000, groups=100), LakeShape(4, 250_000, groups=5_000)
TEXTS = LakeShape(4, 500_000, 2, text=20)
LONG_TEXTS = LakeShape(4, 100_000, 1, text=400)
FEW_TEXTS = LakeShape(4, 500_000, 2, text=30, repeated=True)

SHAPES = (
    Shape("one column", ONE, "mean(lake, 'x0')"),
    Shape("one column, one thread", ONE, "mean(lake, 'x0')", 1),
    Shape("one column, four threads", LakeShape(16, 500_000), "mean(lake, 'x0')", 4),
    Shape("one row group of 8 million rows", LONG._replace(row_group=8_000_000), "mean(lake, 'x0')"),
    Shape("one column, 2,000 files", LakeShape(2_000, 500), "mean(lake, 'x0')"),
    Shape("4 columns", FOUR, "mean(lake, ['x0', 'x1', 'x2', 'x3'])"),
    Shape("16 columns, 16 files", SIXTEEN, "mean(lake, [f'x{i}' for i in range(16)])"),
    Shape("100 columns of 600,000 rows", WIDE, "mean(lake, [f'x{i}' for i in range(100)])"),
    Shape("100 columns, one thread", WIDE, "mean(lake, [f'x{i}' for i in range(100)])", 1),
    Shape(
        "1,000 columns of 2,000 rows",
        LakeShape(1, 2_000, 1_000),
        "mean(lake, [f'x{i}' for i in range(1000)])",
    ),
    Shape(
        "200 columns, 64 files of 2,000 rows",
        LakeShape(64, 2_000, 200),
        "mean(lake, [f'x{i}' for i in range(200)])",
    ),
    Shape("nulls", LakeShape(4, 500_000, 8, nulls=0.1), "mean(lake, [f'x{i}' for i in range(8)])"),
    Shape("integers", LakeShape(4, 500_000, 8, integers=True), "mean(lake, [f'x{i}' for i in range(8)])"),
    Shape("weights", LakeShape(4, 1_000_000, 2), "mean(lake, 'x0', weights='w')"),
    Shape("a condition on texts", FEW_TEXTS, "mean(lake, 'x0', where=\"s != 'a'\")"),
    Shape("a condition on distinct texts", TEXTS, "mean(lake, 'x0', where=\"s != 'a'\")"),
    Shape("lists of 32", LakeShape(4, 100_000, 1, width=32), "mean(lake, 'v', joint=True)"),
    Shape("50 repeated partitions", ONE, "mean(lake, 'x0', blocks=dm.RandomBlocks(20, repeats=50))"),
    Shape("samples of rows", ONE, "mean(lake, 'x0', blocks=dm.SampledBlocks(100, 10_000))"),
    Shape("stored order", FOUR, "mean(lake, ['x0', 'x1'], blocks=dm.StoredBlocks())"),
    Shape("100 groups", KEYS, "mean(lake, 'x0', by='g')"),
    Shape("5,000 groups", MANY_KEYS, "mean(lake, 'x0', by='g')"),
    Shape("1,000 groups of texts", FEW_TEXTS, "mean(lake, 'x0', by='s')"),
    Shape("describe, one column", ONE, "describe(lake)"),
    Shape("describe, 16 columns", SIXTEEN, "describe(lake)"),
    Shape("describe, 100 columns", WIDE, "describe(lake)"),
    Shape("describe, 300 columns of 1,000 rows", LakeShape(1, 1_000, 300), "describe(lake)"),
    Shape("describe, 3,000 columns of 1,000 rows", LakeShape(1, 1_000, 3_000), "describe(lake)"),
    Shape("describe, 300 files of 20 columns", LakeShape(300, 2_000, 20), "describe(lake)"),
    Shape("describe, distinct texts", TEXTS, "describe(lake)"),
    Shape("describe, long texts", LONG_TEXTS, "describe(lake)"),
    Shape("describe, lists of 32", LakeShape(4, 100_000, 1, width=32), "describe(lake)"),
    Shape(
        "difference, 10 variants",
        LakeShape(4, 500_000, groups=10),
        "difference(lake, 'x0', by='g', control=0)",
    ),
    Shape("compare, 2 million rows", LakeShape(4, 500_000, 2, groups=2), "compare(lake, 'x0', by='g')"),
    Shape("compare, 8 million rows", LakeShape(8, 1_000_000, 1, groups=2), "compare(lake, 'x0', by='g')"),
    Shape("Gini", FOUR, "ustatistic(lake, kernel='gini', column='x0')"),
    Shape("covariance", FOUR, "ustatistic(lake, kernel='covariance', column=['x0', 'x1'])"),
    Shape("Kendall", ONE._replace(columns=2), "ustatistic(lake, kernel='kendall', column=['x0', 'x1'])"),
    Shape(
        "incomplete pairs",
        FOUR,
        "ustatistic(lake, kernel='gini', column='x0', pairs=dm.SampledPairs(100_000))",
    ),
    Shape("16 candidates", SIXTEEN, "tournament(lake, [f'x{i}' for i in range(16)], 'y')"),
    Shape("100 candidates", WIDE, "tournament(lake, [f'x{i}' for i in range(100)], 'y')"),
    Shape(
        "logistic regression",
        FOUR,
        "train(lake, 'classification', target='y', columns=['x0', 'x1', 'x2', 'x3'])",
    ),
)

# Of libraries there are as many pages as the system has in its cache: all of those that were installed just
# now, which is 70 MB more, and which it takes back when it needs them. So no more count than usual.
PROGRAM = """
import json, pathlib, re, sys, time
from functools import partial
import distmom as dm

call, lake, threads, limit, run = json.loads(sys.argv[1])
there = dm.Threads(threads, memory_limit=limit)
started = time.perf_counter()
function = getattr(dm, call.partition("(")[0])  # the others load other libraries
names = {"dm": dm, "lake": lake}
plan = eval(call, {**names, function.__name__: partial(dm.explain, function, executor=there)})
if run:
    eval(call, {**names, function.__name__: partial(function, executor=there)})
said = pathlib.Path("/proc/self/status").read_text()
peak, mapped = (1024 * int(re.search(name + r":\\s*(\\d+) kB", said)[1]) for name in ("VmHWM", "RssFile"))
usual = 75e6 + 60e6 * ("numba" in sys.modules) + 30e6 * ("sklearn" in sys.modules)
peak -= int(max(mapped - usual, 0))
print(json.dumps([plan["projected_memory_per_process"], peak, plan["memory"], time.perf_counter() - started]))
"""


class Measured(NamedTuple):
    """Bytes of a process."""

    shape: Shape
    projected: int
    peak: int
    pieces: dict[str, str]
    seconds: float

    @property
    def ratio(self) -> float:
        """Projected over measured."""
        return self.projected / self.peak

    def line(self) -> str:
        """Of the table."""
        largest = ", ".join(f"{name} {words}" for name, words in list(self.pieces.items())[:4])
        return (
            f"| {self.shape.name} | {in_words(self.projected)} | {in_words(self.peak)} | {self.ratio:.2f} | "
            f"{self.peak / self.projected:.2f} | {largest} |"
        )


def told(shape: Shape, lake: Path, limit: int | str, *, run: bool) -> tuple[int, int, dict[str, str], float]:
    """What a process of its own says: the projection, its peak, the pieces, seconds."""
    words = json.dumps([shape.call, str(lake), shape.threads, limit, run])
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, words], capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        raise RuntimeError(f"{shape.name}: {done.stderr.strip().splitlines()[-1][:500]}")
    in_text, peak, pieces, seconds = json.loads(done.stdout.splitlines()[-1])
    projected = parse_bytes(in_text)
    assert projected is not None
    return projected, peak, pieces, seconds


def measure(shape: Shape, folder: Path, *, within: bool = True) -> Measured:
    """Run a shape within what it is projected to need (or, for a look, in any memory).

    Within a limit the plan may be another one, that needs less.
    """
    lake = shape.lake.write(folder)
    limit: int | str = ANY
    if within:
        projected, *_ = told(shape, lake, ANY, run=False)
        limit = int(1.005 * projected)  # three digits were told
    return Measured(shape, *told(shape, lake, limit, run=True))
