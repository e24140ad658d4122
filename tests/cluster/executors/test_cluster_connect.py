"""From words to an executor, in this process."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_work import Spell, listing, record

from distmom.cluster import ThreadExecutor, plan_units, run_units
from distmom.cluster.executors import connect
from distmom.cluster.executors.backends import Anywhere, Backend, Cluster, Processes, Threads
from distmom.cluster.executors.client import ClientExecutor
from distmom.errors import ConfigError, ResourceError


def test_threads_when_nothing_is_said() -> None:
    with Anywhere().open() as executor:
        assert isinstance(executor, ThreadExecutor)
        assert executor.threads >= 1
    with Threads(3, memory_limit="400MB").open() as executor:
        assert (executor.threads, executor.threads_per_process, executor.memory) == (3, 3, 400_000_000)


def test_the_active_client_is_used_and_left_open(inproc_client: Any) -> None:
    with inproc_client.as_current():
        with Anywhere().open() as executor:
            assert isinstance(executor, ClientExecutor)
            assert executor.client is inproc_client
        with Threads(1).open() as executor:
            assert isinstance(executor, ThreadExecutor)
    assert inproc_client.status == "running"
    with Anywhere().open() as executor:
        assert isinstance(executor, ThreadExecutor)


def test_a_given_client_is_used_and_left_open(inproc_client: Any) -> None:
    with Cluster(inproc_client).open() as executor:
        assert isinstance(executor, ClientExecutor)
    assert inproc_client.status == "running"


def test_a_scheduler_is_found_by_its_address(inproc_client: Any) -> None:
    with Cluster(inproc_client.scheduler.address).open() as executor:
        assert isinstance(executor, ClientExecutor)
        assert executor.client is not inproc_client
        result = run_units(Spell((1, 1)), plan_units(listing([1, 1]), max_files=1), record, executor)
        assert result.state == "(0.0 1.0)"
    assert executor.client.status == "closed"
    assert inproc_client.status == "running"


def inside_a_task() -> tuple[str, int]:
    with Anywhere().open() as executor:
        return type(executor).__name__, executor.threads


def test_threads_inside_a_task_of_a_worker(inproc_client: Any) -> None:
    with inproc_client.as_current():
        assert inproc_client.submit(inside_a_task, pure=False).result(timeout=20) == ("ThreadExecutor", 1)


def test_nobody_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "CONNECT_SECONDS", 1.0)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    start = time.monotonic()
    with pytest.raises(ResourceError, match=f"no Dask scheduler responded at {address} within 1 seconds"):
        Cluster(address).open().__enter__()
    assert time.monotonic() - start < 10


@pytest.mark.cluster
@pytest.mark.xdist_group("cluster")
def test_the_file_of_a_scheduler(
    processes_client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may appear a moment later; without it, or with something else in it, the wait is bounded."""
    told = tmp_path / "scheduler.json"
    # not by Dask, which adds the measurements of all workers, and now and then no JSON can be made of them
    identity = {"type": "Scheduler", "address": processes_client.scheduler.address}
    later = threading.Timer(0.3, told.write_text, [json.dumps(identity)])
    later.start()
    with Cluster(str(told)).open() as executor:
        assert executor.threads == 2
    later.join()
    told.write_text("{}")
    monkeypatch.setattr(connect, "CONNECT_SECONDS", 0.2)
    for file in (told, tmp_path / "never.json"):
        with pytest.raises(ResourceError, match=f"no scheduler wrote its address into {file} within 0.2 sec"):
            Cluster(str(file)).open().__enter__()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Threads(0), "Threads: n"),
        (lambda: Processes(1.5), "Processes: n"),  # type: ignore[arg-type]
        (lambda: Processes(True), "Processes: n"),
        (lambda: Cluster(1), "executor: must be Threads, Processes, Cluster"),
        (lambda: Cluster("nonsense://x"), "expected an address such as"),
        (lambda: Cluster("thread"), r"did you mean Threads\(\)"),
        (lambda: Threads(memory_limit="much"), "memory_limit: expected bytes"),
    ],
)
def test_wrong_words(make: Callable[[], Backend], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        make().open().__enter__()


class Imitation:
    """Looks like a client."""

    scheduler_info: Any = None


def test_what_only_looks_like_a_client_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"expected a distributed\.Client, not Imitation; for an address"):
        Cluster(Imitation()).open().__enter__()


