"""The real flights: their 365 days are not named, and damaged copies of a few days are, those alone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import distmom as dm
from pipelines import flights

BAD = ("month=1/day-20.parquet", "month=6/day-03.parquet", "month=10/day-31.parquet")
NUMBERS = ("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time", "distance")
DELAYS = ("dep_delay", "arr_delay")
Damage = Callable[[pa.Table], pa.Table]


@pytest.fixture
def clean(demo: Path) -> Path:
    return demo / "clean"


def each(names: tuple[str, ...], change: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> Damage:
    def damage(table: pa.Table) -> pa.Table:
        for name in names:
            place = table.column_names.index(name)
            table = table.set_column(place, name, change(table[name]).cast(table[name].type))
        return table

    return damage


def moved(table: pa.Table) -> pa.Table:
    """Each of the columns holds what the one before should."""
    columns = [table[name].cast(pa.float64()) for name in NUMBERS]
    for name, column in zip(NUMBERS, columns[-1:] + columns[:-1], strict=True):
        table = table.set_column(table.column_names.index(name), name, column.cast(table[name].type))
    return table


DAMAGES: dict[str, tuple[Damage, set[str]]] = {
    "constant": (each(DELAYS, lambda x: pc.if_else(pc.is_valid(x), 9_999.0, x)), {"constant"}),
    "all zero": (each(("distance",), lambda x: pc.multiply(x, 0)), {"constant"}),
    "a thousand times": (each(DELAYS, lambda x: pc.multiply(x, 1_000.0)), {"scale"}),
    "another sign": (each(("distance", "air_time"), pc.negate), {"sign"}),
    "delays of another sign": (each(DELAYS, pc.negate), {"mirror", "mean"}),
    "columns moved": (moved, {"mean", "scale", "constant", "range", "narrow", "missing", "mirror"}),
    "nothing": (each(("air_time",), lambda x: pc.if_else(pc.is_valid(x), None, x)), {"no values"}),
}


def damaged_copy(clean: Path, folder: Path, damage: Damage) -> Path:
    shutil.copytree(clean, folder, copy_function=os.link)
    for name in BAD:
        table = pq.read_table(clean / name, partitioning=None)
        (folder / name).unlink()
        pq.write_table(damage(table), folder / name)
    return folder


@pytest.mark.slow
def test_the_clean_lake_has_no_file_to_name(clean: Path) -> None:
    found = dm.describe(clean, rng=0)
    assert found.named == () and found.exit_code == 0
    assert {p.status for p in found} == {"ok", "rows correlated", "counted only"}  # days differ
    assert not any(p.leaves_interval for p in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGES)
def test_exactly_the_damaged_files_are_named(clean: Path, tmp_path: Path, name: str) -> None:
    damage, whats = DAMAGES[name]
    found = dm.describe(damaged_copy(clean, tmp_path / "copy", damage), rng=0)
    assert sorted(found.named_files) == sorted(BAD)
    assert {r.what for unit in found.named for r in unit.reasons} <= whats
    assert found.exit_code == 0


@pytest.mark.slow
def test_most_of_the_gap_comes_from_the_days_in_milliseconds(tmp_path: Path) -> None:
    flights.write_lake(flights.flights(), tmp_path / "lake", damaged=True)
    found = dm.describe(tmp_path / "lake", "arr_delay", by="carrier", rng=0)
    days = {f"month={m}/day-{d:02}.parquet" for m, d in flights.DAMAGED_DAYS}
    assert set(found.named_files) == days
    profile = found.columns["arr_delay"]
    files = [s for s in profile.sources if s.kind == "file"]
    assert profile.leaves_interval and {s.name for s in files} <= days
    assert sum(s.share for s in files) > 0.97
    assert profile.robust_std < 60.0 < profile.plain_std and np.isfinite(profile.gini)
