"""What only a cluster can do: lose workers, lose its scheduler, have none."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from fake_work import Deadly, Spell, calls, expected, listing, record

from distmom.cluster import Unit, UnitOutcome, plan_units, run_units
from distmom.cluster.executors.backends import Cluster
from distmom.cluster.executors.client import ClientExecutor
from distmom.cluster.outcome import Work
from distmom.errors import ConfigError, DistmomError, ResourceError

ROWS = [100 * (number % 5 + 1) for number in range(24)]
UNITS = plan_units(listing(ROWS), max_files=1)
NO_DASHBOARD = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}
processes = [pytest.mark.cluster, pytest.mark.xdist_group("cluster")]


class Slow(Spell):
    def __call__(self, unit: Unit) -> UnitOutcome:
        time.sleep(0.05)
        return super().__call__(unit)


class TestWorkerProcesses:
    pytestmark = processes

    def test_a_unit_that_kills_its_worker_twice_changes_nothing(
        self, processes_client: Any, tmp_path: Path
    ) -> None:
        work = Deadly(Spell(tuple(ROWS)), str(tmp_path), bad_file=5, n_times=2)
        result = run_units(work, UNITS, record, ClientExecutor(processes_client))
        assert result.state == expected(ROWS)
        assert calls(tmp_path, UNITS[5]) == 3

    def test_a_unit_that_always_kills_its_worker_is_named(
        self, processes_client: Any, tmp_path: Path
    ) -> None:
        seen: list[int] = []
        work = Deadly(Spell(tuple(ROWS)), str(tmp_path), bad_file=5)
        with pytest.raises(ResourceError, match=r"^t/5.parquet: every worker that read it died.*memory"):
            run_units(
                work,
                UNITS,
                record,
                ClientExecutor(processes_client),
                on_outcome=lambda unit, outcome: seen.append(unit.number),
            )
        assert 5 not in seen and len(seen) >= 5
        assert calls(tmp_path, UNITS[5]) == 2 * 3

    def test_all_workers_killed_at_half_time_change_nothing(self, processes_client: Any) -> None:
        processes_client.wait_for_workers(2, timeout=240)
        workers = list(processes_client.run(os.getpid).values())
        seen: list[int] = []

        def kill(unit: Unit, outcome: UnitOutcome) -> None:
            seen.append(unit.number)
            if len(seen) == len(UNITS) // 2:
                for process in workers:
                    os.kill(process, signal.SIGKILL)

        # Large work is scattered: it dies with the workers and has to be sent again.
        work = Slow(tuple(ROWS), padding=b"x" * 200_000)
        result = run_units(work, UNITS, record, ClientExecutor(processes_client), on_outcome=kill)
        assert result.state == expected(ROWS)
        assert sorted(seen) == list(range(len(UNITS)))

    def test_functions_of_the_main_script_travel_by_value(self, processes_client: Any) -> None:
        threshold = 100

        def work(unit: Unit) -> UnitOutcome:
            return UnitOutcome(str(unit.first_file + threshold))

        result = run_units(work, UNITS[:2], record, ClientExecutor(processes_client))
        assert result.state == "(100 101)"


def test_work_that_cannot_be_pickled_is_a_clear_error(inproc_client: Any) -> None:
    lock = threading.Lock()
    with pytest.raises(ConfigError, match="cannot be sent to workers"):
        run_units(lambda unit: UnitOutcome(lock), UNITS, record, ClientExecutor(inproc_client))


def test_large_work_that_no_worker_takes_goes_with_each_unit(
    inproc_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who was cut off a moment ago still counts as a worker: what is scattered to it never arrives."""
    asked = []

    async def stuck(*args: Any, **how: Any) -> Any:
        asked.append(args)
        await asyncio.Event().wait()

    monkeypatch.setattr(inproc_client, "_scatter", stuck)
    monkeypatch.setattr("distmom.cluster.executors.client.PROBE", 0.2)
    work = Spell(tuple(ROWS), padding=b"x" * 200_000)
    result = run_units(work, UNITS, record, ClientExecutor(inproc_client))
    assert (result.state, result.n_retries, len(asked)) == (expected(ROWS), 0, 1)


