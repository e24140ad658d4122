"""From the arguments of a command that reads data to its printed answer and its exit code."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from distmom.cli.build import arguments
from distmom.cli.failures import tell
from distmom.cli.show import show_plan, show_results
from distmom.cli.words import wording
from distmom.json_lines import json_stderr
from distmom.words import told_statuses

if TYPE_CHECKING:
    from distmom.report import Results

COMMAND = "distmom.command"
"""Key under which a context keeps the words of the command line."""


def answer(
    function: Callable[..., Any], data: tuple[str, ...], flags: dict[str, Any], n_samples: int = 1
) -> int:
    """Run the function behind a command, or report its plan; print and write; the exit code.

    `flags` are all options of the command by name, including those of the output.
    """
    dry_run, as_json, output, quiet = (flags.pop(name) for name in ("dry_run", "as_json", "output", "quiet"))
    fail_on, explained = flags.pop("fail_on"), flags.pop("explain")

    def found() -> Any:
        given = arguments(flags, data, n_samples)
        what = given.pop("data")
        if dry_run:
            from distmom.estimators.command import explain

            return show_plan(explain(function, what, **given), as_json=as_json)
        return function(what, **given)

    how = {"as_json": as_json, "quiet": quiet, "explained": explained}
    return print_results(found, output, fail_on=fail_on, **how)


def print_results(
    find: Callable[[], Any],
    output: Path | None,
    *,
    as_json: bool,
    quiet: bool,
    fail_on: tuple[str, ...] = (),
    explained: bool = False,
) -> int:
    """Write the findings to the file, if there is one, and print them unless only the file was wanted.

    The exit code, which some statuses turn into a failure; a plan finds nothing.
    """
    from distmom.cluster import make_progress
    from distmom.estimators.session import options
    from distmom.jobs.log_lines import JsonLine, on_stderr
    from distmom.lake.files.outputs import writing
    from distmom.report import Results, check_output, write_results

    statuses = Results.failing(*fail_on)
    if output is not None:
        check_output(output)
    quiet = quiet or sys.stderr is None  # closed by the shell: 2>&-
    people = logging.Formatter("%(asctime)s distmom: %(message)s")
    form = JsonLine() if json_stderr.active else people
    with (
        on_stderr(form, logging.ERROR if quiet else logging.INFO),
        options(progress=make_progress(quiet=quiet), warn=False),
        writing(*(path for path in (output,) if path is not None)),
    ):
        result = find()
    if result is None:
        return 0
    found = Results.of(result).said_as(wording())  # in all formats as in the table
    remember_command(found)
    if output is not None:
        write_results(found, output)
    if as_json or not (quiet and output is not None):
        show_results(found, as_json=as_json, quiet=quiet, explain=explained)
    code = found.exit_code_if(statuses)
    if json_stderr.active:
        counts = {str(status): n for status, n in found.count_statuses().items()}
        level = "warning" if code else "info"
        tell("results", told_statuses(counts), level, n_results=len(found), statuses=counts)
    return code


def remember_command(found: Results) -> None:
    """Keep the command line in the results, so that a report can show how to run it again."""
    context = click.get_current_context(silent=True)
    words = context.meta.get(COMMAND) if context is not None else None
    if context is None or words is None:
        return
    from distmom.lake.messages import plain_words
    from distmom.report.again import Again
    from distmom.report.shell import joined

    shell, seed = ["distmom", *plain_words(words)], found.run.get("seed")
    found.run["command"] = joined(shell)
    flags = {option.name for option in context.command.params}
    drawn = "rng" in flags and context.get_parameter_source("rng") is ParameterSource.DEFAULT
    if drawn and not context.params.get("state") and isinstance(seed, int):
        shell += ["--seed", str(seed)]
    again = found.run.get("again", Again())
    found.run["again"] = replace(again, shell=tuple(shell), shell_excludes="exclude" in flags)
