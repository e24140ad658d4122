"""Beyond the paper: coverage and width of intervals, and risk against contamination."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import stats

import distmom as dm
from distmom.cluster import Call
from pipelines.paper.chunks import Run, chunked
from pipelines.paper.distributions import DISTRIBUTIONS, N_ROWS, Floats, samples
from pipelines.paper.rows import HERE, ROWS, Row, grouped

LEVEL, DELTA = 0.95, 0.1
INTERVALS: dict[str, int | str] = {"order": 11, "cantelli": 11, "closed-form": "paper"}
"""Number of blocks with which each kind of interval is tried."""

SHARES = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2)
OUTLYING = 20.0
"""What bad rows are, in units of the distribution."""


def coverage(run: Run, replications: int, seed: int) -> pa.Table:
    """Share of samples whose interval holds the mean, and mean margin of error in standard errors."""
    records = []
    for distribution, kind in product(DISTRIBUTIONS, INTERVALS):
        given = np.concatenate(chunked(run, _intervals, replications, distribution.name, kind, seed))
        holds = (given[:, 0] <= distribution.mean) & (distribution.mean <= given[:, 1])
        width = (given[:, 1] - given[:, 0]).mean() / 2.0 / math.sqrt(distribution.variance / N_ROWS)
        records.append(
            {
                "distribution": distribution.name,
                "interval": kind,
                "n_blocks": str(INTERVALS[kind]),
                "level": LEVEL,
                "samples": len(given),
                "coverage": float(holds.mean()),
                "coverage_se": float(math.sqrt(holds.mean() * (1.0 - holds.mean()) / len(given))),
                "margin": float(width),
            }
        )
    return pa.Table.from_pylist(records)


def _intervals(first: int, n: int, distribution: str, kind: str, seed: int) -> Floats:
    drawn = samples(next(one for one in DISTRIBUTIONS if one.name == distribution), n, seed, 3, first=first)
    found = dm.mean(  # type: ignore[call-overload]  # of texts
        grouped(drawn),
        "x",
        by="sample",
        interval=kind,
        confidence_level=LEVEL,
        rng=seed + first,
        blocks=INTERVALS[kind],
        executor=dm.Threads(1),
    )
    return np.array([one.interval for one in _means(found) if one.interval is not None]).reshape(-1, 2)


def contamination(run: Run, replications: int, seed: int) -> pa.Table:
    """Mean squared error of all estimators when a share of the rows is outlying.

    Of the mean of a Student distribution, and of the variance of a normal one: that of the former has no
    finite risk.
    """
    cells = [
        (table, share, name)
        for table, (_, estimators) in CONTAMINATED.items()
        for share in SHARES
        for name in estimators()
    ]
    calls = [
        Call(
            f"{name}, {share:.1%} outlying",
            _errors,
            (table, share, name, replications, seed),
            replications * N_ROWS,
            replications * N_ROWS * 8,
        )
        for table, share, name in cells
    ]
    return pa.Table.from_pylist(
        [
            {
                "table": table,
                "share": share,
                "estimator": name,
                "risk": float(errors.mean()),
                "risk_se": float(errors.std(ddof=1) / math.sqrt(replications)),
            }
            for (table, share, name), errors in zip(cells, run(calls), strict=True)
        ]
    )


def _errors(table: str, share: float, name: str, replications: int, seed: int) -> Floats:
    """Squared errors of an estimator, on the same samples as all others."""
    distribution, estimators = CONTAMINATED[table]
    data = samples(distribution, replications, seed, 4)
    n_bad = round(share * N_ROWS)
    g = np.random.default_rng([seed, 5])
    data[:, :n_bad] = OUTLYING + g.standard_normal((replications, n_bad))
    data = g.permuted(data, axis=1)
    truth = distribution.mean if table == "mean" else distribution.variance
    return np.asarray((estimators()[name](data, seed) - truth) ** 2)


Estimate = Callable[[Floats, int], Floats]
"""Of each sample, with a seed."""


def of_mean() -> dict[str, Estimate]:
    """Estimators of the mean: those of the tables, further ones of `distmom.mean`, and references."""
    return {
        "sample mean": lambda data, seed: data.mean(axis=1),
        **_of_rows("mean"),
        "MoM, automatic blocks": lambda data, seed: _grouped(data, seed, "auto"),
        "MoM, 101 blocks": lambda data, seed: _grouped(data, seed, 101),
        "MoM, 5 partitions": lambda data, seed: _grouped(data, seed, 11, 5),
        "trimmed mean, 20%": lambda data, seed: np.asarray(stats.trim_mean(data, 0.2, axis=1)),
        "Huber": lambda data, seed: huber(data),
        "Catoni": lambda data, seed: catoni(data),
    }


def of_variance() -> dict[str, Estimate]:
    """Estimators of the variance: the plain one, and those of the tables."""
    return {"plain variance": lambda data, seed: data.var(axis=1, ddof=1), **_of_rows("variance")}


def _of_rows(table: str) -> dict[str, Estimate]:
    def estimate_of(row: Row) -> Estimate:
        return lambda data, seed: row.estimates(data, DELTA, captioned=False, seed=seed)[0]

    return {row.name: estimate_of(row) for row in ROWS if row.table == table}


CONTAMINATED = {"mean": (DISTRIBUTIONS[1], of_mean), "variance": (DISTRIBUTIONS[0], of_variance)}
"""What is estimated: the distribution, and the estimators."""


def huber(data: Floats, k: float = 1.345) -> Floats:
    """Huber's estimator of location, scale by the median absolute deviation; root by bisection."""
    scale = stats.median_abs_deviation(data, axis=1, scale="normal")[:, None]
    return _root(data, lambda away: np.clip(away / scale, -k, k))


def catoni(data: Floats, delta: float = 0.1) -> Floats:
    """Catoni's estimator with the sample's variance as scale, which bad rows spoil as they would in use."""
    level = 2.0 * math.log(2.0 / delta)
    scale = data.var(axis=1, ddof=1)[:, None]
    alpha = np.sqrt(level / (N_ROWS * scale * (1.0 + level / (N_ROWS - level))))
    return _root(data, lambda away: _narrow(alpha * away))


def _narrow(x: Floats) -> Floats:
    size = np.abs(x)
    return np.asarray(np.sign(x) * np.log1p(size + x * x / 2.0))


def _root(data: Floats, influence: Callable[[Floats], Floats]) -> Floats:
    low, high = data.min(axis=1), data.max(axis=1)
    for _ in range(40):
        middle = (low + high) / 2.0
        above = influence(data - middle[:, None]).sum(axis=1) > 0.0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray((low + high) / 2.0)


def _means(found: Any) -> list[dm.MeanResult]:
    return [one for one in dm.Results.of(found) if isinstance(one, dm.MeanResult)]


def _grouped(data: Floats, seed: int, n_blocks: int | str, repeats: int = 1) -> Floats:
    design = dm.RandomBlocks(n_blocks, repeats=repeats)  # type: ignore[arg-type]
    found = dm.mean(grouped(data), "x", by="sample", blocks=design, rng=seed, **HERE)
    ordered = sorted(_means(found), key=lambda one: (one.group or {})["sample"])
    return np.array([one.estimate for one in ordered], dtype=float)
