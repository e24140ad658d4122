"""A report of every kind, from small data in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import distmom as dm

G = np.random.default_rng(0)
N = 6_000
X = G.exponential(size=N)
OUTLYING = np.where(np.arange(N) % 700 == 0, 1e9, X)
NON_FINITE = np.where(np.arange(N) < 3, np.inf, X)
GROUP = np.array(["a", "b", "a_very_long_name_of_a_group_without_any_blank_" * 3])[np.arange(N) % 3]
TIMES = np.datetime64("2024-05-17T12:00", "us") + (86_400e6 * X).astype("m8[us]")
EVIL = "<script>alert('x')</script>\"&{{7*7}}"


def _lake(folder: Path) -> Path:
    """Files of which one is in another unit."""
    for i in range(24):
        scale = 1e5 if i == 5 else 1.0
        values = scale * G.exponential(size=300)
        table = pa.table({"x": values, EVIL: G.normal(size=300), "text": ["t"] * 300})
        pq.write_table(table, folder / f"part-{i:02}-with-a-rather-long-name.parquet")
    return folder


def _training(_: Path) -> Any:
    columns = {"x": X, "y": 2.0 * X + G.normal(size=N)}
    return dm.train(columns, "regression", target="y", options={"max_iter": 60}, rng=0)


def _tournament(_: Path) -> Any:
    y = X + G.normal(size=N)
    columns = {"y": y, "good": X, "same": 1.001 * X, "bad": 3.0 * X, EVIL: 0.0 * X}
    return dm.tournament(columns, ["good", "same", "bad", EVIL], "y", rng=0)


def _many_groups(_: Path) -> Any:
    """Of which one is bad and ten are large."""
    i = np.arange(60_000)
    k = np.where(i < 6_000, i % 10, i % 300)
    x = np.where((k == 77) & (i % 7 == 0), 1e7, G.exponential(size=i.size))
    return dm.mean({"x": x, "k": k}, "x", by="k", rng=0)


PAGES: dict[str, Callable[[Path], Any]] = {
    "mean": lambda _: dm.mean({"x": X}, "x", rng=0),
    "outlying": lambda _: dm.mean({"x": OUTLYING}, "x", rng=0, blocks=101),
    "non-finite": lambda _: dm.mean({"x": NON_FINITE}, "x", rng=0, blocks=31),
    "many blocks": lambda _: dm.mean({"x": X}, "x", rng=0, blocks=3_001),
    "groups": lambda _: dm.mean({"x": OUTLYING, "k": GROUP}, "x", by="k", rng=0),
    "many groups": _many_groups,
    "columns": lambda _: dm.mean({"x": X, EVIL: 2 * X, "one": np.ones(N)}, ["x", EVIL, "one"], rng=0),
    "times": lambda _: dm.mean(pa.table({"t": TIMES, "d": TIMES - TIMES[0]}), ["t", "d"], rng=0),
    "one row": lambda _: dm.mean({"x": X[:1]}, "x", rng=0),
    "vector": lambda _: dm.mean({"a": X, "b": OUTLYING}, ["a", "b"], joint=True, rng=0),
    "long vector": lambda _: dm.mean(
        {f"x{i}": (i - 9) * X for i in range(20)}, joint="coordinatewise", rng=0
    ),
    "compared": lambda _: dm.compare(
        [{"x": X, EVIL: X}, {"x": X[::-1] + 1.0, EVIL: G.exponential(size=N)}],
        ["x", EVIL],
        statistics=("mean", "energy"),
        rng=0,
        test=dm.Permutations(999),
    ),
    "in order": lambda _: dm.ustatistic({"x": np.sort(X)}, "x", kernel="gini", rng=0),
    "statistic": lambda _: dm.ustatistic({"x": X}, "x", kernel="gini", rng=0),
    "matrix": lambda _: dm.ustatistic({"a": X, "b": X[::-1], "c": -X}, ["a", "b", "c"], kernel="covariance"),
    "difference": lambda _: dm.difference({"x": X, "v": GROUP}, "x", by="v", control="a", rng=0),
    "two variants": lambda _: dm.difference({"x": X, "v": GROUP != "a"}, "x", by="v", rng=0),
    "describe": lambda folder: dm.describe(_lake(folder), rng=0),
    "tournament": _tournament,
    "training": _training,
}
"""What is reported, by name."""
