"""What 'distmom init slurm' writes, on a real SLURM of one node: needs slurm-wlm and munge, and root."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from listening import answered, listening
from programs import ROOT, distmom, run, wait_until
from slurm_node import missing_programs, slurm

SCRIPTS = ROOT / "distmom/jobs/templates/slurm"
pytestmark = [pytest.mark.slow, pytest.mark.cluster, pytest.mark.xdist_group("slurm")]


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    absent = missing_programs()
    if (absent or os.geteuid() != 0) and "CI" not in os.environ:
        pytest.skip(f"SLURM cannot be started here: {', '.join(absent) or 'not root'}")
    folder = tmp_path_factory.mktemp("slurm")
    for parent in (folder, *folder.parents):  # munged is another user
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    with slurm(folder) as settings:
        programs = str(Path(sys.executable).parent)
        yield {
            **settings,
            "DISTMOM_BIN": programs,
            "DISTMOM_SHARED": str(folder),
            "DISTMOM_INTERFACE": "lo",
            "DISTMOM_DEPLOY": str(SCRIPTS),
        }


def results(file: Path) -> object:
    return json.loads(file.read_text())["results"]


def submit(
    queue: dict[str, str], folder: Path, script: str, *words: object, options: tuple[str, ...] = ()
) -> str:
    """Submit one of the scripts; the number of its job."""
    log = f"--output={folder}/job-%j.log"
    file = SCRIPTS / f"{script}.sbatch"
    code, out, err = run("sbatch", "--parsable", log, *options, file, *words, **queue)
    assert code == 0, err
    return out.strip().split(";")[0]


def ended(queue: dict[str, str], job: str, folder: Path) -> tuple[str, str]:
    """State and exit code of a job that is over, with its log if it failed."""

    def facts() -> dict[str, str]:
        return dict(re.findall(r"(\w+)=(\S+)", run("scontrol", "show", "job", job, **queue)[1]))

    over = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")
    wait_until(lambda: facts().get("JobState") in over, f"end of job {job}", 360)
    if facts()["JobState"] != "COMPLETED":
        print((folder / f"job-{job}.log").read_text())
    return facts()["JobState"], facts()["ExitCode"]


def test_a_job_gives_the_result_of_this_machine(queue: dict[str, str], lake: Path, tmp_path: Path) -> None:
    there, here = tmp_path / "there.json", tmp_path / "here.json"
    task = ("mean", lake, "-c", "x")
    job = submit(queue, tmp_path, "distmom", *task, "--output", there)
    assert ended(queue, job, tmp_path) == ("COMPLETED", "0:0")
    assert distmom(*task, "--output", here)[0] == 0
    assert results(there) == results(here)
    assert not list(Path(queue["DISTMOM_SHARED"]).glob(".distmom-*"))


def of_job(job: str) -> list[int]:
    """Processes of Dask that a job started."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            python = "python" in Path(process.exe()).name  # srun has sockets of its own
            if (
                python
                and process.environ().get("SLURM_JOB_ID") == job
                and "dask" in " ".join(process.cmdline())
            ):
                found.append(process.pid)
    return found


@pytest.mark.parametrize("closed", [False, True], ids=["open", "with certificates"])
def test_a_job_listens_on_its_interface_and_answers_http_to_its_node_alone(
    queue: dict[str, str], long_lake: Path, tmp_path: Path, closed: bool
) -> None:
    settings = dict(queue)
    if closed:  # then on all addresses, for members alone
        del settings["DISTMOM_INTERFACE"]
        settings["DISTMOM_TLS"] = str(tmp_path / "tls")
        assert run(ROOT / "deploy/tls/make-certificates", tmp_path / "tls", "127.0.0.1")[0] == 0
    task = ("mean", long_lake, "-c", "x", "--batch-rows", "2")
    job = submit(settings, tmp_path, "distmom", *task, options=("--ntasks=1",))
    wait_until(lambda: len(listening(*of_job(job))) >= 5, "scheduler, worker and nanny")
    sockets = listening(*of_job(job))
    if closed:
        assert any(not one.loopback for one in sockets)
    for one in sockets:
        assert one.loopback or (closed and answered(one, "/health") is None), one
    assert run("scancel", job, **queue)[0] == 0
    ended(queue, job, tmp_path)


