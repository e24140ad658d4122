"""Slips of the paper that a simulation can show: what it says, what is right, and the evidence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

import distmom as dm
from pipelines.paper.chunks import Run, Wanted, chunked, estimates
from pipelines.paper.distributions import DISTRIBUTIONS, Distribution, Floats, samples
from pipelines.paper.rows import HERE, ROWS, Row
from pipelines.paper.tables import REPLICATIONS, published

FEW_ROWS, FEW_PAIRS, AT_ONCE = 8, 10, 20
NORMAL, _, LOGNORMAL, PARETO = DISTRIBUTIONS
DELTA, STREAM = 0.1, (8,)


def errata(run: Run, replications: int, seed: int) -> pa.Table:
    """A line for each, on so many samples.

    The evidence of the first two is simulated here; that of the others are the published numbers, beside
    which the risks are simulated by the paper's words and by what was done.
    """
    return pa.Table.from_pylist(
        [
            _block_statistic(run, replications, seed),
            _variance_of_pairs(run, replications, seed),
            *_risks(run, replications, seed),
        ]
    )


def _line(what: str, said: float, right: float, evidence: float, error: float) -> dict[str, Any]:
    return {"what": what, "said": said, "right": right, "evidence": evidence, "evidence_se": error}


def _block_statistic(run: Run, replications: int, seed: int) -> dict[str, Any]:
    """Over 1/(B (B - 1)) instead of 2/(B (B - 1)) a block's statistic estimates half of the parameter."""
    means = np.concatenate(chunked(run, _means_of_blocks, replications, seed))
    what = "mean U-statistic of the blocks of MoRU, variance 1: factor 1/(B(B-1)) or 2/(B(B-1)); simulated"
    return _line(what, 0.5, 1.0, float(means.mean()), float(means.std(ddof=1) / math.sqrt(replications)))


def _means_of_blocks(first: int, n: int, seed: int) -> Floats:
    data = samples(NORMAL, n, seed, 6, first=first)
    return np.array([one.mean() for one in _row("MoRU_SWoR").blocks(data, DELTA, False, seed + first)])


def _variance_of_pairs(run: Run, replications: int, seed: int) -> dict[str, Any]:
    """Var h of the drawn pairs is counted once too often with a plus sign before Var U_n."""
    squares = np.concatenate(chunked(run, _squares_of_few, replications, seed, rows=FEW_ROWS))
    n_pairs, var_u, var_h = math.comb(FEW_ROWS, 2), 2.0 / (FEW_ROWS - 1), 2.0
    share = (n_pairs - FEW_PAIRS) / (n_pairs - 1) / FEW_PAIRS
    error = float(np.std(squares, ddof=1) / math.sqrt(len(squares)))
    what = (
        f"variance of the mean of {FEW_PAIRS} of the {n_pairs} pairs of {FEW_ROWS} normal rows: "
        "Var h + Var U or Var h - Var U; simulated"
    )
    said, right = (var_u + share * (var_h + sign * var_u) for sign in (1.0, -1.0))
    return _line(what, said, right, float(np.mean(squares)), error)


def _squares_of_few(first: int, n: int, seed: int) -> list[float]:
    squares: list[float] = []
    for start in range(first, first + n, AT_ONCE):
        data = NORMAL.draw(np.random.default_rng([seed, 7, start]), (AT_ONCE, FEW_ROWS))
        names = [str(number) for number in range(AT_ONCE)]
        found = dm.ustatistic(
            pa.table(dict(zip(names, data, strict=True))),
            names,
            kernel="variance",
            pairs=dm.SampledPairs(FEW_PAIRS),
            blocks=1,
            rng=seed + start,
            **HERE,
        )
        squares += [(float(one.estimate) - 1.0) ** 2 for one in dm.Results.of(found)]
    return squares


def _risks(run: Run, replications: int, seed: int) -> list[dict[str, Any]]:
    """Of two ways to compute, or to score, beside what is published."""
    wanted = [
        Wanted("MoRM_1/6_SWoR", NORMAL.name, STREAM, replications, DELTA),
        Wanted("MoRM_1/6_SWoR", NORMAL.name, STREAM, replications, DELTA, median="midpoint"),
        Wanted("MoU_Partition", LOGNORMAL.name, STREAM, replications, 0.001),
        Wanted("MoU_Partition", LOGNORMAL.name, STREAM, replications, DELTA),
        Wanted("MoM", PARETO.name, STREAM, replications, DELTA),
    ]
    lower, middle, captioned, reproduced, mom = (one for one, _ in estimates(run, wanted, seed))
    return [
        _line(
            "risk of MoRM 1/6, normal rows, K = 14: the lower median as defined, or the midpoint; published",
            _risk(lower, NORMAL.mean),
            _risk(middle, NORMAL.mean),
            *_published("mean", "MoRM_1/6_SWoR", NORMAL),
        ),
        _line(
            "risk of MoU Partition, log-normal rows: delta = 0.001 as captioned, or 0.1; published",
            _risk(captioned, LOGNORMAL.variance),
            _risk(reproduced, LOGNORMAL.variance),
            *_published("variance", "MoU_Partition", LOGNORMAL),
        ),
        _line(
            "risk of MoM, Pareto rows: against the mean 1/2 of these samples, or against 3/2; published",
            _risk(mom, PARETO.mean),
            _risk(mom, PARETO.scored_mean),
            *_published("mean", "MoM", PARETO),
        ),
    ]


def _risk(found: Floats, target: float) -> float:
    return float(np.mean((found - target) ** 2))


def _published(table: str, name: str, distribution: Distribution) -> tuple[float, float]:
    mean, spread = published()[table, name, distribution.name]
    return mean, spread / math.sqrt(REPLICATIONS)


def _row(name: str) -> Row:
    return next(row for row in ROWS if row.name == name)
