"""Versions of client, scheduler and workers: what is refused, what is told; `reliability/` has real ones."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from distmom.cluster.executors import versions
from distmom.cluster.executors.versions import compare_versions, decisive, refuse_others, versions_here
from distmom.errors import ResourceError

HERE = versions_here()
WORKER = "tcp://10.0.0.3:4111"


def test_what_is_here() -> None:
    assert set(HERE) == {"distmom", "draws", "python", "numpy", "numba", "pyarrow", "dask", "distributed"}
    assert all(text and text != versions.MISSING for text in HERE.values())


@pytest.mark.parametrize(
    ("name", "there", "refused"),
    [
        ("distmom", HERE["distmom"] + "1", True),
        ("draws", "0", True),
        ("python", "3.1.4", True),
        ("python", HERE["python"] + "9", False),
        ("numpy", "1.26.4", True),
        ("numpy", ".".join([*HERE["numpy"].split(".")[:2], "99"]), False),
        ("pyarrow", "1.0", True),
        ("numba", "missing", True),
        ("dask", "2025.1.0", False),
    ],
)
def test_the_rule(
    name: str, there: str, refused: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Of four workers two differ; asked once, and again when another process has the address."""
    asked: list[list[str]] = []

    def ask(client: Any, whom: list[str]) -> dict[str, Any]:
        asked.append(whom)
        return {who: HERE if who[-1] in "12r" else {**HERE, name: there} for who in whom}

    class Asker:
        pass

    monkeypatch.setattr(versions, "_ask", ask)
    client: Any = Asker()
    workers = {f"tcp://n{i}": {"local_directory": f"/scratch/{i}"} for i in range(1, 5)}
    if refused:
        with pytest.raises(ResourceError) as caught:
            compare_versions(client, workers)
        said = f"({name} {HERE[name]} here, {there} on tcp://n3 and 1 more); install the client's versions"
        assert said in str(caught.value) and "\n" not in str(caught.value)
    else:
        compare_versions(client, workers)
    [record] = caplog.records
    assert record.levelno == (logging.ERROR if refused else logging.WARNING)
    head, line = record.getMessage().splitlines()[1:]
    width = max(6, len(HERE[name]))
    assert head == f"{'':{len(name)}}   {'client':{width}}   tcp://n1 and 2 more   tcp://n3 and 1 more"
    assert line == f"{name}   {HERE[name]:{width}}   {HERE[name]:19}   {there}"
    if not refused:
        compare_versions(client, workers)
        workers["tcp://n2"] = {"local_directory": "/scratch/another"}
        compare_versions(client, workers)
        assert asked[1:] == [["tcp://n2"]]


def test_a_worker_that_joins_later_refuses_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_others(decisive(HERE))
    refuse_others(decisive({**HERE, "dask": "1"}))
    with pytest.raises(ResourceError, match=r"joined later has numpy .*, not numpy 1\.26: install"):
        refuse_others(decisive({**HERE, "numpy": "1.26.4"}))


def test_nobody_answers(inproc_client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on: its units show what is wrong with the cluster, and are guarded one by one."""
    monkeypatch.setattr(versions, "SECONDS", 0.0)
    compare_versions(inproc_client, {WORKER: {"local_directory": "/scratch"}})
    assert (WORKER, "/scratch") not in versions._compared.get(inproc_client, set())
