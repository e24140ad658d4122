"""The program ``distmom``: its commands, and how their failures end."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from time import monotonic
from typing import Any

import click

from distmom.checks import did_you_mean
from distmom.cli.address_space import refuse_too_little
from distmom.cli.answer import COMMAND
from distmom.cli.commands.batch import init_command, run_command, train_command
from distmom.cli.commands.clean import clean_command
from distmom.cli.commands.compare import compare_command
from distmom.cli.commands.describe import describe_command
from distmom.cli.commands.difference import difference_command
from distmom.cli.commands.explain import explain_command
from distmom.cli.commands.mean import mean_command
from distmom.cli.commands.merge import merge_command
from distmom.cli.commands.tournament import tournament_command
from distmom.cli.commands.ustat import ustat_command
from distmom.cli.commands.warm_up import warm_up_command
from distmom.cli.completion.shells import VARIABLE, complete
from distmom.cli.failures import run_guarded, tell
from distmom.cli.meanings.codes import CODES
from distmom.cli.words import telling_flags
from distmom.json_lines import asked, json_stderr

GROUPS = {
    "Estimate": ("mean", "ustat", "describe", "compare", "difference", "tournament"),
    "Run a job": ("init", "run", "train"),
    "Clean up and combine": ("merge", "clean", "warm-up"),
    "Explain": ("explain",),
}
"""Headings of the help, and their commands."""


class Program(click.Group):
    """A group of commands that always ends with an exit code and at most one line of error."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, under headings."""
        for heading, names in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{n:12}", self.commands[n].get_short_help_str(100)) for n in names])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The exit codes, and where to read more."""
        with formatter.section("Exit codes"):
            said = ((code.number, code.meaning[0].upper() + code.meaning[1:]) for code in CODES)
            formatter.write_dl([(f"{number:<12}", f"{meaning}.") for number, meaning in said])

    def run(self, arguments: Sequence[str]) -> int:
        """Run one command line; the exit code."""
        started = monotonic()
        with json_stderr.on(asked(arguments)):
            code = run_guarded(lambda: self._invoke(list(arguments)))
            if json_stderr.active and not json_stderr.finished:  # jobs say it themselves
                seconds = round(monotonic() - started, 3)
                tell("finish", f"finished with exit code {code}", exit_code=code, seconds=seconds)
        return code

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> Any:
        """Run one command line and leave with its exit code, as click's own entry point does."""
        sys.exit(self.run(sys.argv[1:] if args is None else args))

    def _invoke(self, arguments: list[str]) -> int:
        if wish := os.environ.get(VARIABLE):
            return complete(self, wish)
        try:
            given = list(arguments)
            with self.make_context("distmom", arguments) as context:
                context.meta[COMMAND] = given
                if not {"-h", "--help"} & set(given):
                    refuse_too_little()
                return telling_flags(
                    lambda: self.get_command(context, context.invoked_subcommand or ""),
                    lambda: int(self.invoke(context) or 0),
                )
        except click.exceptions.Exit as end:  # after --help and --version
            return end.exit_code

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest the one that was probably meant."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            hint = did_you_mean(name, self.list_commands(ctx))
            raise click.UsageError(f"no command {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)


def prepare_process() -> None:
    """Settings of a process that runs only this program; workers that it starts inherit them."""
    if not os.environ.get("DISTMOM_DEBUG"):
        import warnings

        # hints for programmers: what a user should know is said by distmom itself
        warnings.simplefilter("ignore")
        os.environ.setdefault("PYTHONWARNINGS", "ignore")
        os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "critical")
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from distmom.version import VERSION

        click.echo(f"distmom {VERSION}")
        ctx.exit()


@click.group(
    cls=Program,
    name="distmom",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    no_args_is_help=False,
    invoke_without_command=True,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.pass_context
def program(ctx: click.Context) -> int:
    """Robust means with honest uncertainty, from Parquet lakes with heavy tails or bad rows and files."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        return 2
    return 0


for command in (
    *(compare_command, difference_command, mean_command, describe_command, init_command, tournament_command),
    *(train_command, merge_command, run_command, ustat_command, clean_command, explain_command),
    warm_up_command,
):
    program.add_command(command)
