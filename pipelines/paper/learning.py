"""Metric learning and clustering on iris, clean and with three wild rows: robust and plain mini-batches.

Learners are fitted with growing numbers of steps: these share their draws, so they are points of one path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

import distmom as dm
from pipelines.paper.laws import Floats

STEPS = (1, 2, 3, 5, 8, 12, 20, 30, 45, 70, 100, 150, 220, 300)
N_BAD, SPREAD = 3, 20.0
BLOCK = 10
METHODS = {"median of 11 blocks": 11, "one block (plain mini-batch)": 1}


def learning(seeds: int) -> pa.Table:
    """Risk on the clean rows along the descent, for each problem, data set, method and seed."""
    from sklearn.datasets import load_iris

    clean, labels = load_iris(return_X_y=True)
    records = []
    for seed in range(seeds):
        g = np.random.default_rng(seed)
        wild = clean.copy()
        wild[g.choice(len(wild), N_BAD, replace=False)] += g.normal(0.0, SPREAD, (N_BAD, wild.shape[1]))
        for data, rows in {"clean": clean, "contaminated": wild}.items():
            for method, n_blocks in METHODS.items():
                for problem, fit in PROBLEMS.items():
                    for steps in STEPS:
                        risk = fit(rows, labels, clean, n_blocks=n_blocks, max_iter=steps, random_state=seed)
                        records.append(
                            {
                                "problem": problem,
                                "data": data,
                                "method": method,
                                "seed": seed,
                                "step": steps,
                                "risk": risk,
                            }
                        )
    return pa.Table.from_pylist(records)


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
