"""Metric learning and clustering on iris, clean and with three outlying rows: robust and plain mini-batches.

Learners are fitted with growing numbers of steps: these share their draws, so they are points of one path.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

import distmom as dm
from distmom.cluster import Call, check_stopped
from pipelines.paper.chunks import Run
from pipelines.paper.distributions import Floats

STEPS = (1, 2, 3, 5, 8, 12, 20, 30, 45, 70, 100, 150, 220, 300)
N_IRIS, N_BAD, SPREAD = 150, 3, 20.0
BLOCK = 10
METHODS = {"median of 11 blocks": 11, "one block (plain mini-batch)": 1}


def learning(run: Run, seeds: int) -> pa.Table:
    """Risk on the clean rows along the descent, for each problem, data set, method and seed."""
    paths = list(product(range(seeds), ("clean", "contaminated"), METHODS, PROBLEMS))
    n_rows = N_IRIS * len(STEPS)
    calls = [
        Call(f"{problem}, {data}, seed {seed}", _path, (seed, data, method, problem), n_rows, n_rows * 32)
        for seed, data, method, problem in paths
    ]
    return pa.Table.from_pylist(
        [
            {"problem": problem, "data": data, "method": method, "seed": seed, "step": step, "risk": risk}
            for (seed, data, method, problem), risks in zip(paths, run(calls), strict=True)
            for step, risk in zip(STEPS, risks, strict=True)
        ]
    )


def _path(seed: int, data: str, method: str, problem: str) -> list[float]:
    from sklearn.datasets import load_iris

    clean, labels = load_iris(return_X_y=True)
    rows = clean.copy()
    if data == "contaminated":
        g = np.random.default_rng(seed)
        bad = g.choice(N_IRIS, N_BAD, replace=False)
        rows[bad] += g.normal(0.0, SPREAD, (N_BAD, rows.shape[1]))
    risks = []
    for steps in STEPS:
        check_stopped()
        options = {"n_blocks": METHODS[method], "max_iter": steps, "random_state": seed}
        risks.append(PROBLEMS[problem](rows, labels, clean, **options))
    return risks


def _metric(rows: Floats, labels: Floats, clean: Floats, **options: Any) -> float:
    metric = dm.MahalanobisMetric(**options, **_AS_PUBLISHED).fit(rows, labels)
    squared = pdist(metric.transform(clean), "sqeuclidean")
    sign = np.where(_same(labels), 1.0, -1.0)
    return float(np.maximum(0.0, 1.0 + sign * (squared - 2.0)).mean())


def _clusters(rows: Floats, _: Floats, clean: Floats, **options: Any) -> float:
    found = dm.RobustKMeans(3, loss="pairs", **options, **_AS_PUBLISHED).fit(rows)
    return float((pdist(clean, "sqeuclidean") * _same(found.predict(clean))).mean())


def _same(labels: NDArray[Any]) -> Floats:
    return np.asarray(pdist(np.asarray(labels, dtype=float)[:, None]) == 0.0)


_AS_PUBLISHED: dict[str, Any] = {
    "block_size": BLOCK,
    "averaging": "none",
    "clip": 1e9,  # none in the paper
    "early_stopping": False,
    "scaling": "none",
}

PROBLEMS: dict[str, Callable[..., float]] = {"metric learning": _metric, "clustering": _clusters}
