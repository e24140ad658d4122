"""A dry run of a job or command refuses what the run refuses before it reads rows, by the same words."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from job_faults import BASE, COMMANDS, FAULTS, FLAGS, OTHER_STATES, OWN, Tables

from distmom.cli.program import program
from distmom.cluster.executors import connect
from distmom.jobs.job import job_of_kind, kind_names

pytest.importorskip("sklearn")

Run = Callable[..., Any]


def written(tables: Tables) -> str:
    def value(v: Any) -> str:
        if isinstance(v, dict):
            return f"{{ {', '.join(f'{k} = {value(w)}' for k, w in v.items())} }}"
        return json.dumps(v)

    lines = [f'pipeline = "{tables["pipeline"]}"']
    for table, keys in tables.items():
        if table != "pipeline":
            lines += [f"[{table}]", *(f"{key} = {value(v)}" for key, v in keys.items())]
    return "\n".join(lines) + "\n"


def faulty(kind: str, changes: dict[str, Any]) -> Tables | None:
    """The configuration of a kind of job with a fault; None where it has no such key."""
    known = job_of_kind(kind).tables
    tables: Any = {"pipeline": kind} | {name: dict(keys) for name, keys in BASE[kind].items()}
    tables.setdefault("output", {})["files"] = ["out.json"]
    fits = not changes
    for path, value in changes.items():
        table, key = path.split(".")
        table = OWN[kind] if table == "own" else table
        if key in known.get(table, {}):
            fits = True
            if table == "data" and key.startswith("path"):
                tables["data"] = {k: v for k, v in tables["data"].items() if not k.startswith("path")}
            tables.setdefault(table, {})[key] = value
    return tables if fits else None


def known(command: str, words: list[str]) -> bool:
    """Whether the command has one of the flags."""
    every = {flag for option in program.commands[command].params for flag in option.opts}
    flags = [word for word in words if word.startswith("-") and not word[1:2].isdigit()]
    return not flags or all(flag in every for flag in flags)


LINES = [
    (command, name) for command in COMMANDS for name, words in FLAGS.items() if known(command, words[1:])
]

CASES = [(kind, name) for kind in kind_names() for name, fault in FAULTS.items() if faulty(kind, fault)]


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("dry")
    g = np.random.default_rng(0)
    for day in range(3):
        folder = root / "lake" / f"day={day}"
        folder.mkdir(parents=True)
        x = g.normal(size=200)
        columns = {"x": x, "y": x + 1, "z": x + g.normal(size=200), "kind": ["a", "b"] * 100}
        pq.write_table(pa.table(columns), folder / "0.parquet")
    for name in ("other", "broken", "taken.json", "locked"):
        (root / name).mkdir()
    pq.write_table(pa.table({"x": ["a", "b"]}), root / "other/0.parquet")
    for name in ("broken/0.parquet", "broken.skops", "broken.npy"):
        (root / name).write_bytes(b"PAR1 no file of its kind PAR1")
    return root


@pytest.fixture(autouse=True)
def impatient(lakes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder, without waiting for schedulers, and with a folder that cannot be written to."""
    writable = os.access
    monkeypatch.chdir(lakes)
    monkeypatch.setattr(connect, "CONNECT_SECONDS", 0.1)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "locked" and writable(path, mode))


@pytest.mark.parametrize(("kind", "fault"), CASES, ids=str)
@pytest.mark.one_in(3)
def test_jobs(run: Run, lakes: Path, kind: str, fault: str) -> None:
    tables, file = faulty(kind, FAULTS[fault]), lakes / "job.toml"
    assert tables is not None
    file.write_text(written(tables))
    ended = run(file, dry_run=True, quiet=True), run(file, quiet=True)
    for path in lakes.glob("*.state"):
        path.unlink()
    assert (ended[0].code, ended[0].err) == (ended[1].code, ended[1].err)


@pytest.mark.parametrize("fault", OTHER_STATES)
@pytest.mark.parametrize(
    "kind", [kind for kind in kind_names() if not job_of_kind(kind).tables["run"]["state"].refused]
)
@pytest.mark.one_in(3)
def test_a_state_made_otherwise(run: Run, lakes: Path, kind: str, fault: str) -> None:
    first = faulty(kind, {"run.state": "s.state"})
    other = faulty(kind, {"run.state": "s.state", **OTHER_STATES[fault]})
    assert first is not None and other is not None
    file = lakes / "job.toml"
    file.write_text(written(first))
    assert run(file, quiet=True).code == 0
    file.write_text(written(other))
    ended = run(file, dry_run=True, quiet=True), run(file, quiet=True)
    (lakes / "s.state").unlink()
    assert (ended[0].code, ended[0].err) == (ended[1].code, ended[1].err)


@pytest.mark.parametrize(("command", "fault"), LINES, ids=str)
@pytest.mark.one_in(2)
def test_commands(lakes: Path, command: str, fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    data, *words = COMMANDS[command]
    wrong = FLAGS[fault]
    paths = wrong[0].split() if wrong[0] else data.split()
    ended = []
    for dry in (["--dry-run"], []):
        code = program.run([command, *paths, *words, *wrong[1:], *dry, "--quiet"])
        ended.append((code, capsys.readouterr().err))
    assert ended[0] == ended[1]
