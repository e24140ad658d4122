"""The batch job ``summary``: results, log lines, exit codes, processes."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from job_example import ROOT, SUMMARY, TEMPLATES

import distmom as dm
import distmom.jobs.log_lines as log_room
from distmom.cli.program import program
from distmom.jobs import main
from distmom.jobs.keys import RUN
from distmom.jobs.kinds.summary import JOB, MEAN
from distmom.jobs.objects import DESIGNS, fields_of

Run = Callable[..., Any]
OWN = "from distmom.jobs import main\nfrom distmom.jobs.kinds.summary import JOB\nmain(JOB)\n"
TEMPLATE = TEMPLATES / "summary.toml"


def test_it_writes_what_python_computes(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")  # paths are those beside the file
    ended = run(folder / "job.toml")
    assert (ended.code, ended.out) == (0, "")
    assert "finished with exit code 0" in ended.err
    document = json.loads((folder / "out.json").read_text())
    expected = dm.mean(folder / "lake", "x", by="kind", rng=0)
    assert isinstance(expected, dm.Results)
    assert document["results"] == expected.to_dict()["results"]
    assert sorted(p.name for p in folder.iterdir()) == ["job.toml", "lake", "out.json"]


def test_options_reach_the_estimator(run: Run, folder: Path) -> None:
    (folder / "list.txt").write_text(f"{folder}/lake/f0.parquet\n{folder}/lake/f1.parquet\n")
    (folder / "job.toml").write_text(
        """
        pipeline = "summary"
        mean = { columns = ["x", "y"] }
        blocks = { n = 7 }
        promise = { interval = "cantelli", confidence = 0.9 }
        run = { seed = 5, threads = 1, memory_limit = "2GB" }
        output.files = ["out.json", "out.csv", "out.parquet", "out.html"]
        [data]
        paths = ["@list.txt", "lake/f2.*"]
        where = "x > 0.1"
        on_bad_file = "skip"
        nan = "raise"
        batch_rows = 100
        """
    )
    ended = run(folder / "job.toml")
    assert ended.code == 0, ended.err
    expected = dm.mean(
        sorted((folder / "lake").iterdir()),
        ["x", "y"],
        where="x > 0.1",
        interval="cantelli",
        confidence_level=0.9,
        rng=5,
        blocks=7,
    )
    assert isinstance(expected, dm.Results)
    assert json.loads((folder / "out.json").read_text())["results"] == expected.to_dict()["results"]
    assert pq.read_table(folder / "out.parquet")["estimate"].to_pylist() == [r.estimate for r in expected]


def test_weights_are_named(run: Run, folder: Path) -> None:
    (folder / "job.toml").write_text(SUMMARY.replace("[mean]", '[mean]\nweights = "y"'))
    assert run(folder / "job.toml").code == 0
    [first, *_] = json.loads((folder / "out.json").read_text())["results"]
    expected = dm.mean(folder / "lake", "x", by="kind", weights="y", rng=0)
    assert first["weights"] == "y" and first["estimate"] == expected[0].estimate  # type: ignore[index]


def test_a_joint_vector(run: Run, folder: Path) -> None:
    for written, joint in (("true", True), ('"coordinatewise"', "coordinatewise")):
        (folder / "job.toml").write_text(
            f"""
            pipeline = "summary"
            data = {{ path = "lake" }}
            mean = {{ columns = ["x", "y"], joint = {written} }}
            output.files = ["out.json", "out.html"]
            """
        )
        ended = run(folder / "job.toml")
        assert ended.code == 0, ended.err
        expected = dm.mean(folder / "lake", ["x", "y"], joint=joint, rng=0)
        assert isinstance(expected, dm.VectorResult)
        assert json.loads((folder / "out.json").read_text())["results"] == [expected.to_dict()]
    (folder / "job.toml").write_text(SUMMARY.replace("by =", "joint = 3\nby ="))
    ended = run(folder / "job.toml")
    assert ended.code == 2 and "joint: must be true, false or a text, not 3" in ended.err


def test_every_option_of_python_can_be_configured() -> None:
    known = {key.name or name for keys in JOB.tables.values() for name, key in keys.items()}
    of_python = {name for f in (dm.mean, dm.scan) for name in inspect.signature(f).parameters}
    assert of_python - {"blocks", "executor"} <= known
    words = {name for kind in DESIGNS.values() for name in fields_of(kind)}
    assert words == JOB.tables["blocks"].keys() - {"design"}


def test_json_lines_tell_the_story(run: Run, folder: Path) -> None:
    ended = run(folder / "job.toml", log_json=True)
    lines = ended.lines()
    assert [line["event"] for line in lines] == ["start", "wrote", "results", "finish"]
    assert all(list(line)[:4] == ["time", "level", "event", "message"] for line in lines)
    assert lines[-1]["exit_code"] == 0 == ended.code
    assert lines[-1]["outputs"] == [str(folder / "out.json")]
    assert lines[-2]["n_results"] == 2
    (folder / "job.toml").write_text(SUMMARY + '[run]\nlog = "json"\n')
    assert [line["event"] for line in run(folder / "job.toml").lines()] == [line["event"] for line in lines]


def test_failures_are_json_lines_too(run: Run, folder: Path) -> None:
    (folder / "job.toml").write_text(SUMMARY.replace("by =", "bye ="))
    ended = run(folder / "job.toml", log_json=True)
    error, finish = ended.lines()
    assert (error["event"], error["level"], error["exit_code"]) == ("error", "error", 2)
    assert (finish["event"], finish["exit_code"]) == ("finish", 2)
    assert ended.code == 2


def test_skipped_files(run: Run, folder: Path) -> None:
    file = folder / "lake" / "f1.parquet"
    file.write_bytes(file.read_bytes()[:-10])
    ended = run(folder / "job.toml")
    assert ended.code == 3
    assert "f1.parquet" in ended.err
    assert not (folder / "out.json").exists()
    (folder / "job.toml").write_text(SUMMARY.replace('"lake"', '"lake"\non_bad_file = "skip"'))
    ended = run(folder / "job.toml", log_json=True)
    assert ended.code == 4
    [skipped] = [line for line in ended.lines() if line["event"] == "skipped"]
    assert skipped["file"] == "f1.parquet"
    assert json.loads((folder / "out.json").read_text())["data"]["skipped"][0]["file"] == "f1.parquet"


def test_no_answer_and_no_memory(run: Run, folder: Path) -> None:
    (folder / "job.toml").write_text(SUMMARY.replace('"lake"', '"lake"\nwhere = "x < 0"'))
    assert run(folder / "job.toml").code == 5
    (folder / "job.toml").write_text(SUMMARY + '[run]\nmemory_limit = "1MB"\n')
    assert run(folder / "job.toml").code == 6
    assert not (folder / "out.json").exists()


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (RuntimeError("a\nb"), 1, "distmom: internal error: RuntimeError: a\\nb; set DISTMOM_DEBUG=1"),
        (MemoryError(), 6, "distmom: out of memory"),
        (KeyboardInterrupt(), 130, "distmom: interrupted\n"),
    ],
)
def test_whatever_happens_is_one_line(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, text: str
) -> None:
    def mean(*_: object, **__: object) -> None:
        raise error

    monkeypatch.delenv("DISTMOM_DEBUG", raising=False)
    monkeypatch.setattr(dm, "mean", mean)
    ended = run(folder / "job.toml", quiet=True)
    assert ended.code == code
    assert ended.err.startswith(text)
    assert ended.err.count("\n") == 1


def test_a_failure_while_writing_leaves_the_old_file(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os as system

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    (folder / "out.json").write_text("old")
    monkeypatch.setattr(system, "fsync", full)
    ended = run(folder / "job.toml")
    assert ended.code == 6
    assert "No space left" in ended.err
    assert (folder / "out.json").read_text() == "old"
    assert sorted(p.name for p in folder.iterdir()) == ["job.toml", "lake", "out.json"]


def test_dry_run_reads_no_rows(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from distmom.lake import Reader

    def never(*_: object, **__: object) -> None:
        raise AssertionError("a row was read")

    monkeypatch.setattr(Reader, "batches", never)
    ended = run(folder / "job.toml", dry_run=True)
    assert ended.code == 0
    assert "plan: n_files 3" in ended.err
    lines = run(folder / "job.toml", dry_run=True, log_json=True).lines()
    assert [line["event"] for line in lines] == ["start", "plan", "finish"]
    assert lines[1]["plan"]["n_files"] == 3
    assert not (folder / "out.json").exists()
    (folder / "job.toml").write_text(SUMMARY.replace('["x"]', '["z"]'))
    assert run(folder / "job.toml", dry_run=True).code == 2
    (folder / "job.toml").write_text(SUMMARY)
    ended = run(folder / "job.toml")  # the control: a real run reads, and a function of these tests fails
    assert ended.code == 2 and "a row was read" in ended.err


def test_progress_is_one_line_a_minute(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    said: list[dict[str, Any]] = []
    monkeypatch.setattr(log_room, "monotonic", lambda: now[0])
    monkeypatch.setattr(log_room, "log", lambda event, message, **fields: said.append(fields))
    lines = log_room.MinuteLines()
    for _ in range(2):  # two rounds
        lines.begin(300, 300)
        for _ in range(300):
            now[0] += 1.0
            lines.advance(10, 1)
        lines.end()
    assert len(said) == 10
    assert said[0]["n_rows"] == 600
    assert said[0]["total_bytes"] == 300


def test_progress_lines_are_json(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_room, "EVERY", 0.0)
    lines = run(folder / "job.toml", log_json=True).lines()
    progress = [line for line in lines if line["event"] == "progress"]
    assert progress[-1]["n_rows"] == 1200


def test_the_command_line_runs_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run(["run", str(folder / "job.toml"), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert (folder / "out.json").exists()
    assert program.run(["run"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_job_of_ones_own_is_a_module(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "own").mkdir()
    (folder / "own/job.py").write_text(OWN)
    with pytest.raises(SystemExit) as ended:
        main(JOB, ["--nothing"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("distmom: ")
    done = subprocess.run(
        [sys.executable, "-m", "own.job", folder / "job.toml", "--log-json"],
        cwd=folder,
        capture_output=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0
    assert json.loads(done.stderr.splitlines()[-1])["exit_code"] == 0
    again = json.loads((folder / "out.json").read_text())["run"]["command"]
    assert again == f"python -m own.job {folder / 'job.toml'}"
    refused = subprocess.run(
        [sys.executable, "-m", "own.job", folder / "none.toml"],
        cwd=folder,
        capture_output=True,
        timeout=240,
        check=False,
    )
    assert refused.returncode == 2
    assert refused.stderr.startswith(b"distmom: ")
    assert refused.stderr.count(b"\n") == 1


def wait_until_it_reads(lake: Path, running: subprocess.Popen[bytes]) -> None:
    """Until a file of the lake is open in the process."""
    fds, deadline = Path(f"/proc/{running.pid}/fd"), time.monotonic() + 30
    while time.monotonic() < deadline:
        for fd in fds.iterdir():
            with contextlib.suppress(OSError):  # closed meanwhile
                if fd.readlink().is_relative_to(lake):
                    return
    raise AssertionError("no file of the lake was read within 30 seconds")


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGTERM, 143, "terminated"), (signal.SIGINT, 130, "interrupted")]
)
def test_signals_end_it_cleanly(tmp_path: Path, number: int, code: int, word: str) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    first = lake / "0.parquet"
    pq.write_table(pa.table({"x": np.arange(100.0), "kind": ["a", "b"] * 50}), first)
    for other in range(1, 10_000):
        os.link(first, lake / f"{other}.parquet")
    (tmp_path / "job.toml").write_text(SUMMARY)
    with subprocess.Popen(
        [sys.executable, "-m", "distmom", "run", tmp_path / "job.toml", "--log-json"],
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stderr is not None
        assert json.loads(running.stderr.readline())["event"] == "start"
        if number == signal.SIGINT:  # which imports may swallow; SIGTERM is remembered
            wait_until_it_reads(lake, running)
        running.send_signal(number)
        _, err = running.communicate(timeout=240)
    lines = [json.loads(line) for line in err.splitlines()]
    assert [line["event"] for line in lines] == ["error", "finish"]
    assert lines[0]["message"] == word
    assert running.returncode == lines[1]["exit_code"] == code
    assert not (tmp_path / "out.json").exists()


SIGNAL_WHILE_LOADING = """
import signal, sys

