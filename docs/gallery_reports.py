"""One sample report of each kind, written while these pages are built: they never go stale.

The data is made here: a small lake of rides, of which one file is in another unit.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import distmom as dm

N_FILES, N_ROWS = 30, 1_000
CITIES = ("Lisbon", "Oslo", "Lyon", "Graz", "Cork", "Brno")
RIDES, BEFORE, BAD = "rides", "last-month", "day-12.parquet"


def make_lake(folder: Path, seed: int, longer: float = 1.0, bad: str = "") -> None:
    """Rides of thirty days; in the `bad` file, amounts are in cents."""
    draw = np.random.default_rng(seed)
    folder.mkdir()
    for day in range(1, N_FILES + 1):
        name = f"day-{day:02}.parquet"
        distance = longer * draw.lognormal(1.0, 0.6, N_ROWS)
        amount = 3.0 + 1.7 * distance + draw.exponential(2.0, N_ROWS)
        columns = {
            "distance": distance,
            "amount": 100.0 * amount if name == bad else amount,
            "city": np.array(CITIES)[draw.integers(0, len(CITIES), N_ROWS)],
            "price": np.where(draw.random(N_ROWS) < 0.5, "new", "old"),
            "linear": 5.0 + 1.7 * distance,
            "steeper": 4.0 + 1.9 * distance,
            "constant": np.full(N_ROWS, 10.0),
        }
        pq.write_table(pa.table(columns), folder / name)


TEST = dm.Permutations(999)

KINDS: dict[str, Callable[[Any], Any]] = {
    "mean": lambda _: dm.mean(RIDES, "amount", rng=0),
    "groups": lambda good: dm.mean(good, "amount", by="city", rng=0),
    "describe": lambda _: dm.describe(RIDES, ["distance", "amount", "city"], rng=0),
    "difference": lambda good: dm.difference(good, "amount", by="price", control="old", rng=0),
    "compare": lambda good: dm.compare(
        good, "distance", by="price", statistics=("mean", "auc"), test=TEST, rng=0
    ),
    "drift": lambda _: dm.compare(
        [BEFORE, RIDES], "distance", statistics=("mean", "energy"), test=TEST, rng=0
    ),
    "ustatistic": lambda good: dm.ustatistic(good, "amount", kernel="gini", rng=0),
    "tournament": lambda good: dm.tournament(good, ["linear", "steeper", "constant"], "amount", rng=0),
    "training": lambda good: dm.train(
        good, "regression", columns=["distance"], target="amount", options={"max_iter": 300}, rng=1
    ),
}
"""What is reported, by the name of its page; of the days that are in order, where they are asked for."""


def write_gallery(folder: Path) -> list[Path]:
    """Write all pages; the lakes lie in a folder that is gone afterwards."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    pages = [folder / f"{name}.html" for name in KINDS]
    with tempfile.TemporaryDirectory() as place, chdir(place), warnings.catch_warnings():
        warnings.simplefilter("ignore", dm.DoubtfulResultWarning)
        make_lake(Path(BEFORE), 6, 0.9)
        make_lake(Path(RIDES), 7, bad=BAD)
        good = dm.scan(RIDES, exclude=BAD)
        for page, ask in zip(pages, KINDS.values(), strict=True):
            dm.write_results(ask(good), page)
    return pages
