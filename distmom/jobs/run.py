"""One run of a batch job: log lines, failures, exit codes (`distmom explain exit`), atomic output."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Any

import distmom as dm
from distmom.errors import ConfigError, DistmomError
from distmom.jobs.config import Config, checked, named_job
from distmom.jobs.job import Job, job_of_kind, kind_names
from distmom.jobs.log_lines import JsonLine, MinuteLines, TextLine, log, on_stderr
from distmom.jobs.toml_file import read_toml
from distmom.jobs.words import keys_of
from distmom.json_lines import json_stderr
from distmom.signals import endings
from distmom.words import counted, told_statuses

INTERNAL, USAGE, RESOURCES = 1, 2, 6


def run_config(
    file: str | os.PathLike[str],
    *,
    dry_run: bool = False,
    log_json: bool = False,
    quiet: bool = False,
    scheduler: str | None = None,
    workers: int | None = None,
    job: Job | None = None,
    state: str | None = None,
    command: Sequence[str] = ("distmom", "run"),
) -> int:
    """Run the job named by a configuration file; return the exit code.

    Parameters
    ----------
    file : path
    dry_run : bool
        Check the configuration and log the plan.
    log_json : bool
        One JSON object per line on standard error; also ``log = "json"`` in the file.
    quiet : bool
        No log lines below warnings.
    scheduler : str, optional
        Address or file of a Dask scheduler, instead of the place in the file.
    workers : int, optional
        Number of worker processes on this machine, instead of the place in the file.
    job : Job, optional
        The job that it must name; by default any of `kind_names`.
    state : str, optional
        State file, instead of that in the file.
    command : sequence of str
        Words of the command that runs this file again, without its name, for the results.
    """
    started = monotonic()
    failed = True
    facts: dict[str, Any] = {}
    form = JsonLine() if log_json else TextLine()
    with (
        endings.heard(),
        json_stderr.on(log_json),
        ExitStack() as ending,
        on_stderr(form, logging.WARNING if quiet else logging.INFO) as handler,
    ):
        try:
            config, job = _load(Path(file), job)
            config = _told_more(config, job, {"scheduler": scheduler, "workers": workers}, state)
            if config.table("run").get("log") == "json":
                ending.enter_context(json_stderr.on())
                handler.setFormatter(JsonLine())
                handler.setLevel(logging.INFO)
            again = shlex.join([*command, str(config.path)])
            facts = _done(job, config, dry_run, again)
            code, failed = int(facts.pop("exit_code")), False
        except KeyboardInterrupt:
            code = _failure(*endings.told())
        except DistmomError as error:
            code = _failure(str(error), error.exit_code)
        except MemoryError:
            code = _failure("out of memory; use fewer threads, columns or groups", RESOURCES)
        except ImportError as error:
            missing = "pip install" in str(error)
            code = _failure(str(error), USAGE) if missing else _failure(f"internal error: {error}", INTERNAL)
        except Exception as error:
            code = _failure(f"internal error: {type(error).__name__}: {error}", INTERNAL)
        if not failed or isinstance(handler.formatter, JsonLine):
            seconds = round(monotonic() - started, 3)
            log("finish", f"finished with exit code {code}", exit_code=code, seconds=seconds, **facts)
            json_stderr.finished = True
    return code


def _load(path: Path, job: Job | None) -> tuple[Config, Job]:
    """The checked configuration and its job; only modules of `distmom.jobs.kinds` are imported."""
    file = read_toml(path)
    name = named_job(file, {*kind_names(), job.name} if job else kind_names())
    if job is not None and name != job.name:
        file.refuse(("pipeline",), f"is {name!r}, and this is {job.name!r}; use 'distmom run {path}'")
    job = job or job_of_kind(name)
    return checked(file, job.tables), job


def _told_more(config: Config, job: Job, place: dict[str, Any], state: str | None) -> Config:
    """The configuration with additions from the command line."""
    keys = job.tables.get("run", {})
    if state is not None:
        if "state" not in keys or keys["state"].refused:
            raise ConfigError(f"state: the job {job.name!r} keeps none; drop --state")
        config = config.keeping(state)
    told = {name: value for name, value in place.items() if value is not None}
    return config.running_on(**told) if told else config


def _outputs(config: Config) -> list[Path]:
    """The output files, after a check that they are writable."""
    files = config.table("output").get("files", [])  # some jobs write files of their own
    names = files if isinstance(files, list) else [files]
    try:
        return [dm.check_output(name) for name in names]
    except ConfigError as error:
        line, key = config.origins["output", "files"]
        raise ConfigError(f"{config.path}, line {line}: output.{key}: {error}") from error


def _done(job: Job, config: Config, dry_run: bool, again: str) -> dict[str, Any]:
    """Log the plan, or run and write the results; return the exit code and the written files."""
    words = config.table("run").get("fail_on", [])
    fail_on = dm.Results.failing(*([words] if isinstance(words, str) else words))
    outputs, said = _outputs(config), f"dry run of {job.name}" if dry_run else job.name
    log("start", f"{said} with {config.path}", pipeline=job.name, config=str(config.path))
    try:
        with dm.writing(*outputs, what="output.files"):
            found: Any = job.explain(config) if dry_run else job.run(config, MinuteLines())
    except DistmomError as error:  # the message names keys of the file and, if one is wrong, its line
        text = keys_of(config, job.tables).of(str(error))
        error.args = (config.located(text) if isinstance(error, ConfigError) else text,)
        raise
    if dry_run:
        said = ", ".join(f"{key} {value}" for key, value in found.items() if value not in (None, []))
        log("plan", f"plan: {said}", plan=found)
        return {"exit_code": 0}
    return _written(found, outputs, again, fail_on)


def _written(
    results: dm.Results | list[Path],
    outputs: list[Path],
    again: str,
    fail_on: frozenset[str],
) -> dict[str, Any]:
    if isinstance(results, list):
        for path in results:
            log("wrote", f"wrote {path}", file=str(path))
        return {"exit_code": 0, "outputs": [str(path) for path in results]}
    for one in results.data["skipped"]:
        log("skipped", f"skipped {one['file']}: {one['reason']}", level="warning", **one)
    if "state" in results.data:
        state = results.data["state"]
        said = f"{counted(state['n_files_read'], 'file')} read, {state['n_files_before']:,} known before"
        log("state", f"state {state['file']}: {said}", **state)
    results.run["command"] = again
    for path in outputs:
        endings.check()
        dm.write_results(results, path)
        log("wrote", f"wrote {path}", file=str(path))
    statuses = {str(status): n for status, n in results.count_statuses().items()}
    code = results.exit_code_if(fail_on)
    # also with --quiet, because the code alone would not say much
    doubtful = code in (dm.NoAnswerError.exit_code, dm.DoubtfulResultError.exit_code)
    level = "warning" if doubtful else "info"
    fields = {"n_results": len(results), "statuses": statuses}
    log("results", told_statuses(statuses), level=level, **fields)
    return {"exit_code": code, "outputs": [str(path) for path in outputs]}


def _failure(text: str, code: int) -> int:
    if os.environ.get("DISTMOM_DEBUG"):
        import traceback

        traceback.print_exc()
    elif code == INTERNAL:
        text += "; set DISTMOM_DEBUG=1 for the traceback"
    log("error", text, level="error", exit_code=code)
    return code
