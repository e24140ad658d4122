"""Errors of configurations: file, key, line, suggestion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from job_example import SUMMARY

from distmom.jobs.job import job_of_kind, kind_names

Run = Callable[..., Any]

CHANGES: dict[str, tuple[str, str, int, str]] = {
    "unknown key": ('by = "kind"', 'bye = "kind"', 8, "mean.bye: no such key; did you mean 'by'?"),
    "unknown table": ("[mean]", "[meen]", 6, "meen: no such table; did you mean 'mean'?"),
    "unknown top key": ("[data]", "colour = 1\n[data]", 3, "colour: no such table"),
    "wrong type": (
        'columns = ["x"]',
        "columns = 3",
        7,
        "mean.columns: must be a text or a list of texts, not 3",
    ),
    "list of wrong type": ('["x"]', '["x", 1]', 7, "mean.columns: must be a text or a list of texts"),
    "empty list": ('["x"]', "[]", 7, "not an empty list"),
    "truth is no number": (
        "[output]",
        "[blocks]\nn = true\n[output]",
        11,
        "blocks.n: must be a whole number or a text",
    ),
    "no whole number": (
        "[output]",
        "[blocks]\nsize = 1.5\n[output]",
        11,
        "blocks.size: must be a whole number, not 1.5",
    ),
    "missing key": ('path = "lake"', "", 3, "data.path: is missing; add path or paths"),
    "missing table": ('[output]\nfiles = "out.json"\n', "", 1, "output.files: is missing"),
    "missing pipeline": ('pipeline = "summary"', "", 1, "pipeline: is missing"),
    "unknown pipeline": ('"summary"', '"sumary"', 1, "did you mean 'summary'?"),
    "pipeline of no name": ('"summary"', "3", 1, "pipeline: must be a text, not 3"),
    "twice the same": ('by = "kind"', 'column = "y"', 8, "mean.column: means the same as columns"),
    "syntax": ('by = "kind"', "by = kind", 8, "not valid TOML: "),
    "syntax at the end": ('"out.json"\n', '"""out', 11, "not valid TOML: "),
    "key twice": ('by = "kind"', "columns = 'y'", 8, "not valid TOML: "),
    "choice": ("[output]", '[run]\nlog = "yaml"\n[output]', 11, "run.log: must be text, json, not 'yaml'"),
    "library: choice": (
        "[output]",
        '[promise]\ninterval = "cantely"\n[output]',
        11,
        "promise.interval: must be one of 'auto', 'order', 'cantelli', 'closed-form', 'none', not 'cantely'",
    ),
    "library: number": (
        "[output]",
        "[promise]\nconfidence = 99\n[output]",
        11,
        "promise.confidence: must lie",
    ),
    "library: pair": (
        "[output]",
        '[blocks]\ndesign = "sampled"\n[promise]\ncontamination = 3\n[output]',
        11,
        'blocks.design = "sampled" cannot be combined with promise.contamination: an outlying row '
        "may be in many "
        'samples, and no bound allows for that; use blocks.design = "random"',
    ),
    "library: remedy": (
        "[output]",
        '[promise]\ncontamination = 3\ninterval = "closed-form"\n[output]',
        11,
        'promise.contamination cannot be combined with promise.interval = "closed-form": the '
        "proposition knows no "
        'outlying rows; use promise.interval = "cantelli"',
    ),
    "design and key": (
        "[output]",
        '[blocks]\ndesign = "stored"\nreplace = true\n[output]',
        12,
        'blocks.replace cannot be combined with blocks.design = "stored"',
    ),
    "design without its key": (
        "[output]",
        '[blocks]\ndesign = "units"\n[output]',
        11,
        'blocks.columns: name the columns whose values make a unit; for files use blocks.design = "files"',
    ),
    "library: blocks": (
        "[output]",
        "[blocks]\nn = 0\n[output]",
        11,
        "blocks.n: must be a whole number of at least 1, not 0",
    ),
    "library: blocks of a design": (
        "[output]",
        '[blocks]\ndesign = "files"\nsize = 0\n[output]',
        12,
        "blocks.size: must be a whole number of at least 1, not 0",
    ),
    "library: two numbers": (
        "[output]",
        "[blocks]\nn = 5\nsize = 9\n[output]",
        11,
        "blocks.n and blocks.size determine each other; drop one",
    ),
    "library: units": (
        "[output]",
        '[blocks]\ndesign = "units"\ncolumns = "x"\n[output]',
        12,
        "blocks.columns: 'x' is also a column to average",
    ),
    "library: threads": (
        "[output]",
        "[run]\nthreads = 0\n[output]",
        11,
        "run.threads: must be a whole number",
    ),
    "two places": (
        "[output]",
        "[run]\nthreads = 1\nworkers = 1\n[output]",
        12,
        "run.workers cannot be combined with run.threads: say where to run once",
    ),
    "no state": (
        "[output]",
        '[run]\non_change = "restart"\n[output]',
        11,
        "run.on_change: needs a state",
    ),
    "library: condition": ('"lake"', '"lake"\nwhere = "x >"', 5, "data.where"),
    "library: seed": ("[output]", "[run]\nseed = -1\n[output]", 11, "run.seed must be"),
    "library: memory": (
        "[output]",
        '[run]\nmemory_limit = "much"\n[output]',
        11,
        "run.memory_limit: expected",
    ),
    "output": ('"out.json"', '"out.txt"', 11, "output.files: output"),
    "output folder": ('"out.json"', '"none/out.json"', 11, "there is no folder"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_errors_name_file_key_and_line(run: Run, folder: Path, name: str) -> None:
    old, new, line, text = CHANGES[name]
    assert SUMMARY.count(old) == 1
    file = folder / "job.toml"
    file.write_text(SUMMARY.replace(old, new))
    ended = run(file)
    assert (ended.code, ended.out) == (2, "")
    error = ended.err.splitlines()[-1]
    assert error.startswith(f"distmom: {file}, line {line}: "), ended.err
    assert text in error
    assert not (folder / "out.json").exists()


def test_line_ends_of_windows_count_once(run: Run, folder: Path) -> None:
    file = folder / "job.toml"
    file.write_bytes(SUMMARY.replace("by =", "bye =").replace("\n", "\r\n").encode())
    assert f"{file}, line 8: mean.bye" in run(file).err


def test_a_table_may_be_written_inline(run: Run, folder: Path) -> None:
    file = folder / "job.toml"
    file.write_text(
        'pipeline = "summary"\nmean = { column = "x" }\npromise = { interval = "drop" }\n'
        'data.path = "lake"\noutput.files = "o.json"\n'
    )
    assert f"{file}, line 3: promise.interval: must be one of" in run(file).err
    file.write_text(file.read_text().replace("drop", "cantelli"))
    assert run(file).code == 0


def test_a_file_that_is_not_there(run: Run, tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        ended = run(path)
        assert ended.code == 2
        assert ended.err.startswith(f"distmom: {path}: the configuration cannot be read: ")
        assert ended.err.count("\n") == 1


@pytest.mark.parametrize("name", ["job", "config", "os", "../x", "kinds.summary", "pipelines.own:run", ""])
def test_only_kinds_of_jobs_are_imported(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    import distmom.jobs.job as room

    def never(module: str) -> None:
        raise AssertionError(f"{module} was imported")

    monkeypatch.setattr(room.importlib, "import_module", never)
    file = folder / "job.toml"
    file.write_text(SUMMARY.replace('"summary"', f'"{name}"'))
    ended = run(file)
    assert ended.code == 2
    assert f"{file}, line 1: pipeline: must be" in ended.err


def test_a_kind_is_a_module() -> None:
    assert kind_names() == ["drift", "nightly", "summary", "tournament", "train", "ustat"]
    assert [job_of_kind(name).name for name in kind_names()] == kind_names()
