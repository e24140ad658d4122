"""Small lakes whose values are the same bits on every machine and under every release of NumPy.

Values come from a counter that is hashed in whole numbers, and from sums, products, quotients and square
roots alone, which IEEE 754 rounds in one way: no generator and no logarithm, whose last bits differ between
releases.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SIZES = (160, 97, 0, 211, 130, 48, 183, 120, 165, 140, 77, 129)
"""Rows of the files, which lie in two folders in turn."""

MICROSECONDS_A_DAY = 86_400_000_000
BLANK = np.nan


def words(stream: str, n: int, seed: int) -> NDArray[np.uint64]:
    """Hashes of the numbers 0 to n - 1 (splitmix64), another sequence for each stream and seed."""
    start = np.uint64(zlib.crc32(stream.encode()) + (seed << 32))
    with np.errstate(over="ignore"):
        z = (np.arange(1, n + 1, dtype=np.uint64) + start * np.uint64(1 << 16)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniform(stream: str, n: int, seed: int) -> Floats:
    """Uniform in (0, 1)."""
    return ((words(stream, n, seed) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def student(stream: str, n: int, seed: int) -> Floats:
    """Student's distribution with two degrees of freedom: no finite variance."""
    u = uniform(stream, n, seed)
    return (2.0 * u - 1.0) / np.sqrt(2.0 * u * (1.0 - u))


def bell(stream: str, n: int, seed: int) -> Floats:
    """Nearly normal: the sum of four uniform numbers."""
    return sum(uniform(f"{stream}{i}", n, seed) for i in range(4)) - 2.0  # type: ignore[return-value]


def pareto(stream: str, n: int, seed: int) -> Floats:
    """Above 1, with the tail exponent 4."""
    return 1.0 / np.sqrt(np.sqrt(uniform(stream, n, seed)))


def whole(stream: str, n: int, seed: int, below: int) -> NDArray[np.int64]:
    """Whole numbers in [0, below)."""
    return (words(stream, n, seed) % np.uint64(below)).astype(np.int64)


