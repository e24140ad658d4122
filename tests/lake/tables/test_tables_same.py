"""The same files as a lake, as a Delta table and as an Iceberg table: the same bits."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import convert_to_deltalake
from table_checks import rows

import distmom as dm


def three(folder: Path, catalog: Any) -> tuple[Path, Path, str]:
    """Equal files, told of by a listing, by a Delta log and by an Iceberg catalog."""
    plain, delta = folder / "plain", folder / "delta"
    plain.mkdir()
    for i in range(5):
        pq.write_table(rows(300 + i, i), plain / f"{i}.parquet")
    shutil.copytree(plain, delta)
    convert_to_deltalake(str(delta))
    table = catalog.create_table("shop.same", schema=rows(1).schema)
    iceberg = Path(table.location().removeprefix("file://"))
    shutil.copytree(plain, iceberg, dirs_exist_ok=True)
    table.add_files([str(path) for path in sorted(iceberg.glob("*.parquet"))])
    return plain, delta, "iceberg://local/shop.same"


def test_every_function_gives_the_same_bits(tmp_path: Path, catalog: Any) -> None:
    plain, *tables = three(tmp_path, catalog)
    for table in tables:
        assert dm.mean(plain, "x", rng=3) == dm.mean(table, "x", rng=3)
        grouped = [dm.mean(data, "x", by="key", where="day > '1970-01-01'", rng=3) for data in (plain, table)]
        assert all(a == b for a, b in zip(*grouped, strict=True))
        samples = [dm.mean(d, "x", rng=3, blocks=dm.SampledBlocks(11, size=50)) for d in (plain, table)]
        assert samples[0] == samples[1]
        gini = [dm.ustatistic(data, "x", kernel="gini", rng=3) for data in (plain, table)]
        assert gini[0].estimate == gini[1].estimate
        model = dm.train(table, "metric", target="key", columns="x", options={"max_iter": 5}, rng=3)
        [told] = model.data["tables"]
        assert told["format"] in ("delta", "iceberg") and model.n_null > 0 and model.data["n_rows"] == 1510
        local = dm.train(plain, "metric", target="key", columns="x", options={"max_iter": 5}, rng=3)
        assert model.model.components_.tobytes() == local.model.components_.tobytes()


@pytest.mark.cluster
@pytest.mark.xdist_group("workers")
def test_on_worker_processes(tmp_path: Path, catalog: Any) -> None:
    plain, *tables = three(tmp_path, catalog)
    wanted = dm.mean(plain, "x", rng=3)
    for table in tables:
        assert dm.mean(table, "x", rng=3, executor=dm.Processes(1)) == wanted
