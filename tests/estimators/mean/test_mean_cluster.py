"""`dm.mean` on clusters: the bits of threads, whoever dies."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flat import flat
from mean_lakes import FatalFile, KillWorkers, SomeWorkers, cut_work, dirty_lake, same, write

import distmom as dm
from distmom.cluster.executors.client import ClientExecutor, ClientTasks
from distmom.cluster.merge import Merged
from distmom.cluster.outcome import Finished
from distmom.estimators.mean import plan as mean_plan
from distmom.estimators.mean.run import passes
from distmom.reductions.block_means import load_kernels

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("workers")]

VARIANTS: dict[str, dict[str, Any]] = {
    "random": {"column": ["x", "y"]},
    "grouped": {"by": "key"},
    "stored": {"order": "stored"},
    "samples": {"scheme": "swor", "n_blocks": 7, "block_size": 90, "where": "u > 0.3"},
    "files": {"block_by": "file"},
    "vectors": {"column": ["x", "y"], "joint": True, "by": "key"},
    "units": {"block_by": ["u", "name"]},
}
Clients = Callable[[int], SomeWorkers]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dirty_lake(tmp_path_factory.mktemp("lake"))


def run(lake: Any, options: dict[str, Any], **more: Any) -> Any:
    return flat(dm.mean)(lake, **{"column": "x", "rng": 7, **options, **more})


# each death takes seconds: those whose states are least alike
@pytest.mark.parametrize(
    "options",
    [
        options if name in ("samples", "units") else pytest.param(options, marks=pytest.mark.slow)
        for name, options in VARIANTS.items()
    ],
    ids=VARIANTS,
)
def test_after_a_worker_was_killed_in_the_middle(
    lake: Path, options: dict[str, Any], client_of: Clients, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = run(lake, options, threads=1)
    cut_work(monkeypatch, max_files=1)
    client = client_of(4)
    client.register_plugin(KillWorkers(tmp_path, nth=3))
    try:
        assert same(right, run(lake, options, client=client))
    finally:
        client.unregister_worker_plugin("kill-workers")
    assert len(list(tmp_path.glob("_death-*"))) == 1, "nobody was killed"


def test_workers_may_come_after_the_run_began(lake: Path) -> None:
    """A scheduler has none at first where a batch system starts them; nothing divides by their number."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            processes=False,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        later = threading.Timer(0.5, cluster.scale, [1])
        later.start()
        found = dm.mean(lake, "x", rng=0, executor=client)
        later.join()
    assert same(found, dm.mean(lake, "x", rng=0, executor=dm.Threads(1)))


