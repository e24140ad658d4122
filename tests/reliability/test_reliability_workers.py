"""Workers that die: the bits of one thread, or one line that names the file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clusters import Cluster, kill_one, processes
from jobs import JOBS, Meanwhile, one_file_a_unit, same

import distmom as dm

Right = dict[str, tuple[Any, int]]


# of a mean each, of what has rounds some: to start a worker takes two seconds of a processor
TENTHS = {
    "mean": range(1, 10),
    "pairs": (2, 5, 8),
    "tournament": (1, 4, 7),
    "train": (3, 6, 9),
}


@pytest.mark.parametrize("name", JOBS)
def test_a_worker_is_killed_at_every_tenth_of_the_work(
    name: str, lake: Path, right: Right, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, n_units = right[name]
    tenths = {n_units * k // 10 for k in TENTHS[name]}
    killed = []
    one_file_a_unit(monkeypatch)

    def kill(n_done: int) -> None:
        if n_done in tenths:
            killed.append(n_done)
            kill_one(client)

    Meanwhile(monkeypatch, kill)
    monkeypatch.setattr(
        "distmom.cluster.executors.client.PATIENCE", 0.5
    )  # for results that died with their worker
    assert same(JOBS[name](lake, tmp_path, executor=client), answer)
    assert len(killed) == len(TENTHS[name])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["mean", "tournament"])
def test_somebody_restarts_all_workers(
    name: str, lake: Path, right: Right, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, n_units = right[name]
    one_file_a_unit(monkeypatch)
    with cluster.client(2) as mine, cluster.client(2) as other:
        before = processes(mine)
        Meanwhile(monkeypatch, lambda n_done: other.restart() if n_done == n_units // 2 else None)
        assert same(JOBS[name](lake, tmp_path, executor=mine), answer)
        assert not set(before) & set(processes(mine))


def test_a_worker_that_runs_out_of_memory(lake: Path, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its nanny kills it, and so again: the error names the file; the cluster goes on."""

    def greedy(row: Any) -> Any:
        if np.abs(row["x"]).max() > 1e3:  # the sixth file
            held = [np.ones(1 << 23) for _ in range(16)]
            time.sleep(5)
            del held
        return row["a"]

    one_file_a_unit(monkeypatch)
    options = {"rng": 7, "blocks": 9, "executor": client}
    with pytest.raises(dm.ResourceError) as caught:
        dm.tournament(lake, {"greedy": greedy, "p1": "p1"}, "y", features=["a", "x"], **options)
    text = str(caught.value)
    assert text.startswith("05.parquet: every worker that read it died, most likely out of memory"), text
    assert "\n" not in text
    client.wait_for_workers(1, timeout=240)
    assert dm.tournament(lake, ["p0", "p1"], "y", **options)
