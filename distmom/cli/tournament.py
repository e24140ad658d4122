"""``distmom tournament``: choose among candidates."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from distmom.cli.mean import (
    BLOCK_OPTIONS,
    DATA_OPTIONS,
    OUTPUT_OPTIONS,
    RUN_OPTIONS,
    STATE_OPTIONS,
    seed_or_fresh,
)
from distmom.cli.show import messages_on_stderr, show_plan, show_results

LOSSES = ("squared", "absolute", "huber", "pinball", "log", "zero_one")
OWN_OPTIONS = [
    click.Option(
        ["--candidate", "candidates"],
        metavar="NAME",
        multiple=True,
        required=True,
        help="Column of predictions, or a model's .skops file; repeat it for each candidate.",
    ),
    click.Option(["--target"], metavar="NAME", required=True, help="Column that the candidates predict."),
    click.Option(
        ["--loss"], type=click.Choice(LOSSES), default="squared", show_default=True, help="Loss of a row."
    ),
    click.Option(["--loss-parameter"], type=float, help="Threshold of huber (1), quantile of pinball (0.5)."),
    click.Option(
        ["--feature", "features"],
        metavar="NAME",
        multiple=True,
        help="Column that a model takes which does not say what it was fitted on; repeatable.",
    ),
    click.Option(
        ["--distance"],
        type=click.Choice(("auto", "prediction", "loss")),
        default="auto",
        show_default=True,
        help="What keeps candidates apart: predictions, or roots of losses.",
    ),
    click.Option(
        ["--rule"],
        type=click.Choice(("tournament", "champions_league")),
        default="tournament",
        show_default=True,
        help="How finalists meet; champions_league needs --r1.",
    ),
    click.Option(["--r1"], type=float, help="Radius of the home matches of champions_league."),
    click.Option(["--beta-r"], type=float, help="Candidates no farther apart do not meet.  [default: found]"),
    click.Option(
        ["--table"],
        type=click.Choice(("lazy", "full")),
        default="lazy",
        show_default=True,
        help="Evaluate only distances that matter, or all.",
    ),
]
SHARED_DATA = ("where", "missing", "on_bad_file")
SHARED_BLOCKS = ("n_blocks", "block_by", "chunk_rows", "contamination", "confidence_level", "rng")


def _named(options: list[click.Option], names: tuple[str, ...]) -> list[click.Option]:
    return [option for option in options if option.name in names]


@click.command(
    "tournament",
    short_help="Choose the best of several predictions or models.",
    params=[
        click.Argument(["data"], nargs=-1, required=True),
        *OWN_OPTIONS,
        *_named(DATA_OPTIONS, SHARED_DATA),
        *_named(BLOCK_OPTIONS, SHARED_BLOCKS),
        *_named(STATE_OPTIONS, ("state",)),
        *RUN_OPTIONS,
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
    from distmom.report import check_output, write_results

    if output is not None:
        check_output(output)
    quiet = quiet or sys.stderr is None
    arguments = {name: value for name, value in options.items() if value is not None}
    for name in ("features", "block_by"):
        arguments[name] = list(arguments[name]) or None
    if arguments["block_by"] == ["file"]:
        arguments["block_by"] = "file"
    arguments["candidates"] = list(arguments["candidates"])
    arguments["rng"] = seed_or_fresh(arguments["rng"])
    what = data[0] if len(data) == 1 else list(data)
    with messages_on_stderr(quiet):
        if dry_run:
            from distmom.estimators.tournament import explain_tournament

            show_plan(explain_tournament(what, **arguments), as_json=as_json)
            return 0
        from distmom.cluster import make_progress
        from distmom.estimators.tournament import tournament

        found = tournament(what, **arguments, progress=make_progress(quiet=quiet))
    if output is not None:
        write_results(found, output)
    if as_json or not (quiet and output is not None):
        show_results(found, as_json=as_json, quiet=quiet)
    return found.exit_code
