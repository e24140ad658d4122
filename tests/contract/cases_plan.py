"""Plans, for means and kernels, and what a call tells before it reads."""

from __future__ import annotations

from typing import Any

import distmom as dm
from tests.contract.cases_mean import SEED, Case

PLANNED: dict[str, dict[str, Any]] = {
    "a thousand rows": {"n_rows": 1_000},
    "a million rows": {"n_rows": 1e6},
    "another level": {"n_rows": 1e5, "confidence_level": 0.95},
    "contaminated": {"n_rows": 1e6, "contamination": 25},
    "contaminated in part": {"n_rows": 1e4, "contamination": 0.001},
    "given blocks": {"n_rows": 1e5, "n_blocks": 45},
    "width": {"n_rows": 1e6, "width": 0.05},
    "kernel": {"n_rows": 1e5, "kernel": "gini"},
    "kernel without a fast form": {"n_rows": 1e6, "kernel": dm.kernels.rbf(1.0), "pair_budget": 1e9},
}


def planned(options: dict[str, Any]) -> Case:
    return lambda way: dm.plan(**options)


def explained(function: Any, *arguments: Any, **options: Any) -> Case:
    return lambda way: way.explain(function, way.lakes["clean"], *arguments, rng=SEED, **options)


CASES: dict[str, Case] = {f"plan/{name}": planned(options) for name, options in PLANNED.items()}
CASES |= {
    "explain/mean": explained(dm.mean, "x"),
    "explain/mean, samples": explained(dm.mean, ["x", "y"], scheme="swor", tau=0.3),
    "explain/mean, contaminated": explained(dm.mean, "x", contamination=5, by="key"),
    "explain/mean, repeated": explained(dm.mean, "x", repeats=3, n_blocks=9),
    "explain/ustatistic": explained(dm.ustatistic, "x", kernel="gini"),
    "explain/ustatistic, one by one": explained(
        dm.ustatistic, ["y", "z"], kernel=dm.kernels.rbf(1.0), n_blocks=5
    ),
    "explain/ustatistic, incomplete": explained(
        dm.ustatistic, "x", kernel="gini", pairs="sampled", scheme="swor", n_blocks=7
    ),
    "explain/compare": explained(dm.compare, "x", by="label"),
    "explain/tournament": explained(dm.tournament, ["p0", "p1"], "target"),
    "explain/tournament, pairs": explained(dm.tournament, ["p0", "p1"], "target", loss="ranking"),
    "explain/train": explained(dm.train, "regression", target="target", columns=["y", "z"]),
}
