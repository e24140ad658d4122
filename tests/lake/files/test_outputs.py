"""Nothing that is written may be one of the files that are read, or be read by the next run."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distmom as dm
from distmom.cli.program import program
from distmom.lake import open_lake
from distmom.lake.files.atomic import atomic_file
from distmom.lake.files.outputs import would_list

X = pa.table({"x": np.arange(500.0), "y": np.arange(500.0) % 7, "g": ["a", "b"] * 250})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lake of two files, one linked to, beside a link to the lake, a list and a single file."""
    (tmp_path / "lake/day=1").mkdir(parents=True)
    (tmp_path / "else").mkdir()
    pq.write_table(X, tmp_path / "lake/a.parquet")
    pq.write_table(X, tmp_path / "else/b.parquet")
    pq.write_table(X, tmp_path / "one.parquet")
    (tmp_path / "lake/far").symlink_to(tmp_path / "else")
    (tmp_path / "again").symlink_to(tmp_path / "lake")
    (tmp_path / "link.parquet").symlink_to(tmp_path / "one.parquet")
    (tmp_path / "hard.parquet").hardlink_to(tmp_path / "one.parquet")
    (tmp_path / "files.txt").write_text("one.parquet\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


ONE_OF_THEM = [
    ("one.parquet", "one.parquet"),
    ("one.parquet", "./lake/../one.parquet"),
    ("one.parquet", "hard.parquet"),
    ("one.parquet", "link.parquet"),
    ("link.parquet", "one.parquet"),
    ("@files.txt", "one.parquet"),
    ("on?.parquet", "one.parquet"),
    ("lake", "lake/a.parquet"),
    ("lake", "again/a.parquet"),
    ("again", "lake/a.parquet"),
    ("lake", "else/b.parquet"),
]
WOULD_BE_READ = [
    ("lake", "lake/new.parquet"),
    ("lake", "lake/new.json"),
    ("lake", "lake/day=1/new.csv"),
    ("lake", "again/new.parquet"),
    ("again", "lake/new.parquet"),
    ("lake", "else/new.html"),
    ("lake/*.parquet", "lake/new.parquet"),
    ("lake/**", "lake/day=1/new.parquet"),
    ("la*", "lake/new.json"),
]
FINE = [
    ("lake", "new.parquet"),
    ("lake", "lake/_new.parquet"),
    ("lake", "lake/.new.json"),
    ("lake/*.parquet", "lake/new.json"),
    ("lake/a.parquet", "lake/new.parquet"),
    ("one.parquet", "new.parquet"),
]


def content(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize(("data", "output"), ONE_OF_THEM + WOULD_BE_READ)
def test_an_output_among_the_data_is_refused(
    folder: Path, data: str, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(folder)
    assert program.run(["mean", data, "-c", "x", "--output", output]) == 2
    said = capsys.readouterr().err
    assert "--output" in said or "output" in said
    assert ("one of the files" in said) == ((data, output) in ONE_OF_THEM), said
    assert said.count("\n") == 1
    assert content(folder) == before


@pytest.mark.parametrize(("data", "output"), FINE)
def test_an_output_beside_the_data_is_written(folder: Path, data: str, output: str) -> None:
    assert program.run(["mean", data, "-c", "x", "--output", output, "--quiet"]) == 0
    assert (folder / output).stat().st_size
    assert program.run(["mean", data, "-c", "x", "--output", output, "--quiet"]) == 0, (
        "an earlier result is replaced"
    )


@pytest.mark.parametrize(
    "command",
    [
        ["describe", "lake"],
        ["ustat", "lake", "-c", "x", "--kernel", "gini"],
        ["mean", "lake", "-c", "x", "--by", "g", "--dry-run"],
        ["compare", "lake", "-c", "x", "--by", "g"],
        ["difference", "lake", "-c", "x", "--by", "g"],
        ["tournament", "lake", "--target", "x", "--loss", "squared", "--candidate", "y"],
    ],
    ids=lambda command: command[0],
)
def test_every_command_refuses(folder: Path, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = content(folder)
    assert program.run([*command, "--output", "lake/new.json"]) == 2
    assert "among the files of the data" in capsys.readouterr().err
    assert content(folder) == before


def test_a_job_refuses_and_says_its_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = 'pipeline = "summary"\n[data]\npath = "lake"\n[mean]\ncolumns = "x"\n'
    job += '[output]\nfiles = ["lake/a.parquet"]\n'
    (folder / "job.toml").write_text(job)
    before = content(folder)
    assert program.run(["run", "job.toml"]) == 2
    said = capsys.readouterr().err
    assert "one of the files that are read" in said
    assert "line 7" in said
    assert content(folder) == before


def test_a_model_and_a_curve_are_outputs_too(folder: Path) -> None:
    before = content(folder)
    scan = dm.scan("lake")
    dm.mean(scan, "x")  # the listing is known
    for words in ({"curve": "lake/c.csv"}, {"curve": "lake/a.parquet"}, {"model": "lake/m"}):
        with pytest.raises(dm.ConfigError, match=r"the data|are read"):
            dm.train(scan, "regression", target="x", columns="y", **words)
    assert content(folder) == before


def test_a_state_and_an_output_are_two_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["mean", "one.parquet", "-c", "x", "--quiet"]
    assert program.run([*words, "--state", "s.json", "--output", "./s.json"]) == 2
    assert "is the same file" in capsys.readouterr().err
    assert program.run([*words, "--state", "s.json", "--output", "r.json"]) == 0
    kept = (folder / "s.json").read_bytes()
    assert program.run(["merge", "s.json", "--output", "s.json"]) == 2
    assert (folder / "s.json").read_bytes() == kept


PART = st.sampled_from(["ab", "b.parquet", ".c", "_d"])
PATTERN = st.lists(st.sampled_from(["*", "**", "a*", "?", "a", "*.parquet", "[ab]*"]), min_size=1, max_size=3)


@settings(deadline=None)
@given(st.lists(PART, min_size=1, max_size=3), PATTERN)
def test_what_would_be_listed_is_listed(parts: list[str], pattern: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "a").mkdir()
        target = root.joinpath("a", *parts[1:]) if len(parts) > 1 else root / parts[0]
        target.parent.mkdir(parents=True, exist_ok=True)
        data: Any = os.fspath(root.joinpath(*pattern))
        asked = would_list([data], _Local(), target)
        target.write_bytes(b"")
        assert asked == _lists(data, target)


class _Local:
    """A listing without files."""

    prefix, files, root = "", (), "/"


def _lists(data: str, target: Path) -> bool:
    try:
        found: Any = open_lake(data)
    except dm.DistmomError:
        return False
    return any(target.samefile(f"{found.root}/{file.path}") for file in found.files)


def test_results_are_not_written_over_their_data(folder: Path) -> None:
    before = content(folder)
    for data, output in [*ONE_OF_THEM, *WOULD_BE_READ]:
        if not data.startswith("@") and output not in ("else/b.parquet", "else/new.html"):
            with pytest.raises(dm.ConfigError, match="output"):
                dm.write_results(dm.mean(data, "x"), output)
    assert content(folder) == before
    dm.write_results(dm.mean(np.arange(100.0)), "lake/r.json")


def test_only_inside_the_block(folder: Path) -> None:
    with dm.writing("lake/r.json"), pytest.raises(dm.ConfigError):
        dm.mean("lake", "x")
    assert dm.mean("lake", "x").n_rows


def test_a_link_stays_and_permissions_too(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real/r.json", tmp_path / "r.json"
    link.symlink_to(real)
    for text in ("one", "two"):
        with atomic_file(link) as temporary:
            temporary.write_text(text)
        assert link.is_symlink()
        assert real.read_text() == text
    real.chmod(0o640)
    dm.write_results(dm.mean(np.arange(300.0)), link)
    assert real.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert sorted(p.name for p in real.parent.iterdir()) == ["r.json"]