def test_a_result_that_never_arrives_is_computed_again(
    inproc_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    gather, asked, release = inproc_client.gather, [], asyncio.Event()

    async def stuck(futures: list[Any]) -> Any:
        asked.append(futures[0].key)
        if len(asked) == 3:
            await release.wait()
        return await gather(futures, asynchronous=True)

    monkeypatch.setattr(inproc_client, "gather", lambda futures, asynchronous: stuck(futures))
    monkeypatch.setattr("distmom.cluster.executors.client.PATIENCE", 0.2)
    result = run_units(Spell(tuple(ROWS)), UNITS, record, ClientExecutor(inproc_client))
    inproc_client.loop.add_callback(release.set)
    assert result.state == expected(ROWS)
    assert result.n_retries == 1


def test_workers_log_a_traceback_of_unexpected_failures_only(caplog: pytest.LogCaptureFixture) -> None:
    """Too many groups for one pass, an expected refusal, was logged by each worker with a traceback."""
    from distributed import Client, LocalCluster

    def failing(error: Exception) -> Work:
        def work(unit: Unit) -> UnitOutcome:
            raise error

        return work

    of_workers = logging.getLogger("distributed.worker")
    of_workers.addHandler(caplog.handler)
    failures = (ResourceError("too many"), 0), (PermissionError("no"), 0), (ValueError("?"), 1)
    try:
        with (
            LocalCluster(n_workers=1, processes=False, **NO_DASHBOARD) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            for error, logged in failures:
                with pytest.raises(DistmomError, match=re.escape(str(error))):
                    run_units(failing(error), UNITS[:1], record, ClientExecutor(client))
                assert len({one for one in caplog.records if one.levelno >= logging.WARNING}) == logged
    finally:
        of_workers.removeHandler(caplog.handler)


def test_keys_hold_no_paths(inproc_client: Any) -> None:
    keys: list[str] = []
    submit = inproc_client.submit
    try:
        inproc_client.submit = lambda *args, key, **options: (
            keys.append(key) or submit(*args, key=key, **options)
        )
        run_units(Spell(tuple(ROWS)), UNITS, record, ClientExecutor(inproc_client))
    finally:
        del inproc_client.submit
    assert len(set(keys)) == len(UNITS)
    assert not any("t/" in key or "parquet" in key for key in keys)


def test_nothing_is_left_on_the_cluster(inproc_client: Any) -> None:
    run_units(Spell(tuple(ROWS), padding=b"x" * 100_000), UNITS, record, ClientExecutor(inproc_client))
    deadline = time.monotonic() + 10
    while inproc_client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_cluster_without_workers_is_waited_for_and_then_reported() -> None:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=0, processes=False, **NO_DASHBOARD) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        start = time.monotonic()
        with pytest.raises(ResourceError, match="it has no workers"):
            run_units(Spell(tuple(ROWS)), UNITS, record, ClientExecutor(client), patience=0.5)
        assert time.monotonic() - start < 10


@pytest.mark.parametrize("padding", [b"", b"x" * 200_000])
def test_workers_that_come_late_are_used(padding: bytes) -> None:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=0, processes=False, **NO_DASHBOARD) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        timer = threading.Timer(0.5, cluster.scale, [1])
        timer.start()
        work = Spell(tuple(ROWS), padding=padding)
        result = run_units(work, UNITS, record, ClientExecutor(client), patience=30)
        timer.join()
        assert result.state == expected(ROWS)


def test_a_scheduler_that_dies_is_reported_within_bounds() -> None:
    from distributed import LocalCluster

    cluster = LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        **NO_DASHBOARD,
        silence_logs=60,
    )
    closed: list[threading.Thread] = []

    def close(unit: Unit, outcome: UnitOutcome) -> None:
        if not closed:
            closed.append(threading.Thread(target=cluster.close))
            closed[0].start()

    start = time.monotonic()
    with (
        pytest.raises(ResourceError, match=r"did not respond for 1 seconds .*scheduler"),
        Cluster(cluster.scheduler_address).open() as executor,
    ):
        run_units(Slow(tuple(ROWS)), UNITS, record, executor, patience=1.0, on_outcome=close)
    assert time.monotonic() - start < 15
    closed[0].join()
