"""Robust U-statistics: every kernel, way of taking pairs, and number of samples."""

from __future__ import annotations

from typing import Any

import distmom as dm
from tests.contract import functions
from tests.contract.cases_mean import SEED, Case, lakes_of
from tests.contract.ways import Way

K = dm.kernels
METRIC = [[2.0, -0.5], [-0.5, 1.0]]

KERNELS: dict[str, tuple[Any, Any]] = {
    "variance": ("variance", ["x", "y"]),
    "covariance": ("covariance", ["x", "y", "z"]),
    "correlation": ("correlation", ["y", "z"]),
    "squared distance": ("squared-distance", ["y", "z"]),
    "distance of one column": ("distance", "x"),
    "distance": ("distance", ["y", "z"]),
    "gini": ("gini", "x"),
    "third moment": ("third-moment", "y"),
    "kendall": ("kendall", ["x", "y"]),
    "kendall-b": ("kendall-b", ["n", "y"]),
    "concordance": ("concordance", ["n", "q0"]),
    "concordance of a rare outcome": ("concordance", ["label", "q0"]),
    "gaussian": (K.rbf(1.0), ["y", "z"]),
    "laplace": (K.laplace(1.5), ["y", "z"]),
    "ranking": ("ranking", ["target", "p0"]),
    "ranking by the hinge": (K.ranking("hinge", "magnitude", "half"), ["n", "q0"]),
    "ranking by the logistic loss": (K.ranking("logistic"), ["label", "q0"]),
    "clustering": ("clustering", ["cell", "y", "z"]),
    "clustering of one coordinate": (K.clustering("euclidean"), ["cell", "y"]),
    "metric": (K.mahalanobis(METRIC, 1.0), ["label", "y", "z"]),
    "own pairs": (K.kernel(functions.far), "x"),
    "own pairs of two columns": (K.kernel(functions.product_gap, columns=2), ["y", "z"]),
}

