"""Names of tasks, as a dashboard shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.cluster.names import asked, task_name


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("named") / "lake"
    folder.mkdir()
    g = np.random.default_rng(0)
    for i in range(4):
        pq.write_table(pa.table({"x": g.normal(size=400), "y": g.normal(size=400)}), folder / f"{i}.parquet")
    return folder


def groups(client: Any, call: Any) -> set[str]:
    """Names of groups of tasks, as the scheduler has them."""

    def prefixes(dask_scheduler: Any) -> list[str]:
        return list(dask_scheduler.task_prefixes)

    before = set(client.run_on_scheduler(prefixes))
    call()
    return {name for name in client.run_on_scheduler(prefixes) if name not in before}


def test_of_a_mean_of_pairs_and_of_a_training(inproc_client: Any, lake: Path) -> None:
    found = groups(inproc_client, lambda: dm.mean(lake, "x", rng=0, executor=inproc_client))
    assert found == {"mean: read"}
    pairs = {"blocks": dm.RandomBlocks(8), "rng": 0, "executor": inproc_client}
    found = groups(inproc_client, lambda: dm.ustatistic(lake, "x", kernel="gini", **pairs))
    assert found == {"gini: read", "gini: blocks"}
    line = dm.RobustLinearRegression(random_state=0)
    found = groups(inproc_client, lambda: line.fit(lake, "y", columns=["x"], executor=inproc_client))
    assert found and all(name.startswith("train: ") for name in found)


def test_names_survive_what_dask_makes_of_keys() -> None:
    from dask.utils import key_split

    class Work:
        step = "sort"

    for what, name in {
        "gini": "gini: sort",
        "mmd-laplace": "mmd laplace: sort",
        "<lambda>": "lambda: sort",
    }.items():
        with asked(what):
            assert task_name(Work()) == name
            for key in ("0x123456789abc-0-1", "0xabcdefabcdef-12-3"):
                assert key_split(f"{name}-{key}") == name
    assert task_name(object()) == "distmom: compute"


@pytest.mark.slow
@pytest.mark.cluster
def test_a_performance_report_shows_them(lake: Path, tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    from distributed import Client, LocalCluster, performance_report

    page = tmp_path / "report.html"
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        client.as_current(),
        performance_report(filename=str(page)),
    ):
        dm.mean(lake, "x", rng=0)
        dm.ustatistic(lake, "x", kernel="gini", rng=0, blocks=dm.RandomBlocks(8))
    text = page.read_text()
    for name in ("mean: read", "gini: read", "gini: blocks"):
        assert name in text, name
