"""The options that commands share, under the headings of ``--help``."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import click

from distmom.cli.types import BlockNumber, CountOrShare, Seed, StorageOption, WholeNumber

INTERVALS = ("auto", "order", "exact", "paper", "none")
HEADINGS = (
    "Question",
    "Data",
    "Blocks",
    "Promise",
    "Chance",
    "Memory between runs",
    "Where it runs",
    "Output",
)


class Option(click.Option):
    """An option that stands under a heading."""

    def __init__(self, words: list[str], heading: str = "Question", **rest: Any) -> None:
        super().__init__(words, **rest)
        self.heading = heading


class Command(click.Command):
    """A command whose help groups its options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, each under its heading."""
        for heading in (*HEADINGS, "Other"):
            records = [
                record
                for option in self.get_params(ctx)
                if getattr(option, "heading", "Other") == heading
                and (record := option.get_help_record(ctx)) is not None
            ]
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


def _data(words: list[str], **rest: Any) -> Option:
    return Option(words, "Data", **rest)


def _blocks(words: list[str], **rest: Any) -> Option:
    return Option(words, "Blocks", **rest)


DATA = [
    _data(
        ["-c", "--column"],
        metavar="NAME",
        multiple=True,
        help="Column to estimate; repeatable. May be left out if the data has only one.",
    ),
    _data(["--by"], metavar="NAME", multiple=True, help="Column whose values form groups; repeatable."),
    _data(["--where"], metavar="TEXT", help="Condition, such as \"status == 'paid' and amount > 0\"."),
    _data(
        ["--exclude"],
        metavar="PATTERN",
        multiple=True,
        help="Files to leave out, by their path below the folder, such as 'day=4/*'; repeatable.",
    ),
    _data(
        ["--nan"],
        type=click.Choice(["omit", "raise", "keep"]),
        default="omit",
        show_default=True,
        help="How to handle NaN.",
    ),
    _data(
        ["--missing"],
        type=click.Choice(["error", "null"]),
        default="error",
        show_default=True,
        help="How to treat files that lack the column.",
    ),
    _data(
        ["--on-bad-file"],
        type=click.Choice(["error", "skip"]),
        default="error",
        show_default=True,
        help="Fail on unreadable files, or skip them and exit with code 4.",
    ),
    _data(
        ["--storage-option", "storage_options"],
        type=StorageOption(),
        multiple=True,
        help="Of the object store: region, endpoint, anonymous, max_attempts …; repeatable.",
    ),
    _data(["--batch-rows"], type=int, metavar="ROWS", help="Rows decoded at a time."),
]

WEIGHTS = _data(["--weights"], metavar="NAME", help="Column of weights: weighted estimates.")

BLOCKS = [
    _blocks(
        ["--blocks", "--n-blocks", "n_blocks"],
        type=BlockNumber(),
        help="Number of blocks.  [default: auto]",
    ),
    _blocks(["--block-size"], type=int, metavar="ROWS", help="Rows of a block, instead of their number."),
    _blocks(
        ["--block-by"],
        metavar="file|NAME",
        multiple=True,
        help="Whole files as blocks, or whole units: the rows that agree in a column; repeatable.",
    ),
    _blocks(
        ["--order"],
        type=click.Choice(["random", "stored"]),
        help="Random blocks, or contiguous ones: cheaper, for exchangeable rows.  [default: random]",
    ),
    _blocks(
        ["--chunk-rows"], type=int, metavar="ROWS", help="Block length: consecutive rows that stay together."
    ),
    _blocks(["--repeats"], type=int, metavar="R", help="Number of random partitions.  [default: 1]"),
    _blocks(
        ["--fine"],
        type=click.Choice(["standard", "many"]),
        help="Many fine blocks where scattered bad rows are expected.  [default: standard]",
    ),
    _blocks(
        ["--scheme"],
        type=click.Choice(["partition", "swor", "monte_carlo"]),
        help="Blocks that partition the rows, or samples without or with replacement.  [default: partition]",
    ),
    _blocks(["--tau"], type=float, help="Sampling parameter, 0 < tau < 0.5.  [default: 0.45]"),
]

CONTAMINATION = Option(
    ["--contamination"],
    "Promise",
    type=CountOrShare(),
    help="Rows or units that may be arbitrary: a number, or a share such as 0.01.",
)
CONFIDENCE = Option(
    ["--confidence", "--confidence-level", "confidence_level"],
    "Promise",
    type=float,
    default=0.99,
    show_default=True,
    help="Confidence level of the interval.",
)


def interval(*kinds: str) -> Option:
    """The kind of interval, of those that the command has."""
    return Option(
        ["--interval"],
        "Promise",
        type=click.Choice(kinds or INTERVALS),
        default="auto",
        show_default=True,
        help="Kind of interval.",
    )


SEED = Option(
    ["--seed", "--rng", "rng"],
    "Chance",
    type=Seed(),
    default=0,
    show_default=True,
    help="Decides every random draw; 'random' takes a new one each time.",
)

STATE = Option(
    ["--state"],
    "Memory between runs",
    type=click.Path(),
    metavar="FILE",
    help="Save running totals here; later runs read only new files and resume after an interruption.",
)
ON_CHANGE = Option(
    ["--on-change"],
    "Memory between runs",
    type=click.Choice(["error", "restart"]),
    help="What to do when files of the state have changed or are gone.  [default: error]",
)

PLACE = [
    Option(["--workers"], "Where it runs", type=int, metavar="N", help="Worker processes of this machine."),
    Option(
        ["--threads"],
        "Where it runs",
        type=int,
        metavar="N",
        help="Threads of this process.  [default: one a CPU]",
    ),
    Option(
        ["--scheduler"],
        "Where it runs",
        metavar="ADDRESS",
        help="A Dask cluster: an address such as tcp://10.0.0.1:8786, or a scheduler file.",
    ),
    Option(["--memory-limit"], "Where it runs", metavar="BYTES", help="Memory of a process, such as 2GB."),
]

SCRATCH = Option(
    ["--scratch"],
    "Where it runs",
    type=click.Path(),
    metavar="FOLDER",
    help="For rows that are sorted on disk; all workers must reach it.  "
    "[default: on one machine $TMPDIR or /var/tmp]",
)

OUTPUT = [
    Option(
        ["--dry-run"],
        "Output",
        is_flag=True,
        help="Show files, bytes, units, memory and blocks; read no rows.",
    ),
    Option(["--json", "as_json"], "Output", is_flag=True, help="Print a JSON document instead of the table."),
    Option(
        ["--output"],
        "Output",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write the results to a .json, .parquet, .csv or .html file, whole or not at all.",
    ),
    Option(
        ["--quiet"],
        "Output",
        is_flag=True,
        help="No progress and no remarks; with --output no table either.",
    ),
]

PAIRS = [
    _blocks(
        ["--pairs"],
        type=click.Choice(["complete", "sampled", "disjoint"]),
        default="complete",
        show_default=True,
        help="All pairs of a block, samples of pairs, or each row in one pair.",
    ),
    _blocks(["--pair-count", "n_pairs"], type=WholeNumber(), metavar="M", help="Pairs of each sample."),
    _blocks(
        ["--pair-budget"], type=WholeNumber(), metavar="PAIRS", help="Most pairs to evaluate one by one."
    ),
]

ARGUMENT = click.Argument(["data"], nargs=-1, required=True)


def named(options: Iterable[click.Option], names: Collection[str]) -> list[click.Option]:
    """Those options of another command that this one has, too."""
    return [option for option in options if option.name in names]


def without(options: Iterable[click.Option], *names: str) -> list[click.Option]:
    """The options but these."""
    return [option for option in options if option.name not in names]
