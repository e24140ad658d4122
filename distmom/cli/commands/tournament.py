"""``distmom tournament``: choose among candidates."""

from __future__ import annotations

from typing import Any

import click

from distmom.cli import options as o
from distmom.cli.answer import answer


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
    o.Option(
        "--candidate candidates",
        "Column of predictions, scores or cells; a model's .skops or matrix's .npy file; repeatable.",
        ["NAME"],
        required=True,
    ),
    o.Option("--target", "Target column.", "NAME"),
    o.Option("--loss", "Loss of a row, or of a pair of rows.", LossName(), default="squared"),
    o.Option(
        "--loss-parameter", "Threshold of huber (1) and mahalanobis (2), quantile of pinball (0.5).", float
    ),
    o.Option(
        "--feature features",
        "Column that a matrix, a partition or a model takes which does not say so; repeatable.",
        ["NAME"],
    ),
    o.Option(
        "--distance",
        "What keeps candidates apart: predictions, or roots of losses.",
        ("auto", "prediction", "loss"),
        default="auto",
    ),
    o.Option("--beta-r", "Candidates no farther apart do not meet.  [default: found]", float),
]
DATA = o.without(o.DATA, "column", "by", "nan")
BLOCKS = o.without(o.BLOCKS, "order", "repeats", "fine", "tau")


@o.command(
    "tournament",
    "Choose the best of several predictions or models.",
    *(*OWN_OPTIONS, *DATA, *BLOCKS, *o.PAIRS),
    *(o.CONTAMINATION, o.CONFIDENCE, o.SEED, o.STATE, *o.PLACE, o.SCRATCH, *o.OUTPUT),
)
def tournament_command(data: tuple[str, ...], **flags: Any) -> int:
    """Choose among candidates by a median-of-means tournament, on data that cannot be cleaned.

    DATA is a Parquet file, a folder, a pattern such as 'lake/2024-*/*.parquet', or @list.txt with one of
    these a line; several are read together.

    The league table goes to standard output, the champion first; JSON has champions, finalists, the table,
    every duel, and what was left out as bad. Exit code 5 if there is no answer, such as a --beta-r that
    leaves nobody, or the result is beyond the breakdown point; --fail-on 'not decided' makes a tie an error.
    """
    from distmom.estimators.tournament.tournament import tournament

    return answer(tournament, data, flags)
