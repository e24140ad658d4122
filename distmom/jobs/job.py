"""Batch jobs, and how a configuration becomes a call of a public function."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import distmom as dm
from distmom.jobs import kinds
from distmom.jobs.config import Config
from distmom.jobs.keys import DATA, OUTPUT, RUN, Key, Tables
from distmom.jobs.log_lines import MinuteLines
from distmom.jobs.objects import call_of


@dataclass(frozen=True)
class Job:
    """A batch job.

    Attributes
    ----------
    name : str
        The value of ``pipeline`` in its configurations.
    tables : mapping
        The allowed tables of its configurations, and their keys.
    run : callable
        ``run(config, progress)`` returns the results, or the files that it has written itself.
    explain : callable
        ``explain(config)`` reports what `run` would do, without reading rows, and refuses what `run` would
        refuse.
    """

    name: str
    tables: Tables
    run: Callable[[Config, MinuteLines], dm.Results | list[Path]]
    explain: Callable[[Config], dict[str, Any]]


def job_of(
    name: str,
    function: str,
    own: Tables,
    *,
    data: Mapping[str, Key] = DATA,
    run: Mapping[str, Key] = RUN,
    as_one: tuple[str, ...] = (),
    n_samples: Callable[[Config], int] = lambda config: 1,
    tell: Callable[[dm.Results], None] | None = None,
) -> Job:
    """A job that consists of one call of a public function.

    Parameters
    ----------
    name : str
        Name of the job.
    function : str
        Name of the function.
    own : mapping
        The tables specific to this job.
    data, run : mapping
        Keys of the tables ``data`` and ``run``.
    as_one : tuple of str
        Tables that become one argument each, rather than one argument per key.
    n_samples : callable, optional
        Number of samples; if there are as many paths, each path is one sample.
    tell : callable, optional
        Writes log lines about the results.
    """

    def call(config: Config) -> dict[str, Any]:
        return call_of({name: config.table(name) for name in config.values}, as_one, n_samples(config))

    def results(config: Config, progress: MinuteLines) -> dm.Results:
        with dm.options(progress=progress, warn=False):
            found = dm.Results.of(getattr(dm, function)(**call(config)))
        if tell is not None:
            tell(found)
        return found

    def plan(config: Config) -> dict[str, Any]:
        return dm.explain(getattr(dm, function), **call(config))

    return Job(name, {"data": data, **own, "run": run, "output": OUTPUT}, results, plan)


def kind_names() -> list[str]:
    """Names of the jobs that a configuration may name; imports none."""
    return sorted(module.name for module in pkgutil.iter_modules(kinds.__path__))


def job_of_kind(name: str) -> Job:
    """The job of one of `kind_names`."""
    job: Job = importlib.import_module(f"{kinds.__name__}.{name}").JOB
    return job
