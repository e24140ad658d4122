"""From the arguments of a command that reads data to its printed answer and its exit code."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distmom.cli.show import messages_on_stderr, show_plan, show_results
from distmom.errors import ConfigError

if TYPE_CHECKING:
    from distmom.report import Results

COMMAND = "distmom.command"
"""Under which a context keeps the words of the command line."""


def answer(
    data: tuple[str, ...],
    arguments: dict[str, Any],
    explain: Callable[..., dict[str, Any]],
    compute: Callable[..., Any],
    *,
    dry_run: bool,
    as_json: bool,
    output: Path | None,
    quiet: bool,
) -> int:
    """Run ``compute`` on the data, or ``explain`` what it would do; print and write; the exit code."""
    from distmom.report import Results, check_output, write_results

    if output is not None:
        check_output(output)
    quiet = quiet or sys.stderr is None  # closed by the shell: 2>&-
    what = data[0] if len(data) == 1 else list(data)
    with messages_on_stderr(quiet):
        if dry_run:
            show_plan(explain(what, **arguments), as_json=as_json)
            return 0
        from distmom.cluster import make_progress

        found = Results.of(compute(what, **arguments, progress=make_progress(quiet=quiet)))
    remember_command(found)
    if output is not None:
        write_results(found, output)
    if as_json or not (quiet and output is not None):
        show_results(found, as_json=as_json, quiet=quiet)
    return found.exit_code


def remember_command(found: Results) -> None:
    """Keep the command line in the results, so that a report can tell how to run it again."""
    context = click.get_current_context(silent=True)
    words = context.meta.get(COMMAND) if context is not None else None
    if words is not None:
        from distmom.lake.files.secrets import plain_words

        found.run["command"] = shlex.join(["distmom", *plain_words(words)])


def options_named(options: Iterable[click.Option], names: Collection[str]) -> list[click.Option]:
    """Those options of another command that this one has, too."""
    return [option for option in options if option.name in names]


def given(options: dict[str, Any], *several: str) -> dict[str, Any]:
    """Arguments of the function behind a command: what was given, `several` of a name as a list or None.

    The single word ``file`` stands for whole files where it says what units are.
    """
    arguments = {name: value for name, value in options.items() if value is not None}
    for name in several:
        arguments[name] = list(arguments[name]) or None
    for name in ("block_by", "unit"):
        if arguments.get(name) == ["file"]:
            arguments[name] = "file"
    if arguments["rng"] == "random":
        arguments["rng"] = None
    return with_storage_options(arguments)


def with_storage_options(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the pairs of ``--storage-option`` as a mapping, or None.

    Raises
    ------
    ConfigError
        If a key is given twice.
    """
    pairs = arguments.get("storage_options") or ()
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ConfigError("storage_options: a key is given twice; give each once")
    return {**arguments, "storage_options": found or None}
