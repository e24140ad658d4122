"""What all batch jobs share: their common tables, log lines, failures, exit codes, atomic output.

A pipeline is one module of this package with an example configuration of the same name beside it. It defines
a `Job` called ``JOB`` and ends with ``if __name__ == "__main__": main(JOB)``. It uses the names of `distmom`
through the package (``dm.mean``), which loads them when a job runs: an interrupt while they load is then an
interrupt of the job, with its one line and exit code.

Exit codes: 0 done; 1 internal error; 2 usage or configuration; 3 data refused; 4 done, files skipped; 5 no
finite answer, too few rows, or an answer beyond capacity (5 wins over 4); 6 resources; 130 interrupted; 143
terminated.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import shlex
import signal
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any, NoReturn

import distmom as dm
import pipelines
from distmom.errors import ConfigError, DistmomError, leave
from pipelines.config import Config, Key, Tables, pipeline_named_in, read_config
from pipelines.log import MinuteLines, log, log_lines

DATA = {
    "path": Key("texts", "data", required=True),
    "paths": Key("texts", "data", required=True),
    "where": Key("text"),
    "missing": Key("text"),
    "on_bad_file": Key("text"),
    "storage_options": Key("options"),
}
RUN = {
    "seed": Key("whole number or text", "rng"),
    "rng": Key("whole number or text"),
    "workers": Key("whole number"),
    "threads": Key("whole number"),
    "scheduler": Key("text"),
    "memory_limit": Key("whole number or text"),
    "batch_rows": Key("whole number"),
    "state": Key("text"),
    "on_change": Key("text"),
    "log": Key("text", choices=("text", "json")),
}
SCRATCH = {**RUN, "scratch": Key("text")}
"""Of jobs that may sort rows on disk."""

OUTPUT = {"files": Key("texts", required=True)}
COMMON: Tables = {"data": DATA, "run": RUN, "output": OUTPUT}

INTERNAL, RESOURCES, INTERRUPTED, TERMINATED = 1, 6, 130, 143
SEED = 0


@dataclass(frozen=True)
class Job:
    """A batch job.

    Attributes
    ----------
    name : str
        Its module's, and what stands under ``pipeline`` in its configurations.
    tables : mapping
        Its own tables and their keys, beside ``data``, ``run`` and ``output``.
    run : callable
        ``run(config, progress)`` gives the results, or the files that it has written itself.
    explain : callable
        ``explain(config)`` tells what `run` would do, without reading rows.
    common : mapping
        The tables beside its own.
    """

    name: str
    tables: Tables
    run: Callable[[Config, MinuteLines], dm.Results | list[Path]]
    explain: Callable[[Config], dict[str, Any]]
    common: Tables = field(default_factory=lambda: COMMON)


def arguments(config: Config, own: str) -> dict[str, Any]:
    """Arguments of a public function: the data, the options of table `own`, and where to run.

    Paths in the file start from its folder. The seed is 0 where none is given, as on the command line.
    """
    data, run = config.table("data"), config.table("run")
    paths = data["data"] if isinstance(data["data"], list) else [data["data"]]
    paths = [config.beside(path) for path in paths]
    data["data"] = paths[0] if len(paths) == 1 else paths
    run.pop("log", None)
    for name in ("state", "scratch"):
        if name in run:
            run[name] = config.beside(run[name])
    run["rng"] = None if run.get("rng") == "random" else run.get("rng", SEED)
    return {**data, **config.table(own), **run}


def job_names() -> list[str]:
    """Modules of this package that have an example configuration beside them; imports none."""
    return sorted(
        module.name
        for module in pkgutil.iter_modules(pipelines.__path__)
        if any((Path(folder) / f"{module.name}.toml").is_file() for folder in pipelines.__path__)
    )


def run_config(
    file: str | os.PathLike[str],
    *,
    dry_run: bool = False,
    log_json: bool = False,
    quiet: bool = False,
    scheduler: str | None = None,
    workers: int | None = None,
    only: Job | None = None,
    state: str | None = None,
) -> int:
    """Run the job that a configuration file names; the exit code.

    Parameters
    ----------
    file : path
    dry_run : bool
        Check the configuration and log the plan.
    log_json : bool
        One JSON object a line on standard error; also ``log = "json"`` in the file.
    quiet : bool
        No log lines below warnings.
    scheduler : str, optional
        Address or file of a Dask scheduler, instead of where the file says to run.
    workers : int, optional
        Number of worker processes of this machine, instead of where the file says to run.
    only : Job, optional
        The job that it must name.
    state : str, optional
        File of the state, whatever the file says.
    """
    started = monotonic()
    failed = True
    ending = _Ending()
    facts: dict[str, Any] = {}
    with log_lines(log_json, quiet) as lines:
        try:
            with ending.listening():
                config, job = _load(Path(file), only)
                config = _told_more(config, job, {"scheduler": scheduler, "workers": workers}, state)
                if config.table("run").get("log") == "json":
                    lines.as_json()
                facts = _plan(job, config) if dry_run else _answer(job, config, ending)
            code, failed = int(facts.pop("exit_code")), False
        except KeyboardInterrupt:
            code = _failure(*(("terminated", TERMINATED) if ending.asked else ("interrupted", INTERRUPTED)))
        except DistmomError as error:
            code = _failure(str(error), error.exit_code)
        except MemoryError:
            code = _failure("out of memory; use fewer threads, columns or groups", RESOURCES)
        except Exception as error:
            code = _failure(f"internal error: {type(error).__name__}: {error}", INTERNAL)
        if not failed or lines.json:
            seconds = round(monotonic() - started, 3)
            log("finish", f"finished with exit code {code}", exit_code=code, seconds=seconds, **facts)
    return code


def main(job: Job, words: list[str] | None = None) -> NoReturn:
    """``python -m pipelines.NAME CONFIG.toml``: run and end the process."""
    try:
        code = _run_words(job, words)
    except KeyboardInterrupt:  # before the run began, or a second one while it ended
        sys.stderr.write("distmom: interrupted\n")
        code = INTERRUPTED
    leave(code)


def _run_words(job: Job, words: list[str] | None) -> int:
    parser = _Parser(prog=f"python -m pipelines.{job.name}", description=f"Run the batch job {job.name!r}.")
    parser.add_argument("config", metavar="CONFIG.toml")
    parser.add_argument("--dry-run", action="store_true", help="check the configuration and log the plan")
    parser.add_argument("--log-json", action="store_true", help="log one JSON object a line")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run there, whatever the file says")
    parser.add_argument("--workers", metavar="N", type=int, help="run on N processes of this machine")
    parser.add_argument("--quiet", action="store_true", help="log warnings and errors only")
    given = parser.parse_args(words)
    if not os.environ.get("DISTMOM_DEBUG"):
        warnings.simplefilter("ignore")
        os.environ.setdefault("PYTHONWARNINGS", "ignore")
        os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "critical")
    return run_config(
        given.config,
        dry_run=given.dry_run,
        log_json=given.log_json,
        quiet=given.quiet,
        scheduler=given.scheduler,
        workers=given.workers,
        only=job,
    )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line."""
        self.exit(2, f"distmom: {message}; see '{self.prog} --help'\n")


