"""Slips of the paper that a simulation can show: what it says, what is right, and the evidence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

import distmom as dm
from pipelines.paper.laws import LAWS, Law, samples
from pipelines.paper.rows import ROWS, Row
from pipelines.paper.tables import REPLICATIONS, published

FEW_ROWS, FEW_PAIRS, AT_ONCE = 8, 10, 20
NORMAL, _, LOGNORMAL, PARETO = LAWS
DELTA = 0.1


def errata(replications: int, seed: int) -> pa.Table:
    """A line for each, on so many samples.

    The evidence of the first two is simulated here; that of the others are the published numbers, beside
    which the risks are simulated by the paper's words and by what was done.
    """
    return pa.Table.from_pylist(
        [
            _block_statistic(replications, seed),
            _variance_of_pairs(replications, seed),
            _even_median(replications, seed),
            _captioned_delta(replications, seed),
            _pareto_mean(replications, seed),
        ]
    )


def _line(what: str, said: float, right: float, evidence: float, error: float) -> dict[str, Any]:
    return {"what": what, "said": said, "right": right, "evidence": evidence, "evidence_se": error}


def _block_statistic(replications: int, seed: int) -> dict[str, Any]:
    """Over 1/(B (B - 1)) instead of 2/(B (B - 1)) a block's statistic estimates half of the parameter."""
    blocks = _row("MoRU_SWoR").blocks(samples(NORMAL, replications, seed, 6), DELTA, False, seed)
    means = np.array([one.mean() for one in blocks])
    what = "mean U-statistic of the blocks of MoRU, variance 1: factor 1/(B(B-1)) or 2/(B(B-1)); simulated"
    return _line(what, 0.5, 1.0, float(means.mean()), float(means.std(ddof=1) / math.sqrt(replications)))


def _variance_of_pairs(replications: int, seed: int) -> dict[str, Any]:
    """Var h of the drawn pairs is counted once too often with a plus sign before Var U_n."""
    squares: list[float] = []
    for first in range(0, replications, AT_ONCE):
        data = NORMAL.draw(np.random.default_rng([seed, 7, first]), (AT_ONCE, FEW_ROWS))
        names = [str(number) for number in range(AT_ONCE)]
        found = dm.ustatistic(
            pa.table(dict(zip(names, data, strict=True))),
            names,
            kernel="variance",
            scheme="swor",
            pairs="incomplete",
            n_blocks=1,
            n_pairs=FEW_PAIRS,
            interval="none",
            rng=seed + first,
        )
        squares += [(float(one.estimate) - 1.0) ** 2 for one in dm.Results.of(found)]
    n_pairs, var_u, var_h = math.comb(FEW_ROWS, 2), 2.0 / (FEW_ROWS - 1), 2.0
    share = (n_pairs - FEW_PAIRS) / (n_pairs - 1) / FEW_PAIRS
    error = float(np.std(squares, ddof=1) / math.sqrt(len(squares)))
    what = (
        f"variance of the mean of {FEW_PAIRS} of the {n_pairs} pairs of {FEW_ROWS} normal rows: "
        "Var h + Var U or Var h - Var U; simulated"
    )
    said, right = (var_u + share * (var_h + sign * var_u) for sign in (1.0, -1.0))
    return _line(what, said, right, float(np.mean(squares)), error)


def _even_median(replications: int, seed: int) -> dict[str, Any]:
    lower, middle = (
        _risk("MoRM_1/6_SWoR", NORMAL, replications, seed, median=median) for median in ("lower", "midpoint")
    )
    what = "risk of MoRM 1/6, normal law, K = 14: the lower median as defined, or the midpoint; published"
    return _line(what, lower, middle, *_published("mean", "MoRM_1/6_SWoR", NORMAL))


def _captioned_delta(replications: int, seed: int) -> dict[str, Any]:
    captioned = _risk("MoU_Partition", LOGNORMAL, replications, seed, delta=0.001)
    reproduced = _risk("MoU_Partition", LOGNORMAL, replications, seed)
    what = "risk of MoU Partition, log-normal law: delta = 0.001 as captioned, or 0.1; published"
    return _line(what, captioned, reproduced, *_published("variance", "MoU_Partition", LOGNORMAL))


def _pareto_mean(replications: int, seed: int) -> dict[str, Any]:
    own, scored = (_risk("MoM", PARETO, replications, seed, target=mean) for mean in (0.5, 1.5))
    what = "risk of MoM, Pareto law: against the mean 1/2 of these samples, or against 3/2; published"
    return _line(what, own, scored, *_published("mean", "MoM", PARETO))


def _risk(
    name: str,
    law: Law,
    replications: int,
    seed: int,
    *,
    delta: float = DELTA,
    median: str = "lower",
    target: float | None = None,
) -> float:
    row = _row(name)
    found, _ = row.estimates(
        samples(law, replications, seed, 8), delta, captioned=False, seed=seed, median=median
    )
    if target is None:
        target = law.mean if row.table == "mean" else law.variance
    return float(np.mean((found - target) ** 2))


def _published(table: str, name: str, law: Law) -> tuple[float, float]:
    mean, spread = published()[table, name, law.name]
    return mean, spread / math.sqrt(REPLICATIONS)


def _row(name: str) -> Row:
    return next(row for row in ROWS if row.name == name)
