"""``distmom mean``."""

from __future__ import annotations

from typing import Any

from distmom.cli import options as o
from distmom.cli.answer import answer
from distmom.cli.layout import Option, Word

JOINT = Option(
    "--joint",
    "Estimate one mean vector over all columns.",
    ("geometric", "coordinatewise"),
)

PASSES = Option(
    "--passes",
    "Passes over the data if rows stand apart; 1 uses a sample.",
    Word(["1", "2"]),
    "Uncertainty",
    usual="2",
    callback=lambda context, option, value: None if value is None else int(value),
)
EXAMPLES = (
    ("one column, with its interval", "distmom mean orders/ -c amount"),
    ("groups, written as a page", "distmom mean orders/ -c amount --by country --output means.html"),
    (
        "a lake that grows: read new files only, and fail on bad ones",
        "distmom mean orders/ -c amount --state orders.state --fail-on 'files disagree'",
    ),
)


@o.command(
    "mean",
    "Robust means of columns, with intervals.",
    *(JOINT, *o.DATA, *o.ROWS, o.WEIGHTS, *o.BLOCKS),
    *(o.CONTAMINATION, o.interval(), o.CONFIDENCE, PASSES, o.SEED, o.STATE, o.ON_CHANGE),
    *(*o.PLACE, *o.OUTPUT),
    examples=EXAMPLES,
)
def mean_command(data: tuple[str, ...], **flags: Any) -> int:
    """Robust means of columns, with intervals, next to the sample means.

    A limited number of outlying rows or files cannot move the estimate far; the status tells what was found.
    The table goes to standard output, notes and progress to standard error.
    """
    from distmom.estimators.mean.mean import mean

    return answer(mean, data, flags)