def columns(n: int, seed: int, shift: float = 0.0) -> dict[str, Any]:
    """All columns but the nulls; NaN marks what becomes NaN, or null where `tables` says so."""
    label = whole("label", n, seed, 2)
    x, y = student("x", n, seed) + shift, bell("y", n, seed) + 5.0 + shift
    z = bell("z", n, seed) + 0.5 * y
    target = 2.0 * y - z + 0.3 * student("noise", n, seed)
    probability = 0.05 + 0.9 * (0.7 * uniform("score", n, seed) + 0.3 * label)
    since = whole("time", n, seed, 30 * MICROSECONDS_A_DAY)
    units = whole("unit", n, seed, 150)
    return {
        "x": x,
        "y": y,
        "z": z,
        "single": (y * 0.1).astype(np.float32),
        "n": whole("n", n, seed, 12),
        "u": uniform("u", n, seed),
        "w": np.where(uniform("no weight", n, seed) < 0.03, 0.0, pareto("w", n, seed)),
        "size": 1.0 + whole("size", n, seed, 4),
        "day": (20_000 + whole("day", n, seed, 40)).astype("datetime64[D]"),
        "time": (since + 19_800 * MICROSECONDS_A_DAY).astype("datetime64[us]"),
        "took": whole("took", n, seed, 5_000_000).astype("timedelta64[ms]"),
        "key": np.array(["a", "b", "c", "d"])[whole("key", n, seed, 4)],
        "group": whole("group", n, seed, 3).astype(np.int32),
        "unit": units,
        "arm": np.array(["new", "newer", "old"])[(units * 7 + whole("arm", n, seed, 20) // 19) % 3],
        "class": np.array(["p", "q", "r"])[np.where(z > 2.8, 2, np.where(y > 5.1, 1, 0))],
        "label": label,
        "target": target,
        "cell": np.where(y > 5.0, 1, 0) + np.where(z > 2.5, 2, 0),
        "cell2": whole("cell", n, seed, 4),
        "p0": 2.0 * y - z,
        "p1": 1.9 * y - 0.8 * z,
        "p2": 2.0 * y - z + 0.2 * bell("p2", n, seed),
        "q0": probability,
        "q1": 0.5 * probability + 0.25,
        "q2": 0.02 + 0.96 * uniform("q2", n, seed),
    }


NULLS = {
    "x": 0.02,
    "day": 0.01,
    "time": 0.01,
    "took": 0.01,
    "key": 0.02,
    "w": 0.01,
    "target": 0.01,
    "p1": 0.002,
}
"""Columns with nulls, and how many."""


def table(
    n: int, seed: int, spoil: Callable[[dict[str, Any]], None] | None = None, shift: float = 0.0
) -> pa.Table:
    """A table of so many rows; `spoil` changes its columns first."""
    data = columns(n, seed, shift)
    data["x"] = np.where(uniform("nan", n, seed) < 0.01, BLANK, data["x"])
    if spoil is not None:
        spoil(data)
    found = {
        name: pa.array(value, mask=uniform(f"null {name}", n, seed) < NULLS[name] if name in NULLS else None)
        for name, value in data.items()
    }
    flat = np.stack([data["y"], data["z"], data["u"]], axis=1).ravel()
    found["vector"] = pa.FixedSizeListArray.from_arrays(
        pa.array(flat), 3, mask=pa.array(uniform("null vector", n, seed) < 0.01)
    )
    return pa.table(found)


def scattered(data: dict[str, Any]) -> None:
    """Outlying rows all over the lake."""
    rows = np.flatnonzero(uniform("scattered", len(data["x"]), 0) < 0.008)
    for name, value in (("x", 1e9), ("y", 1e7), ("z", -1e7), ("target", 1e8), ("p2", 1e6), ("size", 1e6)):
        data[name][rows] = value


def infinite(data: dict[str, Any]) -> None:
    """A few rows of infinite values of both signs."""
    rows = np.flatnonzero(uniform("infinite", len(data["x"]), 0) < 0.004)
    for name in ("x", "y", "target", "p0"):
        data[name][rows] = np.where(rows % 2 == 0, np.inf, -np.inf)


def ordered(data: dict[str, Any]) -> None:
    """Rows by their values."""
    order = np.argsort(data["y"], kind="stable")
    for name in data:
        data[name] = data[name][order]


def of_one_file(data: dict[str, Any]) -> None:
    """The rows of one file: another unit of measure, and another sign."""
    start = sum(SIZES[:6])
    rows = slice(start, start + SIZES[6])
    for name in ("x", "y", "z", "target", "size", "p0"):
        data[name][rows] = -1000.0 * (data[name][rows] + 100.0)


def write(folder: Path, whole_table: pa.Table) -> Path:
    """The rows in files of small row groups."""
    start = 0
    for number, n in enumerate(SIZES):
        path = folder / f"part={number % 2}" / f"{number:02}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(whole_table.slice(start, n), path, row_group_size=70)
        start += n
    return folder


def spoil_files(folder: Path) -> Path:
    """One file that is cut off, and one that lacks a column."""
    cut = folder / "part=1" / "03.parquet"
    cut.write_bytes(cut.read_bytes()[:-300])
    poor = folder / "part=0" / "04.parquet"
    pq.write_table(pq.read_table(poor, partitioning=None).drop_columns(["z"]), poor)
    return folder


N_ROWS = sum(SIZES)
MADE: dict[str, Callable[[Path], Path]] = {
    "clean": lambda folder: write(folder, table(N_ROWS, 1)),
    "bad file": lambda folder: write(folder, table(N_ROWS, 1, of_one_file)),
    "scattered": lambda folder: write(folder, table(N_ROWS, 1, scattered)),
    "infinite": lambda folder: write(folder, table(N_ROWS, 1, infinite)),
    "sorted": lambda folder: write(folder, table(N_ROWS, 1, ordered)),
    "second": lambda folder: write(folder, table(N_ROWS, 2, shift=0.25)),
    "spoilt": lambda folder: spoil_files(write(folder, table(N_ROWS, 1))),
}


class Lakes:
    """The lakes below one folder, each made when it is first asked for."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __getitem__(self, name: str) -> Path:
        folder = self.root / name.replace(" ", "-")
        return folder if folder.exists() else MADE[name](folder)
