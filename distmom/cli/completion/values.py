"""Completions for the values of options, by what ``--help`` calls them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from distmom.cli.completion.lake import columns_of
from distmom.cli.completion.names import KERNELS, LOSSES
from distmom.status import Status

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def words(every: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Those that begin with what has been typed."""
    return [CompletionItem(word) for word in every if word.startswith(incomplete)]


def columns(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Columns of the lake on the line, even if it comes after the cursor."""
    return words(columns_of(ctx.params.get("data") or _line()[2:]), incomplete)


def _line() -> list[str]:
    """All words of the line: click drops those beside a flag without its value."""
    line = os.environ.get("COMP_WORDS", "")
    try:
        return shlex.split(line)
    except ValueError:  # a quote is still open
        return line.split()


def columns_or_file(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The same, and whole files."""
    return [*words(["file"], incomplete), *columns(ctx, param, incomplete)]


def columns_or_files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Columns, or names of files if no column begins like that."""
    return columns(ctx, param, incomplete) or files(ctx, param, incomplete)


def files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Paths, which the shell completes; those of a list (``@list.txt``) are found here."""
    if not incomplete.startswith("@"):
        return [CompletionItem(incomplete, type="file")]
    folder, slash, start = incomplete[1:].rpartition("/")
    there = sorted(one.name for one in Path(folder + slash or ".").iterdir())
    return words((f"@{folder}{slash}{name}" for name in there), f"@{folder}{slash}{start}")


def statuses(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Statuses that are not fine, also after a comma."""
    before, comma, start = incomplete.rpartition(",")
    every = ["any", *(str(status) for status in Status if not status.fine)]
    return words((f"{before}{comma}{word}" for word in every), f"{before}{comma}{start}")


def explained(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Words that can be explained."""
    from distmom.cli.meanings.lookup import meanings

    return words((one.word for one in meanings()), incomplete)


def templates(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Kinds of jobs, and scripts."""
    from importlib.resources import files as of_package

    folder = of_package("distmom") / "jobs" / "templates"
    return words(sorted(one.name.removesuffix(".toml") for one in folder.iterdir()), incomplete)


COMPLETE: dict[str, Complete] = {
    "NAME": columns,
    "NAME|FILE": columns_or_files,
    "file|NAME": columns_or_file,
    "NAME|file": columns_or_file,
    "NAME|MODULE:NAME": lambda _, __, incomplete: words(KERNELS, incomplete),
    "LOSS": lambda _, __, incomplete: words(LOSSES, incomplete),
    "STATUS[,STATUS]": statuses,
    "PATTERN|@FILE": files,
    "FILE": files,
    "CONFIG.toml": files,
    "DATA": files,
    "WORD": explained,
    "TEMPLATE": templates,
}
"""By the metavar of an option, or the name of an argument."""
