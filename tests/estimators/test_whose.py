"""A column or folder that tells whose the rows of a second group are is named, and none that does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm

N = 24_000


def rows(seed: int = 0) -> dict[str, Any]:
    g = np.random.default_rng(seed)
    carrier = g.choice(["AA", "B6", "DL", "UA", "WN", None], N)
    x = 20.0 * g.normal(size=N)
    x[carrier == "UA"] *= 1_000.0
    x[::50] = np.nan
    other = g.choice(["a", "b"], N)
    return {"x": x, "other": other, "carrier": carrier, "tail": np.char.add("N", np.arange(N).astype(str))}


def whose(data: Any, **how: Any) -> tuple[str, ...]:
    found = dm.mean(dm.scan(data, **how), "x", rng=0)
    assert found.status == "share far out" and found.far_rows.times > 500
    return tuple(found.far_rows.whose)


@pytest.mark.slow
@pytest.mark.parametrize("dictionary", [False, True])
def test_a_column_is_named_in_memory_and_in_files(tmp_path: Path, dictionary: bool) -> None:
    table = pa.table(rows())
    if dictionary:
        table = table.set_column(2, "carrier", table["carrier"].dictionary_encode())
    for k in range(30):
        pq.write_table(table.slice(k * N // 30, N // 30), tmp_path / f"{k}.parquet")
    assert whose(table) == whose(tmp_path) == whose(tmp_path, where="other = 'a'") == ("carrier = 'UA'",)
    words = dm.mean(tmp_path, "x", rng=0).remarks()[0]
    assert "times as large as the others" in words and "nearly all of them have carrier = 'UA'" in words
    profile = dm.describe(tmp_path, "x", rng=0).columns["x"]
    assert profile.far_rows.whose == ("carrier = 'UA'",) and not profile.ok
    assert dm.ustatistic(tmp_path, "x", kernel="gini", rng=0).far_rows.whose == ("carrier = 'UA'",)


def test_folders_are_named_and_sorted_rows_of_one_file(tmp_path: Path) -> None:
    table = pa.table(rows()).select(["x", "carrier"])
    table = table.filter(pa.compute.is_valid(table["carrier"])).sort_by("carrier")
    pq.write_table(table, tmp_path / "one.parquet")
    assert whose(tmp_path / "one.parquet") == ("carrier = 'UA'",)
    lake = tmp_path / "lake"
    for name in ("AA", "B6", "DL", "UA"):
        (lake / f"carrier={name}").mkdir(parents=True)
        one = table.filter(pa.compute.equal(table["carrier"], name)).select(["x"])
        for k in range(5):
            pq.write_table(one.slice(k * 700, 700), lake / f"carrier={name}" / f"{k}.parquet")
    found = dm.describe(lake, "x", rng=0).columns["x"]
    assert found.far_rows.whose == ("carrier = 'UA'",)


def test_nothing_is_named_that_does_not_tell() -> None:
    data = rows()
    data["carrier"] = np.random.default_rng(1).permutation(data["carrier"].astype(str))
    assert whose(pa.table(data)) == ()  # of the tails each has one row, which explains nothing
    assert whose(pa.table({"x": data["x"]})) == ()
    reader = pa.table(rows()).to_reader()
    found = dm.mean(reader, "x", rng=0)
    assert found.far_rows.times > 500 and found.far_rows.whose == ()