def test_a_job_ends_with_the_exit_code_of_its_command(
    queue: dict[str, str], lake: Path, tmp_path: Path
) -> None:
    job = submit(queue, tmp_path, "distmom", "mean", lake, "-c", "no such column")
    assert ended(queue, job, tmp_path) == ("FAILED", "2:0")


def test_a_pipeline_runs_on_the_cluster_of_its_job(queue: dict[str, str], lake: Path, tmp_path: Path) -> None:
    config = tmp_path / "job.toml"
    config.write_text(
        f"pipeline = 'summary'\n[data]\npath = '{lake}'\n[mean]\ncolumns = ['x']\n"
        f"[run]\nthreads = 1\n[output]\nfiles = ['{tmp_path / 'there.json'}']\n"
    )
    job = submit(queue, tmp_path, "distmom", "run", config)
    assert ended(queue, job, tmp_path) == ("COMPLETED", "0:0")
    assert distmom("mean", lake, "-c", "x", "--output", tmp_path / "here.json")[0] == 0
    assert results(tmp_path / "there.json") == results(tmp_path / "here.json")


@pytest.mark.parametrize("way", ["their wall time comes", "their job is cancelled"])
def test_half_of_the_workers_leave(
    queue: dict[str, str], long_lake: Path, few_rows: str, tmp_path: Path, way: str
) -> None:
    """Batches of few rows make the run long enough for it to lose its workers in the middle."""
    from distributed import Client

    there, here = tmp_path / "there.json", tmp_path / "here.json"
    task = ("mean", long_lake, "-c", "x")
    slowly = ("--batch-rows", few_rows, "--output", there)
    job = submit(queue, tmp_path, "distmom", *task, *slowly, options=("--ntasks=2",))
    told = Path(queue["DISTMOM_SHARED"]) / f".distmom-{job}.json"
    wait_until(told.exists, "scheduler")
    leaving = {**queue, "DISTMOM_LIFETIME": "4"} if way == "their wall time comes" else queue
    others = submit(leaving, tmp_path, "workers", told, options=("--ntasks=2",))
    with Client(scheduler_file=str(told), set_as_default=False) as client:
        wait_until(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == 4, "four workers")
        wait_until(lambda: all(client.processing().values()), "work for each of them")
        if way == "their job is cancelled":
            run("scancel", others, **queue)
        wait_until(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == 2, "two workers")
        assert any(client.processing().values()), "the run was over before"
    assert ended(queue, job, tmp_path) == ("COMPLETED", "0:0")
    assert distmom(*task, "--output", here)[0] == 0
    assert results(there) == results(here)


def test_workers_from_jobqueue(queue: dict[str, str], lake: Path, tmp_path: Path) -> None:
    """In a process of its own, since the configuration is read when Dask is imported."""
    script = f"""
import distmom as dm
from dask_jobqueue import SLURMCluster
from distributed import Client

settings = {{"python": {sys.executable!r}, "log_directory": {str(tmp_path)!r}, "interface": "lo"}}
with SLURMCluster(scheduler_options={{"dashboard": False}}, **settings) as cluster, Client(cluster):
    cluster.scale(jobs=2)
    found = dm.mean({str(lake)!r}, "x", rng=0)
    assert found.estimate == dm.mean({str(lake)!r}, "x", rng=0, executor=dm.Threads(1)).estimate
    print(len(cluster.scheduler_info["workers"]))
"""
    settings = {**queue, "DASK_CONFIG": str(SCRIPTS / "jobqueue.yaml")}
    code, out, err = run(sys.executable, "-c", script, **settings)
    assert code == 0, err
    assert int(out) > 0
