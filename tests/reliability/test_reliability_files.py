"""Files that change or break while a run reads them; very many units of work."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from jobs import JOBS, Meanwhile, one_file_a_unit
from numbered_work import joined, number

import distmom as dm
from distmom.cluster import plan_units, run_units
from distmom.cluster.executors.client import ClientExecutor
from distmom.lake.source import FileRef

Right = dict[str, tuple[Any, int]]
LAST = "23.parquet"


def rewritten(path: Path) -> None:
    """Other rows, as a job that corrects data would write them."""
    pq.write_table(pq.read_table(path).slice(0, 100), path)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def removed(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("change", [rewritten, cut, removed], ids=lambda change: change.__name__)
@pytest.mark.parametrize("name", JOBS)
def test_a_file_changes_while_others_are_read(
    name: str, change: Any, lake: Path, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before its own turn comes in the last round; never a number from both versions."""
    data, out = shutil.copytree(lake, tmp_path / "lake"), tmp_path / "out"
    out.mkdir()
    one_file_a_unit(monkeypatch)
    monkeypatch.setattr("distmom.cluster.runner.UNITS_PER_THREAD", 1)
    # what has rounds has read the file before
    at = {"mean": 5, "pairs": 29, "tournament": 29, "train": 29}[name]
    seen = Meanwhile(monkeypatch, lambda n_done: change(data / LAST) if n_done == at else None)
    with pytest.raises(dm.DataError) as caught:
        JOBS[name](data, out, executor=client)
    text = str(caught.value)
    assert seen.n_done >= at and LAST in text and "\n" not in text, text
    assert not list(out.iterdir())


@pytest.mark.timeout(400)
def test_ten_thousand_units_of_work() -> None:
    """Each takes a scheduler, client and worker 3 ms: here in one process."""
    from distributed import Client, LocalCluster

    quiet = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}
    units = plan_units([FileRef(f"{i:05}", 1, 0) for i in range(10_000)], max_files=1)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, **quiet) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        found = run_units(number, units, joined, ClientExecutor(client))
    assert found.state == (0, 9_999) and found.n_retries == 0
