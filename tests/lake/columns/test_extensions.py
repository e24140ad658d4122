"""Columns of Arrow's extension types are read as what they are kept as, from files, memory and streams."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm

N = 300
G = np.random.default_rng(0)
GRID = G.normal(size=(N, 4))
USERS = pa.array([bytes([1 + i % 40]) * 16 for i in range(N)], pa.binary(16))
COLUMNS = {
    "user": (pa.uuid(), USERS),
    "text": (pa.json_(), pa.array(['{"a": 1}', "2", None] * (N // 3))),
    "flag": (pa.bool8(), pa.array([0, 1, None] * (N // 3), pa.int8())),
    "grid": (
        pa.fixed_shape_tensor(pa.float64(), [2, 2]),
        pa.array(G.normal(size=(N, 4)).tolist(), pa.list_(pa.float64(), 4)),
    ),
}
PLAIN = pa.table({"x": G.normal(size=N)} | {name: kept for name, (_, kept) in COLUMNS.items()})
EXTENDED = pa.table(
    {"x": PLAIN["x"]}
    | {name: pa.ExtensionArray.from_storage(type_, kept) for name, (type_, kept) in COLUMNS.items()}
)
WAYS: dict[str, Callable[[Any, Path], Any]] = {
    "file": lambda rows, folder: (pq.write_table(rows, folder / "a.parquet"), folder / "a.parquet")[1],
    "memory": lambda rows, folder: rows,
    "stream": lambda rows, folder: rows.to_reader(64),
}


@pytest.mark.parametrize("way", WAYS)
def test_they_are_read_as_they_are_kept(way: str, tmp_path: Path) -> None:
    for ask in (
        lambda data: dm.mean(data, "x", by="user", rng=0),
        lambda data: dm.mean(data, "x", by="text", rng=0),
        lambda data: dm.mean(data, "x", blocks=dm.UnitBlocks("user"), rng=0),
        lambda data: dm.mean(data, "flag", where="text is not null and flag >= 0", rng=0),
        lambda data: dm.mean(data, ["grid"], joint=True, rng=0),
        lambda data: [one.n_used for one in dm.describe(data, rng=0)],
    ):
        found, right = (ask(WAYS[way](rows, tmp_path)) for rows in (EXTENDED, PLAIN))
        assert found == right


def test_they_may_lie_in_other_types_of_columns_of_one_lake(tmp_path: Path) -> None:
    pq.write_table(EXTENDED, tmp_path / "a.parquet")
    pq.write_table(PLAIN, tmp_path / "b.parquet")
    found = dm.mean(tmp_path, "x", by="user", rng=0)
    assert sum(one.n_rows for one in found) == 2 * N and len(list(found)) == 40
