"""Schedulers and workers of another version of this package, or without it: refused, nothing runs."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clusters import Cluster, clusters, ended
from jobs import Meanwhile, one_file_a_unit
from programs import ROOT, distmom, wait_until

import distmom as dm

HIDE = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "distmom":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Settings of a process that has version 0.0.9."""
    folder = tmp_path_factory.mktemp("other")
    shutil.copytree(ROOT / "distmom", folder / "distmom", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "distmom" / "version.py").write_text('VERSION = "0.0.9"\n')
    return {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}


@pytest.fixture(scope="module")
def none(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Settings of a process that lacks the package."""
    folder = tmp_path_factory.mktemp("none")
    (folder / "sitecustomize.py").write_text(HIDE)
    return {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Cluster]:
    with clusters(tmp_path / "cluster") as cluster:
        yield cluster


def addresses(client: Any) -> set[str]:
    return set(client.scheduler_info(n_workers=-1)["workers"])


def test_workers_are_compared_and_again_when_others_took_their_place(
    lake: Path, own: Cluster, other: dict[str, str], none: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    own.scheduler()
    worker = own.workers(1)
    with own.client(1) as client:
        assert dm.mean(lake, "x", rng=7, executor=client) == dm.mean(lake, "x", rng=7, executor=dm.Threads(1))
        assert not caplog.records
        for settings, version in ((other, "0.0.9"), (none, "missing")):
            before = addresses(client)
            worker.terminate()
            worker = own.workers(1, **settings)
            wait_until(lambda was=before: addresses(client) - was and len(addresses(client)) == 1, "worker")
            with pytest.raises(dm.ResourceError, match=f"distmom .* here, {version} on tcp://") as caught:
                dm.mean(lake, "x", rng=7, executor=client)
            assert "\n" not in str(caught.value)
            [record] = caplog.records
            assert record.levelno == logging.ERROR and version in record.getMessage().splitlines()[2]
            caplog.clear()
    code, out, err = distmom("mean", lake, "-c", "x", "--scheduler", own.address)
    assert (code, out) == (6, "") and "install the client's versions there" in err.splitlines()[-1], err


def test_a_worker_of_another_version_that_joins_in_the_middle(
    lake: Path, own: Cluster, other: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own.scheduler()
    worker = own.workers(1)
    one_file_a_unit(monkeypatch)
    with own.client(1) as client:

        def replace(n_done: int) -> None:
            if n_done == 3:
                ended(own, worker)
                own.workers(1, **other)

        Meanwhile(monkeypatch, replace)
        with pytest.raises(dm.ResourceError, match=r"a worker that joined later has distmom 0\.0\.9, not"):
            dm.mean(lake, "x", rng=7, executor=client)


def test_the_scheduler_lacks_the_package(lake: Path, own: Cluster, none: dict[str, str]) -> None:
    own.scheduler(**none)
    own.workers(1)
    with own.client(1) as client, pytest.raises(dm.ResourceError, match="missing on the scheduler"):
        dm.mean(lake, "x", rng=7, executor=client)


def test_scheduler_and_workers_lack_a_module_of_the_user(lake: Path, client: Any) -> None:
    """What stands in this test module travels by value: nobody else can import it."""

    def duel(executor: Any) -> dm.TournamentResult:
        candidates = {"own": own_rule, "p1": "p1"}
        return dm.tournament(lake, candidates, "y", features=["a"], rng=7, executor=executor)

    assert duel(client) == duel(dm.Threads(1))


def own_rule(row: Any) -> Any:
    return row["a"]
