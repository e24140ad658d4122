"""From words to an executor, in this process."""

from __future__ import annotations

import json
import multiprocessing
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from fake_work import Spell, listing, record

from distmom.cluster import ThreadExecutor, connect, plan_units, run_units
from distmom.cluster.executors.client import ClientExecutor
from distmom.errors import ConfigError, ResourceError


def test_threads_when_nothing_is_said() -> None:
    with connect() as executor:
        assert isinstance(executor, ThreadExecutor)
        assert executor.threads >= 1
    with connect(threads=3, memory_limit="400MB") as executor:
        assert (executor.threads, executor.threads_per_process, executor.memory) == (3, 3, 400_000_000)


def test_the_active_client_is_used_and_left_open(inproc_client: Any) -> None:
    with inproc_client.as_current():
        with connect() as executor:
            assert isinstance(executor, ClientExecutor)
            assert executor.client is inproc_client
        with connect(threads=1) as executor:
            assert isinstance(executor, ThreadExecutor)
    assert inproc_client.status == "running"
    with connect() as executor:
        assert isinstance(executor, ThreadExecutor)


def test_a_given_client_is_used_and_left_open(inproc_client: Any) -> None:
    with connect(client=inproc_client) as executor:
        assert isinstance(executor, ClientExecutor)
    assert inproc_client.status == "running"


def test_a_scheduler_is_found_by_its_address(inproc_client: Any) -> None:
    with connect(scheduler=inproc_client.scheduler.address) as executor:
        assert isinstance(executor, ClientExecutor)
        assert executor.client is not inproc_client
        result = run_units(Spell((1, 1)), plan_units(listing([1, 1]), max_files=1), record, executor)
        assert result.state == "(0.0 1.0)"
    assert executor.client.status == "closed"
    assert inproc_client.status == "running"


def inside_a_task() -> tuple[str, int]:
    with connect() as executor:
        return type(executor).__name__, executor.threads


def test_threads_inside_a_task_of_a_worker(inproc_client: Any) -> None:
    with inproc_client.as_current():
        assert inproc_client.submit(inside_a_task, pure=False).result(timeout=20) == ("ThreadExecutor", 1)


def test_nobody_at_the_address() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    start = time.monotonic()
    with pytest.raises(ResourceError, match=f"nobody who talks to us answered at {address} within 1 seconds"):
        connect(scheduler=address, timeout=1).__enter__()
    assert time.monotonic() - start < 10


@pytest.mark.cluster
@pytest.mark.xdist_group("cluster")
def test_the_file_of_a_scheduler(processes_client: Any, tmp_path: Path) -> None:
    """It may appear a moment later; without it, or with something else in it, the wait is bounded."""
    told = tmp_path / "scheduler.json"
    # not by Dask, which adds the measurements of all workers, and now and then no JSON can be made of them
    identity = {"type": "Scheduler", "address": processes_client.scheduler.address}
    later = threading.Timer(0.3, told.write_text, [json.dumps(identity)])
    later.start()
    with connect(scheduler=str(told), timeout=20) as executor:
        assert executor.threads == 2
    later.join()
    told.write_text("{}")
    for file in (told, tmp_path / "never.json"):
        with pytest.raises(ResourceError, match=f"no scheduler wrote its address into {file} within 0.2 sec"):
            connect(scheduler=str(file), timeout=0.2).__enter__()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"workers": 2, "threads": 2}, "workers and threads exclude each other"),
        ({"client": 1, "scheduler": "x"}, "client and scheduler exclude each other"),
        ({"threads": 0}, "threads: must be a whole number of at least 1, not 0"),
        ({"workers": 1.5}, "workers: must be a whole number of at least 1, not 1.5"),
        ({"workers": True}, "workers: must be a whole number of at least 1, not True"),
        (
            {"client": "tcp://127.0.0.1:1"},
            "expected a distributed.Client, not str; for an address use Cluster(address)",
        ),
        ({"scheduler": "nonsense://x"}, "expected an address such as"),
        ({"memory_limit": "much"}, "memory_limit: expected bytes"),
    ],
)
def test_wrong_words(words: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        connect(**words, timeout=1).__enter__()


def test_a_closed_client_is_refused(inproc_client: Any) -> None:
    from distributed import Client

    client = Client(inproc_client.scheduler.address, set_as_default=False)
    client.close()
    with pytest.raises(ResourceError, match="its connection to the scheduler is closed"):
        connect(client=client).__enter__()


def test_an_asynchronous_client_is_refused(inproc_client: Any) -> None:
    from distributed import Client

    async def refused() -> str:
        async with Client(inproc_client.scheduler.address, asynchronous=True, set_as_default=False) as client:
            with pytest.raises(ConfigError) as caught:
                connect(client=client).__enter__()
            return str(caught.value)

    assert "must be synchronous" in inproc_client.sync(refused)


def test_workers_cannot_start_while_a_spawned_process_imports_its_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(ConfigError, match="if __name__ == '__main__'"):
        connect(workers=1).__enter__()


def test_importing_the_room_and_using_threads_loads_no_dask() -> None:
    script = """
import json, sys
import distmom.cluster
with distmom.cluster.connect() as executor:
    executor.begin(print)
heavy = ("asyncio", "dask", "distributed", "numba", "pandas", "pyarrow", "rich", "scipy", "tornado")
print(json.dumps([name for name in heavy if name in sys.modules]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(done.stdout) == []
