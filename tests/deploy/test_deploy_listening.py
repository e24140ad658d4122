"""Who could reach what the recipes start: the sockets of their processes, and what these tell a stranger."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
import yaml
from clusters import free_port
from listening import Listening, answered, family, listening
from programs import ROOT, program, run, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.cluster, pytest.mark.xdist_group("listening")]
TELLING = ("/json/identity.json", "/info/main/workers.html", "/metrics", "/status", "/sitemap.json")
Lines = list[list[str]]


def dask_lines(heading: str, port: int) -> Lines:
    """The commands of Dask below a heading of deploy/README.md, for this machine and a free port."""
    text = (ROOT / "deploy/README.md").read_text()
    (http,) = re.findall(r'^HTTP="(.*?)"', text, re.MULTILINE)
    (block,) = re.findall(rf"^## {heading}\n.*?```sh\n(.*?)```", text, re.MULTILINE | re.DOTALL)
    for word, here in {"$HTTP": http, "node1": "127.0.0.1", "node2": "127.0.0.1", "8786": str(port)}.items():
        block = block.replace(word, here)
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines() if line.startswith("dask ")]


def composed_lines(port: int) -> Lines:
    """The same of deploy/container/compose.yaml; names of containers are those of this machine."""
    services = yaml.safe_load((ROOT / "deploy/container/compose.yaml").read_text())["services"]
    lines = [services[name]["command"][1:] for name in ("scheduler", "worker")]
    here = {"scheduler:8786": f"127.0.0.1:{port}", "8786": str(port), "127.0.0.1:8787": "127.0.0.1:0"}
    for old, new in here.items():
        lines = [[word.replace(old, new) if word != "scheduler" else word for word in line] for line in lines]
    return lines


@contextmanager
def started(lines: Lines, folder: Path, **settings: str) -> Iterator[set[Listening]]:
    """Sockets of a scheduler and workers that are ready."""
    with ExitStack() as stack:
        pids = []
        for number, words in enumerate(lines):
            scratch = ("--local-directory", folder / "scratch") if words[0] == "worker" else ()
            command = (sys.executable, "-m", "dask", *words, *scratch)
            process = stack.enter_context(program(*command, log=folder / f"{number}.log", **settings))
            pids.append(process.pid)
            log = folder / f"{number}.log"
            ready = partial(re.search, r"Scheduler at:|Registered to")
            wait_until(lambda log=log, ready=ready: ready(log.read_text()), "start")  # type: ignore[misc]
        wait_until(lambda: len(listening(*pids)) >= 4, "sockets of scheduler, worker, nanny and HTTP")
        assert len(family(*pids)) >= 3
        yield listening(*pids)


def test_by_hand_all_is_on_the_loopback_address(tmp_path: Path) -> None:
    with started(dask_lines("By hand", free_port()), tmp_path) as sockets:
        assert len(sockets) >= 6  # two workers, which have nannies
        assert {socket.address for socket in sockets} == {"127.0.0.1"}


def test_without_these_options_dask_listens_everywhere(tmp_path: Path) -> None:
    """So that the tests above and below could fail."""
    port = free_port()
    lines = [["scheduler", "--host", "127.0.0.1", "--port", str(port)], ["worker", f"tcp://127.0.0.1:{port}"]]
    with started(lines, tmp_path) as sockets:
        wide = {socket for socket in sockets if not socket.loopback}
        assert len(wide) >= 3
        assert any(answered(socket, "/json/identity.json") == 200 for socket in sockets)


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("tls") / "members"
    assert run(ROOT / "deploy/tls/make-certificates", folder, "127.0.0.1")[0] == 0
    return str(folder)


def test_behind_certificates(tmp_path: Path, members: str) -> None:
    lines = dask_lines("Who can reach the scheduler", free_port())
    with started(lines, tmp_path, DASK_CONFIG=members) as sockets:
        assert {socket.address for socket in sockets} == {"127.0.0.1"}
        tells_a_stranger_nothing(sockets)


def test_behind_certificates_also_where_an_option_is_forgotten(tmp_path: Path, members: str) -> None:
    port = free_port()
    lines = [["scheduler", "--port", str(port), "--no-dashboard", "--dashboard-address", ":0"]]
    lines += [["worker", f"tls://127.0.0.1:{port}", "--no-dashboard"]]
    with started(lines, tmp_path, DASK_CONFIG=members) as sockets:
        assert any(not socket.loopback for socket in sockets)
        tells_a_stranger_nothing(sockets)


def tells_a_stranger_nothing(sockets: set[Listening]) -> None:
    """No plain HTTP at all; encrypted, that it lives."""
    alive = []
    for socket in sockets:
        assert [answered(socket, path) for path in ("/health", *TELLING[:1])] == [None, None]
        alive.append(answered(socket, "/health", encrypted=True))
        told = {answered(socket, path, encrypted=True) for path in TELLING[:-1]}
        assert told <= {None, 404}, told
    assert alive.count(200) == 2  # scheduler and worker


def test_containers_answer_http_to_themselves_alone(tmp_path: Path) -> None:
    with started(composed_lines(free_port()), tmp_path) as sockets:
        for socket in sockets:
            assert socket.loopback or answered(socket, "/health") is None
        assert [answered(socket, "/health") for socket in sockets].count(200) == 2


def test_processes_of_a_call_are_on_the_loopback_address() -> None:
    from distmom.cluster.executors.backends import Processes

    before = listening(os.getpid())  # of clusters that other tests have left in this process
    with Processes(1).open() as executor:
        assert executor.threads == 1
        sockets = listening(os.getpid()) - before
    assert {socket.address for socket in sockets} == {"127.0.0.1"}
