"""The options that commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import click

from distmom.cli import types
from distmom.cli.layout import MEMORY, PLACES, Argument, Examples, Option
from distmom.cli.layout import command as layout_command

INTERVALS = ("auto", "order", "cantelli", "closed-form", "none")

_data, _rows = partial(Option, heading="Data"), partial(Option, heading="Rows")
_blocks, _uncertainty = partial(Option, heading="Blocks"), partial(Option, heading="Uncertainty")
_memory, _place = partial(Option, heading=MEMORY), partial(Option, heading=PLACES)
_output = partial(Option, heading="Output")

COLUMN = _rows("-c --column", "Column to estimate; repeatable.", ["NAME"], usual="the only one")
BY = _rows("--by", "Group by this column; repeatable.", ["NAME"])
WHERE = _rows("--where", "Keep rows that match, such as \"status == 'paid'\".", "TEXT")
NAN = _rows("--nan", "How to handle NaN.", ("omit", "raise", "keep"), default="omit")
WEIGHTS = _rows("--weights", "Column of weights.", "NAME")
ROWS = [COLUMN, BY, WHERE, NAN]

DATA = [
    _data("--exclude", "Leave out files that match, such as 'day=4/*'; repeatable.", ["PATTERN|@FILE"]),
    _data("--missing", "Files without the column: fail, or count nulls.", ("error", "null"), default="error"),
    _data(
        "--on-bad-file",
        "Unreadable files: fail, or skip and exit with 4.",
        ("error", "skip"),
        default="error",
    ),
    _data(
        "--storage-option storage_options",
        "Object store setting, such as region=eu-west-1; repeatable.",
        types.STORAGE_OPTION,
        multiple=True,
    ),
    _data("--batch-rows", "Rows decoded at a time.", int, metavar="ROWS"),
]

BLOCKS = [
    _blocks(
        "--blocks --n-blocks n_blocks",
        "Number of blocks.",
        types.BLOCK_NUMBER,
        usual="auto",
        metavar="N|auto|paper",
    ),
    _blocks("--block-size", "Rows per block, instead of a number of blocks.", int, metavar="ROWS"),
    _blocks(
        "--block-by",
        "Keep each file, or each value of a column, in one block; repeatable.",
        ["file|NAME"],
    ),
    _blocks(
        "--order",
        "Assign rows at random, or in stored order (cheaper).",
        ("random", "stored"),
        usual="random",
    ),
    _blocks("--chunk-rows", "Block length: consecutive rows kept together.", int, metavar="ROWS"),
    _blocks("--repeats", "Number of random partitions.", int, usual="1", metavar="R"),
    _blocks("--fine", "Use many fine blocks for scattered bad rows.", ("standard", "many"), usual="standard"),
    _blocks(
        "--scheme",
        "Partition rows, or sample them.",
        ("partition", "swor", "monte_carlo"),
        usual="partition",
    ),
    _blocks("--tau", "Sampling parameter, 0 < tau < 0.5.", float, usual="0.45", metavar="TAU"),
]
PAIRS = [
    _blocks("--pairs", "Pairs per block.", ("complete", "sampled", "disjoint"), default="complete"),
    _blocks("--pair-count n_pairs", "Number of sampled pairs.", types.WHOLE_NUMBER, metavar="M"),
    _blocks("--pair-budget", "Evaluate at most this many pairs one by one.", types.WHOLE_NUMBER, metavar="N"),
]

CONTAMINATION = _uncertainty(
    "--contamination",
    "Rows or units that may be arbitrary, such as 20 or 0.01.",
    types.COUNT_OR_SHARE,
    metavar="N|SHARE",
)
LEVEL = "--confidence --confidence-level confidence_level"
CONFIDENCE = _uncertainty(LEVEL, "Confidence level of the interval.", float, default=0.99, metavar="LEVEL")


def interval(*kinds: str) -> Option:
    """The kind of interval, of those that the command has."""
    return _uncertainty("--interval", "Kind of interval.", kinds or INTERVALS, default="auto")


SEED = _uncertainty(
    "--seed --rng rng", "Seed of all random draws.", types.SEED, default=0, metavar="N|random"
)
STATE = _memory(
    "--state",
    "Save running totals here; later runs read only new files.",
    click.Path(),
    metavar="FILE",
)
ON_CHANGE = _memory(
    "--on-change",
    "Changed or missing files: fail, or read everything again.",
    ("error", "restart"),
    usual="error",
)

PLACE = [
    _place("--workers", "Worker processes on this machine.", int, metavar="N"),
    _place("--threads", "Threads in this process.", int, usual="one per CPU", metavar="N"),
    _place("--scheduler", "Dask cluster: an address, or a scheduler file.", "ADDRESS"),
    _place("--memory-limit", "Memory limit per process, such as 2GB.", "BYTES"),
]
SCRATCH = _place(
    "--scratch",
    "Folder for sorting, reachable by all workers.",
    click.Path(),
    usual="$TMPDIR or /var/tmp",
    metavar="FOLDER",
)

OUTPUT = [
    _output("--dry-run", "Show what would be read and needed; read no rows.", bool),
    _output("--json as_json", "Print a JSON document instead of the table.", bool),
    _output(
        "--output",
        "Write results to a .json, .parquet, .csv or .html file.",
        click.Path(path_type=Path),
        metavar="FILE",
    ),
    _output(
        "--fail-on",
        "Exit with 7 on these statuses, or on 'any'; repeatable.",
        ["STATUS[,STATUS]"],
    ),
    _output("--explain", "Show notes in full, and explain every status.", bool),
    _output("--quiet", "No progress and no notes; with --output no table.", bool),
]

LAKE = "Parquet file, folder, pattern, table, URL or @LIST.txt; several are read together."


def command(
    name: str, short_help: str, *options: click.Option, examples: Examples, data: str = LAKE
) -> Callable[..., click.Command]:
    """A command that reads data, with these options."""
    argument = Argument("data", data, nargs=-1, required=True)
    return layout_command(name, short_help, argument, *options, examples=examples)


def named(options: Iterable[click.Option], *names: str) -> list[click.Option]:
    """Those options of another command that this one has, too."""
    return [option for option in options if option.name in names]


def without(options: Iterable[click.Option], *names: str) -> list[click.Option]:
    """The options but these."""
    return [option for option in options if option.name not in names]
