"""Learners of a few steps, on lakes and arrays."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import distmom as dm
from tests.contract import functions
from tests.contract.cases_mean import SEED, Case
from tests.contract.lakes import columns
from tests.contract.ways import Way

FEW: dict[str, Any] = {"max_iter": 12, "random_state": SEED}
PAPER: dict[str, Any] = {**FEW, "aggregator": "median_block", "scaling": "robust"}
"""Of linear models: gradients of the median block, features scaled one by one."""

FEATURES = {"columns": ["y", "z"]}

LEARNT: dict[str, tuple[Any, str | None, dict[str, Any]]] = {
    "regression": (lambda: dm.RobustLinearRegression(**PAPER), "target", {}),
    "regression by squares": (lambda: dm.RobustLinearRegression(loss="squared", **PAPER), "target", {}),
    "regression of a quantile": (
        lambda: dm.RobustLinearRegression(loss="pinball", quantile=0.3, **PAPER),
        "target",
        {},
    ),
    "regression by Adam": (
        lambda: dm.RobustLinearRegression(step_rule="adam", alpha=0.01, **PAPER),
        "target",
        {},
    ),
    "regression by backtracking": (
        lambda: dm.RobustLinearRegression(step_rule="backtracking", averaging="none", **PAPER),
        "target",
        {},
    ),
    "regression, geometric medians": (
        lambda: dm.RobustLinearRegression(
            averaging="geometric_median",
            n_blocks=5,
            block_size=40,
            **PAPER | {"aggregator": "geometric_median"},
        ),
        "target",
        {"where": "u > 0.2"},
    ),
    "classification": (lambda: dm.RobustLogisticRegression(**PAPER), "label", {}),
    "classification of texts": (
        lambda: dm.RobustLogisticRegression(**PAPER),
        "key",
        {"where": "key in ('a', 'b')"},
    ),
    "ranking": (lambda: dm.PairwiseRanker(**PAPER), "target", {}),
    "ranking by the hinge": (
        lambda: dm.PairwiseRanker(loss="hinge", n_blocks=5, block_size=40, **PAPER),
        "target",
        {},
    ),
    "regression by default": (lambda: dm.RobustLinearRegression(**FEW), "target", {}),
    "classification by default": (lambda: dm.RobustLogisticRegression(**FEW), "label", {}),
    "classification of texts by default": (lambda: dm.RobustLogisticRegression(**FEW), "key", {}),
    "ranking by default": (lambda: dm.PairwiseRanker(**FEW), "target", {}),
    "metric": (lambda: dm.MahalanobisMetric(**FEW), "class", {}),
    "metric, balanced": (lambda: dm.MahalanobisMetric(balanced=True, loss="logistic", **FEW), "label", {}),
    "clusters": (lambda: dm.RobustKMeans(3, n_init=3, **FEW), None, {}),
    "clusters by pairs": (lambda: dm.RobustKMeans(2, loss="pairs", n_init=2, **FEW), None, {}),
    "own loss": (lambda: dm.RobustMinimizer(functions.squared_to_mean, [4.0, 1.0], **FEW), None, {}),
    "own loss in a ball": (
        lambda: dm.RobustMinimizer(functions.squared_to_mean, [0.5, 0.1], projection="ball", **FEW),
        None,
        {},
    ),
}


def learnt(lake: str, make: Any, target: str | None, **options: Any) -> Case:
    return lambda way: way.fit(make(), way.lakes[lake], target, **{**FEATURES, **options})


CASES: dict[str, Case] = {}
for _name, (_make, _target, _options) in LEARNT.items():
    for _lake in ("clean", "scattered"):
        CASES[f"learn/{_name}/{_lake}"] = learnt(_lake, _make, _target, **_options)
_make = LEARNT["regression"][0]
CASES["learn/regression, streaming/scattered"] = learnt("scattered", _make, "target", mode="streaming")
_default = LEARNT["regression by default"][0]
CASES["learn/regression by default, streaming/scattered"] = learnt(
    "scattered", _default, "target", mode="streaming"
)
CASES["learn/regression, by workers/bad file"] = learnt("bad file", _make, "target", compute="workers")
CASES["learn/metric, by workers/bad file"] = learnt(
    "bad file", LEARNT["metric"][0], "class", compute="workers", mode="streaming"
)


def arrays() -> tuple[Any, dict[str, Any]]:
    data = columns(500, 5)
    X = np.stack([data["y"], data["z"]], axis=1)
    X[::83] = 1e5
    return X, data


def on_arrays(way: Way) -> Any:
    X, data = arrays()
    return {
        "regression": dm.RobustLinearRegression(**FEW).fit(X, data["p0"]),
        "clusters": dm.RobustKMeans(2, n_init=2, **FEW).fit(X),
    }


def of_pairs(way: Way) -> Any:
    X, data = arrays()
    pairs = np.stack([np.arange(240), np.arange(240, 480)], axis=1)
    y = np.where(data["label"][pairs[:, 0]] == data["label"][pairs[:, 1]], 1, -1)
    return dm.MahalanobisMetric(**FEW).fit_pairs(pairs, y, X)


def further(way: Way) -> Any:
    """Two parts, one after the other."""
    X, _ = arrays()
    found = dm.RobustKMeans(2, n_init=2, **FEW)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found.partial_fit(X[:250])
        found.partial_fit(X[250:])
    return found


def trained(learner: str, target: str | None, **options: Any) -> Case:
    """By `distmom.train`, with a state that is read again, and a model that is loaded again."""

    def case(way: Way) -> Any:
        given = {**FEATURES, "target": target, "rng": SEED, "options": {"max_iter": 12, **options}}
        given["state"], given["model"] = way.scratch / "state", way.scratch / "model"
        lake = way.lakes["scattered"]
        first = way.run(dm.train, lake, learner, **given)
        return [first, way.run(dm.train, lake, learner, **given), _loaded(way.scratch / "model")]

    return case


def _loaded(folder: Any) -> Any:
    return dm.load_model(folder).predict(np.array([[5.0, 2.0], [4.0, 1.0]]))


CASES |= {
    "learn/arrays": on_arrays,
    "learn/pairs": of_pairs,
    "learn/further": further,
    "train/regression": trained("regression", "target"),
    "train/classification": trained("classification", "label"),
    "train/ranking": trained("ranking", "target"),
    "train/clustering": trained("clustering", None, n_clusters=2, n_init=2),
}