def _load(file: Path, only: Job | None) -> tuple[Config, Job]:
    """The checked configuration and its job. Nothing but a module of this package is ever imported."""
    names = job_names()
    name = pipeline_named_in(file)
    if name not in names:
        read_config(file, {known: {} for known in names})  # tells what is wrong with the name
        raise ConfigError(f"{file}: no pipeline of the name {name!r}")
    if only is not None and name != only.name:
        raise ConfigError(
            f"{file}: pipeline: is {name!r}, and this is {only.name!r}; use 'distmom run {file}'"
        )
    job: Job = only or importlib.import_module(f"pipelines.{name}").JOB
    return read_config(file, {job.name: {**job.common, **job.tables}}), job


def _told_more(config: Config, job: Job, place: dict[str, Any], state: str | None) -> Config:
    """With what the command line says beside the file."""
    keys = job.common.get("run", {})
    if state is not None:
        if "state" not in keys:
            raise ConfigError(f"state: the job {job.name!r} keeps none; drop --state")
        config = config.keeping(state)
    told = {name: value for name, value in place.items() if value is not None}
    return config.running_on(**told) if told else config


def _outputs(config: Config) -> list[Path]:
    """The files to write, known to be writable."""
    files = config.table("output").get("files", [])  # some jobs write files of their own
    names = files if isinstance(files, list) else [files]
    try:
        return [dm.check_output(config.beside(name)) for name in names]
    except ConfigError as error:
        line = config.lines["output", "files"]
        raise ConfigError(f"{config.path}, line {line}: output.files: {error}") from error


