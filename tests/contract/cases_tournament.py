"""Tournaments: losses of rows and of pairs, parts, rules, states, grids; and the scorer."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import distmom as dm
from tests.contract import functions
from tests.contract.cases_mean import SEED, Case, lakes_of
from tests.contract.lakes import columns
from tests.contract.ways import Way
from tests.flat import flat

ROWS = ["p0", "p1", "p2"]
COMPUTED: dict[str, Any] = {
    **{name: name for name in ROWS},
    "line": functions.line,
    "flat": functions.flat_line,
}
METRICS = {"identity": np.eye(2), "first": np.diag([1.0, 0.1]), "second": np.diag([0.2, 2.0])}
K = dm.kernels

PLAYED: dict[str, dict[str, Any]] = {
    "squared": {},
    "absolute": {"loss": "absolute"},
    "huber": {"loss": "huber", "loss_parameter": 0.5},
    "pinball": {"loss": "pinball", "loss_parameter": 0.3},
    "log": {"loss": "log", "candidates": ["q0", "q1", "q2"], "target": "label"},
    "zero-one": {"loss": "zero_one", "candidates": ["cell", "cell2"], "target": "label"},
    "own loss": {"loss": functions.cubed},
    "functions": {"candidates": COMPUTED, "features": ["y", "z"]},
    "given level": {"beta_r": 0.05},
    "chunks and a filter": {"chunk_rows": 5, "where": "u > 0.2"},
    "units": {"block_by": "unit", "n_blocks": 7},
    "files": {"block_by": "file", "n_blocks": 3},
    "roots of losses": {"distance": "loss", "n_blocks": 5},
    "contaminated": {"contamination": 5},
    "contaminated in part": {"contamination": 0.01},
    "metrics": {
        "loss": "mahalanobis",
        "candidates": METRICS,
        "target": "cell",
        "features": ["y", "z"],
        "n_blocks": 5,
    },
    "metrics of sampled rows": {
        "loss": "mahalanobis",
        "candidates": METRICS,
        "target": "label",
        "features": ["y", "z"],
        "scheme": "swor",
        "n_blocks": 5,
        "block_size": 50,
        "loss_parameter": 1.0,
    },
    "ranking": {"loss": "ranking", "n_blocks": 7},
    "ranking by the hinge": {"loss": "ranking_hinge", "n_blocks": 7},
    "ranking by the logistic loss": {
        "loss": "ranking_logistic",
        "candidates": ["q0", "q1"],
        "target": "label",
    },
    "ranking of sampled pairs": {
        "loss": "ranking",
        "scheme": "monte_carlo",
        "pairs": "sampled",
        "n_pairs": 200,
        "n_blocks": 7,
    },
    "ranking of units": {"loss": "ranking", "block_by": "unit", "n_blocks": 5},
    "partitions": {
        "loss": "clustering",
        "target": None,
        "features": ["y", "z"],
        "n_blocks": 5,
        "candidates": {"cell": "cell", "cell2": "cell2", "half planes": functions.half_planes},
    },
    "kernels": {
        "loss": "kernel",
        "target": None,
        "features": ["y", "z"],
        "n_blocks": 5,
        "candidates": {"near": K.rbf(1.0), "far": K.rbf(3.0)},
    },
}


def played(lake: str, options: dict[str, Any]) -> Case:
    given = {"candidates": ROWS, "target": "target", "rng": SEED, **options}
    return lambda way: way.run(dm.tournament, way.lakes[lake], **given)


CASES: dict[str, Case] = {}
for _name, _options in PLAYED.items():
    for _lake in lakes_of(_name):
        CASES[f"tournament/{_name}/{_lake}"] = played(_lake, _options)


def twice(**options: Any) -> Case:
    """With a state: played, and read again."""

    def case(way: Way) -> Any:
        given = {"rng": SEED, "state": way.scratch / "state", **options}
        lake = way.lakes["scattered"]
        return [way.run(dm.tournament, lake, ROWS, "target", **given) for _ in range(2)]

    return case


def covered(way: Way) -> Any:
    """Slopes on a grid."""
    slopes = [1.8 + (2.2 - 1.8) * part for part in (0.25, 0.75)]
    cover = {f"slope={a:g}, shift={b:g}": _Line(a, b) for a, b in product(slopes, [0.0, -1.0])}
    return {"names": list(cover), "played": way.run(
        dm.tournament, way.lakes["clean"], cover, "target", features=["y", "z"], rng=SEED
    )}  # fmt: skip


class _Line:
    """A line of the grid."""

    def __init__(self, slope: float, shift: float) -> None:
        self.slope, self.shift = slope, shift

    def __call__(self, row: dict[str, Any]) -> Any:
        return self.slope * row["y"] + self.shift * row["z"]


class _Model:
    """A fitted model."""

    def predict(self, X: Any) -> Any:
        return 2.0 * X[:, 0] - X[:, 1]

    def predict_proba(self, X: Any) -> Any:
        p = np.minimum(np.maximum(X[:, 0] / 10.0, 0.01), 0.99)
        return np.stack([1.0 - p, p], axis=1)

    classes_ = np.array([0, 1])


def scored(loss: Any, target: str = "target", **options: Any) -> Case:
    """The scorer on rows of which some are outlying."""

    def case(way: Way) -> Any:
        data = columns(600, 5)
        truth = data[target].astype(np.float64) if target == "target" else data[target]
        if target == "target":
            truth[::97] = 1e9
        X = np.stack([data["y"], data["z"]], axis=1)
        return flat(dm.robust_scorer)(loss, **options)(_Model(), X, truth)

    return case


CASES |= {
    "tournament/state/rows": twice(),
    "tournament/state/pairs": twice(loss="ranking", n_blocks=5),
    "tournament/cover": covered,
    "robust_scorer/squared": scored("squared"),
    "robust_scorer/absolute": scored("absolute", n_blocks=9, rng=3),
    "robust_scorer/contaminated": scored("squared", contamination=8),
    "robust_scorer/own": scored(functions.cubed),
    "robust_scorer/log": scored("log", "label"),
    "tournament/a bad file is skipped/spoilt": played("spoilt", {"on_bad_file": "skip"}),
}