VARIANTS: dict[str, dict[str, Any]] = {
    "grouped, two keys and a filter": {"by": ["group", "key"], "where": "u > 0.1"},
    "two columns": {"column": ["x", "y"]},
    "pairs of columns": {"column": ["x", "y"], "kernel": "kendall", "n_blocks": 3},
    "tiles": {"column": ["x", "y"], "kernel": "distance", "n_blocks": 5},
    "ratio, grouped": {"column": ["n", "y"], "kernel": "kendall-b", "by": "group"},
    "ratio, Fieller": {
        "column": ["label", "q0"],
        "kernel": "concordance",
        "n_blocks": 9,
        "interval": "cantelli",
    },
    "ratio, weights": {"column": ["label", "q0"], "kernel": "concordance", "n_blocks": 9, "weights": "w"},
    "NaN kept": {"nan": "keep", "n_blocks": 101},
    "whole numbers": {"column": ["n", "group"]},
    "v-statistic": {"statistic": "v", "n_blocks": 7},
    "v-statistic of variances": {"statistic": "v", "kernel": "variance", "n_blocks": 6},
    "seven blocks, grouped": {"n_blocks": 7, "by": "key"},
    "block size": {"block_size": 40, "interval": "cantelli"},
    "paper": {"n_blocks": "paper", "interval": "closed-form"},
    "many fine blocks": {"fine": "many", "kernel": "variance"},
    "stored": {"order": "stored", "n_blocks": 9},
    "stored, grouped": {"order": "stored", "by": "group"},
    "chunks": {"chunk_rows": 7},
    "units": {"block_by": ["key", "part", "group"], "column": "y"},
    "units, grouped": {"block_by": "unit", "by": "group", "n_blocks": 3},
    "files": {"block_by": "file"},
    "contaminated": {"contamination": 3},
    "contaminated units": {"contamination": 2, "block_by": "unit", "column": "y"},
    "repeated": {"repeats": 3, "n_blocks": 7},
    "repeated, grouped": {"repeats": 2, "n_blocks": 5, "by": "group", "kernel": "variance"},
    "weights": {"weights": "w", "n_blocks": 9},
    "weights, grouped": {"weights": "w", "by": "group", "n_blocks": 5},
    "weights of moments": {"weights": "w", "kernel": "variance"},
    "weights of a third moment": {"weights": "w", "kernel": "third-moment", "column": "y", "n_blocks": 7},
    "weights of ranks": {"weights": "w", "kernel": "kendall", "column": ["y", "z"], "n_blocks": 7},
    "weights of a matrix": {"weights": "w", "kernel": "covariance", "column": ["y", "z"], "n_blocks": 7},
    "covariance, projected": {"kernel": "covariance", "column": ["x", "y", "u"], "project": "psd"},
    "covariance to correlations": {
        "kernel": "covariance",
        "column": ["y", "z", "u"],
        "project": "correlation",
    },
    "covariance, grouped": {"kernel": "covariance", "column": ["y", "u"], "by": "group", "n_blocks": 3},
    "covariance, geometric": {
        "kernel": "covariance",
        "column": ["y", "u"],
        "joint": "geometric",
        "order": "stored",
    },
    "covariance of files": {
        "kernel": "covariance",
        "column": ["x", "y"],
        "block_by": "file",
        "where": "u > 0.3",
    },
    "correlation of units": {"kernel": "correlation", "column": ["x", "y"], "block_by": ["key", "unit"]},
    "squared distance of chunks": {"kernel": "squared-distance", "column": ["x", "y"], "chunk_rows": 7},
    "without replacement": {"scheme": "swor", "n_blocks": 7, "block_size": 60},
    "without replacement, two columns, by tau": {"scheme": "swor", "tau": 0.2, "column": ["x", "y"]},
    "without replacement, ratio": {
        "scheme": "swor",
        "n_blocks": 7,
        "block_size": 90,
        "kernel": "concordance",
        "column": ["label", "q0"],
    },
    "with replacement": {"scheme": "monte_carlo", "n_blocks": 7, "block_size": 60},
    "with replacement, v-statistic": {
        "scheme": "monte_carlo",
        "n_blocks": 5,
        "block_size": 60,
        "statistic": "v",
    },
    "incomplete": {"pairs": "sampled", "scheme": "swor", "n_blocks": 7, "n_pairs": 200},
    "incomplete, distance": {
        "pairs": "sampled",
        "scheme": "swor",
        "n_blocks": 5,
        "kernel": "distance",
        "column": ["y", "z"],
        "n_pairs": 300,
        "where": "u > 0.2",
    },
    "incomplete with replacement": {
        "pairs": "sampled",
        "scheme": "monte_carlo",
        "n_blocks": 7,
        "n_pairs": 200,
    },
    "incomplete of two columns": {
        "pairs": "sampled",
        "scheme": "monte_carlo",
        "n_blocks": 5,
        "n_pairs": 99,
        "column": ["x", "y"],
    },
    "disjoint": {"pairs": "disjoint", "n_blocks": 9},
    "disjoint, grouped": {"pairs": "disjoint", "n_blocks": 5, "by": "group"},
    "disjoint, units": {"pairs": "disjoint", "n_blocks": 5, "block_by": "unit"},
    "disjoint, repeated, paper": {
        "pairs": "disjoint",
        "n_blocks": "paper",
        "interval": "cantelli",
        "repeats": 2,
    },
    "disjoint ratio of chunks": {
        "pairs": "disjoint",
        "kernel": "kendall-b",
        "column": ["x", "y"],
        "chunk_rows": 7,
    },
    "disjoint, files": {"pairs": "disjoint", "block_by": "file", "column": "y"},
    "disjoint triples": {"pairs": "disjoint", "kernel": "third-moment", "n_blocks": 7},
    "disjoint, contaminated": {"pairs": "disjoint", "contamination": 3},
    "incomplete triples": {
        "pairs": "sampled",
        "scheme": "swor",
        "kernel": "third-moment",
        "n_blocks": 5,
        "n_pairs": 50,
    },
    "incomplete ratio": {
        "pairs": "sampled",
        "scheme": "swor",
        "kernel": "kendall-b",
        "column": ["y", "u"],
        "n_blocks": 5,
        "n_pairs": 400,
    },
    "without replacement, distance": {
        "scheme": "swor",
        "n_blocks": 9,
        "block_size": 60,
        "kernel": "distance",
        "column": ["y", "u"],
    },
    "repeated covariance": {
        "repeats": 3,
        "kernel": "covariance",
        "column": ["y", "u"],
        "by": "group",
        "n_blocks": 3,
    },
    "repeated covariance, geometric": {
        "repeats": 3,
        "kernel": "covariance",
        "column": ["y", "u"],
        "joint": "geometric",
    },
    "repeated ratio": {"repeats": 3, "kernel": "kendall-b", "column": ["x", "y"], "by": "group"},
    "repeated disjoint": {"repeats": 3, "pairs": "disjoint", "column": "y", "n_blocks": 5},
    "weights of a ratio of units": {
        "weights": "w",
        "kernel": "correlation",
        "column": ["y", "u"],
        "block_by": ["key", "part"],
        "n_blocks": 3,
    },
    "weights of distances, stored": {
        "weights": "w",
        "kernel": "distance",
        "column": ["y", "u"],
        "n_blocks": 3,
        "order": "stored",
    },
    "disjoint ranks": {"pairs": "disjoint", "n_blocks": 9, "kernel": "kendall", "column": ["y", "z"]},
    "three rows": {"kernel": K.kernel(functions.spread_of_three, 3), "n_blocks": 45, "column": "y"},
    "three rows, symmetrized": {
        "kernel": K.kernel(functions.first_of_three, 3, symmetric=False, symmetrize=True),
        "n_blocks": 63,
        "column": "y",
        "weights": "w",
    },
    "three rows, incomplete": {
        "kernel": K.kernel(functions.spread_of_three, 3),
        "pairs": "sampled",
        "scheme": "swor",
        "n_blocks": 5,
        "n_pairs": 150,
        "column": "y",
    },
    "three rows, disjoint": {
        "kernel": K.kernel(functions.spread_of_three, 3),
        "pairs": "disjoint",
        "n_blocks": 9,
    },
    "own pairs, grouped": {"kernel": K.kernel(functions.far), "by": "group", "n_blocks": 5},
}


def of(lake: str, options: dict[str, Any]) -> Case:
    given = {"column": "x", "kernel": "gini", "rng": SEED, **options}
    return lambda way: way.run(dm.ustatistic, way.lakes[lake], **given)


CASES: dict[str, Case] = {}
for _name, (_kernel, _column) in KERNELS.items():
    for _lake in lakes_of(_name, always=True):
        _blocks = {} if _lake == "clean" else {"n_blocks": 21}
        CASES[f"ustatistic/{_name}/{_lake}"] = of(_lake, {"kernel": _kernel, "column": _column, **_blocks})
for _name, _options in VARIANTS.items():
    for _lake in lakes_of(_name):
        CASES[f"ustatistic/{_name}/{_lake}"] = of(_lake, _options)


def in_memory(way: Way) -> Any:
    from tests.contract.lakes import columns

    data = columns(600, 5)
    return way.run(dm.ustatistic, {"x": data["x"], "y": data["y"]}, ["x", "y"], kernel="kendall", rng=SEED)


CASES["ustatistic/memory/kendall"] = in_memory
CASES["ustatistic/a bad file is skipped/spoilt"] = of("spoilt", {"column": "y", "on_bad_file": "skip"})
