"""``distmom tournament``: choose among candidates."""

from __future__ import annotations

from typing import Any

import click

from distmom.cli import options as o
from distmom.cli.answer import answer
from distmom.cli.layout import Option, Word


class LossName(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A loss by name: the table of losses is loaded when its names are asked for."""

    name = "loss"

    def get_metavar(self, param: click.Parameter, ctx: Any = None) -> str:  # noqa: D102
        return f"[{'|'.join(self._names())}]"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:  # noqa: D102
        return str(Word(self._names()).convert(value, param, ctx))

    def _names(self) -> tuple[str, ...]:
        from distmom.estimators.tournament.options import pair_losses, row_losses

        return (*row_losses(), *pair_losses())


OWN_OPTIONS = [
    Option(
        "--candidate candidates",
        "Column of predictions, .skops model or .npy matrix; repeatable.",
        ["NAME|FILE"],
        required=True,
    ),
    Option("--target", "Target column.", "NAME"),
    Option(
        "--loss",
        "Loss, such as squared, absolute, huber or ranking.",
        LossName(),
        default="squared",
        metavar="LOSS",
    ),
    Option(
        "--loss-parameter",
        "Threshold of huber and mahalanobis, or quantile of pinball.",
        float,
        metavar="VALUE",
    ),
    Option("--feature features", "Input column of a model that does not name its own; repeatable.", ["NAME"]),
    Option(
        "--distance",
        "Distance that decides which candidates meet.",
        ("auto", "prediction", "loss"),
        default="auto",
    ),
    Option("--beta-r", "Candidates closer than this do not meet.", float, usual="found", metavar="R"),
]
BLOCKS = o.without(o.BLOCKS, "order", "repeats", "fine", "tau")
EXAMPLES = (
    (
        "two columns of predictions",
        "distmom tournament orders/ --target amount --candidate model_a --candidate model_b",
    ),
    (
        "another loss, as a page",
        "distmom tournament orders/ --target amount --candidate model_a --candidate model_b --loss absolute "
        "--output models.html",
    ),
    (
        "scores that rank a label, and fail on a tie",
        "distmom tournament orders/ --target label --candidate score --candidate tip --loss ranking "
        "--fail-on 'not decided'",
    ),
)


@o.command(
    "tournament",
    "Choose the best of several predictions or models.",
    *(*OWN_OPTIONS, *o.DATA, o.WHERE, *BLOCKS, *o.PAIRS),
    *(o.CONTAMINATION, o.CONFIDENCE, o.SEED, o.STATE, *o.PLACE, o.SCRATCH, *o.OUTPUT),
    examples=EXAMPLES,
)
def tournament_command(data: tuple[str, ...], **flags: Any) -> int:
    """Choose among candidates by a median-of-means tournament, on data that cannot be cleaned.

    The league table shows the champion first; JSON also has every duel, and what was left out.
    """
    from distmom.estimators.tournament.tournament import tournament

    return answer(tournament, data, flags)
