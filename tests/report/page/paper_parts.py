"""The tables behind the page of the paper's experiments, of made-up numbers: as many as the real ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pipelines.paper import beyond, learning, quantiles, tables
from pipelines.paper.distributions import DISTRIBUTIONS, Distribution
from pipelines.paper.rows import ROWS, Row

G = np.random.default_rng(0)


def _named(row: Row, distribution: Distribution) -> dict[str, str]:
    return {"table": row.table, "row": row.name, "distribution": distribution.name}


def paper_parts() -> dict[str, pa.Table]:
    """Every part, by name."""
    light, heavy = (
        tables.compare(row, DISTRIBUTIONS[1], "as captioned", 9.0 * G.chisquare(1, 1000), 14, 1.0)
        for row in (ROWS[0], ROWS[-1])
    )
    compared = [
        {
            **(heavy if tables.heavy_tailed(row, distribution) else light),
            **_named(row, distribution),
            "setting": setting,
        }
        for row in ROWS
        for distribution in DISTRIBUTIONS
        for setting in tables.SETTINGS
    ]
    deviations = [
        {**_named(row, distribution), "delta": delta, "quantile": 0.1 / delta**0.3}
        for row in ROWS
        for distribution in DISTRIBUTIONS
        for delta in quantiles.DELTAS
    ]
    paths = [
        {"problem": problem, "data": data, "method": method, "seed": seed, "step": step, "risk": risk}
        for problem in learning.PROBLEMS
        for data in ("clean", "contaminated")
        for method in learning.METHODS
        for seed in range(3)
        for step, risk in zip(learning.STEPS, G.exponential(size=len(learning.STEPS)), strict=True)
    ]
    intervals = [
        {
            "distribution": distribution.name,
            "interval": kind,
            "coverage": 0.97,
            "coverage_se": 0.004,
            "margin": 4.0,
        }
        for distribution in DISTRIBUTIONS
        for kind in beyond.INTERVALS
    ]
    risks = [
        {"table": table, "share": share, "estimator": name, "risk": 0.01 + share, "risk_se": 0.001}
        for table, estimators in (("mean", beyond.of_mean()), ("variance", beyond.of_variance()))
        for name in estimators
        for share in beyond.SHARES
    ]
    slips = [{"what": "a slip of the pen", "said": 1.0, "right": 2.0, "evidence": 2.1, "evidence_se": 0.1}]
    made = {
        "tables": compared,
        "errata": slips,
        "quantiles": deviations,
        "learning": paths,
        "coverage": intervals,
        "contamination": risks,
    }
    return {name: pa.Table.from_pylist(lines) for name, lines in made.items()}
