"""The tables and figures of the paper, each number beside ours, as a batch job.

    python -m pipelines.reproduce_paper pipelines/reproduce_paper.toml        (from the folder above)

Writes ``index.html``, ``index.md`` and a Parquet file for each part into a folder; the page is made of all
parts that are in the folder, so they may be run one after another, or by several machines that share it.
The samples are cut into chunks with seeds of their own, which run on processes of this machine, as many as it
has processors, on its threads, or on a Dask cluster: the numbers are the same bit for bit.
``reproduce_paper.toml`` beside this file shows every key.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import distmom as dm
from distmom.errors import ConfigError
from distmom.jobs import RUN, Config, Job, Key, MinuteLines, log, main

if TYPE_CHECKING:
    from pipelines.paper.chunks import Run

PAPER = {
    "parts": Key("texts"),
    "replications": Key("whole number"),
    "costly": Key("whole number"),
    "captioned": Key("whole number"),
    "quantile_replications": Key("whole number"),
    "quantile_costly": Key("whole number"),
    "errata_replications": Key("whole number"),
    "coverage_replications": Key("whole number"),
    "contamination_replications": Key("whole number"),
    "learning_seeds": Key("whole number"),
}
"""Keys of the table ``paper``: what to run, on how many samples."""

DEFAULTS = {
    "replications": 5000,
    "costly": 5000,
    "captioned": 1000,
    "quantile_replications": 1000,
    "quantile_costly": 1000,
    "errata_replications": 5000,
    "coverage_replications": 2000,
    "contamination_replications": 200,
    "learning_seeds": 5,
}
BACKENDS: dict[str, Any] = {"workers": dm.Processes, "threads": dm.Threads, "scheduler": dm.Cluster}
RUN_KEYS = ("log", *BACKENDS, "memory_limit")
PARTS = ("tables", "errata", "quantiles", "learning", "coverage", "contamination")


def run(config: Config, progress: MinuteLines) -> list[Path]:
    """Run the parts and write them; the files written."""
    from distmom.cluster import run_calls

    given, folder = _plan(config), Path(config.table("output")["folder"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"folder: {folder} cannot be made: {error.strerror}") from error
    written = []
    with given["executor"].open() as executor:
        compute = partial(run_calls, executor=executor, progress=progress)
        for part in given["parts"]:
            log("part", f"running {part}", part=part)
            file = folder / f"{part}.parquet"
            _write(file, partial(pq.write_table, _compute(part, given, compute)))
            written.append(file)
    return written + _pages(folder)


def _compute(part: str, given: dict[str, Any], compute: Run) -> pa.Table:
    from pipelines.paper import beyond, errata, learning, quantiles, tables

    seed = given["seed"]
    if part == "tables":
        numbers = (given["replications"], given["costly"], given["captioned"], seed)
        return tables.tables(compute, *numbers)
    if part == "errata":
        return errata.errata(compute, given["errata_replications"], seed)
    if part == "quantiles":
        most, costly = given["quantile_replications"], given["quantile_costly"]
        return quantiles.quantiles(compute, most, costly, seed)
    if part == "learning":
        return learning.learning(compute, given["learning_seeds"])
    if part == "coverage":
        return beyond.coverage(compute, given["coverage_replications"], seed)
    return beyond.contamination(compute, given["contamination_replications"], seed)


def _pages(folder: Path) -> list[Path]:
    from pipelines.paper.page import as_html, as_markdown

    files = {part: folder / f"{part}.parquet" for part in PARTS}
    parts = {part: pq.read_table(file) for part, file in files.items() if file.exists()}
    pages = {folder / "index.html": as_html(parts), folder / "index.md": as_markdown(parts)}
    for file, text in pages.items():
        _write(file, partial(_save_text, text))
    return list(pages)


def _save_text(text: str, file: Path) -> None:
    file.write_text(text, encoding="utf-8")


def _write(file: Path, write: Callable[[Path], Any]) -> None:
    """Whole or not at all."""
    unfinished = file.with_name(f".{file.name}.unfinished")
    try:
        write(unfinished)
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)


def explain(config: Config) -> dict[str, Any]:
    """What `run` would do."""
    return _plan(config)


def _plan(config: Config) -> dict[str, Any]:
    from distmom.cluster import usable_cpus

    given = config.table("paper")
    parts = given.pop("parts", list(PARTS))
    parts = [parts] if isinstance(parts, str) else parts
    for part in parts:
        if part not in PARTS:
            raise ConfigError(f"parts: must be among {', '.join(PARTS)}, got {part!r}")
    plan = {**DEFAULTS, **given}
    for name, value in plan.items():
        least = 0 if name == "quantile_costly" else 2 if name != "learning_seeds" else 1
        if value < least:
            raise ConfigError(f"{name}: must be at least {least}, got {value}")
    run = config.table("run")
    named = [name for name in BACKENDS if name in run] or ["workers"]
    if len(named) > 1:
        raise ConfigError(f"{named[0]}: does not go with {named[1]}; say where to run once")
    executor = BACKENDS[named[0]](run.get(named[0], usable_cpus()), run.get("memory_limit"))
    return {"parts": parts, "seed": run.get("seed", 0), "executor": executor, **plan}


JOB = Job(
    "reproduce_paper",
    {
        "paper": PAPER,
        "run": {"seed": Key("whole number"), **{name: RUN[name] for name in RUN_KEYS}},
        "output": {"folder": Key("text", required=True, path=True)},
    },
    run,
    explain,
)

if __name__ == "__main__":
    main(JOB)
