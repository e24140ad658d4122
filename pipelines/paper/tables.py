"""Both published tables of quadratic risks, each number beside ours, and whether they agree."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pyarrow as pa

from pipelines.paper.chunks import Run, Wanted, estimates
from pipelines.paper.distributions import DISTRIBUTIONS, Distribution, Floats
from pipelines.paper.rows import ROWS, Row

PUBLISHED = Path(__file__).with_name("published.csv")
REPLICATIONS = 5000
"""Of the published numbers."""

SETTINGS = {"as captioned": 0.001, "as reproduced": 0.1}
TAILS = (0.005, 0.995)
DRAWS = 400
FEWEST = 1000
"""Samples below which means of squared errors of infinite variance are not compared."""

UNDECIDED = "too few samples of ours to compare a mean that rests on the rarest of them"

Record = dict[str, object]


def published() -> dict[tuple[str, str, str], tuple[float, float]]:
    """Mean and standard deviation of the squared error, by table, row and distribution."""
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        return {
            (line["table"], line["row"], distribution.name): (
                float(line[f"{distribution.name}_mean"]),
                float(line[f"{distribution.name}_sd"]),
            )
            for line in csv.DictReader(file)
            for distribution in DISTRIBUTIONS
        }


def tables(run: Run, replications: int, costly: int, captioned: int, seed: int) -> pa.Table:
    """All numbers in both tables, in both settings.

    Parameters
    ----------
    run : callable
    replications : int
        Samples for each number as reproduced.
    costly : int
        At most so many for the rows of incomplete pairs.
    captioned : int
        Samples for each number as captioned.
    seed : int
    """
    most = {"as captioned": captioned, "as reproduced": replications}
    numbers = [
        (row, distribution, setting) for distribution in DISTRIBUTIONS for row in ROWS for setting in SETTINGS
    ]
    wanted = [
        Wanted(
            row.name,
            distribution.name,
            (1,),
            min(most[setting], costly) if row.costly else most[setting],
            SETTINGS[setting],
            captioned=setting == "as captioned",
            median="midpoint" if setting == "as reproduced" else "lower",
        )
        for row, distribution, setting in numbers
    ]
    found = estimates(run, wanted, seed)
    return pa.Table.from_pylist(
        [
            compare(row, distribution, setting, *_errors(row, distribution, *one))
            for (row, distribution, setting), one in zip(numbers, found, strict=True)
        ]
    )


def _errors(
    row: Row, distribution: Distribution, found: Floats, n_blocks: int
) -> tuple[Floats, int, float | None]:
    """Squared errors, K, and for the Pareto distribution the risk against the mean that the sample has."""
    if row.table == "variance":
        return (found - distribution.variance) ** 2, n_blocks, None
    own = (
        None
        if distribution.mean == distribution.scored_mean
        else float(np.mean((found - distribution.mean) ** 2))
    )
    return (found - distribution.scored_mean) ** 2, n_blocks, own


def compare(
    row: Row,
    distribution: Distribution,
    setting: str,
    errors: Floats,
    n_blocks: int,
    own: float | None = None,
) -> Record:
    """One number: published, ours, standard errors, verdict."""
    theirs, spread = published()[row.table, row.name, distribution.name]
    mean, sd = float(errors.mean()), float(errors.std(ddof=1))
    theirs_se, ours_se = spread / math.sqrt(REPLICATIONS), sd / math.sqrt(len(errors))
    combined = math.hypot(theirs_se, ours_se)
    heavy = heavy_tailed(row, distribution)
    low, high = means_of_draws(errors) if heavy else (mean - 3 * combined, mean + 3 * combined)
    decided = not heavy or len(errors) >= FEWEST
    agree = bool(low <= theirs <= high) if decided else None
    return {
        "table": row.table,
        "row": row.name,
        "distribution": distribution.name,
        "setting": setting,
        "delta": SETTINGS[setting],
        "n_blocks": n_blocks,
        "replications": len(errors),
        "published": theirs,
        "published_se": theirs_se,
        "ours": mean,
        "ours_se": ours_se,
        "ours_against_own_mean": own,
        "median_error": float(np.median(errors)),
        "error_q90": float(np.quantile(errors, 0.9)),
        "error_q99": float(np.quantile(errors, 0.99)),
        "compared_by": "quantiles" if heavy else "standard errors",
        "low": low,
        "high": high,
        "agree": agree,
        "reason": "" if agree else reason(row, setting, heavy) if decided else UNDECIDED,
    }


def heavy_tailed(row: Row, distribution: Distribution) -> bool:
    """Whether one row of the sample can carry the squared error, so that its variance or mean is infinite.

    That of a variance needs moments of order 8 for a standard error; a partition confines the row to one
    block, which its median leaves out.
    """
    return row.table == "variance" and distribution.name != "normal" and row.name != "MoU_Partition"


def means_of_draws(errors: Floats, seed: int = 0) -> tuple[float, float]:
    """Where means of as many squared errors as the paper had would lie, drawn with replacement from ours."""
    g = np.random.default_rng(seed)
    means = [errors[g.integers(0, len(errors), REPLICATIONS)].mean() for _ in range(DRAWS)]
    low, high = np.quantile(means, TAILS)
    return float(low), float(high)


def reason(row: Row, setting: str, heavy: bool) -> str:
    """Why a number may differ."""
    if setting == "as captioned":
        return "the printed numbers are not those of the printed delta"
    if row.costly:
        return "the paper does not state the number of pairs, which is guessed; tails of infinite variance"
    if heavy:
        return "the mean of the squared error rests on a few samples: compare its quantiles"
    return "no setting known that fits better"