def test_a_closed_client_is_refused(inproc_client: Any) -> None:
    from distributed import Client

    client = Client(inproc_client.scheduler.address, set_as_default=False)
    client.close()
    with pytest.raises(
        ResourceError, match=r"^executor: the client is not connected to a scheduler .*closed"
    ):
        Cluster(client).open().__enter__()
    with client.as_current(), pytest.raises(ResourceError, match=r"^the active Dask client .* closed"):
        Anywhere().open().__enter__()


@pytest.mark.parametrize(
    ("backend", "called"), [(Cluster, "executor: the client"), (None, "the active Dask client")]
)
def test_an_asynchronous_client_is_refused_by_name_and_the_remedy_works(
    inproc_client: Any, backend: Any, called: str
) -> None:
    from distributed import Client

    def threads() -> int:
        with (backend(Client.current()) if backend else Anywhere()).open() as executor:
            assert isinstance(executor, ClientExecutor)
            return executor.threads

    async def refused() -> tuple[str, int]:
        async with Client(inproc_client.scheduler.address, asynchronous=True, set_as_default=False) as client:
            with client.as_current():
                with pytest.raises(ConfigError) as caught:
                    threads()
                return str(caught.value), await asyncio.to_thread(threads)

    said, n = inproc_client.sync(refused)
    assert said.startswith(f"{called} is asynchronous") and "asyncio.to_thread" in said
    assert n == sum(inproc_client.nthreads().values())


def forked(asked: Callable[[], str]) -> str:
    """What a forked process says; it has ten seconds."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=lambda: theirs.send(asked()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads and fork: the subject of this test
        child.start()
    try:
        assert ours.poll(10), "no answer"
        return str(ours.recv())
    finally:
        child.kill()
        child.join()


def test_a_client_inherited_by_a_fork_is_not_taken_for_an_active_one(inproc_client: Any) -> None:
    def asked() -> str:
        with Anywhere().open() as executor:
            result = run_units(Spell((1, 1)), plan_units(listing([1, 1]), max_files=1), record, executor)
            return f"{type(executor).__name__} {result.state}"

    with inproc_client.as_current():
        assert asked() == "ClientExecutor (0.0 1.0)"
        assert forked(asked) == "ThreadExecutor (0.0 1.0)"


@pytest.mark.parametrize("place", ["client", "address", "processes"])
def test_dask_after_a_fork_is_refused_at_once(inproc_client: Any, place: str) -> None:
    """Its event loop and its thread for large messages are the parent's: who asks them waits for ever."""
    from distributed.utils import offload

    inproc_client.sync(offload, int)  # the thread begins with its first task
    address = inproc_client.scheduler.address
    backend = {"client": Cluster(inproc_client), "address": Cluster(address), "processes": Processes(1)}[
        place
    ]

    def asked() -> str:
        try:
            with backend.open():
                return "taken"
        except ResourceError as error:
            return str(error)

    assert "forked" in forked(asked)


def test_workers_cannot_start_while_a_spawned_process_imports_its_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(ConfigError, match="if __name__ == '__main__'"):
        Processes(1).open().__enter__()


def test_importing_the_room_and_using_threads_loads_no_dask() -> None:
    script = """
import json, sys
from distmom.cluster.executors.backends import Anywhere
with Anywhere().open() as executor:
    executor.begin(print)
heavy = ("asyncio", "dask", "distributed", "numba", "pandas", "pyarrow", "rich", "scipy", "tornado")
print(json.dumps([name for name in heavy if name in sys.modules]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=240, check=True
    )
    assert json.loads(done.stdout) == []