def test_half_of_the_workers_vanish_and_others_come(
    client_of: Clients, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batch jobs reach their wall time, and all their workers go at once."""
    lake, deaths = tmp_path / "lake", tmp_path / "deaths"
    deaths.mkdir()
    for i in range(50):
        write(lake / f"{i}.parquet", {"x": np.random.default_rng(i).normal(size=1_000)})
    right = run(lake, {}, threads=1)
    cut_work(monkeypatch, max_files=2)
    client = client_of(4)
    client.register_plugin(KillWorkers(deaths, nth=3, deaths=2))
    try:
        assert same(right, run(lake, {}, client=client))
    finally:
        client.unregister_worker_plugin("kill-workers")
    assert len(list(deaths.glob("_death-*"))) == 2


@pytest.fixture(scope="module")
def many_groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """96 files, each with all of 200 groups: the state of one is 1.2 MB."""
    folder, g = tmp_path_factory.mktemp("groups"), np.random.default_rng(3)
    for i in range(96):
        key = g.permutation(400) % 200
        write(folder / f"{i:02}.parquet", {"x": g.standard_t(3, 400), "key": key})
    return folder


@pytest.mark.parametrize(
    "deaths", [pytest.param(0, marks=pytest.mark.slow), 1, pytest.param(2, marks=pytest.mark.slow)]
)
def test_large_states_are_merged_before_they_come(
    many_groups: Path, deaths: int, client_of: Clients, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = run(many_groups, {"by": "key"}, threads=1)
    cut_work(monkeypatch, max_files=1)
    received: list[int] = []
    wait = ClientTasks.wait

    def counted(self: ClientTasks, timeout: float) -> list[Finished]:
        finished = wait(self, timeout)
        for one in finished:
            if one.outcome is not None:
                state = one.outcome.state
                received.extend(s.nbytes for s in (state.states if isinstance(state, Merged) else [state]))
        return finished

    monkeypatch.setattr(ClientTasks, "wait", counted)
    client = client_of(4)
    client.register_plugin(KillWorkers(tmp_path, nth=3, deaths=deaths))
    try:
        assert same(right, run(many_groups, {"by": "key"}, client=client))
    finally:
        client.unregister_worker_plugin("kill-workers")
    assert len(list(tmp_path.glob("_death-*"))) == deaths
    assert min(received) > 1_000_000
    # of 96: one a thread, then sixteen units in one or two, fewer near the end
    assert len(received) <= 30, len(received)


@pytest.fixture
def eight_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for i in range(8):
        write(tmp_path / "t" / f"{i}.parquet", {"x": np.arange(1000.0) + i})
    monkeypatch.setattr(passes, "ReadAndReduce", FatalFile)
    cut_work(monkeypatch, max_files=1)
    return tmp_path / "t"


def test_a_file_that_kills_its_worker_twice(eight_files: Path, client_of: Clients) -> None:
    (eight_files / "_fatal").write_text("5.parquet\n2")
    client = client_of(4)
    found = run(eight_files, {}, client=client)
    assert len(list(eight_files.glob("_death-*"))) == 2
    (eight_files / "_fatal").write_text("5.parquet\n0")
    assert same(found, run(eight_files, {}, threads=1))


@pytest.mark.slow  # six deaths of workers; a unit of work that does so is in cluster/test_cluster_client.py
def test_a_file_that_always_kills_its_worker_is_named(eight_files: Path, client_of: Clients) -> None:
    (eight_files / "_fatal").write_text("5.parquet\n1000")
    client = client_of(4)
    with pytest.raises(dm.ResourceError, match=r"5\.parquet.*memory") as caught:
        run(eight_files, {}, client=client)
    assert "\n" not in str(caught.value)
    (eight_files / "_fatal").write_text("none\n0")
    client.wait_for_workers(1, timeout=240)
    assert run(eight_files, {}, client=client).n_rows == 8_000, "the cluster goes on"


def test_tasks_carry_paths_and_numbers_only(
    client_of: Clients, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below 300 bytes for each file, whatever the files hold, and no warning of a large graph."""
    import cloudpickle

    sizes = []
    send = ClientTasks.submit

    def submit(self: ClientTasks, unit: Any, attempt: int) -> None:
        sizes.append(len(cloudpickle.dumps((self._work, unit))))
        send(self, unit, attempt)

    monkeypatch.setattr(ClientTasks, "submit", submit)
    for i in range(200):
        write(tmp_path / f"{i:04}.parquet", {"x": np.full(1000, float(i)), "w": np.ones(1000)})
    found = run(tmp_path, {}, client=client_of(2))
    assert found.plain_estimate == pytest.approx(99.5)
    assert sum(sizes) < 200 * 300 and len(sizes) <= 20


def test_thousands_of_files_are_few_tasks(
    client_of: Clients, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = write(tmp_path / "one.parquet", {"x": [1.0, 3.0]}).read_bytes()
    (tmp_path / "t").mkdir()
    for i in range(1_000):
        (tmp_path / "t" / f"p{i:06}.parquet").write_bytes(one)
    n_units = []
    send = ClientTasks.submit

    def submit(self: ClientTasks, unit: Any, attempt: int) -> None:
        n_units.append(unit.number)
        send(self, unit, attempt)

    monkeypatch.setattr(ClientTasks, "submit", submit)
    found = run(tmp_path / "t", {}, client=client_of(2))
    assert (found.plain_estimate, found.n_rows, found.data["n_files"]) == (2.0, 2_000, 1_000)
    assert len(n_units) <= 100


@pytest.mark.slow
def test_twenty_thousand_files(tmp_path: Path) -> None:
    one = write(tmp_path / "one.parquet", {"x": [1.0, 3.0]}).read_bytes()
    (tmp_path / "t").mkdir()
    for i in range(20_000):
        (tmp_path / "t" / f"p{i:06}.parquet").write_bytes(one)
    found = dm.mean(tmp_path / "t", rng=0)
    assert (found.plain_estimate, found.n_rows) == (2.0, 40_000)
    assert found.run["seconds"] < 60  # about 6 s on two quiet cores


@pytest.mark.parametrize(("small_bytes", "times"), [(-1, 1), (10**9, 0)], ids=["compiled", "NumPy"])
def test_kernels_are_loaded_beforehand_where_the_plan_wants_them(
    lake: Path, small_bytes: int, times: int, client_of: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = []
    prepare = ClientExecutor.prepare
    monkeypatch.setattr(mean_plan, "SMALL_BYTES", small_bytes)
    monkeypatch.setattr(
        ClientExecutor, "prepare", lambda self, load: (loaded.append(load), prepare(self, load))
    )
    client = client_of(2)
    assert dm.explain(dm.mean, lake, "x", executor=client)["engine"] == ("compiled" if times else "numpy")
    assert not loaded, "looking starts nothing"
    assert same(run(lake, {}, threads=1), run(lake, {}, client=client))
    assert loaded == [load_kernels] * times


def test_a_damaged_file_leaves_the_workers_alive(client_of: Clients, tmp_path: Path) -> None:
    for i in range(3):
        write(tmp_path / f"{i}.parquet", {"x": np.ones(10)})
    damaged = tmp_path / "1.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-20])
    client = client_of(2)
    before = set(client.scheduler_info(n_workers=-1)["workers"])
    with pytest.raises(dm.BadFileError, match=r"1\.parquet"):
        run(tmp_path, {}, client=client)
    assert run(tmp_path, {"on_bad_file": "skip"}, client=client).n_rows == 20
    assert set(client.scheduler_info(n_workers=-1)["workers"]) == before


def test_files_rewritten_between_two_runs_on_one_cluster(client_of: Clients, tmp_path: Path) -> None:
    client = client_of(1)
    write(tmp_path / "0.parquet", {"x": [1.0, 1.0]})
    assert run(tmp_path, {}, client=client).plain_estimate == 1.0
    write(tmp_path / "0.parquet", {"x": [5.0] * 10})
    found = run(tmp_path, {}, client=client)
    assert (found.plain_estimate, found.n_rows) == (5.0, 10)


def test_many_files_are_counted_on_the_workers(client_of: Clients, tmp_path: Path) -> None:
    for i in range(100):
        write(tmp_path / f"{i:03}.parquet", {"x": np.full(i % 4, float(i))})
    bad = tmp_path / "050.parquet"
    bad.write_bytes(b"PAR1 no footer PAR1")
    options = {"order": "stored", "n_blocks": 5}
    client = client_of(2)
    with pytest.raises(dm.BadFileError, match=r"050\.parquet"):
        run(tmp_path, options, client=client)
    right = run(tmp_path, {**options, "on_bad_file": "skip"}, threads=2)
    found = run(tmp_path, {**options, "on_bad_file": "skip"}, client=client)
    assert same(found, right) and [s["file"] for s in found.data["skipped"]] == ["050.parquet"]


def test_data_in_memory_stays_here(client_of: Clients) -> None:
    x = np.arange(1000.0)
    assert same(run(x, {}, client=client_of(1)), run(x, {}, threads=1))


def test_data_in_memory_stays_here_beside_an_active_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is asked of it."""
    from distributed import Client, LocalCluster

    x, settings = np.arange(1000.0), {"dashboard_address": "127.0.0.1:0"}
    monkeypatch.setattr(ClientExecutor, "begin", lambda *_: pytest.fail("data in memory was sent away"))
    with (
        LocalCluster(1, processes=False, dashboard_address=None, scheduler_kwargs=settings) as cluster,
        Client(cluster),
    ):
        dm.mean(x, rng=0)
        dm.ustatistic(x, kernel="gini", rng=0)
        dm.ustatistic([x, x + 1.0], kernel="auc", rng=0)
        dm.describe(x, rng=0)
        dm.difference({"x": x, "arm": x % 2}, "x", by="arm", rng=0)
        dm.tournament({"x": x, "y": x + 1.0}, ["x"], "y", rng=0)
        assert dm.explain(dm.ustatistic, x, kernel="gini")["threads"] == dm.explain(dm.mean, x)["threads"]


# of processes: cluster/executors/test_cluster_local.py, too
@pytest.mark.parametrize("way", ["threads", pytest.param("processes", marks=pytest.mark.slow)])
def test_a_plain_script_without_a_main_guard(way: str, tmp_path: Path) -> None:
    """A cluster opened at the top level of a script dies, elsewhere, in a cascade of spawn tracebacks."""
    write(tmp_path / "t" / "a.parquet", {"x": [1.0, 3.0]})
    more = "" if way == "threads" else ", executor=dm.Processes(2)"
    script = tmp_path / "job.py"
    script.write_text(
        "import distmom as dm\n"
        "dm.options(warn=False)\n"
        "print('estimate of', 'x')\n"
        f"print(dm.mean({str(tmp_path / 't')!r}, rng=0{more}).plain_estimate)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["estimate of x", "2.0"] and not done.stderr
