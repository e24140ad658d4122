"""How ``--help`` looks: options in groups, one line each, and examples at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from distmom.checks import did_you_mean
from distmom.cli.completion.values import COMPLETE
from distmom.json_lines import FLAG

MEMORY, PLACES = "Saved state", "Where it runs"
HEADINGS = ("Arguments", "Estimate", "Data", "Rows", "Blocks", "Uncertainty", MEMORY, PLACES, "Output")

LABEL = 28
"""The widest flag whose text stands beside it."""

LOG_JSON = "Log one JSON object per line on standard error."

Examples = Sequence[tuple[str, str]]
"""What each example does, and its command line."""


class Word(click.Choice):  # type: ignore[type-arg, unused-ignore]
    """One of a few words; for a misspelt one the nearest is suggested."""

    def fail(self, message: str, param: click.Parameter | None = None, ctx: Any = None) -> Any:
        """The error, with the word that may have been meant."""
        value = message.partition("'")[2].partition("'")[0]
        super().fail(message.rstrip(".") + did_you_mean(value, self.choices), param, ctx)


class Option(click.Option):
    """An option: its words, its line in ``--help``, its kind and its heading.

    The kind is a metavar (in a list for an option that may be repeated), choices, `bool` for a flag without a
    value, or a type. `usual` is the value if an option without a default is not given.
    """

    def __init__(
        self,
        words: str,
        says: str | None,
        kind: Any = None,
        heading: str = "Estimate",
        usual: str | None = None,
        **rest: Any,
    ) -> None:
        if isinstance(kind, list):
            [kind], rest["multiple"] = kind, True
        if isinstance(kind, str):
            rest["metavar"] = kind
        elif kind is bool:
            rest["is_flag"] = True
        else:
            rest["type"] = Word(kind) if isinstance(kind, tuple) else kind
        if usual is not None:
            says = f"{says}  [default: {usual}]"
        rest.setdefault("shell_complete", COMPLETE.get(rest.get("metavar", "")))
        super().__init__(words.split(), help=says, show_default="default" in rest, **rest)
        self.heading = heading

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The first long flag, and its line; choices too long to stand beside the flag come last."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        flags = [flag for flag in self.opts if not flag.startswith("--")]
        flags += [flag for flag in self.opts if flag.startswith("--")][:1]
        value, text = "" if self.is_flag else f" {self.make_metavar(ctx)}", record[1]
        if len(", ".join(flags) + value) > LABEL and isinstance(self.type, click.Choice):
            value = f" {flags[-1].rpartition('-')[2].upper()}"
            says, dot, rest = text.partition(".  [") if ".  [" in text else (text.rstrip("."), ".", "")
            text = f"{says}: {_or(list(self.type.choices))}{dot}{rest}"
        return ", ".join(flags) + value, text


class Argument(click.Argument):
    """An argument with a line of its own in ``--help``."""

    heading = "Arguments"

    def __init__(self, name: str, says: str, **rest: Any) -> None:
        known = COMPLETE.get(name.upper()) or COMPLETE.get(rest.get("metavar", ""))
        super().__init__([name], shell_complete=known, **rest)
        self.says = says

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Its name, and its line."""
        return self.make_metavar(ctx), self.says


class Command(click.Command):
    """A command whose help groups its options and ends with examples."""

    def __init__(self, *args: Any, examples: Examples = (), **rest: Any) -> None:
        super().__init__(*args, **rest)
        # the program looks for it before it understands any other word
        self.params.append(Option(FLAG, LOG_JSON, bool, "Output", expose_value=False))
        self.examples = examples
        lines = (f"# {what}\n{line}" for what, line in examples)
        self.epilog = "\b\n" + "\n".join(lines) if examples else None  # for the pages of docs/

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, each under its heading, all texts in one column."""
        groups: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        for option in self.get_params(ctx):
            if (record := option.get_help_record(ctx)) is not None:
                groups[getattr(option, "heading", HEADINGS[-1])].append(record)
        labels = [len(label) for records in groups.values() for label, _ in records]
        width = max(n for n in labels if n <= LABEL)
        for heading, records in groups.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl([(f"{label:{width}}", text) for label, text in records], LABEL)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, to be copied as they are."""
        if self.examples:
            with formatter.section("Examples"):
                for what, line in self.examples:
                    formatter.write(f"  # {what}\n  {line}\n")


def command(
    name: str,
    short_help: str,
    *options: click.Parameter,
    examples: Examples,
    help: str | None = None,
) -> Callable[..., click.Command]:
    """A command with these parameters and examples."""
    return click.command(
        name, cls=Command, short_help=short_help, help=help, params=list(options), examples=examples
    )


def _or(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
