"""A scheduler that is gone, hangs, or cannot be reached: a bounded wait, then one line; or the same bits."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clusters import Cluster, Wire, clusters, ended
from jobs import JOBS, Meanwhile, one_file_a_unit, same

import distmom as dm

Right = dict[str, tuple[Any, int]]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Cluster]:
    with clusters(tmp_path / "cluster") as cluster:
        yield cluster


def lost(name: str, lake: Path, out: Path, client: Any) -> None:
    """The job gives up within bounds, in one line, and leaves nothing behind."""
    out.mkdir()
    with pytest.raises(dm.ResourceError) as caught:
        JOBS[name](lake, out, executor=client)
    text = str(caught.value)
    assert text.startswith("the cluster did not respond for 3 seconds") and "\n" not in text, text
    assert not list(out.iterdir())


@pytest.mark.usefixtures("patience")
def test_the_scheduler_is_killed(
    lake: Path, own: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler = own.scheduler()
    own.workers(1)
    one_file_a_unit(monkeypatch)
    with own.client(1) as client:
        Meanwhile(monkeypatch, lambda n_done: ended(own, scheduler) if n_done == 30 else None)
        start = time.monotonic()
        lost("pairs", lake, tmp_path / "out", client)
        assert time.monotonic() - start < 40
    assert scheduler.returncode == -signal.SIGKILL


@pytest.mark.usefixtures("patience")
def test_the_scheduler_hangs_for_a_moment_and_then_for_good(
    lake: Path, right: Right, own: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler = own.scheduler()
    own.workers(1)
    one_file_a_unit(monkeypatch)
    wake = threading.Timer(1.5, scheduler.send_signal, [signal.SIGCONT])

    def stop(n_done: int) -> None:
        if n_done == 10:
            scheduler.send_signal(signal.SIGSTOP)
            wake.start()
        elif n_done == right["tournament"][1] + 10:
            scheduler.send_signal(signal.SIGSTOP)

    with own.client(1) as client:
        Meanwhile(monkeypatch, stop)
        assert same(JOBS["tournament"](lake, tmp_path, executor=client), right["tournament"][0])
        wake.join()
        try:
            lost("tournament", lake, tmp_path / "out", client)
        finally:
            scheduler.send_signal(signal.SIGCONT)


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("name", ["mean", "train"])
def test_the_network_between_client_and_scheduler_is_cut(
    name: str, lake: Path, right: Right, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a second, after which the run goes on; and for good."""
    answer, n_units = right[name]
    one_file_a_unit(monkeypatch)
    with Wire(cluster.port) as wire, cluster.client(2, wire.address) as client:
        mending = threading.Timer(1.0, wire.mend)

        def cut(n_done: int) -> None:
            if n_done == n_units // 2:
                wire.cut()
                mending.start()
            elif n_done == n_units + 10:
                wire.cut()

        Meanwhile(monkeypatch, cut)
        assert same(JOBS[name](lake, tmp_path, executor=client), answer)
        mending.join()
        lost(name, lake, tmp_path / "out", client)


def test_the_network_between_a_worker_and_the_scheduler_is_cut(
    lake: Path, right: Right, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, n_units = right["tournament"]
    one_file_a_unit(monkeypatch)
    with Wire(cluster.port) as wire, cluster.client(2) as client:
        third = cluster.workers(1, wire.address)
        client.wait_for_workers(3, timeout=240)
        Meanwhile(monkeypatch, lambda n_done: wire.cut() if n_done == n_units // 2 else None)
        try:
            assert same(JOBS["tournament"](lake, tmp_path, executor=client), answer)
        finally:
            third.kill()
        assert len(client.scheduler_info(n_workers=-1)["workers"]) == 2
