"""Blocks of units and samples, of streams and states: nothing looks at the rows before, so a sample tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm

pytestmark = pytest.mark.filterwarnings("ignore::distmom.DoubtfulResultWarning")

N, OF_UNIT = 40_000, 20


def rows(seed: int, *, bad: float = 0.0, distribution: str = "normal") -> pa.Table:
    g = np.random.default_rng(seed)
    x = {
        "normal": g.normal(20, 2, N),
        "exponential": g.exponential(2, N),
        "log-normal": g.lognormal(0, 2, N),
    }[distribution]
    x += np.repeat(g.normal(0, 1, N // OF_UNIT), OF_UNIT)
    x[g.random(N) < bad] = -9_999.0
    return pa.table({"x": x, "y": g.normal(size=N), "w": g.random(N) + 0.5, "u": np.arange(N) // OF_UNIT})


def stream(table: pa.Table, n: int = 3_000) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(n))


def lake(folder: Path, table: pa.Table, n_files: int = 4) -> Path:
    folder.mkdir(exist_ok=True)
    for i in range(n_files):
        pq.write_table(table.slice(i * N // n_files, N // n_files), folder / f"{i}.parquet")
    return folder


BLOCKS = {
    "units": dm.UnitBlocks("u"),
    "101 of units": dm.UnitBlocks("u", n=101),
    "samples": dm.SampledBlocks(51, 500),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_bad_share_that_blocks_do_not_bear_is_no_answer(name: str, tmp_path: Path) -> None:
    """1% of -9999 in all blocks: these answers were called ok."""
    table, blocks = rows(0, bad=0.01), BLOCKS[name]
    found = [dm.mean(lake(tmp_path / "l", table), "x", blocks=blocks, rng=0, state=tmp_path / "s")]
    if name != "samples":  # for them the number of rows has to be known
        found.append(dm.mean(stream(table), "x", blocks=blocks, rng=0))
    for one in found:
        assert one.estimate < 0.0 and one.status == "breakdown point exceeded"
        assert one.far_rows.values[0][0] == -9_999.0 and one.far_rows.action == "told"


@pytest.mark.parametrize("more", [{"weights": "w"}, {"columns": ["x", "y"], "joint": "coordinatewise"}])
def test_weights_and_vectors_are_looked_at_too(more: dict[str, Any]) -> None:
    table, columns = rows(1, bad=0.01), more.pop("columns", "x")
    found = dm.mean(stream(table), columns, blocks=dm.UnitBlocks("u"), rng=0, **more)
    assert found.status == "breakdown point exceeded"


def test_what_blocks_bear_is_an_answer() -> None:
    table = rows(2, bad=10 / N)
    found = dm.mean(stream(table), "x", blocks=dm.UnitBlocks("u", n=101), rng=0)
    assert found.status != "breakdown point exceeded" and found.estimate == pytest.approx(20.0, abs=0.3)
    assert found.far_rows is not None and found.far_rows.action == "borne"


@pytest.mark.parametrize("distribution", ["normal", "exponential", "log-normal"])
def test_clean_rows_raise_no_alarm(distribution: str) -> None:
    """No alarm in 36 clean lakes: a rule with one in ten of them would pass with a probability of 0.02."""
    alarms = 0
    for seed in range(12):
        found = dm.mean(
            stream(rows(seed, distribution=distribution)), "x", blocks=dm.UnitBlocks("u"), rng=seed
        )
        alarms += found.status == "breakdown point exceeded" or found.far_rows is not None
    assert alarms == 0


def test_no_bit_depends_on_batches_threads_or_how_a_state_grew(tmp_path: Path) -> None:
    table = rows(3, bad=0.004)
    found = [dm.mean(stream(table, n), "x", blocks=dm.UnitBlocks("u"), rng=0) for n in (777, 40_000)]
    assert found[0] == found[1]
    folder, grown = lake(tmp_path / "l", table), tmp_path / "grown"
    (tmp_path / "part").mkdir()
    for file in sorted(folder.iterdir()):
        (tmp_path / "part" / file.name).write_bytes(file.read_bytes())
        last = dm.mean(tmp_path / "part", "x", blocks=dm.UnitBlocks("u"), rng=0, state=grown)
    whole = dm.mean(
        dm.scan(folder, batch_rows=999),
        "x",
        blocks=dm.UnitBlocks("u"),
        rng=0,
        state=tmp_path / "once",
        executor=dm.Threads(3),
    )
    assert (last.estimate, last.interval, last.status) == (whole.estimate, whole.interval, whole.status)
    assert last.far_rows == whole.far_rows and whole.far_rows is not None
