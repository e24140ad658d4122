"""``distmom tournament``: choose among candidates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distmom.cli.answer import answer, given, options_named
from distmom.cli.mean import (
    BLOCK_OPTIONS,
    DATA_OPTIONS,
    OUTPUT_OPTIONS,
    RUN_OPTIONS,
    SCRATCH_OPTION,
)


class LossName(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A loss by name: the table of losses is loaded when its names are asked for."""

    name = "loss"

    def get_metavar(self, param: click.Parameter, ctx: Any = None) -> str:  # noqa: D102
        return f"[{'|'.join(self._names())}]"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:  # noqa: D102
        return str(click.Choice(self._names()).convert(value, param, ctx))

    def _names(self) -> tuple[str, ...]:
        from distmom.estimators.tournament.options import pair_losses, row_losses

        return (*row_losses(), *pair_losses())


OWN_OPTIONS = [
    click.Option(
        ["--candidate", "candidates"],
        metavar="NAME",
        multiple=True,
        required=True,
        help="Column of predictions, scores or cells; a model's .skops or matrix's .npy file; repeatable.",
    ),
    click.Option(
        ["--target"], metavar="NAME", help="Column that the candidates predict, rank or bring near."
    ),
    click.Option(
        ["--loss"],
        type=LossName(),
        default="squared",
        show_default=True,
        help="Loss of a row, or of a pair of rows.",
    ),
    click.Option(
        ["--loss-parameter"],
        type=float,
        help="Threshold of huber (1) and mahalanobis (2), quantile of pinball (0.5).",
    ),
    click.Option(
        ["--feature", "features"],
        metavar="NAME",
        multiple=True,
        help="Column that a matrix, a partition or a model takes which does not say so; repeatable.",
    ),
    click.Option(
        ["--distance"],
        type=click.Choice(("auto", "prediction", "loss")),
        default="auto",
        show_default=True,
        help="What keeps candidates apart: predictions, or roots of losses.",
    ),
    click.Option(["--beta-r"], type=float, help="Candidates no farther apart do not meet.  [default: found]"),
    click.Option(
        ["--scheme"],
        type=click.Choice(("partition", "swor", "monte_carlo")),
        default="partition",
        show_default=True,
        help="Blocks of losses of pairs: all rows, or samples without or with replacement.",
    ),
    click.Option(["--block-size"], type=int, metavar="ROWS", help="Of a sampled block."),
    click.Option(
        ["--pairs"],
        type=click.Choice(("complete", "incomplete")),
        default="complete",
        show_default=True,
        help="All pairs of a block, or samples of pairs.",
    ),
    click.Option(
        ["--pair-count", "--n-pairs", "n_pairs"], type=int, metavar="M", help="Pairs of a sample of pairs."
    ),
    click.Option(["--pair-budget"], type=float, metavar="PAIRS", help="Most losses of pairs to evaluate."),
    click.Option(
        ["--state"],
        type=click.Path(),
        metavar="FILE",
        help="Keep the rounds that are done there, and go on where a run was stopped.",
    ),
]
SHARED = (
    *("where", "missing", "on_bad_file"),
    *("n_blocks", "block_by", "chunk_rows", "contamination", "confidence_level", "rng"),
)
"""Options that mean the same as for ``distmom mean``."""


@click.command(
    "tournament",
    short_help="Choose the best of several predictions or models.",
    params=[
        click.Argument(["data"], nargs=-1, required=True),
        *OWN_OPTIONS,
        *options_named((*DATA_OPTIONS, *BLOCK_OPTIONS), SHARED),
        *RUN_OPTIONS,
        SCRATCH_OPTION,
        *OUTPUT_OPTIONS,
    ],
)
def tournament_command(
    data: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    output: Path | None,
    quiet: bool,
    **options: Any,
) -> int:
    """Choose among candidates by a median-of-means tournament, on data that nobody can clean.

    DATA is a Parquet file, a folder, a pattern such as 'lake/2024-*/*.parquet', or @list.txt with one of
    these a line; several are read together.

    The league table goes to standard output, the champion first; JSON has champions, finalists, the table
    and every duel. Exit code 5 if there is no answer, such as a --beta-r that leaves nobody.
    """
    from distmom.estimators.tournament.tournament import explain_tournament, tournament

    arguments = given(options, "candidates", "features", "block_by")
    flags: Any = {"dry_run": dry_run, "as_json": as_json, "output": output, "quiet": quiet}
    return answer(data, arguments, explain_tournament, tournament, **flags)
