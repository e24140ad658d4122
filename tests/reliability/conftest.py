"""One lake, its right answers, and one cluster of two workers for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clusters import Cluster, clusters
from jobs import JOBS, Meanwhile, one_file_a_unit, write_lake

import distmom as dm
from distmom.cluster import runner

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.cluster)
            item.add_marker(pytest.mark.xdist_group(f"reliability-{item.path.stem}"))
            # closing comms leave sockets to the collector now and then
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lake(tmp_path_factory.mktemp("reliability") / "lake")


@pytest.fixture(scope="session")
def right(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, int]]:
    """Answers on one thread, and the number of units of work of each job."""
    found = {}
    for name, job in JOBS.items():
        with pytest.MonkeyPatch.context() as patch:
            one_file_a_unit(patch)
            seen = Meanwhile(patch)
            found[name] = job(lake, tmp_path_factory.mktemp(name), executor=dm.Threads(1)), seen.n_done
    return found


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A task fails once its workers died twice."""
    with clusters(tmp_path_factory.mktemp("cluster")) as cluster:
        cluster.scheduler(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1")
        cluster.workers(2, memory="600MB")
        with cluster.client(2):
            pass
        yield cluster


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Any]:
    with cluster.client(2) as client:
        yield client


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three seconds instead of a minute."""
    defaults = runner.run_units.__kwdefaults__
    monkeypatch.setattr(runner.run_units, "__kwdefaults__", {**defaults, "patience": 3.0})
    monkeypatch.setattr("distmom.cluster.executors.client.PROBE", 1.0)
