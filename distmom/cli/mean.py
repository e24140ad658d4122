"""``distmom mean``: the options, under short names with the long ones of Python beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distmom.cli.answer import answer, given
from distmom.estimators.options import CHOICES, JOINT, ON_CHANGE


class BlockNumber(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """``auto``, ``paper`` or a whole number."""

    name = "auto|paper|number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """The word, or the number."""
        if isinstance(value, int) or value in ("auto", "paper"):
            return value  # type: ignore[no-any-return]
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither auto nor paper nor a whole number", param, ctx)


class Seed(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A whole number, ``random``, or a seed as a result prints it."""

    name = "number|random"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """The number, ``random``, or the 32 digits of a printed seed."""
        if isinstance(value, int) or value == "random" or value[:2].lower() == "0x":
            return value  # type: ignore[no-any-return]
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither a whole number nor 'random'", param, ctx)


class CountOrShare(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A whole number, or a fraction."""

    name = "number|share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | float:
        """The number as it was written: ``1`` is a row, ``0.1`` a tenth of them."""
        if isinstance(value, (int, float)):
            return value
        try:
            return int(value) if value.strip().isdecimal() else float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a whole number nor a share", param, ctx)


def _choice(name: str) -> click.Choice:  # type: ignore[type-arg, unused-ignore]
    return click.Choice(CHOICES[name])


DATA_OPTIONS = [
    click.Option(
        ["-c", "--column"],
        metavar="NAME",
        multiple=True,
        help="Column to average; repeat it for several. May be left out if the data has only one.",
    ),
    click.Option(
        ["--by"], metavar="NAME", multiple=True, help="Column whose values form groups; repeatable."
    ),
    click.Option(["--where"], metavar="TEXT", help="Condition, such as \"status == 'paid' and amount > 0\"."),
    click.Option(
        ["--nan"], type=_choice("nan"), default="omit", show_default=True, help="What becomes of NaN."
    ),
    click.Option(
        ["--missing"],
        type=_choice("missing"),
        default="error",
        show_default=True,
        help="What a file without the column is.",
    ),
    click.Option(
        ["--on-bad-file"],
        type=_choice("on_bad_file"),
        default="error",
        show_default=True,
        help="Stop at a file that cannot be read, or go on without it and exit with 4.",
    ),
]

BLOCK_OPTIONS = [
    click.Option(
        ["--scheme"],
        type=_choice("scheme"),
        default="partition",
        show_default=True,
        help="Blocks that partition the rows, or samples of them without or with replacement.",
    ),
    click.Option(
        ["--blocks", "--n-blocks", "n_blocks"],
        type=BlockNumber(),
        default="auto",
        show_default=True,
        help="Number of blocks.",
    ),
    click.Option(
        ["--block-size"], type=int, metavar="ROWS", help="Rows of a block, instead of their number."
    ),
    click.Option(["--tau"], type=float, help="Of the samples, in (0, 1/2).  [default: 0.45]"),
    click.Option(
        ["--order"],
        type=_choice("order"),
        default="random",
        show_default=True,
        help="Random blocks, or contiguous ones: cheaper, for exchangeable rows.",
    ),
    click.Option(
        ["--block-by"],
        metavar="file|NAME",
        multiple=True,
        help="Whole files as blocks, or the rows that agree in a column; repeatable.",
    ),
    click.Option(
        ["--chunk-rows"], type=int, default=1, metavar="ROWS", help="Consecutive rows that stay together."
    ),
    click.Option(["--repeats"], type=int, default=1, metavar="R", help="Number of random partitions."),
    click.Option(
        ["--contamination"],
        type=CountOrShare(),
        help="Rows or units that may be arbitrary: a number, or a share such as 0.01.",
    ),
    click.Option(["--weights"], metavar="NAME", help="Column of weights: weighted means."),
    click.Option(
        ["--joint"],
        type=click.Choice(JOINT),
        help="One mean vector over all columns, or over a list column, by this median.",
    ),
    click.Option(
        ["--fine"],
        type=_choice("fine"),
        default="standard",
        show_default=True,
        help="Many fine blocks where scattered bad rows are expected.",
    ),
    click.Option(
        ["--interval"],
        type=_choice("interval"),
        default="auto",
        show_default=True,
        help="Kind of interval.",
    ),
    click.Option(
        ["--confidence", "--confidence-level", "confidence_level"],
        type=float,
        default=0.99,
        show_default=True,
        help="Confidence level of the interval.",
    ),
    click.Option(
        ["--seed", "--rng", "rng"],
        type=Seed(),
        default=0,
        show_default=True,
        help="Decides every random draw; 'random' takes a new one each time.",
    ),
]

STATE_OPTIONS = [
    click.Option(
        ["--state"],
        type=click.Path(),
        metavar="FILE",
        help="Keep the sums there: read only files that are new, and go on where a run was interrupted.",
    ),
    click.Option(
        ["--on-change"],
        type=click.Choice(ON_CHANGE),
        default="error",
        show_default=True,
        help="What to do when files of the state have changed or are gone.",
    ),
]


class StorageOption(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """``KEY=VALUE``; the value, which may be secret, is not shown."""

    name = "KEY=VALUE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """The key and the value."""
        if isinstance(value, tuple):
            return value
        key, equals, text = value.partition("=")
        if not key or not equals:
            self.fail("must be KEY=VALUE, such as endpoint=http://127.0.0.1:9000", param, ctx)
        return key, text


RUN_OPTIONS = [
    click.Option(
        ["--storage-option", "storage_options"],
        type=StorageOption(),
        multiple=True,
        help="Of the object store: region, endpoint, anonymous, max_attempts …; repeatable.",
    ),
    click.Option(["--workers"], type=int, metavar="N", help="Run on that many processes of this machine."),
    click.Option(
        ["--threads"], type=int, metavar="N", help="Run on that many threads.  [default: one a CPU]"
    ),
    click.Option(
        ["--scheduler"],
        metavar="ADDRESS",
        help="Run on a Dask cluster: an address such as tcp://10.0.0.1:8786, or a scheduler file.",
    ),
    click.Option(["--memory-limit"], metavar="BYTES", help="Memory of a process, such as 2GB."),
    click.Option(["--batch-rows"], type=int, metavar="ROWS", help="Rows decoded at a time."),
]

SCRATCH_OPTION = click.Option(
    ["--scratch"],
    type=click.Path(),
    metavar="FOLDER",
    help="For rows that are sorted on disk; all workers must reach it.  "
    "[default: on one machine $TMPDIR or /var/tmp]",
)

OUTPUT_OPTIONS = [
    click.Option(
        ["--dry-run"], is_flag=True, help="Show files, bytes, units, memory and blocks; read no rows."
    ),
    click.Option(["--json", "as_json"], is_flag=True, help="Print a JSON document instead of the table."),
    click.Option(
        ["--output"],
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write the results to a .json, .parquet, .csv or .html file, whole or not at all.",
    ),
    click.Option(
        ["--quiet"], is_flag=True, help="No progress and no remarks; with --output no table either."
    ),
]


@click.command(
    "mean",
    short_help="Robust means of columns, with intervals.",
    params=[
        click.Argument(["data"], nargs=-1, required=True),
        *DATA_OPTIONS,
        *BLOCK_OPTIONS,
        *STATE_OPTIONS,
        *RUN_OPTIONS,
        *OUTPUT_OPTIONS,
    ],
)
def mean_command(
    data: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    output: Path | None,
    quiet: bool,
    **options: Any,
) -> int:
    """Robust means of columns, with intervals, next to the plain means.

    DATA is a Parquet file, a folder, a pattern such as 'lake/2024-*/*.parquet', or @list.txt with one of
    these a line; several are read together. Folders, files and patterns may lie in an object store:
    s3://bucket/folder, gs://…, abfs://….

    The table goes to standard output; progress and remarks (missing values, files that stand out or were
    skipped, why there is no interval) go to standard error.
    """
    from distmom.estimators.mean.explain import explain_mean
    from distmom.estimators.mean.mean import mean

    arguments = given(options, "column", "by", "block_by")
    flags: Any = {"dry_run": dry_run, "as_json": as_json, "output": output, "quiet": quiet}
    return answer(data, arguments, explain_mean, mean, **flags)