def _plan(job: Job, config: Config) -> dict[str, Any]:
    _outputs(config)
    log("start", f"dry run of {job.name} with {config.path}", pipeline=job.name, config=str(config.path))
    try:
        plan = job.explain(config)
    except ConfigError as error:
        raise config.located(error) from error
    said = ", ".join(f"{key} {value}" for key, value in plan.items() if value not in (None, []))
    log("plan", f"plan: {said}", plan=plan)
    return {"exit_code": 0}


def _answer(job: Job, config: Config, ending: _Ending) -> dict[str, Any]:
    outputs = _outputs(config)
    log("start", f"{job.name} with {config.path}", pipeline=job.name, config=str(config.path))
    try:
        results = job.run(config, MinuteLines(ending.check))
    except ConfigError as error:
        raise config.located(error) from error
    if isinstance(results, list):
        for path in results:
            log("wrote", f"wrote {path}", file=str(path))
        return {"exit_code": 0, "outputs": [str(path) for path in results]}
    for one in results.data["skipped"]:
        log("skipped", f"skipped {one['file']}: {one['reason']}", level="warning", **one)
    if "state" in results.data:
        state = results.data["state"]
        said = f"{state['n_files_read']} files read, {state['n_files_before']} known before"
        log("state", f"state {state['file']}: {said}", **state)
    results.run["command"] = shlex.join(["distmom", "run", str(config.path)])
    for path in outputs:
        ending.check()
        dm.write_results(results, path)
        log("wrote", f"wrote {path}", file=str(path))
    statuses = Counter(result.status[0] for result in results)
    said = ", ".join(f"{n} {word}" for word, n in statuses.items())
    log("results", f"{len(results)} results: {said}", n_results=len(results), statuses=dict(statuses))
    return {"exit_code": results.exit_code, "outputs": [str(path) for path in outputs]}


def _failure(text: str, code: int) -> int:
    if os.environ.get("DISTMOM_DEBUG"):
        import traceback

        traceback.print_exc()
    elif code == INTERNAL:
        text += "; set DISTMOM_DEBUG=1 for the traceback"
    log("error", text, level="error", exit_code=code)
    return code


class _Ending:
    """Lets SIGTERM, with which batch systems end a job, unwind like an interrupt.

    Attributes
    ----------
    asked : bool
        Whether it came.
    """

    def __init__(self) -> None:
        self.asked = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Only in the main thread; elsewhere signals are not ours."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGTERM, self._ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)

    def check(self) -> None:
        """Raise once more: what a handler raises may be swallowed by what it interrupts, such as imports."""
        if self.asked:
            raise KeyboardInterrupt

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        interrupt = signal.getsignal(signal.SIGINT)
        if callable(interrupt):  # raises, or puts it off to where a run can be ended
            interrupt(number, frame)
        else:  # ignored, as in a job that a shell started in the background
            raise KeyboardInterrupt
