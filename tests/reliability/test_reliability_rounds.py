"""Clusters that grow and shrink, and drivers that are tasks themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from clusters import clusters
from jobs import JOBS, Meanwhile, one_file_a_unit, same

import distmom as dm

Right = dict[str, tuple[Any, int]]


@pytest.mark.parametrize("name", ["tournament", "train"])
def test_an_adaptive_cluster_keeps_its_workers_between_rounds(
    name: str, lake: Path, right: Right, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers that idle for a second are given back; from the first unit to the last none does."""
    from distributed import Client, LocalCluster, SchedulerPlugin

    class Watch(SchedulerPlugin):
        def __init__(self) -> None:
            self.left: list[int] = []

        def remove_worker(self, scheduler: Any, worker: str, **_: Any) -> None:
            self.left.append(seen.n_done)

    one_file_a_unit(monkeypatch)
    seen, watch = Meanwhile(monkeypatch), Watch()
    with (
        LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            silence_logs=60,
        ) as local,
        Client(local, set_as_default=False) as client,
    ):
        local.scheduler.add_plugin(watch)
        local.adapt(minimum=0, maximum=2, interval="250ms", wait_count=4)
        answer, n_units = right[name]
        assert same(JOBS[name](lake, tmp_path, executor=client), answer)
        assert [n_done for n_done in watch.left if 0 < n_done < n_units] == []


def driver(how: str) -> Any:
    """A task that runs a mean on the cluster whose task it is; its worker dies once in the middle."""

    def drive(lake: str, state: str, died: str) -> tuple[str, int]:
        import os
        import signal
        from contextlib import nullcontext
        from pathlib import Path

        from distributed import get_client, worker_client

        import distmom as dm
        from distmom.cluster import plan, runner
        from distmom.state import checkpoint

        first, seen, keep = not Path(died).exists(), [], runner._Run.keep

        def counted(run: Any, unit: Any, outcome: Any) -> None:
            keep(run, unit, outcome)
            seen.append(unit.number)
            if first and len(seen) == 12:
                Path(died).touch()
                os.kill(os.getpid(), signal.SIGKILL)

        checkpoint.REST = 0.0
        plan.MOST_FILES = plan.LEAST_FILES = 1
        runner._Run.keep = counted  # type: ignore[method-assign]
        try:
            with worker_client() if how == "worker_client" else nullcontext(get_client()) as client:
                kept = dm.State(state, checkpoint_seconds=0)
                found = dm.mean(lake, "x", rng=7, state=kept, executor=client)
        finally:
            runner._Run.keep = keep  # type: ignore[method-assign]
        return found.estimate.hex(), dm.Results.of(found).data["state"]["n_files_before"]

    return drive


@pytest.mark.parametrize("how", ["get_client", "worker_client"])
def test_a_driver_inside_of_the_only_worker(how: str, lake: Path, right: Right, tmp_path: Path) -> None:
    """Of one thread: the units need it meanwhile. The state outlives the worker."""
    with clusters(tmp_path / "cluster") as own:
        own.scheduler()
        own.workers(1)
        with own.client(1) as client:
            words = (str(lake), str(tmp_path / "state"), str(tmp_path / "died"))
            task = client.submit(driver(how), *words, pure=False)
            estimate, n_before = task.result(timeout=240)
    assert (tmp_path / "died").exists() and n_before >= 11
    assert estimate == right["mean"][0].estimate.hex()
    assert dm.mean(lake, "x", rng=7, state=tmp_path / "state") == right["mean"][0]
