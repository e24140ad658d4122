"""Robust U-statistics of two samples and more."""

from __future__ import annotations

from typing import Any

import distmom as dm
from tests.contract import functions
from tests.contract.cases_mean import SEED, Case, lakes_of

K = dm.kernels

SAMPLES: dict[str, dict[str, Any]] = {
    "auc": {"kernel": "auc"},
    "auc, grouped": {"kernel": "auc", "by": "key", "n_blocks": 5},
    "auc, weights": {"kernel": "auc", "weights": "w", "n_blocks": 9},
    "auc, units": {"kernel": "auc", "block_by": "unit", "column": "y"},
    "auc, files": {"kernel": "auc", "block_by": "file", "column": "y"},
    "auc, repeated": {"kernel": "auc", "repeats": 2, "n_blocks": 7},
    "auc, chunks": {"kernel": "auc", "chunk_rows": 7},
    "auc, stored": {"kernel": "auc", "order": "stored", "n_blocks": 7},
    "auc, contaminated": {"kernel": "auc", "contamination": 3},
    "auc, without replacement": {"kernel": "auc", "scheme": "swor", "n_blocks": 7, "block_size": 120},
    "auc, with replacement": {"kernel": "auc", "scheme": "monte_carlo", "n_blocks": 7, "block_size": 120},
    "auc, incomplete": {
        "kernel": "auc",
        "scheme": "swor",
        "pairs": "sampled",
        "n_blocks": 7,
        "n_pairs": 200,
    },
    "auc, incomplete with replacement": {
        "kernel": "auc",
        "scheme": "monte_carlo",
        "pairs": "sampled",
        "n_blocks": 7,
        "n_pairs": 200,
    },
    "auc, disjoint": {"kernel": "auc", "pairs": "disjoint", "n_blocks": 9},
    "auc, disjoint, repeated": {
        "kernel": "auc",
        "pairs": "disjoint",
        "column": ["x", "u"],
        "repeats": 3,
        "n_blocks": 5,
    },
    "auc, disjoint, grouped": {
        "kernel": "auc",
        "pairs": "disjoint",
        "by": "key",
        "where": "u > 0.1",
        "n_blocks": 3,
    },
    "energy, disjoint, units": {
        "kernel": "energy",
        "pairs": "disjoint",
        "column": ["u", "y"],
        "block_by": ["key", "group"],
        "n_blocks": 3,
    },
    "energy, without replacement": {
        "kernel": "energy",
        "column": ["y", "u"],
        "scheme": "swor",
        "n_blocks": 5,
        "block_size": 60,
    },
    "mean difference": {"kernel": "mean-difference", "column": ["x", "y"]},
    "mean difference, weights, grouped": {
        "kernel": "mean-difference",
        "weights": "w",
        "by": "group",
        "n_blocks": 5,
    },
    "energy": {"kernel": "energy"},
    "energy of two columns": {"kernel": "energy", "column": ["y", "z"], "n_blocks": 5},
    "energy, v-statistic": {"kernel": "energy", "statistic": "v", "n_blocks": 5},
    "energy, incomplete": {
        "kernel": "energy",
        "scheme": "swor",
        "pairs": "sampled",
        "n_blocks": 5,
        "n_pairs": 150,
    },
    "discrepancy": {"kernel": K.mmd(1.0), "column": ["y", "z"], "n_blocks": 5},
    "discrepancy by laplace": {"kernel": K.mmd(1.0, "laplace"), "column": "y"},
    "own": {"kernel": K.kernel(functions.later, n_samples=2), "n_blocks": 7},
    "own of two rows and one": {
        "kernel": K.kernel(functions.two_and_one, (2, 1)),
        "n_blocks": 35,
        "column": "y",
    },
}


def of_samples(lakes: tuple[str, ...], options: dict[str, Any]) -> Case:
    given = {"column": "x", "rng": SEED, **options}
    return lambda way: way.run(dm.ustatistic, [way.lakes[lake] for lake in lakes], **given)


CASES: dict[str, Case] = {}
for _name, _options in SAMPLES.items():
    CASES[f"ustatistic/two samples/{_name}/clean"] = of_samples(("clean", "second"), _options)
    if len(lakes_of(_name)) > 1:
        CASES[f"ustatistic/two samples/{_name}/scattered"] = of_samples(("second", "scattered"), _options)
CASES["ustatistic/three samples/own"] = of_samples(
    ("clean", "second", "bad file"),
    {"kernel": K.kernel(functions.two_and_one, 3, n_samples=3), "n_blocks": 35, "column": "y"},
)