class Finder:
    met = False

    def find_spec(self, name, *_):
        if name == "distmom.estimators.mean.mean" and not Finder.met:
            Finder.met = True
            # from a string, as in the making of a dataclass
            exec("signal.raise_signal(signal.{signal})")

sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize("words", [["distmom", "run"], ["own.job"]], ids=" ".join)
@pytest.mark.parametrize(
    ("number", "code", "word"), [("SIGTERM", 143, "terminated"), ("SIGINT", 130, "interrupted")]
)
@pytest.mark.one_in(2)
def test_a_signal_while_modules_load_ends_it_with_its_code(
    folder: Path, words: list[str], number: str, code: int, word: str
) -> None:
    """Python itself would die of SIGINT: it takes interrupts of such code for unhandled, caught or not."""
    hook = folder / "hook"
    hook.mkdir()
    (hook / "own").mkdir()
    (hook / "own/job.py").write_text(OWN)
    (hook / "sitecustomize.py").write_text(SIGNAL_WHILE_LOADING.format(signal=number))
    path = os.pathsep.join([str(hook), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", *words, folder / "job.toml", "--quiet"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stderr.decode()) == (code, f"distmom: {word}\n")
    assert not (folder / "out.json").exists()


def test_a_request_to_end_that_was_swallowed_is_heard_at_the_next_progress(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mean_itself = dm.mean

    def mean(*words: Any, **options: Any) -> Any:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        return mean_itself(*words, **options)

    monkeypatch.setattr(dm, "mean", mean)
    ended = run(folder / "job.toml")
    assert ended.code == 143
    assert ended.err.splitlines()[-1] == "distmom: terminated"
    assert not (folder / "out.json").exists()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.slow
def test_the_job_of_the_repository_works_on_the_demonstration(run: Run, demo: Path) -> None:
    folder = demo.parent / "pipelines"
    folder.mkdir()
    file = folder / "summary.toml"
    shutil.copy(ROOT / "pipelines/summary.toml", file)
    ended = run(file)
    assert ended.code == 0, ended.err
    results = json.loads((demo / "summary.json").read_text())["results"]
    assert {r["column"] for r in results} == {"dep_delay", "arr_delay"}
    assert len({r["group"]["carrier"] for r in results}) == 16
    damaged_lake = file.read_text().replace("demo/clean", "demo/damaged")
    file.write_text(damaged_lake + '\n[blocks]\ndesign = "files"\n')
    assert run(file).code in (0, 5)
    damaged = json.loads((demo / "summary.json").read_text())["results"]
    for good, bad in zip(results, damaged, strict=True):
        if good["n_used"] > 10_000:
            assert abs(bad["estimate"] - good["estimate"]) < 10 < bad["plain_estimate"]


def test_the_template_shows_every_key_and_its_default() -> None:
    text = TEMPLATE.read_text()
    commented = re.sub(r"^# (?=[a-z_]+ = )", "", text, flags=re.MULTILINE)
    every = tomllib.loads(commented)
    defaults = {n: p.default for n, p in inspect.signature(dm.mean).parameters.items()}
    defaults["rng"] = 0
    shown = set(every["data"]) | set(every["mean"]) | set(every["run"])
    for name, key in {**MEAN, **RUN}.items():
        assert {name, key.name} & shown or any(k.name == name for k in MEAN.values()) or name == "rng"
        for word in {name} & shown:
            default = defaults.get(key.name or word)
            if default is not None and re.search(rf"^# {word} = ", text, re.MULTILINE):
                value = {**every["mean"], **every["run"]}[word]
                assert value == default, word


def test_a_state_makes_a_nightly_job_incremental(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    (folder / "job.toml").write_text(SUMMARY + '[run]\nstate = "night.state"\n')
    last = folder / "f2.parquet"
    (folder / "lake" / "f2.parquet").rename(last)
    assert run(folder / "job.toml").code == 0
    assert (folder / "night.state").exists()
    last.rename(folder / "lake" / "f2.parquet")
    ended = run(folder / "job.toml", log_json=True)
    [said] = [line for line in ended.lines() if line["event"] == "state"]
    assert (said["n_files_before"], said["n_files_read"], said["restarted"]) == (2, 1, None)
    expected = dm.mean(folder / "lake", "x", by="kind", rng=0)
    assert isinstance(expected, dm.Results)
    assert json.loads((folder / "out.json").read_text())["results"] == expected.to_dict()["results"]
    os.utime(folder / "lake" / "f0.parquet", ns=(0, 0))
    refused = run(folder / "job.toml")
    assert refused.code == 3 and "f0.parquet (rewritten, same size)" in refused.err
    (folder / "job.toml").write_text(SUMMARY + '[run]\nstate = "night.state"\non_change = "restart"\n')
    assert run(folder / "job.toml").code == 0
    (folder / "job.toml").write_text(SUMMARY + '[run]\nstate = "night.state"\nseed = 5\n')
    ended = run(folder / "job.toml")
    assert ended.code == 2 and "job.toml, line 13: run.state" in ended.err and "rng was 0, now 5" in ended.err
