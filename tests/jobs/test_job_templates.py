"""Templates: each names every key of its tables, and runs once it is told what to read."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from job_example import ROOT, TEMPLATES

from distmom.cli.program import program
from distmom.jobs.job import job_of_kind, kind_names
from distmom.jobs.template_files import is_folder, template_files, template_names
from distmom.lake import Reader

Run = Callable[..., Any]
KINDS = ("drift", "nightly", "summary", "tournament", "train", "ustat")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Folders with the names and columns that templates name."""
    for number, name in enumerate(("lake", "before", "after")):
        (tmp_path / name).mkdir()
        g = np.random.default_rng(number)
        for file in range(2):
            y = g.normal(size=500)
            columns = {"amount": y + 1, "y": y, "model_a": y + g.normal(size=500), "model_b": 0.5 * y}
            pq.write_table(pa.table(columns), tmp_path / name / f"{file}.parquet")
    return tmp_path


def test_every_kind_has_a_template() -> None:
    assert tuple(kind_names()) == KINDS
    assert template_names() == sorted([*KINDS, "slurm", "kubernetes"])
    assert [name for name in template_names() if is_folder(name)] == ["kubernetes", "slurm"]


@pytest.mark.parametrize("kind", KINDS)
def test_it_names_every_key(kind: str) -> None:
    """As a key, active or in a comment; other words for the same in one of the two."""
    (text,) = template_files(kind).values()
    parts = re.split(r"(?m)^\[(\w+)\]", text)
    shown = dict(zip(parts[1::2], parts[2::2], strict=True))
    job = job_of_kind(kind)
    assert shown.keys() == job.tables.keys()
    for table, keys in job.tables.items():
        found = set(re.findall(r"(?m)^(?:# )?(\w+) = ", shown[table]))
        assert not [key for key in found if keys[key].refused]
        said = {keys[key].name or key for key in found}
        missing = {name for key, spec in keys.items() if (name := spec.name or key) not in said}
        assert not {name for name in missing if not keys[name].refused and name not in shown[table]}, table


@pytest.mark.parametrize("kind", KINDS)
def test_it_runs(
    run: Run, lake: Path, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if kind == "train":
        pytest.importorskip("sklearn")
    monkeypatch.chdir(lake)
    assert program.run(["init", kind]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"wrote {kind}.toml\n") and told.endswith(f"    distmom run {kind}.toml\n")
    file = lake / f"{kind}.toml"
    with monkeypatch.context() as patch:
        patch.setattr(Reader, "batches", None)  # a row that is read would be an error
        planned = run(file, dry_run=True)
    assert planned.code == 0, planned.err
    before = {path.name for path in lake.iterdir()}
    ended = run(file)
    assert ended.code == 0, ended.err
    report = json.loads((lake / f"{kind}.json").read_text())
    assert report["results"] if kind != "tournament" else report["champions"] == ["model_b"]
    written = tomllib.loads(file.read_text())["output"]["files"]
    assert {*written} <= {path.name for path in lake.iterdir()} - before


@pytest.mark.parametrize("kind", KINDS)
def test_the_job_of_the_repository_is_one_of_its_kind(run: Run, kind: str) -> None:
    """Not a second template: without a comment beside the first line."""
    text = (ROOT / f"pipelines/{kind}.toml").read_text()
    assert text.startswith("# ") and text.count("#") == 1
    assert tomllib.loads(text)["pipeline"] == kind


def test_scripts_of_slurm_and_manifests_are_written_to_run(tmp_path: Path) -> None:
    for name in ("slurm", "kubernetes"):
        folder = tmp_path / "new" / name
        assert program.run(["init", name, str(folder)]) == 0
        assert {p.name for p in folder.iterdir()} == {p.name for p in (TEMPLATES / name).iterdir()}
        for file in folder.iterdir():
            assert file.read_bytes() == (TEMPLATES / name / file.name).read_bytes()
            assert os.access(file, os.X_OK) == file.read_text().startswith("#!")
    for script in (tmp_path / "new/slurm").glob("*.sbatch"):
        subprocess.run(["bash", "-n", script], check=True)
        usage = subprocess.run([script], capture_output=True, text=True, check=False)
        assert usage.returncode == 2 and usage.stderr.count("\n") == 1
    words = [sys.executable, tmp_path / "new/kubernetes/manifests", "job"]
    made = subprocess.run(words, capture_output=True, text=True, check=True)
    kinds = [one["kind"] for one in yaml.safe_load_all(made.stdout)]
    assert kinds == ["NetworkPolicy", "DaskJob"]


def test_nothing_is_replaced_without_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slurm").mkdir()
    for name in ("summary.toml", "slurm/workers.sbatch"):
        (tmp_path / name).write_text("mine")
    for words in (["summary"], ["summary", "."], ["slurm"]):
        assert program.run(["init", *words]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and "exists; choose another name, or replace it with" in err
    assert (tmp_path / "summary.toml").read_text() == "mine"
    assert [p.name for p in (tmp_path / "slurm").iterdir()] == [
        "workers.sbatch"
    ]  # the others are not made either
    assert program.run(["init", "summary", "--force"]) == 0
    assert program.run(["init", "slurm", "--force"]) == 0
    assert "mine" not in (
        (tmp_path / "summary.toml").read_text(),
        (tmp_path / "slurm/workers.sbatch").read_text(),
    )


def test_scripts_may_be_run_by_those_who_may_read_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o077)
    try:
        assert program.run(["init", "slurm"]) == 0
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "slurm").iterdir()}
    assert set(modes.values()) == {0o600, 0o700}, modes


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sumary"], "did you mean 'summary'?"),
        (["summary", "none/job.toml"], "there is no folder 'none'; create it first"),
        (["summary", "job.txt"], "'job.txt' does not end in .toml"),
        (["kubernetes", "file"], "'file' is a file, not a folder"),
        (["summary", "folder.toml"], "wrote folder.toml/summary.toml"),
        (["summary", "other job.toml"], "distmom run 'other job.toml'"),
        ([], "missing argument"),
    ],
)
def test_where_it_is_written(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.toml").mkdir()
    code = program.run(["init", *words])
    out, err = capsys.readouterr()
    assert said in out + err
    assert (code, err.count("\n")) in ((0, 0), (2, 1))
    assert not (code and out)


def test_a_disk_that_is_full_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.chdir(tmp_path)
    shutil.copy(TEMPLATES / "train.toml", "summary.toml")
    monkeypatch.setattr(os, "fsync", full)
    assert program.run(["init", "summary", "--force"]) == 6
    assert "No space left" in capsys.readouterr().err
    assert [p.read_text() for p in tmp_path.iterdir()] == [(TEMPLATES / "train.toml").read_text()]
