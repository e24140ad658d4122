"""The options that commands share, under the headings of ``--help``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import click

from distmom.cli import types

INTERVALS = ("auto", "order", "cantelli", "closed-form", "none")
MEMORY, PLACES = "Memory between runs", "Where it runs"
HEADINGS = ("Question", "Data", "Blocks", "Promise", "Chance", MEMORY, PLACES, "Output")


class Option(click.Option):
    """An option by its words, what ``--help`` says, its kind, and its heading.

    The kind is a metavar or, in a list, that of an option which may be repeated; choices; `bool` for a flag
    without a value; else a type.
    """

    def __init__(
        self, words: str, says: str | None, kind: Any = None, heading: str = "Question", **rest: Any
    ) -> None:
        if isinstance(kind, list):
            [kind], rest["multiple"] = kind, True
        if isinstance(kind, str):
            rest["metavar"] = kind
        elif kind is bool:
            rest["is_flag"] = True
        else:
            rest["type"] = click.Choice(kind) if isinstance(kind, tuple) else kind
        super().__init__(words.split(), help=says, show_default="default" in rest, **rest)
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


_data, _blocks = partial(Option, heading="Data"), partial(Option, heading="Blocks")
_promise, _output = partial(Option, heading="Promise"), partial(Option, heading="Output")
_memory, _place = partial(Option, heading=MEMORY), partial(Option, heading=PLACES)

DATA = [
    _data(
        "-c --column", "Column to estimate; repeatable. May be left out if the data has only one.", ["NAME"]
    ),
    _data("--by", "Column whose values form groups; repeatable.", ["NAME"]),
    _data("--where", "Condition, such as \"status == 'paid' and amount > 0\".", "TEXT"),
    _data(
        "--exclude",
        "Files to leave out, by their path below the folder, such as 'day=4/*'; repeatable.",
        ["PATTERN"],
    ),
    _data("--nan", "How to handle NaN.", ("omit", "raise", "keep"), default="omit"),
    _data("--missing", "How to treat files that lack the column.", ("error", "null"), default="error"),
    _data(
        "--on-bad-file",
        "Fail on unreadable files, or skip them and exit with code 4.",
        ("error", "skip"),
        default="error",
    ),
    _data(
        "--storage-option storage_options",
        "Of the object store: region, endpoint, anonymous, max_attempts …; repeatable.",
        types.STORAGE_OPTION,
        multiple=True,
    ),
    _data("--batch-rows", "Rows decoded at a time.", int, metavar="ROWS"),
]
WEIGHTS = _data("--weights", "Column of weights: weighted estimates.", "NAME")

BLOCKS = [
    _blocks("--blocks --n-blocks n_blocks", "Number of blocks.  [default: auto]", types.BLOCK_NUMBER),
    _blocks("--block-size", "Rows of a block, instead of their number.", int, metavar="ROWS"),
    _blocks(
        "--block-by",
        "Whole files as blocks, or whole units: the rows that agree in a column; repeatable.",
        ["file|NAME"],
    ),
    _blocks(
        "--order",
        "Random blocks, or contiguous ones: cheaper, for exchangeable rows.  [default: random]",
        ("random", "stored"),
    ),
    _blocks("--chunk-rows", "Block length: consecutive rows that stay together.", int, metavar="ROWS"),
    _blocks("--repeats", "Number of random partitions.  [default: 1]", int, metavar="R"),
    _blocks(
        "--fine",
        "Many fine blocks where scattered bad rows are expected.  [default: standard]",
        ("standard", "many"),
    ),
    _blocks(
        "--scheme",
        "Blocks that partition the rows, or samples without or with replacement.  [default: partition]",
        ("partition", "swor", "monte_carlo"),
    ),
    _blocks("--tau", "Sampling parameter, 0 < tau < 0.5.  [default: 0.45]", float),
]
PAIRS = [
    _blocks(
        "--pairs",
        "All pairs of a block, samples of pairs, or each row in one pair.",
        ("complete", "sampled", "disjoint"),
        default="complete",
    ),
    _blocks("--pair-count n_pairs", "Pairs of each sample.", types.WHOLE_NUMBER, metavar="M"),
    _blocks("--pair-budget", "Most pairs to evaluate one by one.", types.WHOLE_NUMBER, metavar="PAIRS"),
]

CONTAMINATION = _promise(
    "--contamination",
    "Rows or units that may be arbitrary: a number, or a share such as 0.01.",
    types.COUNT_OR_SHARE,
)
LEVEL = "--confidence --confidence-level confidence_level"
CONFIDENCE = _promise(LEVEL, "Confidence level of the interval.", float, default=0.99)


def interval(*kinds: str) -> Option:
    """The kind of interval, of those that the command has."""
    return _promise("--interval", "Kind of interval.", kinds or INTERVALS, default="auto")


SEED = Option(
    "--seed --rng rng",
    "Decides every random draw; 'random' takes a new one each time.",
    types.SEED,
    "Chance",
    default=0,
)
STATE = _memory(
    "--state",
    "Save running totals here; later runs read only new files and resume after an interruption.",
    click.Path(),
    metavar="FILE",
)
ON_CHANGE = _memory(
    "--on-change",
    "What to do when files of the state have changed or are gone.  [default: error]",
    ("error", "restart"),
)

PLACE = [
    _place("--workers", "Worker processes of this machine.", int, metavar="N"),
    _place("--threads", "Threads of this process.  [default: one a CPU]", int, metavar="N"),
    _place(
        "--scheduler",
        "A Dask cluster: an address such as tcp://10.0.0.1:8786, or a scheduler file.",
        "ADDRESS",
    ),
    _place("--memory-limit", "Memory of a process, such as 2GB.", "BYTES"),
]
SCRATCH = _place(
    "--scratch",
    "For rows that are sorted on disk; all workers must reach it.  "
    "[default: on one machine $TMPDIR or /var/tmp]",
    click.Path(),
    metavar="FOLDER",
)

OUTPUT = [
    _output("--dry-run", "Show files, bytes, units, memory and blocks; read no rows.", bool),
    _output("--json as_json", "Print a JSON document instead of the table.", bool),
    _output(
        "--output",
        "Write the results to a .json, .parquet, .csv or .html file, whole or not at all.",
        click.Path(path_type=Path),
        metavar="FILE",
    ),
    _output(
        "--fail-on",
        "Exit with 7 if a result has one of these statuses; 'any': if one is not ok; repeatable.",
        ["STATUS[,STATUS]"],
    ),
    _output("--quiet", "No progress and no remarks; with --output no table either.", bool),
]

ARGUMENT = click.Argument(["data"], nargs=-1, required=True)


def command(name: str, short_help: str, *options: click.Option) -> Callable[..., click.Command]:
    """A command that reads data, with these options."""
    return click.command(name, cls=Command, short_help=short_help, params=[ARGUMENT, *options])


def named(options: Iterable[click.Option], *names: str) -> list[click.Option]:
    """Those options of another command that this one has, too."""
    return [option for option in options if option.name in names]


def without(options: Iterable[click.Option], *names: str) -> list[click.Option]:
    """The options but these."""
    return [option for option in options if option.name not in names]
